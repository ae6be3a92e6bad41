"""The machine in stock transformers: same tokens and same memory as the reference interpreter, same words about faults."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from qgc.cli.main import cli
from qgc.cli.run import mismatch
from qgc.diagnostics import QgcError
from qgc.driver import Kernel, Settings, source
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.tokens import Token
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.engines import Request, Result, engine
from qgc.runtime.engines.base import ModelChoice
from qgc.runtime.raw_kernel import RawKernel

ADD = 'extern "C" __global__ void add(int *a, int n) { a[threadIdx.x] += n; }'
GRID = 'extern "C" __global__ void grid(int *a) { a[blockIdx.x] += gridDim.x; }'
FOREVER = 'extern "C" __global__ void forever(volatile int *a) { for (;;) a[0] += 1; }'
ENGINES = {name: engine(name) for name in ("hf", "isa")}


def kernel(text: str) -> Kernel:
    return Kernel(source(text, "k.cu"), Settings(machine=PRESETS["nano"]))


def launch(
    name: str, nano: Checkpoint, text: str, grid: int, block: int, *args: object, budget: int = 60
) -> Result:
    request = Request((grid, 1, 1), (block, 1, 1), args, budget, ModelChoice(folder=nano.folder))  # type: ignore[arg-type]
    return ENGINES[name].run(kernel(text), request)


def words(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)


@pytest.mark.parametrize(
    ("text", "grid", "block", "args", "expected"),
    [
        (ADD, 1, 3, [words(1, -2, 2**31 - 1), 5], [6, 3, -(2**31) + 4]),
        (GRID, 3, 1, [words(10, 20, 30)], [13, 23, 33]),
    ],
    ids=["two-groups", "three-blocks"],
)
def test_the_model_writes_what_the_interpreter_writes(
    nano: Checkpoint, text: str, grid: int, block: int, args: list[object], expected: list[int]
) -> None:
    model = launch("hf", nano, text, grid, block, *args)
    reference = launch("isa", nano, text, grid, block, *args)
    assert model.run is not None
    assert reference.run is not None
    assert model.run.tokens == reference.run.tokens
    assert model.run.generated == reference.run.generated
    assert model.run.memory == reference.run.memory
    assert model.arrays[0].tolist() == expected
    replay = nano.replay(model.run)
    assert replay.positions == sum(model.run.generated)
    assert replay.is_equal


def test_a_replay_finds_a_token_that_the_model_would_not_write(nano: Checkpoint) -> None:
    run = launch("isa", nano, ADD, 1, 1, words(1), 5).run
    assert run is not None
    position = run.generated.index(True) + 1
    tokens = [*run.tokens]
    tokens[position] = Token(tokens[position].kind, tokens[position].payload ^ 1)
    replay = nano.replay(replace(run, tokens=tokens))
    assert position in replay.mismatches
    assert "replay-mismatch" in str(mismatch(replay))
    memory = [word ^ (number == 3) for number, word in enumerate(run.memory)]
    replay = nano.replay(replace(run, memory=memory))
    assert (replay.mismatches, replay.words) == ((), (3,))
    assert "1 words of memory differ" in str(mismatch(replay))


def test_faults_are_told_as_by_the_interpreter(nano: Checkpoint) -> None:
    store = 'extern "C" __global__ void far(int *a, int n) { a[n] = 1; }'
    for text, args, code in (
        (store, [words(0), 1], "run-store"),
        (store, [words(0), 9], "run-fault"),
        (FOREVER, [words(0)], "run-budget"),
    ):
        told = []
        for name in ("hf", "isa"):
            with pytest.raises(QgcError) as caught:
                launch(name, nano, text, 1, 1, *args, budget=12)
            told.append(str(caught.value))
        assert told[0] == told[1]
        assert code in told[0]


def test_run_with_a_checkpoint_checks_it(nano: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(ADD)
    args = ["run", str(tmp_path / "k.cu"), "--machine", "nano", "--checkpoint", str(nano.folder), "--check"]
    result = CliRunner().invoke(cli, [*args, "--block", "2", "a=1,2", "n=3"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "a=4,5\n"
    assert (
        "generated tokens and all of memory replayed by one prefill of stock transformers, all equal"
        in result.stderr
    )


def test_raw_kernel_on_the_model(nano: Checkpoint) -> None:
    a = words(7)
    RawKernel(ADD, "add", machine="nano", checkpoint=nano.folder)((1,), (1,), (a, -9))
    assert a.tolist() == [-2]


def test_a_checkpoint_of_another_machine_is_refused(nano: Checkpoint) -> None:
    other = Kernel(source(ADD, "k.cu"), Settings(machine=PRESETS["simt4"]))
    with pytest.raises(QgcError, match="checkpoint-machine"):
        engine("hf").run(
            other, Request((1, 1, 1), (1, 1, 1), [words(1), 1], model=ModelChoice(folder=nano.folder))
        )


@pytest.mark.parametrize("content", [None, "", "{}", '{"machine": {"name": "x", "lanes": 3}}', "[1]"])
def test_a_folder_that_is_no_machine_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "qgc.json").write_text(content)
    with pytest.raises(QgcError, match=r"checkpoint-manifest|machine-size"):
        Checkpoint(tmp_path)


def test_without_any_of_qgc(nano: Checkpoint) -> None:
    """The folder is an ordinary checkpoint: the README's lines, on a prompt in words."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    reference = launch("isa", nano, ADD, 1, 2, words(1, 2), 3).run
    assert reference is not None
    names = [nano.vocabulary.name(token) for token in reference.tokens]
    start = reference.generated.index(True)

    tokenizer = AutoTokenizer.from_pretrained(nano.folder)
    model = AutoModelForCausalLM.from_pretrained(nano.folder, dtype="float32")
    prompt = tokenizer(" ".join(names[:start]), return_tensors="pt")
    out = model.generate(**prompt, max_new_tokens=99)
    assert tokenizer.decode(out[0, start:]).split() == names[start:]

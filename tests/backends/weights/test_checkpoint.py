"""The smallest machine in stock transformers: generated programs, teacher-forced and step by step, and its memory."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qgc.backends.circuits.machine.run import token_fields
from qgc.backends.weights import build, read_memory
from qgc.diagnostics import QgcError
from qgc.ir.layout.layout_evaluate import evaluator
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.tokens import Vocabulary
from qgc.ir.machine.verify import load
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import link
from qgc.runtime.model import Session
from tests.helpers.machines import Context, contexts
from tests.helpers.plans import planned
from tests.helpers.programs import Case, bare_block, multi_block, sample, single_block

NANO, TINY = PRESETS["nano"], SHAPES["tiny"]
CONTEXT = 1500
"""Tokens of one prefill."""


@pytest.fixture(scope="module")
def half(nano: Checkpoint) -> Checkpoint:
    """The same checkpoint, computed in bfloat16."""
    return Checkpoint(nano.folder, "bfloat16")


def check(checkpoint: Checkpoint, context: Context) -> int:
    """One teacher-forced prefill: every generated position and all of memory; returns how many positions."""
    answers, cache = checkpoint.model.replay(checkpoint.ids(context.tokens))
    wanted = context.expected()
    wrong = {
        i: (checkpoint.token(answers[i]), want)
        for i, want in wanted.items()
        if checkpoint.token(answers[i]) != want
    }
    assert wrong == {}
    assert read_memory(Session(cache=cache).state, checkpoint.manifest) == context.memory
    return len(wanted)


def test_two_hundred_single_blocks(half: Checkpoint) -> None:
    """In bfloat16, which is the faster one, and the one with less to spare."""
    found = contexts(NANO, sample(bare_block, NANO, 200), CONTEXT, keep_memory=True)
    assert sum(check(half, context) for context in found) > 1500


def test_single_blocks_in_float32(nano: Checkpoint) -> None:
    for context in contexts(NANO, sample(bare_block, NANO, 40, seed=500), CONTEXT, keep_memory=True):
        check(nano, context)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 3000, 1000))
def test_two_hundred_single_blocks_in_float32(nano: Checkpoint, half: Checkpoint, seed: int) -> None:
    for context in contexts(NANO, sample(bare_block, NANO, 200, seed), CONTEXT, keep_memory=True):
        check(nano, context)
        check(half, context)


@pytest.mark.parametrize("kind", [single_block, multi_block], ids=lambda kind: kind.__name__)
def test_programs_of_several_blocks(nano: Checkpoint, half: Checkpoint, kind: object) -> None:
    make = single_block if kind is single_block else multi_block
    for context in contexts(NANO, sample(make, NANO, 6, seed=40), CONTEXT):
        check(nano, context)
        check(half, context)


@pytest.mark.parametrize("number", range(2))
def test_step_by_step(nano: Checkpoint, number: int) -> None:
    """`generate` writes what the interpreter writes, and its cache holds the same memory."""
    case = [case for case in sample(multi_block, NANO, 12, seed=70) if not faults(case)][number]
    launch = case.launch()
    got, want = nano.run(launch), run_isa(launch)
    assert got.tokens == want.tokens
    assert got.memory == want.memory


FAR = """\
machine nano words=512 payload=10
kernel far
param a ptr
const k0 = param a + 1160
const k1 = param a + 4
block 0:
  0: ldx tid, k0
  1: stx tid, k1 <- f0
  branch 1
block 1:
  0: add tid, tid
  1: stx tid, k0 <- f0
  branch exit
"""
"""Copies words 290 to 293 to words 1 to 4, and then writes them: two pages of a bank of 256 rows."""


def test_a_memory_of_several_pages(tmp_path: Path) -> None:
    program = load(FAR)
    build(program.config, replace(TINY, hidden=1536), "float32", tmp_path / "far")
    launch = link(program, (1, 1, 1), (4, 1, 1), [np.arange(1000, 1300, dtype=np.int32)])
    got, want = Checkpoint(tmp_path / "far").run(launch), run_isa(launch)
    assert got.tokens == want.tokens
    assert got.memory == want.memory
    assert want.memory[:6] == [1000, 1290, 1291, 1292, 1293, 1005]
    assert want.memory[290:294] == [0, 2, 4, 6]


def faults(case: Case) -> bool:
    """Whether the interpreter refuses to go on."""
    try:
        run_isa(case.launch())
    except QgcError:
        return True
    return False


def test_numbers_stay_near_the_exact_ones(nano: Checkpoint) -> None:
    """What float32 makes of every coordinate after the last layer but one, against the layout's exact evaluator.

    Gates have a margin of one half; a chunked prefill reads counters with noise, which later layers must not amplify.
    Only generated tokens count: within a prompt the count of stores runs out, and halves without end.
    """
    import torch
    from transformers import AutoModelForCausalLM

    context = contexts(NANO, sample(multi_block, NANO, 3, seed=90))[0]
    tokens = context.tokens[:400]
    model = AutoModelForCausalLM.from_pretrained(nano.folder, dtype="float32").eval()
    with torch.no_grad():
        hidden = model.model(torch.tensor([nano.ids(tokens)]), output_hidden_states=True).hidden_states
    layout = planned("nano", "tiny").layout
    exact = evaluator(layout)
    last = layout.schedule.layers
    wires = sorted(set(range(TINY.hidden)) - set(layout.constants) - set(layout.code.values()))
    worst = 0.0
    for position, token in enumerate(tokens):
        exact.step(token_fields(nano.vocabulary, token))
        got = hidden[last][0, position].numpy()
        is_generated = position > 0 and context.answers[position - 1] is not None
        if is_generated:
            worst = max(worst, float(np.abs(got[wires] - exact.values[wires]).max()))
    assert worst < 5e-3


# The files ---------------------------------------------------------------------------------------------------------


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_builds_are_byte_identical(tmp_path: Path) -> None:
    """Here, and in another process with another hash seed."""
    code = (
        "import sys; from pathlib import Path; from qgc.backends.weights import build;"
        "from qgc.ir.layout.shape import SHAPES; from qgc.ir.machine.config import PRESETS;"
        "build(PRESETS['nano'], SHAPES['tiny'], 'float32', Path(sys.argv[1]))"
    )
    other = tmp_path / "other"
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    subprocess.run([sys.executable, "-c", code, str(other)], check=True, env=environment)
    here = tmp_path / "here"
    build(NANO, TINY, "float32", here)
    assert digests(other) == digests(here)


def test_every_weight_is_the_same_in_bfloat16(nano: Checkpoint, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    build(NANO, TINY, "bfloat16", tmp_path / "half")
    for path in sorted(nano.folder.glob("*.safetensors")):
        whole, half = load_file(path), load_file(tmp_path / "half" / path.name)
        assert list(whole) == list(half)
        for name, tensor in whole.items():
            assert half[name].dtype == torch.bfloat16
            assert torch.equal(half[name].float(), tensor)


def test_the_tokenizer_knows_every_token(nano: Checkpoint) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(nano.folder)
    names = Vocabulary(NANO).names()
    ids = tokenizer(" ".join(names))["input_ids"]
    assert ids == list(range(len(names)))
    assert tokenizer.convert_ids_to_tokens(ids) == names
    assert tokenizer.eos_token == "<halt>"


def test_the_configuration_is_plain(nano: Checkpoint) -> None:
    config = json.loads((nano.folder / "config.json").read_text())
    assert config["architectures"] == ["Qwen3_5ForCausalLM"]
    assert config["layer_types"][-1] == "full_attention"
    assert set(config["layer_types"][:-1]) == {"linear_attention"}
    assert "auto_map" not in config
    assert not list(nano.folder.glob("*.py"))


# Baked programs ----------------------------------------------------------------------------------------------------


def test_a_baked_program_needs_no_rom_tokens(tmp_path: Path) -> None:
    case = next(case for case in sample(multi_block, NANO, 20, seed=300) if not faults(case))
    build(NANO, TINY, "bfloat16", tmp_path / "baked", bake=case.program)
    baked = Checkpoint(tmp_path / "baked", "float32")
    assert baked.baked == case.program.kernel
    launch, whole = case.launch(include_program=False), run_isa(case.launch())
    assert not any(token.kind == "rom" for prompt in launch.prompts for token in prompt)
    run = baked.run(launch)
    own = [token for token, is_own in zip(run.tokens, run.generated, strict=True) if is_own]
    assert own == [token for token, is_own in zip(whole.tokens, whole.generated, strict=True) if is_own]
    assert run.memory == whole.memory


# What does not fit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "shape", "dtype", "code"),
    [
        (NANO, replace(TINY, hidden=256), "float32", "layout-width"),
        (NANO, replace(TINY, intermediate=1), "float32", "schedule-width"),
        (NANO, TINY, "float16", "weights-dtype"),
    ],
    ids=["hidden", "intermediate", "dtype"],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, machine: object, shape: object, dtype: str, code: str
) -> None:
    assert isinstance(machine, type(NANO))
    assert isinstance(shape, type(TINY))
    with pytest.raises(QgcError) as caught:
        build(machine, shape, dtype, tmp_path / "out")
    assert caught.value.diagnostics[0].code == code


# The reference machine ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_reference_machine(tmp_path_factory: pytest.TempPathFactory, dtype: str) -> None:
    folder = tmp_path_factory.mktemp("checkpoints") / "simt4"
    build(PRESETS["simt4"], SHAPES["small"], "bfloat16", folder)
    checkpoint = Checkpoint(folder, dtype)
    for kind, count in ((bare_block, 20), (single_block, 6), (multi_block, 4)):
        for context in contexts(PRESETS["simt4"], sample(kind, PRESETS["simt4"], count, seed=60), 1000):
            check(checkpoint, context)

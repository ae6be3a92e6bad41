"""The sparse engine: same tokens and the same recurrent state as stock transformers and the reference interpreter."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from qgc.diagnostics import QgcError
from qgc.driver import Kernel, Settings, source
from qgc.ir.layout.shape import SHAPES
from qgc.ir.layout.weights import STATE_LEVEL
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.tokens import Token, Vocabulary
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import Run, run_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.manifest import load_manifest
from qgc.runtime.model import Session
from qgc.runtime.sparse import step
from qgc.runtime.sparse.load import load
from qgc.runtime.sparse.model import SparseModel
from qgc.runtime.sparse.state import new_profile, new_state
from tests.helpers.programs import Case, multi_block_programs, single_block_programs

NANO = PRESETS["nano"]
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "manifest.toml"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The reference machine as a model."""
    from qgc.backends.weights import build

    folder = tmp_path_factory.mktemp("checkpoints") / "simt4"
    build(PRESETS["simt4"], SHAPES["small"], "bfloat16", folder)
    return Checkpoint(folder)


def outcome(run: Callable[[], Run]) -> tuple[list[Token], list[int]] | str:
    """The stream and the memory, or what is said of a fault."""
    try:
        done = run()
    except QgcError as err:
        return str(err)
    return done.tokens, done.memory


def check(checkpoint: Checkpoint, case: Case) -> None:
    launch = case.launch()
    want = outcome(lambda: run_isa(launch))
    assert outcome(lambda: checkpoint.run(launch, is_sparse=True)) == want


@given(single_block_programs(NANO))
def test_single_blocks_run_as_on_the_interpreter(nano: Checkpoint, case: Case) -> None:
    check(nano, case)


@given(multi_block_programs(NANO))
def test_loops_and_branches_run_as_on_the_interpreter(nano: Checkpoint, case: Case) -> None:
    check(nano, case)


def trace(text: str = 'extern "C" __global__ void add(int *a, int n) { a[threadIdx.x] += n; }') -> list[int]:
    kernel = Kernel(source(text, "k.cu"), Settings(machine=NANO))
    launch = link(kernel.program, (1, 1, 1), (3, 1, 1), [np.array([1, -2, 99], dtype=np.int32), 5])
    tokens = run_isa(launch).tokens
    vocabulary = Vocabulary(NANO)
    return [vocabulary.id(token) for token in tokens]


def test_every_answer_and_the_state_are_those_of_stock_transformers(nano: Checkpoint) -> None:
    """All positions, prompt included; states within what a chunked prefill rounds, and the same digits."""
    ids = trace()
    stock, cache = nano.model.replay(ids)
    session = nano.sparse.new_session()
    assert nano.sparse.answers(session, ids) == stock
    reference = Session(cache=cache)
    slots = nano.sparse.weights.heads.slots
    for layer, row in enumerate(slots):
        for slot in np.flatnonzero(row >= 0).tolist():
            mine, theirs = session.state(layer, slot), reference.state(layer, slot)
            assert np.abs(mine - theirs).max() <= 1e-4 * STATE_LEVEL
            assert np.array_equal(mine > STATE_LEVEL / 2, theirs > STATE_LEVEL / 2)


def test_lists_and_plan_are_stored_beside_the_weights(nano: Checkpoint) -> None:
    model = SparseModel(nano.folder)
    ids = trace()
    first = model.answers(model.new_session(), ids * 30)
    assert {path.name.split("-")[1] for path in nano.folder.glob("sparse-*.npz")} == {"lists", "plan"}
    again = SparseModel(nano.folder)
    assert again.answers(again.new_session(), ids * 30) == first


def test_broken_bounds_cost_time_and_no_result(nano: Checkpoint) -> None:
    """A plan whose bounds never hold, or hold only for what it has seen, gives the same answers."""
    model = SparseModel(nano.folder)
    ids = trace()
    weights = model.weights
    want = model.answers(model.new_session(), ids)
    plan = model._make_plan()
    tight = plan._replace(bounds=np.zeros_like(plan.bounds))
    state, profile = new_state(weights), new_profile(weights)
    got = [step.feed_all(weights, state, tight, profile, False, np.array([i])) for i in ids]
    assert got == want
    assert state.number[3] > 0


def adders(size: int, threads: int, values: list[int]) -> list[Launch]:
    """A launch for each value, which every thread adds to an element of its own."""
    text = 'extern "C" __global__ void add(int *a, int n) { a[threadIdx.x] += n; }'
    kernel = Kernel(source(text, "k.cu"), Settings(machine=NANO))
    zeros = np.zeros(size, dtype=np.int32)
    return [link(kernel.program, (1, 1, 1), (threads, 1, 1), [zeros, n]) for n in values]


def test_launches_on_several_threads_do_not_mix(nano: Checkpoint) -> None:
    launches = adders(3, 3, list(range(-4, 4)))
    want = [run_isa(launch) for launch in launches]
    for threads in (1, 3):
        got = nano.run_many(launches, threads)
        assert [run.tokens for run in got] == [run.tokens for run in want]
        assert [run.memory for run in got] == [run.memory for run in want]


def test_a_launch_that_goes_wrong_is_explained_as_the_interpreter_does(nano: Checkpoint) -> None:
    """The engine itself only notices; it runs the launch again to say what and where."""
    (launch,) = adders(2, 3, [5])
    with pytest.raises(QgcError) as want:
        run_isa(launch)
    parts: list[bool] = []
    with pytest.raises(QgcError) as got:
        nano.stream(launch, lambda _tokens, is_own: parts.append(is_own), is_sparse=True)
    assert str(got.value) == str(want.value)
    assert "run-store" in str(got.value)
    assert parts.count(False) == 1


def test_what_is_no_sparse_checkpoint_is_refused(nano: Checkpoint, tmp_path: Path) -> None:
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    with pytest.raises(QgcError, match="fast-checkpoint"):
        load(tmp_path)
    config = Qwen3_5TextConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        layer_types=["linear_attention"],
        linear_num_key_heads=1,
        linear_num_value_heads=1,
        linear_key_head_dim=32,
        linear_value_head_dim=32,
    )
    Qwen3_5ForCausalLM(config).save_pretrained(tmp_path / "dense")
    with pytest.raises(QgcError, match=r"fast-dense.*in_proj_qkv.* 100.0% non-zero"):
        load(tmp_path / "dense")
    for file in nano.folder.glob("*.json"):
        shutil.copy(file, tmp_path)
    with pytest.raises(QgcError, match=r"fast-checkpoint.*cannot be read"):
        load(tmp_path)


@pytest.mark.slow
def test_every_example_runs_as_on_the_interpreter(small: Checkpoint) -> None:
    positions = 0
    for example in load_manifest(EXAMPLES):
        kernel = Kernel(
            source(example.source.read_text(), example.source.name), Settings("clang", example.kernel)
        )
        for case in example.cases:
            launch = link(kernel.program, case.grid, case.block, list(case.args.values()))
            want, got = run_isa(launch), small.run(launch, is_sparse=True)
            assert got.tokens == want.tokens, example.name
            assert got.memory == want.memory, example.name
            positions += sum(got.generated)
    assert positions > 3000

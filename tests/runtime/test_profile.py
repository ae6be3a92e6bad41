"""Profiles: counted by hand, complete over real launches, and hints that fire on what they are about."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from qgc.cli.main import cli
from qgc.diagnostics import QgcError
from qgc.driver import Kernel, Settings, source
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.program import Program
from qgc.ir.machine.verify import load
from qgc.runtime import profile_plot
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import link
from qgc.runtime.profile import CAUSES, Profile, as_json, folded, profile, table
from qgc.runtime.profile_files import write_files
from qgc.runtime.profile_hints import hints
from qgc.runtime.sparse import step
from qgc.runtime.sparse.layers import HEADS, UNITS, LayerCost, layer_costs
from qgc.runtime.sparse.state import new_profile, new_state

ROOT = Path(__file__).parent.parent.parent
HEAD = "machine simt4\nkernel total\nparam a ptr\nparam out ptr\nconst k0 = param a\nconst k1 = param out\n"
TOTAL = HEAD + (
    "block 0:\n  0: ldx tid, k0\n  out r1 = f0\n  branch 1\n"
    "block 1 serial:\n  0: ld k1, r0\n  1: add f0, r1\n  2: nop\n  3: st k1, r0 <- f1\n  branch exit\n"
)
TWO_VALUES = HEAD + (
    "block 0:\n  0: ldx tid, k0\n  1: ldx tid, k1\n  out r1 = f0\n  out r2 = f1\n  branch 1\n"
    "block 1:\n  0: add r1, r2\n  1: add f0, r1\n  2: add f1, r2\n  3: stx tid, k1 <- f2\n  branch exit\n"
)


def measured(program: Program, *args: object, grid: int = 1, block: int = 4) -> Profile:
    launch = link(program, (grid, 1, 1), (block, 1, 1), args)  # type: ignore[arg-type]
    return profile(program, run_isa(launch))


def words(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)


def compiled(body: str, params: str = "int *a, int n") -> Program:
    text = f'extern "C" __global__ void k({params}) {{ int i = threadIdx.x; {body} }}'
    return Kernel(source(text, "k.cu"), Settings()).program


def test_counts() -> None:
    found = measured(load(TOTAL), words(1, 1, 2), words(0), block=3)
    first, second = found.blocks
    assert first.tokens == {"exec": 1, "val": 1, "mem": 0, "control": 0}
    assert second.tokens == {"exec": 3, "val": 0, "mem": 6, "control": 1}
    assert (first.operations, first.lane_operations, first.lanes) == (1, 3, 3)
    assert (second.operations, second.lane_operations, second.lanes) == (9, 9, 3 + 2 + 1)
    assert (found.generated, found.operations, found.lane_operations, found.outside) == (12, 10, 12, 0)
    assert (first.values[0].sent, first.values[0].slices, first.values[0].longest) == (1, 1, 1)
    assert (second.stores["adr"].sent, second.stores["adr"].slices) == (3, 3)
    assert second.stores["adr_v"].sent == 0


def test_slices_of_long_values() -> None:
    found = measured(load(TOTAL), words(100, -2), words(0), block=2)
    value = found.blocks[0].values[0]
    assert (value.sent, value.slices, value.longest) == (1, 3, 3)
    assert found.blocks[0].tokens["val"] == 3


@pytest.mark.parametrize(("grid", "block"), [(1, 7), (3, 4)], ids=["two-groups", "three-blocks"])
def test_nothing_is_lost(grid: int, block: int) -> None:
    program = compiled("if (i < n) a[blockIdx.x] += i * 300;")
    launch = link(program, (grid, 1, 1), (block, 1, 1), [words(0, 0, 0), 5])
    run = run_isa(launch)
    found = profile(program, run)
    assert found.generated == len(run.answers)
    assert found.prompt + found.generated == len(run.tokens)
    assert found.by_cause()["exec"] == sum(token.kind == "exec" for token in run.answers)
    lines = [line.rpartition(" ") for line in folded(found).splitlines()]
    assert sum(int(count) for _, _, count in lines) == len(run.tokens)
    assert {stack.split(";")[-1] for stack, _, _ in lines} <= {*CAUSES, "prompt"}
    content = as_json(found, [])
    assert json.loads(json.dumps(content)) == content
    assert sum(sum(b["tokens"].values()) for b in content["blocks"]) == found.generated - found.outside


def test_a_launch_that_runs_no_block() -> None:
    program = load(TOTAL)
    run = run_isa(link(program, (1, 1, 1), (1, 1, 1), [words(1), words(0)]))
    run.tokens[:], run.generated[:] = run.tokens[-1:], [True]
    found = profile(program, run)
    assert (found.outside, found.generated, found.operations) == (1, 1, 0)
    assert "total;no block;control 1\n" in folded(found)
    assert "inf generated tokens an operation" in table(found, [])
    assert "- nothing stands out\n" in table(found, [])


@pytest.mark.parametrize(
    ("program", "args", "block", "said"),
    [
        (
            TOTAL,
            (words(1, 1, 2, 3), words(0)),
            4,
            "block 1 is serial, one thread at a time: 87% of the tokens are atomics",
        ),
        (TOTAL, (words(3000000, 0), words(0)), 2, "block 0 writes r1 in 8.0 slices each time (at most 8)"),
        (TOTAL, (words(1), words(0)), 1, "block 0 runs with 1.0 of 4 lanes"),
        (TOTAL, (words(1), words(0)), 1, "the prompt is "),
        (TWO_VALUES, (words(9, 9, 9, 9), words(9, 9, 9, 9)), 4, "block 0 writes 2 values for 2 operations"),
    ],
)
def test_hints(program: str, args: tuple[object, ...], block: int, said: str) -> None:
    assert [hint for hint in hints(measured(load(program), *args, block=block)) if hint.startswith(said)]


def test_a_hint_on_blocks_that_do_little() -> None:
    collatz = Kernel(source((ROOT / "golden/ptx/collatz.nvrtc.ptx").read_text(), "k.ptx"), Settings()).program
    looped = hints(measured(collatz, words(6, 7, 1, 3), words(0, 0, 0, 0)))
    assert [
        hint for hint in looped if hint.startswith("block 2 has 2 operations where 4 fit, and runs 16 times")
    ]
    straight = hints(measured(load(TWO_VALUES), words(9, 9, 9, 9), words(9, 9, 9, 9)))
    assert not [hint for hint in straight if "fit, and runs" in hint]


def test_a_hint_on_scattered_stores() -> None:
    scattered = hints(measured(compiled("a[2 * i] = n;"), words(*[0] * 8), 5))
    assert [hint for hint in scattered if "stores 4 words one by one" in hint]
    dense = hints(measured(compiled("a[i] = n;"), words(*[0] * 4), 5))
    assert not [hint for hint in dense if "one by one" in hint]


def test_hints_are_few_and_the_largest_come_first() -> None:
    found = measured(load(TOTAL), words(1, 1, 2, 3), words(0))
    assert hints(found)[0].startswith(("block 1 is serial", "the prompt"))
    assert len(hints(found)) <= 6


def test_layers_of_the_sparse_step(nano: Checkpoint) -> None:
    """What the layers look at is, all together, what a whole run looks at."""
    kernel = Kernel(
        source('extern "C" __global__ void k(int *a) { a[0] += 3; }', "k.cu"),
        Settings(machine=PRESETS["nano"]),
    )
    run = run_isa(link(kernel.program, (1, 1, 1), (1, 1, 1), [words(4)]))
    ids = nano.ids(run.tokens)
    costs = layer_costs(nano.sparse, ids, tokens=1)
    state = new_state(nano.sparse.weights)
    spare = new_profile(nano.sparse.weights)
    step.feed_all(nano.sparse.weights, state, nano.sparse.plan, spare, False, np.array(ids))
    assert [cost.layer for cost in costs] == list(range(nano.sparse.weights.layers))
    assert round(sum(cost.units for cost in costs) * len(ids)) == state.number[UNITS] > 0
    assert round(sum(cost.heads for cost in costs) * len(ids)) == state.number[HEADS] > 0
    assert min(cost.micros for cost in costs) >= 0
    assert layer_costs(nano.sparse, []) == ()


def test_files_with_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    found = measured(load(TOTAL), words(1, 1, 2), words(0), block=3)
    found = Profile(found.program, found.prompt, found.blocks, found.outside, (LayerCost(0, 1.5, 2.0, 1.0),))
    lines = write_files(found, ["less"], tmp_path / "p.x")
    assert [line.split("/")[-1] for line in lines] == ["p.x.json", "p.x.folded", "p.x.png"]
    assert (tmp_path / "p.x.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert json.loads((tmp_path / "p.x.json").read_text())["hints"] == ["less"]


def test_without_matplotlib_the_other_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_plot, "find_spec", lambda name: None)
    found = measured(load(TOTAL), words(1), words(0), block=1)
    lines = write_files(found, [], tmp_path / "p")
    assert lines[-1].endswith("matplotlib, which is not installed; pip install 'qgc[plot]'")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.folded", "p.json"]
    with pytest.raises(QgcError, match="plot-missing"):
        profile_plot.plot(found, tmp_path / "p.png")


def test_run_with_a_profile(golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    line = "run golden/ptx/collatz.nvrtc.ptx --engine isa --profile --block 4 6,7,1,3 0:4"
    result = CliRunner().invoke(cli, line.split())
    assert result.exit_code == 0, result.stderr
    golden("cli/profile.txt", f"$ qgc {line}\n" + result.stderr.partition("\n")[2])


def test_run_of_the_fast_engine_profiles_its_layers(nano: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k(int *a) { a[0] += 3; }')
    args = ["run", str(tmp_path / "k.cu"), "--machine", "nano", "--checkpoint", str(nano.folder)]
    result = CliRunner().invoke(cli, [*args, "--profile", "--profile-out", str(tmp_path / "p"), "a=4"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "a=7\n"
    assert "a token, by layer: time, units looked at, heads at work" in result.stderr
    assert json.loads((tmp_path / "p.json").read_text())["layers"]

"""Every example in stock transformers on the machine `simt4`: the whole stream by prefill, some of them step by step."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from qgc.driver import Kernel, Settings, source
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.runtime.cache import STORED_DTYPE, CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import Run, run_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.manifest import Case, KernelCase, load_manifest

ROOT = Path(__file__).parent.parent.parent
KERNELS = load_manifest(ROOT / "examples/manifest.toml")
CASES = [
    pytest.param(kernel, case, id=f"{kernel.name}-{number}")
    for kernel in KERNELS
    for number, case in enumerate(kernel.cases)
]
HALF = ("dot", "vadd", "nested", "collatz")
STEPPED = ("dot", "vadd")

pytestmark = pytest.mark.slow


@cache
def checkpoint(dtype: str) -> Checkpoint:
    """The machine that `make run` uses, out of the user's cache."""
    return Checkpoint(cached(CheckpointSpec(PRESETS["simt4"], SHAPES["small"], STORED_DTYPE)), dtype)


def launch(kernel: KernelCase, case: Case) -> Launch:
    path = ROOT / f"golden/ptx/{kernel.name}.clang32.ptx"
    program = Kernel(source(path.read_text(), path.name), Settings(kernel=kernel.kernel)).program
    return link(program, case.grid, case.block, list(case.args.values()))


def check_outputs(kernel: KernelCase, case: Case, launched: Launch, run: Run) -> None:
    names = [p.name for p in launched.program.params]
    for output, expected in case.expected.items():
        number = [p.name for p in kernel.params].index(output)
        np.testing.assert_array_equal(run.arrays[names[number]], expected)


@pytest.mark.parametrize(("kernel", "case"), CASES)
def test_the_whole_stream_by_one_prefill(kernel: KernelCase, case: Case) -> None:
    launched = launch(kernel, case)
    run = run_isa(launched)
    check_outputs(kernel, case, launched, run)
    replay = checkpoint("float32").replay(run)
    assert replay.positions == sum(run.generated)
    assert replay.is_equal


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.name in HALF], ids=lambda k: k.name)
def test_in_bfloat16_too(kernel: KernelCase) -> None:
    run = run_isa(launch(kernel, kernel.cases[0]))
    assert checkpoint("bfloat16").replay(run).is_equal


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.name in STEPPED], ids=lambda k: k.name)
def test_step_by_step(kernel: KernelCase) -> None:
    launched = launch(kernel, kernel.cases[0])
    run = checkpoint("float32").run(launched)
    assert run.tokens == run_isa(launched).tokens
    check_outputs(kernel, kernel.cases[0], launched, run)


@pytest.mark.parametrize("name", ["dot", "collatz"])
def test_baked(name: str) -> None:
    """The program in the weights: no rom tokens, the same answers."""
    kernel = next(k for k in KERNELS if k.name == name)
    case = kernel.cases[0]
    program = launch(kernel, case).program
    spec = CheckpointSpec(PRESETS["simt4"], SHAPES["small"], STORED_DTYPE, program)
    baked = Checkpoint(cached(spec), "float32")
    launched = link(program, case.grid, case.block, list(case.args.values()), include_program=False)
    assert not [token for prompt in launched.prompts for token in prompt if token.kind == "rom"]
    run = baked.run(launched, is_sparse=True)
    check_outputs(kernel, case, launched, run)
    assert run.answers == run_isa(launch(kernel, case)).answers
    assert baked.replay(run).is_equal

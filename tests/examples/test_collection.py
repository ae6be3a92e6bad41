"""The 64 kernels of examples/: the same arrays from the PTX of each compiler, in SSA, and on the machine."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from qgc.driver import Kernel, Settings, source
from qgc.ir.machine.config import preset
from qgc.runtime.engines import Request, engine
from qgc.runtime.engines.base import ModelChoice
from qgc.runtime.manifest import Case, KernelCase
from tests.helpers.examples import COLLECTION, VARIANTS, check_arrays, each_kernel, module_of, ptx_of
from tests.helpers.ptx import launch

BUDGET = 20_000_000
"""Tokens that the longest launch may take."""

each_variant = pytest.mark.parametrize("variant", VARIANTS)


def fast(kernel: KernelCase) -> list[Case]:
    return [case for case in kernel.cases if not case.is_slow]


def compiled(kernel: KernelCase, variant: str, machine: str = "simt4") -> Kernel:
    settings = Settings(kernel=kernel.kernel, machine=preset(machine))
    return Kernel(source(ptx_of(kernel.source, variant), f"{kernel.name}.ptx"), settings)


def run(name: str, kernel: Kernel, case: Case) -> dict[str, NDArray[np.generic]]:
    """The arrays after a launch on an engine, by name."""
    result = engine(name).run(
        kernel, Request(case.grid, case.block, list(case.args.values()), shared=case.shared)
    )
    names = list(case.args)
    return {names[number]: array for number, array in result.arrays.items()}


def check_ptx(kernel: KernelCase, case: Case, variant: str) -> None:
    out = launch(
        module_of(kernel.source, variant),
        case.args,
        grid=case.grid,
        block=case.block,
        kernel=kernel.kernel,
        dynamic_shared=case.shared,
    )
    check_arrays(kernel, case, out)


def test_the_collection_fits_its_machines() -> None:
    """64 kernels of different names, each with a comment, small inputs and two of them at least."""
    assert len(COLLECTION) == len({kernel.kernel for kernel in COLLECTION.values()}) == 64
    for name, kernel in COLLECTION.items():
        text = kernel.source.read_text(encoding="utf-8")
        assert text.startswith("// "), name
        assert re.findall(r"__global__ void (\w+)\(", text) == [kernel.kernel] == [kernel.source.stem]
        assert len(kernel.cases) >= 2, name
        words, threads = {"simt4": (126, 32), "simt4x": (2046, 128)}[kernel.machine]
        for case in kernel.cases:
            arrays = sum(len(value) for value in case.args.values() if not isinstance(value, int))
            assert arrays + case.shared // 4 <= words, name
            assert np.prod(case.block) <= threads, name


@each_variant
@each_kernel
def test_ptx_interpreter(kernel: KernelCase, variant: str) -> None:
    for case in fast(kernel):
        check_ptx(kernel, case, variant)


@pytest.mark.slow
@each_variant
def test_ptx_interpreter_on_slow_cases(variant: str) -> None:
    slow = [(kernel, case) for kernel in COLLECTION.values() for case in kernel.cases if case.is_slow]
    assert slow
    for kernel, case in slow:
        check_ptx(kernel, case, variant)


@each_variant
@each_kernel
def test_machine(kernel: KernelCase, variant: str) -> None:
    made = compiled(kernel, variant, kernel.machine)
    for case in fast(kernel):
        check_arrays(kernel, case, run("isa", made, case))


@each_kernel
def test_ssa(kernel: KernelCase) -> None:
    made = compiled(kernel, "clang32")
    for case in fast(kernel):
        check_arrays(kernel, case, run("ssa", made, case))


@each_kernel
def test_cuda(kernel: KernelCase) -> None:
    """From the CUDA file itself, where parameters have the names of the source."""
    text = kernel.source.read_text(encoding="utf-8")
    settings = Settings("clang", kernel.kernel, preset(kernel.machine))
    made = Kernel(source(text, kernel.source.name), settings)
    for case in fast(kernel)[:1]:
        check_arrays(kernel, case, run("isa", made, case))


@pytest.mark.parametrize("name", ["matmul4", "control/queens", "shared/matmul_tiled", "algorithms/matching"])
def test_few_registers(name: str) -> None:
    """Seven registers: what they do not hold is spilled."""
    kernel = COLLECTION[name]
    machine = replace(preset("simt4x"), name="few", registers=8, predicates=0)
    settings = Settings(kernel=kernel.kernel, machine=machine)
    made = Kernel(source(ptx_of(kernel.source, "clang32"), f"{kernel.name}.ptx"), settings)
    assert any(".spill" in str(row) for row in made.program.consts)
    for case in fast(kernel):
        check_arrays(kernel, case, run("isa", made, case))


@pytest.mark.slow
def test_engine_fast_answers_as_the_interpreter() -> None:
    """Every kernel and input set on the weights of the 2B shape: the same token at every position, the same memory."""
    positions, launches = 0, 0
    model = ModelChoice(shape="qwen3.5-2b")
    for kernel in COLLECTION.values():
        made = compiled(kernel, "clang32", kernel.machine)
        for case in kernel.cases:
            request = Request(
                case.grid, case.block, list(case.args.values()), BUDGET, model, shared=case.shared
            )
            want, got = (engine(name).run(made, request).run for name in ("isa", "fast"))
            assert want is not None and got is not None
            assert got.tokens == want.tokens, kernel.name
            assert got.memory == want.memory, kernel.name
            positions, launches = positions + sum(got.generated), launches + 1
    print(f"{launches} launches of {len(COLLECTION)} kernels, {positions} generated positions, 0 differences")

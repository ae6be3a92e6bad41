"""Every example, from each front end, on the ISA interpreter: the expected arrays, and golden blocks and tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from qgc.backends.simt.lower import lower
from qgc.ir.machine import stream
from qgc.ir.machine.config import preset
from qgc.ir.machine.program import Program
from qgc.ir.machine.text import parse, to_text
from qgc.ir.machine.verify import verify
from qgc.ir.ptx.parse import parse as parse_ptx
from qgc.ir.ssa.function import Function
from qgc.passes.pipelines import compile_ptx_to
from qgc.runtime.isa import Run, run_isa
from qgc.runtime.launch import link
from qgc.runtime.manifest import Case, KernelCase
from tests.helpers.ssa import FRONTENDS, GOLDEN, KERNELS

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
each_frontend = pytest.mark.parametrize("frontend", FRONTENDS)


@cache
def function_of(name: str, frontend: str) -> Function:
    """A kernel at stage `ir-div`."""
    file = f"{name}.{frontend}.ptx"
    return compile_ptx_to("ir-div", parse_ptx((GOLDEN / "ptx" / file).read_text(), file)).functions[0]


@cache
def program_of(name: str, frontend: str) -> Program:
    """A kernel as blocks of `simt4`."""
    return lower(function_of(name, frontend), preset("simt4"))


def run_case(program: Program, kernel: KernelCase, case: Case) -> Run:
    """One case of the manifest."""
    args = [np.array(a) if isinstance(a, np.ndarray) else a for a in case.args.values()]
    return run_isa(link(program, case.grid, case.block, args))


@each_frontend
@each_kernel
def test_every_case_comes_out_as_expected(kernel: KernelCase, frontend: str) -> None:
    program = program_of(kernel.name, frontend)
    for case in kernel.cases:
        run = run_case(program, kernel, case)
        arrays = dict(zip(case.args, [run.arrays.get(p.name) for p in program.params], strict=True))
        for name, array in arrays.items():
            want = case.expected.get(name, case.args[name])
            if array is not None:
                np.testing.assert_array_equal(array, np.asarray(want), err_msg=name)


@each_frontend
@each_kernel
def test_blocks(kernel: KernelCase, frontend: str, golden: Callable[[str, str], None]) -> None:
    program = program_of(kernel.name, frontend)
    verify(program)
    text = to_text(program)
    assert to_text(parse(text)) == text
    golden(f"blocks/{kernel.name}.{frontend}.blocks", text)


@each_kernel
def test_tokens(kernel: KernelCase, golden: Callable[[str, str], None]) -> None:
    """The whole stream of the first case: prompt and answers."""
    program = program_of(kernel.name, "clang32")
    made = stream.Stream(program.config, tuple(run_case(program, kernel, kernel.cases[0]).tokens))
    stream.verify(made)
    golden(f"tokens/{kernel.name}.clang32.tokens", stream.to_text(made))


def test_dot_product_takes_two_blocks_and_thirteen_tokens() -> None:
    kernel = next(k for k in KERNELS if k.name == "dot")
    for frontend in FRONTENDS:
        program = program_of("dot", frontend)
        assert len(program.blocks) == 2
        assert len(run_case(program, kernel, kernel.cases[0]).answers) <= 13

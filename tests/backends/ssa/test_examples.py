"""The example kernels at every SSA stage: golden texts, and exact results from the output of all three front ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from qgc.ir.ptx.parse import parse as parse_ptx
from qgc.ir.ssa.function import Module
from qgc.ir.ssa.text import parse, to_text
from qgc.ir.ssa.types import I64
from qgc.ir.ssa.verify import STAGES, verify
from qgc.passes.manager import Options
from qgc.passes.pipelines import compile_ptx_to
from qgc.runtime.manifest import KernelCase
from tests.helpers.ssa import FRONTENDS, GOLDEN, KERNELS, assert_expected

CHECKED = Options(check_changed=True)


def compiled(name: str, frontend: str, stage: str) -> Module:
    file = f"{name}.{frontend}.ptx"
    module = parse_ptx((GOLDEN / "ptx" / file).read_text(), file)
    return compile_ptx_to(stage, module, name, CHECKED)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_golden(kernel: KernelCase, frontend: str, stage: str, golden: Callable[[str, str], None]) -> None:
    module = compiled(kernel.kernel, frontend, stage)
    verify(module, stage)
    text = to_text(module)
    golden(f"{stage}/{kernel.name}.{frontend}.ir", text)
    again = parse(text, "again.ir")
    verify(again, stage)
    assert to_text(again) == text


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_every_stage_computes_the_expected_arrays(kernel: KernelCase, frontend: str) -> None:
    for stage in STAGES:
        (function,) = compiled(kernel.kernel, frontend, stage).functions
        for case in kernel.cases:
            assert_expected(function, case)


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_nothing_wide_is_left_after_narrowing(kernel: KernelCase, frontend: str) -> None:
    (function,) = compiled(kernel.kernel, frontend, "ir-opt").functions
    assert not [
        op for op in function.ops() if any(v.ty is I64 for v in [*op.uses, op.result] if v is not None)
    ]

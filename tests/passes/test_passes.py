"""Each pass on small functions: golden/passes/PASS/CASE.ir holds the input, a marker line, and the output."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from qgc.diagnostics import QgcError
from qgc.ir.ssa.text import parse, to_text
from qgc.ir.ssa.verify import verify
from qgc.passes.manager import Pass
from qgc.passes.pipelines import PIPELINE
from qgc.passes.ssa.block_order import BlockOrder
from qgc.passes.ssa.loop_form import LoopForm
from qgc.passes.ssa.narrow import Narrow
from tests.helpers.ssa import GOLDEN, ROOT

PASSES: dict[str, Pass] = {step.name: step for step in PIPELINE}
"""Where a pass stands several times, the last."""
CASES = sorted(p.relative_to(GOLDEN).as_posix() for p in (GOLDEN / "passes").glob("*/*.ir"))


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str, golden: Callable[[str, str], None]) -> None:
    name = case.split("/")[1]
    step, marker = PASSES[name], f"; ---- after {name}\n"
    source = (GOLDEN / case).read_text().split(marker)[0]
    module = parse(source, case)
    before = to_text(module)
    verify(module, step.requires[0])
    assert step.run(module.functions[0]) == (before != to_text(module))
    verify(module, step.produces or step.requires[0])
    once = to_text(module)
    golden(case, f"{before}\n{marker}\n{once}")
    if step.produces is None:
        assert step.run(module.functions[0]) is False, "a second run finds nothing to do"
        assert to_text(module) == once


def test_every_file_is_a_pass_of_the_pipeline_and_has_golden_cases() -> None:
    files = {p.stem.replace("_", "-") for p in (ROOT / "passes" / "ssa").glob("*.py")} - {"--init--"}
    assert files == set(PASSES)
    assert files == {case.split("/")[1] for case in CASES}


def rejected(step: Pass, body: str) -> str:
    module = parse(f'kernel k from "k.ptx" {{\n{body}\n}}\n', "case.ir")
    with pytest.raises(QgcError) as caught:
        step.run(module.functions[0])
    return str(caught.value)


def test_narrow_refuses_wide_atomics_at_their_line() -> None:
    body = 'param 0: u64 "p"\ne:\n %p: i64 = param 0\n atomic.global.add.b64 %p, %p @9\n ret'
    message = rejected(Narrow(), body)
    assert "k.ptx:9:1: error[ptx-unsupported]: 64-bit atomics" in message
    assert "hint:" in message


IRREDUCIBLE = """
entry:
  %t: i32 = sreg.tid.x
  %p: i1 = icmp.eq %t, 0
  cbr %p, a, b  @4
a:
  br b  @6
b:
  cbr %p, a, end  @8
end:
  ret
"""


def test_loop_form_refuses_loops_with_two_entries() -> None:
    message = rejected(LoopForm(), IRREDUCIBLE)
    assert "error[ptx-irreducible]" in message
    assert "hint: remove the goto" in message


def test_order_is_not_touched_when_it_is_right() -> None:
    module = parse((GOLDEN / "ir-div" / "collatz.clang32.ir").read_text(), "collatz.ir")
    assert BlockOrder().run(module.functions[0]) is False

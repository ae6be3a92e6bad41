"""Every pass keeps the meaning of randomly generated functions, and every stage's invariants hold after it."""

from __future__ import annotations

from hypothesis import given, settings

from qgc.ir.ssa.text import function_text
from qgc.ir.ssa.verify import verify_function
from qgc.passes.manager import Options, PassManager
from qgc.passes.pipelines import FORMS, PIPELINE
from tests.helpers.ssa import check_uniform
from tests.helpers.ssa_programs import INPUTS, Input, final_memory, function_of, programs

FEWER = settings(max_examples=settings().max_examples // 2)


@FEWER
@given(programs(), INPUTS)
def test_every_pass_of_the_pipeline_keeps_the_final_memory(program: str, given: Input) -> None:
    function = function_of(program)
    verify_function(function)
    want = final_memory(function, given)
    manager = PassManager(PIPELINE, FORMS, "ir", Options(check_changed=True))
    for i, step in enumerate(PIPELINE):
        before = function_text(function)
        manager.run(function, i, i + 1)
        after = function_text(function)
        if after != before:
            assert final_memory(function, given) == want, (
                f"{step.name} (#{i + 1}) made\n{after}\nof\n{before}"
            )


@FEWER
@given(programs(), INPUTS)
def test_annotations_hold_while_lanes_run(program: str, given: Input) -> None:
    function = function_of(program)
    PassManager(PIPELINE, FORMS, "ir").run(function)
    final_memory(function, given, check_uniform)


@FEWER
@given(programs())
def test_text_is_read_back_byte_for_byte_at_every_stage(program: str) -> None:
    function = function_of(program)
    assert function_text(function) == program
    manager = PassManager(PIPELINE, FORMS, "ir")
    for begin in range(0, len(PIPELINE), 6):
        manager.run(function, begin, begin + 6)
        text = function_text(function)
        assert function_text(function_of(text)) == text

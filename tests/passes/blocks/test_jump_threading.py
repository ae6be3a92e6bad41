"""Jump threading on small programs, and that it changes nothing that a launch computes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qgc.ir.machine.config import preset
from qgc.ir.machine.interpreter import run
from qgc.ir.machine.text import to_text
from qgc.ir.machine.verify import load
from qgc.passes.blocks.jump_threading import thread_jumps
from tests.helpers.programs import Case, multi_block_programs

HEAD = "machine simt4\nkernel k\n"
WORK = "  0: add r1, tid\n  out r1 = f0\n"


def threaded(body: str) -> str:
    """The program after the pass, without its first two lines."""
    return to_text(thread_jumps(load(HEAD + body))).removeprefix(HEAD)


def test_an_empty_block_is_skipped_and_the_rest_renumbered() -> None:
    body = f"block 0:\n{WORK}  branch r1 ? 1 : 2\nblock 1:\n  branch 3\nblock 2:\n{WORK}  branch 3\nblock 3:\n{WORK}  branch exit\n"
    assert threaded(body) == (
        f"block 0:\n{WORK}  branch r1 ? 2 : 1\nblock 1:\n{WORK}  branch 2\nblock 2:\n{WORK}  branch exit\n"
    )


def test_a_branch_to_one_place_loses_its_condition() -> None:
    body = f"block 0:\n{WORK}  branch r1 ? 1 : 2\nblock 1:\n  branch 2\nblock 2:\n  branch exit\n"
    assert threaded(body) == f"block 0:\n{WORK}  branch exit\n"


def test_block_zero_stays() -> None:
    body = f"block 0:\n  branch 1\nblock 1:\n{WORK}  branch r1 ? 1 : exit\n"
    assert threaded(body) == body


def test_a_latch_that_several_lead_to_stays() -> None:
    body = (
        f"block 0:\n{WORK}  branch r1 ? 1 : 2\nblock 1:\n{WORK}  branch 3\nblock 2:\n{WORK}  branch r1 ? exit : 3\n"
        "block 3:\n  branch 0\n"
    )
    assert threaded(body) == body


def test_a_latch_with_one_way_in_goes() -> None:
    body = f"block 0:\n{WORK}  branch r1 ? exit : 1\nblock 1:\n  branch 0\n"
    assert threaded(body) == f"block 0:\n{WORK}  branch r1 ? exit : 0\n"


def test_a_latch_after_a_serial_block_stays() -> None:
    body = f"block 0 serial:\n{WORK}  branch r1 ? exit : 1\nblock 1:\n  branch 0\n"
    assert threaded(body) == body


def test_an_endless_empty_block_stays() -> None:
    body = f"block 0:\n{WORK}  branch 1\nblock 1:\n  branch 1\n"
    assert threaded(body) == body


def test_a_block_that_writes_zero_is_not_empty() -> None:
    body = f"block 0:\n{WORK}  branch 1\nblock 1:\n  out r1 = f0\n  branch exit\n"
    assert threaded(body) == body


@given(st.data())
def test_memory_and_registers_stay_the_same(data: st.DataObject) -> None:
    config = preset("simt4")
    case: Case = data.draw(multi_block_programs(config))
    after = Case(thread_jumps(case.program), case.threads, case.args)
    results = []
    for each in (case, after):
        machine, _, ended = run(config, each.launch().prompts[0], 5000)
        assert ended
        results.append((machine.memory, machine.registers))
    assert results[0] == results[1]

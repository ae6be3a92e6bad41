"""docs/tokens.md is what is measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.tokens import PAGE, WIDTHS, examples, measure, page, repeated
from qgc.ir.machine.text import parse
from qgc.ir.machine.tokens import Token


def test_page_is_current(golden: Callable[[str, str], None]) -> None:
    golden("../docs/tokens.md", page(PAGE.read_text(encoding="utf-8")))


def test_wider_payloads_take_no_more_tokens() -> None:
    for folder, kernel in examples():
        costs = [measure(folder, kernel, width) for width in WIDTHS]
        for part in ("prompt", "answers"):
            counts = [getattr(cost, part) for cost in costs]
            assert counts == sorted(counts, reverse=True), kernel.name


SUM = """machine simt4
kernel total
param out ptr
const k0 = param out
block 0 serial:
  0: ld k0, r0
  1: add f0, tid
  2: nop
  3: st k0, r0 <- f1
  branch exit
"""


@pytest.mark.parametrize(
    ("text", "saved"),
    [(SUM, 6), (SUM.replace(" serial", ""), 0), (SUM.replace("add f0", "xor f0"), 0)],
)
def test_only_turns_of_a_sum_that_are_followed_are_saved(text: str, saved: int) -> None:
    """Three lanes in one group, then one in the next: of the first group's turns the last one stays."""
    turn = [Token("adr", 0), Token("mem_s", 1)]
    answers = [
        *(token for mask in (0b111, 0b110, 0b100) for token in (Token("exec", mask), *turn)),
        Token("warp", 1),
        Token("exec", 0b1),
        *turn,
        Token("halt"),
    ]
    assert repeated(parse(text), answers) == saved

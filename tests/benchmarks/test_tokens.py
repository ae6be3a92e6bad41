"""docs/tokens.md is what is measured."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.tokens import PAGE, WIDTHS, examples, measure, page


def test_page_is_current(golden: Callable[[str, str], None]) -> None:
    golden("../docs/tokens.md", page(PAGE.read_text(encoding="utf-8")))


def test_wider_payloads_take_no_more_tokens() -> None:
    for folder, kernel in examples():
        costs = [measure(folder, kernel, width) for width in WIDTHS]
        for part in ("prompt", "answers"):
            counts = [getattr(cost, part) for cost in costs]
            assert counts == sorted(counts, reverse=True), kernel.name

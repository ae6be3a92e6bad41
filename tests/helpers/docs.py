"""Pages whose numbers come from a run: the part between two marks is made anew, the rest is as written."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"
BEGIN, END = "<!-- numbers: `pytest --bless` rewrites them -->\n", "<!-- end of numbers -->\n"


def with_numbers(page: str, numbers: str) -> str:
    """The text of a page with its numbers replaced."""
    text = (DOCS / page).read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"docs/{page} has no place for numbers"
    return f"{before}{BEGIN}\n{numbers}\n{END}{after}"

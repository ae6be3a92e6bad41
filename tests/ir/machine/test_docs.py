"""docs/isa.md is what the tables say."""

from __future__ import annotations

from collections.abc import Callable

from qgc.ir.machine.docs import isa_markdown
from qgc.ir.machine.isa import OPS


def test_isa_page_is_current(golden: Callable[[str, str], None]) -> None:
    golden("../docs/isa.md", isa_markdown())


def test_isa_page_names_every_operation() -> None:
    page = isa_markdown()
    assert [name for name in OPS if f"| `{name}` |" not in page] == []

"""docs/weights.md shows how full the presets are now."""

from __future__ import annotations

from collections.abc import Callable

from qgc.ir.layout.statistics import layer_uses, table
from tests.helpers.docs import with_numbers
from tests.helpers.plans import FITS, planned


def test_the_page_shows_the_numbers(golden: Callable[[str, str], None]) -> None:
    parts = []
    for machine, shape in FITS:
        layout = planned(machine, shape).layout
        parts.append(f"### `{machine}` in `{shape}`\n\n{table(layout)}")
    golden("../docs/weights.md", with_numbers("weights.md", "\n".join(parts)))
    golden("statistics/nano-tiny.md", table(planned("nano", "tiny").layout))


def test_the_numbers_add_up() -> None:
    layout = planned("nano", "tiny").layout
    uses = layer_uses(layout)
    assert len(uses) == layout.schedule.layers
    assert sum(use.units for use in uses) == len(layout.netlist.units)
    assert sum(use.heads for use in uses) == len(layout.netlist.heads)
    assert sum(use.clears for use in uses) >= len(layout.clears)
    assert max(use.live for use in uses) <= layout.shape.hidden - layout.shape.constants

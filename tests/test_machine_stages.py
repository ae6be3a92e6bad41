"""The machine side on a circuit that fits a page: a latch of two bits, and their exclusive or with the token's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from qgc.backends.weights.allocate import allocate
from qgc.backends.weights.lower import lower
from qgc.backends.weights.scheduler import schedule
from qgc.ir.layout.shape import SHAPES
from qgc.ir.netlist.netlist import Builder, Netlist
from qgc.stages import STAGES, side


def latch() -> Netlist:
    """`out = latch ^ data`; a token with `store` writes `data` to the latch first."""
    b = Builder()
    store, data = b.token("store"), [b.token(f"data[{i}]") for i in range(2)]
    kept = b.with_scope("latch").memory("value", data, store)
    out = b.bus("out", 2)
    for x, y, wire in zip(kept, data, out, strict=True):
        b.add(wire, x - y)
        b.add(wire, y - x)
        b.output(b.info(wire).name, wire)
    return b.netlist


def units() -> dict[str, Any]:
    """The circuit at every stage of the machine side."""
    netlist = latch()
    scheduled = schedule(netlist, SHAPES["tiny"])
    layout = allocate(scheduled)
    return {"netlist": netlist, "schedule": scheduled, "layout": layout, "weights": lower(layout)}


@pytest.mark.parametrize("name", [stage.name for stage in side("machine")])
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    stage, unit = STAGES[name], units()[name]
    stage.verify(unit)
    golden(f"{name}/latch{stage.suffix}", stage.to_text(unit))


@pytest.mark.parametrize("name", [stage.name for stage in side("machine")])
def test_every_stage_computes_the_same(name: str) -> None:
    evaluator = STAGES[name].evaluate(units()[name])
    kept = 0
    for store, data in ((0, 2), (1, 2), (0, 1), (0, 3), (1, 1), (0, 0)):
        kept = data if store else kept
        token = {"store": store, "data[0]": data & 1, "data[1]": data >> 1}
        assert evaluator.step(token) == {"out[0]": (kept ^ data) & 1, "out[1]": (kept ^ data) >> 1}

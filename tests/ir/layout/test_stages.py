"""Random circuits through schedule, layout and weights: every stage verifies, prints, parses, and computes the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import product
from typing import Protocol

import numpy as np
import pytest
from hypothesis import given, settings

from qgc.backends.weights.allocate import allocate
from qgc.backends.weights.lower import lower
from qgc.backends.weights.scheduler import schedule
from qgc.diagnostics import QgcError
from qgc.ir.layout import (
    layout_text,
    layout_verify,
    schedule_text,
    schedule_verify,
    weights_text,
    weights_verify,
)
from qgc.ir.layout.layout import Layout
from qgc.ir.layout.layout_evaluate import evaluator as layout_evaluator
from qgc.ir.layout.schedule_evaluate import evaluator as schedule_evaluator
from qgc.ir.layout.shape import SHAPES, ModelShape
from qgc.ir.layout.weights_evaluate import Evaluator as WeightsEvaluator
from qgc.ir.netlist import text as netlist_text
from qgc.ir.netlist import verify as netlist_verify
from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.netlist import Netlist
from tests.helpers.circuits import NARROW, SHARED, SMALL, TIGHT, circuits, tokens


class Steps(Protocol):
    """What the evaluators of all stages are."""

    def step(self, token: Mapping[str, int]) -> dict[str, float]: ...


def lay_out(netlist: Netlist, shape: ModelShape) -> Layout | None:
    """The layout, or None when the circuit does not fit the shape."""
    try:
        return allocate(schedule(netlist, shape))
    except QgcError as err:
        assert err.diagnostics[0].code in ("layout-width", "layout-units")
        return None


def check(netlist: Netlist, layout: Layout, inputs: list[dict[str, int]]) -> None:
    """Everything but the netlist comes out of its text."""
    scheduled = schedule_verify.load(schedule_text.to_text(layout.schedule))
    read = layout_verify.load(layout_text.to_text(layout))
    weights = weights_verify.load(weights_text.to_text(lower(layout)))
    reference = Evaluator(netlist)
    others: list[Steps] = [
        schedule_evaluator(scheduled),
        layout_evaluator(read),
        WeightsEvaluator(weights),
        WeightsEvaluator(weights, np.float32),
    ]
    for token in inputs:
        want = reference.step(token)
        for other in others:
            assert other.step(token) == want


@pytest.mark.parametrize("shape", [NARROW, SHARED], ids=lambda shape: shape.name)
def test_stages_compute_the_same(shape: ModelShape) -> None:
    fits: Counter[bool] = Counter()

    @given(circuits(), tokens())
    @settings(max_examples=60)
    def run(netlist: Netlist, inputs: list[dict[str, int]]) -> None:
        layout = lay_out(netlist, shape)
        fits[layout is not None] += 1
        if layout is not None:
            check(netlist, layout, inputs)

    run()
    assert fits[True] > fits[False]


@given(circuits())
def test_texts_survive_the_round_trip(netlist: Netlist) -> None:
    text = netlist_text.to_text(netlist)
    assert netlist_text.to_text(netlist_verify.load(text)) == text
    layout = lay_out(netlist, SHAPES["tiny"])
    assert layout is not None
    weights = lower(layout)
    for module, unit in ((schedule_text, layout.schedule), (layout_text, layout), (weights_text, weights)):
        text = module.to_text(unit)
        assert module.to_text(module.parse(text)) == text


@pytest.mark.golden
@pytest.mark.parametrize("name", SMALL)
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    netlist = SMALL[name]()
    layout = lay_out(netlist, TIGHT)
    assert layout is not None
    weights = lower(layout)
    fields = [info.name for info in netlist.wires if info.token_field]
    check(
        netlist,
        layout,
        [
            dict(zip(fields, bits, strict=True))
            for bits in product((0, 1), repeat=len(fields))
            if sum(bits[:2]) < 2 or name != "counter"
        ],
    )
    golden(f"netlist/{name}.netlist", netlist_text.to_text(netlist))
    golden(f"schedule/{name}.schedule", schedule_text.to_text(layout.schedule))
    golden(f"layout/{name}.layout", layout_text.to_text(layout))
    golden(f"weights/{name}.weights", weights_text.to_text(weights))

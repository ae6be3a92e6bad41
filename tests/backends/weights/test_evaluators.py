"""The machine at every stage of its way to weights: netlist, schedule, layout and weights give the interpreter's tokens."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from qgc.backends.circuits.machine.run import CircuitMachine, token_fields
from qgc.backends.weights.run import WeightsMachine
from qgc.ir.layout import layout_text, layout_verify, weights_verify
from qgc.ir.layout.layout_evaluate import evaluator as layout_evaluator
from qgc.ir.layout.schedule_evaluate import evaluator as schedule_evaluator
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.tokens import Vocabulary
from qgc.ir.netlist.evaluate import Evaluator
from tests.helpers.machines import Context, Feeds, assert_follows, contexts
from tests.helpers.plans import planned
from tests.helpers.programs import bare_block, multi_block, sample, single_block


@cache
def launches(machine: str) -> tuple[Context, ...]:
    """A few launches of every kind, in one context where they do not fault."""
    config = PRESETS[machine]
    kinds = (bare_block, single_block, multi_block)
    return tuple(contexts(config, [sample(kind, config, 2, seed=7)[i] for i in range(2) for kind in kinds]))


def evaluator_of(stage: str, machine: str) -> Feeds:
    p = planned(machine, "tiny" if machine == "nano" else "small")
    if stage.startswith("weights"):
        return WeightsMachine(p.machine, p.weights(), np.float32 if stage.endswith("32") else np.float64)
    evaluators = {
        "netlist": lambda: Evaluator(p.netlist),
        "schedule": lambda: schedule_evaluator(p.layout.schedule),
        "layout": lambda: layout_evaluator(p.layout),
    }
    return CircuitMachine(p.machine, evaluators[stage]())


STAGES = ("netlist", "schedule", "layout", "weights", "weights in float32")


@pytest.mark.parametrize("stage", STAGES)
def test_nano(stage: str) -> None:
    for context in launches("nano"):
        assert_follows(evaluator_of(stage, "nano"), context)


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_simt4(stage: str) -> None:
    for context in launches("simt4"):
        assert_follows(evaluator_of(stage, "simt4"), context)


def test_schedule_and_layout_agree_everywhere() -> None:
    """Also within prompts, where what follows does not matter."""
    p = planned("nano", "tiny")
    vocabulary = Vocabulary(p.machine)
    evaluators = [Evaluator(p.netlist), schedule_evaluator(p.layout.schedule), layout_evaluator(p.layout)]
    for token in launches("nano")[0].tokens:
        outputs = [evaluator.step(token_fields(vocabulary, token)) for evaluator in evaluators]
        assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.parametrize(
    ("machine", "shape"),
    [("nano", "tiny"), ("simt4", "small"), ("simt4", "qwen3.5-2b")],
    ids=lambda name: name,
)
def test_layouts_and_weights_verify(machine: str, shape: str) -> None:
    """Everything that the verifiers know of holds for the presets, in every shape that they are built for."""
    p = planned(machine, shape)
    layout_verify.verify(p.layout)
    weights_verify.verify(p.weights())


def test_the_layout_survives_the_round_trip() -> None:
    layout = planned("nano", "tiny").layout
    text = layout_text.to_text(layout)
    read = layout_text.parse(text)
    assert layout_text.to_text(read) == text
    assert (read.coordinate, read.head_slot, read.clears) == (
        layout.coordinate,
        layout.head_slot,
        layout.clears,
    )
    assert (read.constants, read.code, read.shape) == (layout.constants, layout.code, layout.shape)
    assert read.schedule.times == layout.schedule.times


@pytest.mark.slow
def test_the_reference_machine_fits_the_published_shape() -> None:
    layout = planned("simt4", "qwen3.5-2b").layout
    assert layout.schedule.layers <= 45
    text = layout_text.to_text(layout)
    assert layout_text.to_text(layout_verify.load(text)) == text

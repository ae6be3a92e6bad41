"""How large the reference machine is in the model shapes."""

from __future__ import annotations

import pytest

from qgc.backends.weights.plan import plan
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS


@pytest.mark.parametrize(("shape", "layers"), [("qwen3.5-2b", 21), ("small", 25)])
def test_layers_of_the_reference_machine(shape: str, layers: int) -> None:
    made = plan(PRESETS["simt4"], SHAPES[shape])
    assert made.layout.schedule.layers == layers

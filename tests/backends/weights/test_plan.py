"""How large the reference machine is in the model shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from qgc.backends.weights.plan import plan
from qgc.ir.layout.layout_verify import verify
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.verify import load

BLOCKS = sorted((Path(__file__).parent.parent.parent.parent / "golden/blocks").glob("*.clang32.blocks"))


@pytest.mark.parametrize(("shape", "layers"), [("qwen3.5-2b", 21), ("small", 25)])
def test_layers_of_the_reference_machine(shape: str, layers: int) -> None:
    made = plan(PRESETS["simt4"], SHAPES[shape])
    assert made.layout.schedule.layers == layers


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.name.startswith("dot.") else pytest.mark.slow, id=path.name)
        for path in BLOCKS
    ],
)
def test_baked_programs_fit_as_well(path: Path) -> None:
    """The shape that `make run` uses is almost full, and a baked program moves what is alive when."""
    made = plan(PRESETS["simt4"], SHAPES["small"], load(path.read_text(), path.name))
    assert made.layout.schedule.layers == 25
    verify(made.layout)

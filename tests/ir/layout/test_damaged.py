"""Damaged texts of the machine's stages are refused with a diagnostic, or are still right: never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qgc.diagnostics import QgcError
from qgc.stages import Stage, side

GOLDEN = Path(__file__).parent.parent.parent.parent / "golden"
PIECES = (
    "0",
    "1",
    "-1",
    "7",
    "999999999",
    "1e300",
    "0.3",
    " ",
    "\n",
    ", ",
    " @ ",
    "*",
    "(",
    "unit",
    "to 0: ",
    "é",
    "\t",
)


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """A text after a few cuts, doublings and replacements."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.sampled_from([0, 1, 2, 5, 40])))
        piece = draw(st.sampled_from(["", text[at:end] * 2, *PIECES]))
        text = text[:at] + piece + text[end:]
    return text


@pytest.mark.parametrize("stage", side("machine"), ids=lambda stage: stage.name)
def test_damaged_texts(stage: Stage) -> None:
    files = sorted((GOLDEN / stage.name).iterdir())

    @given(st.sampled_from(files), st.data())
    @settings(max_examples=150)
    def run(path: Path, data: st.DataObject) -> None:
        text = data.draw(damaged(path.read_text()))
        try:
            unit = stage.load(text, path.name)
        except QgcError as err:
            assert all(d.code and d.message for d in err.diagnostics)
            return
        assert stage.to_text(stage.load(stage.to_text(unit), "again")) == stage.to_text(unit)

    run()

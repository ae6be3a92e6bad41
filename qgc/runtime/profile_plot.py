"""A profile as a bar chart: the tokens of each block by cause, and the time of each layer where it is known."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from qgc.diagnostics import fail
from qgc.files import atomic_write
from qgc.runtime.profile import CAUSES, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#8c8c8c")
"""Of the causes, in order."""


def check_plot() -> None:
    """Refuse when nothing can draw.

    Raises:
        QgcError: `plot-missing`.
    """
    if find_spec("matplotlib") is None:
        raise fail(
            "plot-missing",
            "a PNG is drawn by matplotlib, which is not installed",
            hint="pip install 'qgc[plot]'",
        )


def plot(found: Profile, path: Path) -> None:
    """Write the chart as a PNG.

    Raises:
        QgcError: `plot-missing`, `io-write`.
    """
    check_plot()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = 2 if found.layers else 1
    figure = Figure(figsize=(6.4 * panels, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    _draw_blocks(axes[0], found)
    if found.layers:
        _draw_layers(axes[1], found)
    figure.suptitle(
        f"{found.program.kernel}: {found.generated} generated tokens, {found.operations} operations"
    )
    with atomic_write(path) as new:
        figure.savefig(new, format="png", metadata={"Software": None})


def _draw_blocks(axes: Axes, found: Profile) -> None:
    blocks = [block for block in found.blocks if block.total]
    names = [f"{block.number}{' serial' if block.block.serial else ''}" for block in blocks]
    base = [0] * len(blocks)
    for cause, colour in zip(CAUSES, COLOURS, strict=True):
        counts = [block.tokens[cause] for block in blocks]
        axes.bar(names, counts, bottom=base, color=colour, label=cause)
        base = [a + b for a, b in zip(base, counts, strict=True)]
    axes.set_xlabel("block")
    axes.set_ylabel("generated tokens")
    axes.legend()


def _draw_layers(axes: Axes, found: Profile) -> None:
    axes.bar([cost.layer for cost in found.layers], [cost.micros for cost in found.layers], color=COLOURS[0])
    axes.set_xlabel("layer")
    axes.set_ylabel("microseconds a token")

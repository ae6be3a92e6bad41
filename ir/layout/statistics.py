"""A layout in numbers, layer by layer: how full the model is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from qgc.ir.layout.layout import Layout, clear_terms
from qgc.ir.layout.schedule import lives


@dataclass(frozen=True, slots=True)
class LayerUse:
    """What one layer holds. `live` counts the wires that are yet to be read, where they are most; `clears` are units."""

    heads: int
    units: int
    clears: int
    live: int


def layer_uses(layout: Layout) -> list[LayerUse]:
    """The use of every layer, in order."""
    schedule = layout.schedule
    heads, units = Counter(schedule.head_layer), Counter(schedule.unit_layer)
    clears: Counter[int] = Counter()
    for clear in layout.clears:
        clears[clear.layer] += len(clear_terms(layout.netlist, clear.wire))
    outputs = {wire for signal in layout.netlist.outputs.values() for wire, _ in signal.terms}
    change = [0] * (2 * schedule.layers + 1)
    for wire, (born, died) in enumerate(lives(schedule)):
        if wire not in outputs:
            change[born + 1] += 1
            change[died + 1] -= 1
    live = [sum(change[: time + 1]) for time in range(2 * schedule.layers)]
    return [
        LayerUse(heads[n], units[n], clears[n], max(live[2 * n : 2 * n + 2])) for n in range(schedule.layers)
    ]


def table(layout: Layout) -> str:
    """The layers as a Markdown table, with the totals below."""
    return "".join(line + "\n" for line in _lines(layout))


def _lines(layout: Layout) -> Iterator[str]:
    uses, shape, netlist = layer_uses(layout), layout.shape, layout.netlist
    yield "| layer | heads | units | clears | live wires |"
    yield "|---|---|---|---|---|"
    for number, use in enumerate(uses):
        yield f"| {number} | {use.heads} | {use.units} | {use.clears} | {use.live} |"
    total = f"{len(netlist.wires)} wires, {len(netlist.units)} units, {len(netlist.heads)} heads"
    widest = max(use.live for use in uses)
    fullest = max(use.units + use.clears for use in uses)
    yield ""
    yield (
        f"{total} in {len(uses)} layers; at most {widest} live wires of hidden size {shape.hidden}, and {fullest} units "
        f"with clears of intermediate size {shape.intermediate}."
    )

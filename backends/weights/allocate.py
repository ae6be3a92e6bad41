"""Allocation: residual coordinates by linear scan over the wires' lives, and head slots in order."""

from __future__ import annotations

import heapq
from collections import Counter

from qgc.diagnostics import QgcError, fail
from qgc.ir.layout.layout import Clear, Layout, clear_terms
from qgc.ir.layout.layout_verify import output_faults
from qgc.ir.layout.schedule import Schedule
from qgc.ir.layout.schedule import lives as wire_lives
from qgc.ir.layout.shape import ModelShape
from qgc.ir.netlist.netlist import Netlist


def allocate(schedule: Schedule) -> Layout:
    """Give every wire a coordinate and every head a slot.

    Raises:
        QgcError: `layout-width` when more wires are alive at once than the residual stream is wide, with the layer and
            the numbers; `layout-units` when a layer has no unit left for the clears; `layout-output` when an output is
            not a wire of its own.
    """
    netlist, shape = schedule.netlist, schedule.shape
    if faults := list(output_faults(netlist, {})):
        raise QgcError(*faults)
    constants = tuple(range(shape.constants))
    code = {name: shape.constants + i for i, name in enumerate(netlist.outputs)}
    outputs: set[int] = {w for s in netlist.outputs.values() for w, _ in s.terms}
    lives = wire_lives(schedule)
    fresh = iter(range(shape.constants + len(code), shape.hidden))
    coordinate = [-1] * len(netlist.wires)
    free: list[tuple[int, int]] = []  # (time of death, wire): coordinates wanted least recently come first
    alive: list[tuple[int, int]] = []
    clears = []
    room = _Room(shape, schedule)
    for born, wire in sorted((born, w) for w, (born, _) in enumerate(lives)):
        if wire in outputs:
            continue
        while alive and _clear_layer(alive[0][0]) * 2 + 1 <= born:
            heapq.heappush(free, heapq.heappop(alive))
        slot = next(fresh, None)
        if slot is None:
            if not free:
                raise _too_narrow(shape, born, lives, outputs)
            died, old = heapq.heappop(free)
            slot = coordinate[old]
            clears.append(Clear(old, room.take(netlist, old, _clear_layer(died), (born - 1) // 2)))
        coordinate[wire] = slot
        heapq.heappush(alive, (lives[wire][1], wire))
    clears.sort(key=lambda c: (c.layer, c.wire))
    return Layout(schedule, tuple(coordinate), _head_slots(schedule, shape), constants, code, tuple(clears))


def _clear_layer(died: int) -> int:
    """The first layer whose units can clear a wire last read at a time: the same layer, whether by head or unit."""
    return died // 2


class _Room:
    """Units that each layer has left for clears."""

    def __init__(self, shape: ModelShape, schedule: Schedule) -> None:
        used = Counter(schedule.unit_layer)
        used[schedule.layers - 1] += 1  # the output stage
        self.left = [shape.intermediate - used[layer] for layer in range(schedule.layers)]

    def take(self, netlist: Netlist, wire: int, first: int, last: int) -> int:
        """The layer from `first` to `last` with the most room; takes the units of one clear from it."""
        need = len(clear_terms(netlist, wire))
        layer = max(range(first, last + 1), key=lambda n: (self.left[n], -n))
        if self.left[layer] < need:
            raise fail(
                "layout-units",
                f"no unit is left in layers {first} to {last} to clear {netlist.wires[wire].name}",
            )
        self.left[layer] -= need
        return layer


def _too_narrow(shape: ModelShape, time: int, lives: list[tuple[int, int]], outputs: set[int]) -> Exception:
    need = max(
        sum(1 for w, (born, died) in enumerate(lives) if born <= t < died and w not in outputs)
        for t in range(1, max(died for _, died in lives) + 1, 2)
    )
    return fail(
        "layout-width",
        f"shape {shape.name!r} is too narrow: layer {time // 2} needs a wire more than hidden size {shape.hidden} holds",
        hint=f"about {need + shape.constants + 32} coordinates are needed at the widest point",
    )


def _head_slots(schedule: Schedule, shape: ModelShape) -> tuple[int, ...]:
    """Heads of a layer take its slots in order of their numbers."""
    used: Counter[int] = Counter()
    slots = []
    for layer in schedule.head_layer:
        slots.append(used[layer] * (shape.value_heads // shape.heads))
        used[layer] += 1
    return tuple(slots)

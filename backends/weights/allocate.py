"""Allocation: residual coordinates by linear scan over the wires' lives, and head slots in order."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Collection
from itertools import islice

from qgc.diagnostics import QgcError, fail
from qgc.ir.layout.layout import Clear, Layout, clear_terms
from qgc.ir.layout.layout_verify import MOST_LEFT, output_faults
from qgc.ir.layout.schedule import Schedule
from qgc.ir.layout.schedule import lives as wire_lives
from qgc.ir.layout.shape import ModelShape


def allocate(schedule: Schedule, reserved: Collection[int] = ()) -> Layout:
    """Give every wire a coordinate and every head a slot; coordinates in `reserved` are nobody's.

    Raises:
        QgcError: `layout-width` when more wires are alive at once than the residual stream is wide, with the layer and
            the numbers; `layout-units` when a layer has no unit left for the clears; `layout-output` when an output is
            not a wire of its own.
    """
    netlist, shape = schedule.netlist, schedule.shape
    if faults := list(output_faults(netlist, {})):
        raise QgcError(*faults)
    fresh = (c for c in range(shape.hidden) if c not in reserved)
    constants = tuple(islice(fresh, shape.constants))
    code = dict(zip(netlist.outputs, islice(fresh, len(netlist.outputs)), strict=True))
    outputs: set[int] = {w for s in netlist.outputs.values() for w, _ in s.terms}
    lives = wire_lives(schedule)
    coordinate = [-1] * len(netlist.wires)
    free: list[tuple[int, int]] = []  # (time of death, wire): coordinates wanted least recently come first
    alive: list[tuple[int, int]] = []
    windows: list[tuple[int, int, int]] = []  # (first layer, last layer, wire to clear)
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
            windows.append((_clear_layer(died), (born - 1) // 2, old))
        coordinate[wire] = slot
        heapq.heappush(alive, (lives[wire][1], wire))
    windows += _strong_leftovers(schedule, coordinate, lives, {wire for *_, wire in windows})
    clears = _place_clears(schedule, windows)
    return Layout(schedule, tuple(coordinate), _head_slots(schedule, shape), constants, code, clears)


def _strong_leftovers(
    schedule: Schedule, coordinate: list[int], lives: list[tuple[int, int]], cleared: set[int]
) -> list[tuple[int, int, int]]:
    """Windows for wires that nobody else clears, and that would weigh beside the next token's code at the end."""
    wires = schedule.netlist.wires
    fields = {coordinate[w] for w, info in enumerate(wires) if info.token_field}
    return [
        (_clear_layer(lives[w][1]), schedule.layers - 1, w)
        for w, info in enumerate(wires)
        if coordinate[w] in fields and w not in cleared and max(-info.low, info.high) > MOST_LEFT
    ]


def _clear_layer(died: int) -> int:
    """The first layer whose units can clear a wire last read at a time: the same layer, whether by head or unit."""
    return died // 2


def _place_clears(schedule: Schedule, windows: list[tuple[int, int, int]]) -> tuple[Clear, ...]:
    """A layer for every clear within its window, in order of layer and wire.

    Layer by layer, the clears whose windows end first go first: earliest deadline first, which finds places for jobs of
    one unit whenever there are any.
    """
    used = Counter(schedule.unit_layer)
    used[schedule.layers - 1] += 1  # the output stage
    todo = deque(sorted(windows))
    due: list[tuple[int, int]] = []
    clears = []
    for layer in range(schedule.layers):
        while todo and todo[0][0] <= layer:
            _, last, wire = todo.popleft()
            heapq.heappush(due, (last, wire))
        left = schedule.shape.intermediate - used[layer]
        while due and (need := len(clear_terms(schedule.netlist, due[0][1]))) <= left:
            left -= need
            clears.append(Clear(heapq.heappop(due)[1], layer))
        if due and due[0][0] <= layer:
            raise fail(
                "layout-units",
                f"no unit is left in layer {layer} to clear {schedule.netlist.wires[due[0][1]].name}",
            )
    return tuple(sorted(clears, key=lambda c: (c.layer, c.wire)))


def _too_narrow(shape: ModelShape, time: int, lives: list[tuple[int, int]], outputs: set[int]) -> Exception:
    need = max(
        sum(1 for w, (born, died) in enumerate(lives) if born <= t < died and w not in outputs)
        for t in range(1, max(died for _, died in lives) + 1, 2)
    )
    return fail(
        "layout-width",
        f"shape {shape.name!r} is too narrow: layer {time // 2} needs a wire more than hidden size {shape.hidden} holds",
        hint=f"about {need + shape.constants + 32} coordinates are needed at the widest point; take a wider shape, such as qwen3.5-2b",
    )


def _head_slots(schedule: Schedule, shape: ModelShape) -> tuple[int, ...]:
    """Heads of a layer take its slots in order of their numbers."""
    used: Counter[int] = Counter()
    slots = []
    for layer in schedule.head_layer:
        slots.append(used[layer] * (shape.value_heads // shape.heads))
        used[layer] += 1
    return tuple(slots)

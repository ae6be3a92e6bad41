"""Scheduling: a layer for every unit and head, within the width of the MLP and the number of heads.

List scheduling in both directions. Forward, by longest remaining path, finds how many layers it takes. Backward, every
node moves as late as its readers allow, so that reads and decodes happen where they are used. Last, what consumes more
wires than it makes (a sum, a summary, a latch) moves early again: it is live wires that are scarce.
"""

from __future__ import annotations

import heapq

from qgc.diagnostics import fail
from qgc.ir.layout.schedule import Schedule
from qgc.ir.layout.shape import ModelShape
from qgc.ir.netlist.graph import Graph
from qgc.ir.netlist.netlist import Netlist

_SHARE = 0.9
"""Part of the MLP's units that the schedule may use; the rest clears wires."""


def schedule(netlist: Netlist, shape: ModelShape) -> Schedule:
    """Schedule a netlist into as few layers of the shape as list scheduling finds.

    Raises:
        QgcError: `netlist-cycle`; `schedule-rows` when a head has more rows than a key has dimensions, `schedule-width` when the MLP is too
            narrow for any unit.
    """
    for head in netlist.heads:
        if head.rows > shape.head_dim:
            raise fail(
                "schedule-rows",
                f"head {head.name} has {head.rows} rows; a key of shape {shape.name!r} has {shape.head_dim} dimensions",
                hint="a bank of memory, a register file, the ROM and the constant bank each have at most so many rows",
            )
    graph = Graph(netlist)
    graph.depths()  # refuses cycles, for which the loops below would find no end
    order = graph.order()
    limit = (shape.heads, int(shape.intermediate * _SHARE))
    if limit[1] < 1:
        raise fail(
            "schedule-width", f"shape {shape.name!r}: intermediate {shape.intermediate} leaves no unit to use"
        )
    tail = _tails(graph, order)
    forward = _list_schedule(graph, tail, limit)
    length = max(forward, default=0) // 2 + 1
    times = _as_late_as_possible(graph, forward, length, limit)
    _pull_early(graph, times, limit)
    layers = [t // 2 for t in times]
    units = len(netlist.units)
    return Schedule(netlist, shape, length, tuple(layers[:units]), tuple(layers[units:]))


def _tails(graph: Graph, order: list[int]) -> list[int]:
    """For each node the half steps from it to the end of the longest chain that it begins."""
    tail = [0] * len(order)
    for node in reversed(order):
        for wire in graph.writes[node]:
            for reader in graph.readers[wire]:
                gap = 1 if graph.parity[reader] != graph.parity[node] else 2
                tail[node] = max(tail[node], tail[reader] + gap)
    return tail


def _list_schedule(graph: Graph, tail: list[int], limit: tuple[int, int]) -> list[int]:
    """Earliest times within the limits, most critical nodes first."""
    open_writers = [len(w) for w in graph.writers]
    open_reads = [sum(1 for w in wires if open_writers[w]) for wires in graph.reads]
    times = [-1] * len(tail)
    waiting: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for node, count in enumerate(open_reads):
        if count == 0:
            heapq.heappush(waiting[graph.parity[node]], (-tail[node], node))
    left, time = len(tail), 0
    while left:
        heap = waiting[time % 2]
        chosen = [heapq.heappop(heap)[1] for _ in range(min(limit[time % 2], len(heap)))]
        for node in chosen:
            times[node] = time
            for wire in graph.writes[node]:
                open_writers[wire] -= 1
                if open_writers[wire] == 0:
                    for reader in graph.readers[wire]:
                        open_reads[reader] -= 1
                        if open_reads[reader] == 0:
                            heapq.heappush(waiting[graph.parity[reader]], (-tail[reader], reader))
        left -= len(chosen)
        time += 1
    return times


def _as_late_as_possible(graph: Graph, forward: list[int], length: int, limit: tuple[int, int]) -> list[int]:
    """Move nodes late, last ones first, into layers that have room; never before their forward time.

    The forward schedule is feasible, so a node always finds room at its forward time at the latest: nodes that have not
    moved yet keep their place reserved there.
    """
    used = [0] * (2 * length)
    for time in forward:
        used[time] += 1
    times = list(forward)
    for node in sorted(range(len(forward)), key=lambda n: (-forward[n], n)):
        last = 2 * length - 1
        for wire in graph.writes[node]:
            for reader in graph.readers[wire]:
                last = min(last, times[reader] - 1)
        time = last if last % 2 == graph.parity[node] else last - 1
        while time > forward[node] and used[time] >= limit[time % 2]:
            time -= 2
        used[forward[node]] -= 1
        used[time] += 1
        times[node] = time
    return times


_MANY = 200
"""A wire with more readers than this is taken to live long whatever moves."""


def _pull_early(graph: Graph, times: list[int], limit: tuple[int, int]) -> None:
    """Move groups of nodes (the writers of a wire, or one head) early where that shortens the lives of wires."""
    used = [0] * (max(times, default=0) + 1)
    for time in times:
        used[time] += 1
    groups = [writers for writers in graph.writers if writers and all(graph.parity[n] for n in writers)]
    groups += [[node] for node, parity in enumerate(graph.parity) if parity == 0]
    groups.sort(key=lambda group: (max(times[n] for n in group), group))
    for group in groups:
        moved = _earliest(graph, times, used, group, limit)
        if moved and _gain(graph, times, group, moved) > 0:
            for node, time in moved.items():
                used[times[node]] -= 1
                used[time] += 1
                times[node] = time


def _earliest(
    graph: Graph, times: list[int], used: list[int], group: list[int], limit: tuple[int, int]
) -> dict[int, int]:
    """The earliest time with room for each node of a group; empty when none can move."""
    taken: dict[int, int] = {}
    moved = {}
    for node in group:
        ready = max((times[w] for wire in graph.reads[node] for w in graph.writers[wire]), default=-1) + 1
        time = ready if ready % 2 == graph.parity[node] else ready + 1
        while time < times[node] and used[time] + taken.get(time, 0) >= limit[time % 2]:
            time += 2
        if time < times[node]:
            moved[node] = time
            taken[time] = taken.get(time, 0) + 1
    return moved


def _gain(graph: Graph, times: list[int], group: list[int], moved: dict[int, int]) -> int:
    """Half steps of wire life that a move saves: reads that end earlier, less targets that begin earlier."""
    members = set(group)
    gain = 0
    for wire in sorted({w for node in group for w in graph.reads[node]}):
        readers = graph.readers[wire]
        if len(readers) > _MANY:
            continue
        others = max((times[r] for r in readers if r not in members), default=-1)
        inside = [r for r in readers if r in members]
        before = max(times[r] for r in inside)
        after = max(moved.get(r, times[r]) for r in inside)
        gain += max(before, others) - max(after, others)
    for wire in sorted({w for node in group for w in graph.writes[node]}):
        writers = graph.writers[wire]
        gain -= min(times[n] for n in writers) - min(moved.get(n, times[n]) for n in writers)
    return gain

"""What holds for every `Schedule`. Each line is one stable code.

    netlist-*         the netlist is in order, and nothing in it is dead
    schedule-size     every unit and every head has a layer, from 0 up to the number of layers, and the last one is in use
    schedule-order    a node runs after the writers of what it reads: heads before units within a layer
    schedule-units    a layer has at most `intermediate` units
    schedule-heads    a layer has at most `heads` heads
    schedule-rows     a head's rows fit its key dimension

Everything is checked when the netlist is in order, and all faults are reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from qgc.diagnostics import Diagnostic, Span, VerifyError
from qgc.ir.layout.schedule import Schedule
from qgc.ir.layout.schedule_text import parse_with_places
from qgc.ir.netlist.graph import Graph
from qgc.ir.netlist.verify import verify as verify_netlist


def verify(schedule: Schedule, places: Mapping[str, Span] | None = None) -> None:
    """Check every invariant of this module.

    Raises:
        VerifyError: all faults of the netlist, or else all of the schedule.
    """
    places = places or {}
    verify_netlist(schedule.netlist, places, is_pruned=True)
    faults = list(_sizes(schedule, places)) or list(_order(schedule, places))
    faults += _limits(schedule, places)
    if faults:
        raise VerifyError(*faults)


def load(text: str, file: str = "<schedule>") -> Schedule:
    """Parse a schedule and verify it, with faults placed in the text. Raises QgcError as `parse` and `verify` do."""
    schedule, places = parse_with_places(text, file)
    verify(schedule, places)
    return schedule


def node_name(schedule: Schedule, node: int) -> str:
    """`unit 3` or `head 0`: where a node stands in texts."""
    units = len(schedule.netlist.units)
    return f"unit {node}" if node < units else f"head {node - units}"


def _sizes(schedule: Schedule, places: Mapping[str, Span]) -> Iterator[Diagnostic]:
    netlist = schedule.netlist
    for what, parts, layers in (
        ("units", netlist.units, schedule.unit_layer),
        ("heads", netlist.heads, schedule.head_layer),
    ):
        if len(parts) != len(layers):
            yield Diagnostic("schedule-size", f"{len(parts)} {what}, and layers for {len(layers)}")
        for number, layer in enumerate(layers):
            if not 0 <= layer < schedule.layers:
                place = f"{what[:-1]} {number}"
                message = f"{place}: layer {layer}; there are {schedule.layers}"
                yield Diagnostic("schedule-size", message, places.get(place))
    used = 1 + max([*schedule.unit_layer, *schedule.head_layer], default=0)
    if used < schedule.layers:
        yield Diagnostic("schedule-size", f"{schedule.layers} layers, and nothing after layer {used - 1}")


def _order(schedule: Schedule, places: Mapping[str, Span]) -> Iterator[Diagnostic]:
    graph, times = Graph(schedule.netlist), schedule.times
    written = [max((times[n] for n in nodes), default=-1) for nodes in graph.writers]
    for node, wires in enumerate(graph.reads):
        for wire in wires:
            if written[wire] >= times[node]:
                place = node_name(schedule, node)
                last = node_name(schedule, max(graph.writers[wire], key=lambda n: times[n]))
                message = (
                    f"{place} in layer {times[node] // 2} reads {schedule.netlist.wires[wire].name}, "
                    f"which {last} adds to in layer {written[wire] // 2}"
                )
                yield Diagnostic("schedule-order", message, places.get(place))


def _limits(schedule: Schedule, places: Mapping[str, Span]) -> Iterator[Diagnostic]:
    shape = schedule.shape
    for what, layers, limit in (
        ("units", schedule.unit_layer, shape.intermediate),
        ("heads", schedule.head_layer, shape.heads),
    ):
        for layer, count in sorted(Counter(layers).items()):
            if count > limit:
                message = f"layer {layer} has {count} {what}; shape {shape.name!r} has {limit}"
                yield Diagnostic(f"schedule-{what}", message)
    for number, head in enumerate(schedule.netlist.heads):
        if head.rows > shape.head_dim:
            message = f"head {head.name!r} has {head.rows} rows; a key has {shape.head_dim} dimensions"
            yield Diagnostic("schedule-rows", message, places.get(f"head {number}"))

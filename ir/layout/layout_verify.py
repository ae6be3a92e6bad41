"""What holds for every `Layout`. Each line is one stable code.

    netlist-*, schedule-*   the schedule is in order
    layout-size        every wire has a coordinate or none, every head a slot, every output a code
    layout-coordinate  coordinates are below `hidden`; constants, codes and wires never share one
    layout-constant    as many constants as the shape needs
    layout-output      an output is a wire of its own that nothing reads, and only such a wire has no coordinate
    layout-share       a wire is written only when the wires before it on its coordinate are cleared
    layout-clear       a clear comes after the wire's last write and not before its last read, once, in order of layers
    layout-slot        heads of a layer have different slots, each on a key head of its own
    layout-units       the units of a layer, clears and the output stage included, fit `intermediate`
    layout-norm        what a layer reads is so small beside the constant that RMSNorm's factor is the same in float32
    layout-margin      what is left on the token's coordinates is small beside the next token's code

Everything is checked when the schedule is in order; what needs coordinates, when every wire has its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

from qgc.diagnostics import Diagnostic, Span, VerifyError
from qgc.ir.layout.layout import Layout, clear_terms
from qgc.ir.layout.layout_text import parse_with_places
from qgc.ir.layout.schedule import lives
from qgc.ir.layout.schedule_verify import verify as verify_schedule
from qgc.ir.layout.weights import CODE_LEVEL, CONSTANT
from qgc.ir.netlist.graph import Graph
from qgc.ir.netlist.netlist import Netlist

NORM_BITS = 24
"""Of a float32 significand: a sum of squares below 2**-24 of the constant's rounds to the constant's."""

MOST_LEFT = CODE_LEVEL / 4
"""How much a wire may leave on a coordinate of the token."""


def verify(layout: Layout, places: Mapping[str, Span] | None = None) -> None:
    """Check every invariant of this module.

    Raises:
        VerifyError: all faults of the schedule, or else of the layout; those that need coordinates only when all wires
            have them.
    """
    verify_schedule(layout.schedule, places)
    checker = _Checker(layout, places or {})
    faults = list(checker.sizes())
    if not faults:
        faults = list(checker.places_of_wires()) or [*checker.sharing(), *checker.strength()]
        faults += [*checker.slots(), *checker.units()]
    if faults:
        raise VerifyError(*faults)


def load(text: str, file: str = "<layout>") -> Layout:
    """Parse a layout and verify it, with faults placed in the text. Raises QgcError as `parse` and `verify` do."""
    layout, places = parse_with_places(text, file)
    verify(layout, places)
    return layout


def output_faults(netlist: Netlist, places: Mapping[str, Span]) -> Iterator[Diagnostic]:
    """What keeps outputs from being laid out: each must be a wire of its own."""
    readers = Graph(netlist).readers
    uses = Counter(wire for signal in netlist.outputs.values() for wire, _ in signal.terms)
    for name, signal in netlist.outputs.items():
        message = None
        if signal.const or len(signal.terms) != 1 or signal.terms[0][1] != 1:
            message = "the signal is not a wire"
        elif uses[wire := signal.terms[0][0]] > 1 or readers[wire] or netlist.wires[wire].token_field:
            message = "the wire is read, is a token's, or is another output's"
        if message:
            yield Diagnostic("layout-output", f"output {name}: {message}", places.get(f"output {name}"))


class _Checker:
    def __init__(self, layout: Layout, places: Mapping[str, Span]) -> None:
        self.layout = layout
        self.netlist = layout.netlist
        self.places = places
        self.graph = Graph(layout.netlist)
        self.times = layout.schedule.times
        self.lives = lives(layout.schedule)
        self.output_wires = [s.terms[0][0] for s in layout.netlist.outputs.values() if s.terms]
        self.last = 2 * layout.schedule.layers - 1
        self.gone = {clear.wire: 2 * clear.layer + 1 for clear in layout.clears}

    def _fault(self, code: str, place: str, message: str) -> Diagnostic:
        kind, _, number = place.partition(" ")
        name = f"wire {self.netlist.wires[int(number)].name!r}" if kind == "wire" else place
        return Diagnostic(f"layout-{code}", f"{name}: {message}", self.places.get(place))

    def sizes(self) -> Iterator[Diagnostic]:
        """Faults of what is missing, or too much."""
        layout = self.layout
        for what, parts, found in (
            ("wires", len(self.netlist.wires), len(layout.coordinate)),
            ("heads", len(self.netlist.heads), len(layout.head_slot)),
            ("outputs", list(self.netlist.outputs), list(layout.code)),
        ):
            if parts != found:
                yield Diagnostic("layout-size", f"{what}: {parts}; the layout has {found}")

    def places_of_wires(self) -> Iterator[Diagnostic]:
        """Faults of coordinates, constants and outputs, without regard to time."""
        layout, hidden = self.layout, self.layout.shape.hidden
        if len(layout.constants) != layout.shape.constants:
            message = f"{len(layout.constants)} constants; shape {layout.shape.name!r} needs {layout.shape.constants}"
            yield Diagnostic("layout-constant", message)
        yield from self._outputs()
        fixed = Counter([*layout.constants, *layout.code.values()])
        for coordinate, count in sorted(fixed.items()):
            if count > 1 or not 0 <= coordinate < hidden:
                message = f"coordinate {coordinate} holds {count} constants and codes; coordinates are below {hidden}"
                yield Diagnostic("layout-coordinate", message)
        for wire, coordinate in enumerate(layout.coordinate):
            if wire not in self.output_wires and (coordinate in fixed or not 0 <= coordinate < hidden):
                message = f"coordinate {coordinate} is a constant's, a code's, or not below {hidden}"
                yield self._fault("coordinate", f"wire {wire}", message)

    def _outputs(self) -> Iterator[Diagnostic]:
        yield from output_faults(self.netlist, self.places)
        for wire in self.output_wires:
            if self.layout.coordinate[wire] != -1:
                yield self._fault("output", f"wire {wire}", "an output's wire has a coordinate of its own")

    def sharing(self) -> Iterator[Diagnostic]:
        """Faults of clears, and of wires that share a coordinate."""
        seen: set[int] = set()
        before = -1
        for number, clear in enumerate(self.layout.clears):
            place, time = f"clear {number}", 2 * clear.layer + 1
            name = self.netlist.wires[clear.wire].name
            written = max((self.times[n] for n in self.graph.writers[clear.wire]), default=-1)
            if (
                not 0 <= clear.layer < self.layout.schedule.layers
                or clear.layer < before
                or clear.wire in seen
            ):
                yield self._fault(
                    "clear", place, f"{name} is cleared twice, or clears are not in order of layers"
                )
            if clear.wire in self.output_wires:
                yield self._fault("clear", place, f"{name} is an output")
            elif time < self.lives[clear.wire][1] or time <= written:
                yield self._fault(
                    "clear", place, f"{name} is still written or read in layer {clear.layer} or later"
                )
            seen.add(clear.wire)
            before = clear.layer
        owners: dict[int, list[int]] = defaultdict(list)
        for wire in sorted(range(len(self.lives)), key=lambda w: (self.lives[w][0], w)):
            if wire not in self.output_wires:
                owners[self.layout.coordinate[wire]].append(wire)
        for coordinate, wires in sorted(owners.items()):
            for old, new in pairwise(wires):
                if self.gone.get(old, self.last + 1) > self.lives[new][0]:
                    message = f"coordinate {coordinate} still holds {self.netlist.wires[old].name}"
                    yield self._fault("share", f"wire {new}", message)

    def strength(self) -> Iterator[Diagnostic]:
        """Faults of wires that are too strong beside the constant or the code."""
        layer, energy = self._energy()
        limit = len(self.layout.constants) * CONSTANT**2 / (1 << NORM_BITS)
        if energy >= limit:
            message = f"layer {layer} reads squares of up to {energy:g}; RMSNorm feels {limit:g}"
            yield Diagnostic("layout-norm", message)
        fields = {self.layout.coordinate[w] for w, info in enumerate(self.netlist.wires) if info.token_field}
        for wire, info in enumerate(self.netlist.wires):
            is_left = wire not in self.gone and self.layout.coordinate[wire] in fields
            if is_left and max(-info.low, info.high) > MOST_LEFT:
                message = (
                    f"up to {info.high} is left on a coordinate of the token; the code is {CODE_LEVEL:g}"
                )
                yield self._fault("margin", f"wire {wire}", message)

    def _energy(self) -> tuple[int, float]:
        """The most that the squares of what a half step reads sum to, constants aside, and in which layer."""
        change: dict[int, float] = defaultdict(float)
        for wire, info in enumerate(self.netlist.wires):
            level = 2 * CODE_LEVEL if wire in self.output_wires else 1.0
            square = (level * max(-info.low, info.high)) ** 2
            change[self.lives[wire][0] + 1] += square
            change[self.gone.get(wire, self.last) + 1] -= square
        worst, total = (0, 0.0), 0.0
        for time in sorted(change):
            total += change[time]
            if total > worst[1] and time <= self.last:
                worst = time // 2, total
        return worst

    def slots(self) -> Iterator[Diagnostic]:
        """Faults of head slots."""
        shape, used = self.layout.shape, set[tuple[int, int]]()
        share = shape.value_heads // shape.heads
        for number, (layer, slot) in enumerate(
            zip(self.layout.schedule.head_layer, self.layout.head_slot, strict=True)
        ):
            place = f"head {number}"
            if not 0 <= slot < shape.value_heads:
                yield self._fault("slot", place, f"slot {slot}; a layer has {shape.value_heads}")
            if (layer, slot // share) in used:
                yield self._fault(
                    "slot", place, f"another head of layer {layer} has the key head of slot {slot}"
                )
            used.add((layer, slot // share))

    def units(self) -> Iterator[Diagnostic]:
        """Faults of layers that are too full with clears and the output stage."""
        used = Counter(self.layout.schedule.unit_layer)
        for clear in self.layout.clears:
            used[clear.layer] += len(clear_terms(self.netlist, clear.wire))
        used[self.layout.schedule.layers - 1] += 1
        for layer, count in sorted(used.items()):
            if count > self.layout.shape.intermediate:
                message = f"layer {layer} has {count} units with clears; a layer has {self.layout.shape.intermediate}"
                yield Diagnostic("layout-units", message)

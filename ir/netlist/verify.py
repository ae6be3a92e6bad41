"""What holds for every `Netlist` that is scheduled. Each line is one stable code.

    netlist-name      wires and heads have names, no two wires and no two heads the same
    netlist-wire      signals and terms name wires, units, heads and bits that exist
    netlist-number    coefficients and constants are exact in bfloat16: at most 8 significant bits
    netlist-range     a wire's range holds 0, which it is before it is written, and starts below its end
    netlist-token     a token's wire is called like its field, and nothing adds to it
    netlist-unit      a unit adds something: its gate is not a constant 0 or less, and its other factor not 0
    netlist-head      a head has rows, 1 to 32 data bits, and two keys with bits enough to tell its rows apart
    netlist-counter   a head that counts (`scale`) has one row of one bit, and its scale is a power of two
    netlist-output    there are outputs, and they have names
    netlist-cycle     no wire depends on itself within a token
    netlist-dead      outputs depend on every unit, head and wire but the token's (checked before scheduling)

What depends on values is checked by the evaluator as it runs: bits are bits, keys name rows, wires keep their ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from qgc.diagnostics import Diagnostic, QgcError, Span, VerifyError
from qgc.ir.netlist.graph import Graph, head_signals, reached
from qgc.ir.netlist.netlist import HEAD_BITS, FromUnit, Head, Netlist, Number, Signal, Term
from qgc.ir.netlist.text import NAME, parse_with_places

SIGNIFICANT_BITS = 8
"""Of a bfloat16 number, the leading one included."""

_DEAD_SHOWN = 20
"""How many dead parts are reported one by one."""


def verify(netlist: Netlist, places: Mapping[str, Span] | None = None, is_pruned: bool = False) -> None:
    """Check every invariant of this module.

    Args:
        netlist: the netlist.
        places: where its parts stand in a text (`text.parse_with_places`).
        is_pruned: also check that nothing is dead.

    Raises:
        VerifyError: all faults. Cycles and dead parts are looked for when everything else is in order.
    """
    checker = _Checker(netlist, places or {})
    faults = list(checker.faults()) or list(checker.cycles()) or (list(checker.dead()) if is_pruned else [])
    if faults:
        raise VerifyError(*faults)


def load(text: str, file: str = "<netlist>") -> Netlist:
    """Parse a netlist and verify it, with faults placed in the text. Raises QgcError as `parse` and `verify` do."""
    netlist, places = parse_with_places(text, file)
    verify(netlist, places)
    return netlist


def is_exact(value: Number, bits: int = SIGNIFICANT_BITS) -> bool:
    """Whether a number is finite and has at most so many significant bits."""
    if not isfinite(value):
        return False
    numerator = abs(float(value).as_integer_ratio()[0])
    return numerator == 0 or (numerator // (numerator & -numerator)).bit_length() <= bits


class _Checker:
    def __init__(self, netlist: Netlist, places: Mapping[str, Span]) -> None:
        self.netlist = netlist
        self.places = places

    def _fault(self, code: str, place: str, message: str) -> Diagnostic:
        return Diagnostic(f"netlist-{code}", f"{self._name(place)}: {message}", self.places.get(place))

    def _name(self, place: str) -> str:
        """A wire or head by its name, everything else as it is."""
        kind, _, number = place.partition(" ")
        named: Mapping[str, Sequence[object]] = {"wire": self.netlist.wires, "head": self.netlist.heads}
        return f"{kind} {named[kind][int(number)].name!r}" if kind in named else place  # type: ignore[attr-defined]

    def faults(self) -> Iterator[Diagnostic]:
        """Every fault but cycles and dead parts, in order of wires, units, heads, outputs."""
        yield from self._names("wire", [info.name for info in self.netlist.wires])
        yield from self._wires()
        for number, unit in enumerate(self.netlist.units):
            place = f"unit {number}"
            yield from self._signal(place, unit.gate)
            yield from self._signal(place, unit.up)
            if unit.gate.is_const and unit.gate.const <= 0:
                yield self._fault("unit", place, f"the gate is always {unit.gate.const}")
            if unit.up.is_const and unit.up.const == 0:
                yield self._fault("unit", place, "the factor beside the gate is always 0")
        yield from self._names("head", [head.name for head in self.netlist.heads])
        for number, head in enumerate(self.netlist.heads):
            yield from self._head(f"head {number}", head)
        if not self.netlist.outputs:
            yield Diagnostic("netlist-output", "the netlist has no output")
        for name, signal in self.netlist.outputs.items():
            if not NAME.fullmatch(name):
                yield self._fault("output", f"output {name}", "this is not a name")
            yield from self._signal(f"output {name}", signal)

    def _names(self, kind: str, names: Sequence[str]) -> Iterator[Diagnostic]:
        seen: set[str] = set()
        for number, name in enumerate(names):
            if not NAME.fullmatch(name):
                yield self._fault("name", f"{kind} {number}", "this is not a name")
            if name in seen:
                yield self._fault("name", f"{kind} {number}", f"{kind} {number} has the name of another one")
            seen.add(name)

    def _wires(self) -> Iterator[Diagnostic]:
        for number, info in enumerate(self.netlist.wires):
            place = f"wire {number}"
            if not info.low <= 0 <= info.high or info.low == info.high:
                yield self._fault("range", place, f"{info.low}..{info.high} is no range around 0")
            if info.token_field is not None and (info.token_field != info.name or info.terms):
                yield self._fault("token", place, "a token's wire has its field's name, and no terms")
            for term in info.terms:
                yield from self._term(place, term)

    def _term(self, place: str, term: Term) -> Iterator[Diagnostic]:
        if isinstance(term, FromUnit):
            if not 0 <= term.unit < len(self.netlist.units):
                yield self._fault("wire", place, f"there is no unit {term.unit}")
            yield from self._number(place, term.coefficient)
            if term.coefficient == 0:
                yield self._fault("number", place, "a term is 0")
        elif not 0 <= term.head < len(self.netlist.heads):
            yield self._fault("wire", place, f"there is no head {term.head}")
        elif not 0 <= term.bit < len(self.netlist.heads[term.head].data):
            yield self._fault(
                "wire", place, f"head {self.netlist.heads[term.head].name!r} has no bit {term.bit}"
            )

    def _number(self, place: str, value: Number) -> Iterator[Diagnostic]:
        if not is_exact(value):
            yield self._fault("number", place, f"{value} has more than {SIGNIFICANT_BITS} significant bits")

    def _signal(self, place: str, signal: Signal) -> Iterator[Diagnostic]:
        yield from self._number(place, signal.const)
        last = -1
        for wire, coefficient in signal.terms:
            yield from self._number(place, coefficient)
            if not 0 <= wire < len(self.netlist.wires):
                yield self._fault("wire", place, f"there is no wire {wire}")
            if wire <= last or coefficient == 0:
                yield self._fault("wire", place, "a signal's terms are in order of wires, and none is 0")
            last = wire

    def _head(self, place: str, head: Head) -> Iterator[Diagnostic]:
        for signal in head_signals(head):
            yield from self._signal(place, signal)
        if not 1 <= len(head.data) <= HEAD_BITS:
            yield self._fault("head", place, f"{len(head.data)} data bits; a row holds 1 to {HEAD_BITS}")
        for what, key in (("write", head.write_key), ("read", head.read_key)):
            if not 1 <= head.rows <= 1 << len(key.bits):
                yield self._fault(
                    "head", place, f"{head.rows} rows, and a {what} key of {len(key.bits)} bits"
                )
        if head.scale is not None:
            if head.rows != 1 or len(head.data) != 1:
                yield self._fault("counter", place, f"a counter of {head.rows} rows of {len(head.data)} bits")
            if head.scale < 1 or head.scale & (head.scale - 1):
                yield self._fault("counter", place, f"the scale {head.scale} is no power of two")

    def cycles(self) -> Iterator[Diagnostic]:
        """The fault of a netlist that has a cycle."""
        try:
            Graph(self.netlist).depths()
        except QgcError as err:
            yield from err.diagnostics

    def dead(self) -> Iterator[Diagnostic]:
        """Parts that no output depends on."""
        wires, units, heads = reached(self.netlist)
        inner = [w for w, info in enumerate(self.netlist.wires) if info.token_field is None]
        dead = [f"wire {w}" for w in inner if w not in wires]
        dead += [f"unit {u}" for u in range(len(self.netlist.units)) if u not in units]
        dead += [f"head {h}" for h in range(len(self.netlist.heads)) if h not in heads]
        for place in dead[:_DEAD_SHOWN]:
            yield self._fault("dead", place, "no output depends on it; run dead-wires")
        if len(dead) > _DEAD_SHOWN:
            yield Diagnostic("netlist-dead", f"and {len(dead) - _DEAD_SHOWN} more; run dead-wires")

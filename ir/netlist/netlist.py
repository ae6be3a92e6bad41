"""What the `netlist` stage is: wires, units and heads; and the builder that circuits use.

Values are exact numbers. A *wire* is one number of the residual stream; it is the sum of what units and heads add to
it. A *signal* is an affine form over wires, so NOT, constants, weighted sums and bit slices cost nothing.

A *unit* is one SwiGLU neuron: `relu(gate) * up` for two signals. A *head* is one Gated DeltaNet head used as a memory:
rows addressed by a one-hot key, a row of bits stored in both polarities, overwritten whole.

Units and heads are created after the wires that they read, except that a wire may collect further terms later; the
verifier checks that the whole is acyclic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType

Wire = NewType("Wire", int)
Number = int | float


@dataclass(frozen=True, slots=True)
class Signal:
    """An affine form `const + sum(coefficient * wire)`; terms are sorted by wire and have no zeros.

    Coefficients are dyadic rationals (an int, or an exact float such as 0.5).
    """

    const: Number = 0
    terms: tuple[tuple[Wire, Number], ...] = ()

    def __add__(self, other: Signal | Number) -> Signal:
        if not isinstance(other, Signal):
            return Signal(self.const + other, self.terms)
        return total((self, other))

    __radd__ = __add__

    def __mul__(self, factor: Number) -> Signal:
        if factor == 0:
            return Signal()
        return Signal(self.const * factor, tuple((w, c * factor) for w, c in self.terms))

    __rmul__ = __mul__

    def __neg__(self) -> Signal:
        return self * -1

    def __sub__(self, other: Signal | Number) -> Signal:
        return self + -other

    def __rsub__(self, other: Number) -> Signal:
        return -self + other

    @property
    def is_const(self) -> bool:
        """Whether the signal reads no wire."""
        return not self.terms


def total(signals: Iterable[Signal], const: Number = 0) -> Signal:
    """The sum of many signals (linear in their terms, unlike repeated `+`)."""
    terms: dict[Wire, Number] = {}
    for signal in signals:
        const += signal.const
        for wire, coefficient in signal.terms:
            terms[wire] = terms.get(wire, 0) + coefficient
    return Signal(const, tuple(sorted((w, c) for w, c in terms.items() if c)))


ZERO, ONE = Signal(0), Signal(1)


@dataclass(frozen=True, slots=True)
class Unit:
    """One SwiGLU neuron: `relu(gate) * up`."""

    gate: Signal
    up: Signal


@dataclass(frozen=True, slots=True)
class Key:
    """Which row of a memory a head addresses.

    The row number's bits are `bits`, low first (0/1 signals); the row is addressed when all its literals hold.
    No bits: the memory has one row.
    """

    bits: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """One memory head: written, then read, by each token.

    Attributes:
        name: where it belongs, such as `s0.a.lane2`.
        rows: rows of the memory.
        data: 0/1 signals that a write stores.
        write: a signal; 1 writes, 0 and below leave the row, one half moves the row half way to `data`.
        write_key, read_key: row addresses.
        read: a signal; above 0 opens the output, else nothing is read. At most 1.
        scale: for counters: the stored value is `data` as it stands between 0 and 1, and a read gives `scale` times it.
            None: rows hold bits.
    """

    name: str
    rows: int
    data: tuple[Signal, ...]
    write: Signal
    write_key: Key
    read_key: Key
    read: Signal
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class FromUnit:
    """A wire's term: `coefficient` times the value of unit number `unit`."""

    unit: int
    coefficient: Number


@dataclass(frozen=True, slots=True)
class FromHead:
    """A wire's term: bit `bit` that head number `head` reads."""

    head: int
    bit: int


Term = FromUnit | FromHead


@dataclass(slots=True)
class WireInfo:
    """A wire: its name, the embedding field it stands for (None for computed wires), its range, and its terms.

    The range is a promise of the circuit that made the wire; the evaluator checks it, the layout clears by it.
    """

    name: str
    token_field: str | None = None
    low: int = 0
    high: int = 1
    terms: list[Term] = field(default_factory=list)


@dataclass(slots=True)
class Netlist:
    """A circuit: inputs from the token, wires, units, heads, and named outputs."""

    wires: list[WireInfo] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    outputs: dict[str, Signal] = field(default_factory=dict)


class Builder:
    """Grows a netlist. Equal units are made once; constant signals fold.

    Names are hierarchical: `with_scope("s0")` gives a builder whose wires are called `s0.…`.
    """

    def __init__(self, netlist: Netlist | None = None, scope: str = "") -> None:
        self.netlist = netlist or Netlist()
        self.scope = scope
        self._unit_numbers: dict[tuple[Signal, Signal], int] = {}

    def with_scope(self, name: str) -> Builder:
        """A builder on the same netlist for names below `name`."""
        child = Builder(self.netlist, f"{self.scope}{name}.")
        child._unit_numbers = self._unit_numbers
        return child

    def token(self, name: str) -> Signal:
        """A wire that the token's embedding sets; `name` is the field, outside any scope."""
        return self._wire(name, token_field=name)

    def wire(self, name: str, low: int = 0, high: int = 1) -> Signal:
        """A new wire without terms: its value is the sum of what is added to it, between `low` and `high`."""
        return self._wire(self.scope + name, None, low, high)

    def bus(self, name: str, width: int, high: int = 1) -> list[Signal]:
        """`width` new wires, `name[0]` first."""
        return [self.wire(f"{name}[{i}]", 0, high) for i in range(width)]

    def _wire(self, name: str, token_field: str | None = None, low: int = 0, high: int = 1) -> Signal:
        self.netlist.wires.append(WireInfo(name, token_field, low, high))
        return Signal(0, ((Wire(len(self.netlist.wires) - 1), 1),))

    def info(self, signal: Signal) -> WireInfo:
        """The wire of a signal that is exactly one wire."""
        if signal.const or len(signal.terms) != 1 or signal.terms[0][1] != 1:
            raise ValueError(f"{signal} is not a plain wire")
        return self.netlist.wires[signal.terms[0][0]]

    def add(self, target: Signal, gate: Signal, up: Signal | Number = 1, coefficient: Number = 1) -> None:
        """Add `coefficient * relu(gate) * up` to a wire. Terms that are always 0 are left out."""
        up = up if isinstance(up, Signal) else Signal(up)
        if (gate.is_const and gate.const <= 0) or (up.is_const and not up.const):
            return
        if up.is_const:
            coefficient, up = coefficient * up.const, ONE
        key = (gate, up)
        number = self._unit_numbers.setdefault(key, len(self.netlist.units))
        if number == len(self.netlist.units):
            self.netlist.units.append(Unit(gate, up))
        self.info(target).terms.append(FromUnit(number, coefficient))

    def head(self, head: Head, targets: Mapping[int, Sequence[Signal]]) -> None:
        """Add a head; bit `b` of what it reads goes to each wire of `targets[b]`."""
        number = len(self.netlist.heads)
        self.netlist.heads.append(head)
        for bit, wires in targets.items():
            for wire in wires:
                self.info(wire).terms.append(FromHead(number, bit))

    def memory(
        self,
        name: str,
        data: Sequence[Signal],
        write: Signal,
        write_key: Key = Key(),
        read_key: Key = Key(),
        rows: int = 1,
        read: Signal = ONE,
        out: Sequence[Signal] | None = None,
    ) -> list[Signal]:
        """A memory of `len(data)` bits a row on as many heads as it takes; returns the wires that read it.

        A head has at most `HEAD_ROWS` rows. Of a longer memory each head has that many, and is opened and written only
        when the upper bits of the row's number name it.
        """
        wires = list(out) if out is not None else self.bus(name, len(data))
        for page in range(-(-rows // HEAD_ROWS)):
            at = f".p{page}" if rows > HEAD_ROWS else ""
            writes, stored = _on_page(write, write_key, page, rows)
            reads, fetched = _on_page(read, read_key, page, rows)
            for low in range(0, len(data), HEAD_BITS):
                part = tuple(data[low : low + HEAD_BITS])
                suffix = f".{low // HEAD_BITS}" if len(data) > HEAD_BITS else ""
                self.head(
                    Head(
                        f"{self.scope}{name}{at}{suffix}",
                        min(rows, HEAD_ROWS),
                        part,
                        writes,
                        stored,
                        fetched,
                        reads,
                    ),
                    {i: [wires[low + i]] for i in range(len(part))},
                )
        return wires

    def output(self, name: str, signal: Signal) -> None:
        """Name a signal as an output of the netlist."""
        self.netlist.outputs[name] = signal


HEAD_BITS = 32
"""Bits of a row: both polarities of 32 bits are 32 ones of 128 dimensions, which RMSNorm reads back as exactly 2."""

HEAD_ROWS = 128
"""Rows of a head: the key dimensions of every Qwen3.5 model."""


def _on_page(when: Signal, key: Key, page: int, rows: int) -> tuple[Signal, Key]:
    """`when`, only for rows of one page: 1 when all holds, else at most 0; and the key within the page."""
    if rows <= HEAD_ROWS:
        return when, key
    low = HEAD_ROWS.bit_length() - 1
    literals = [bit if page >> i & 1 else 1 - bit for i, bit in enumerate(key.bits[low:])]
    return total([when, *literals], -len(literals)), Key(key.bits[:low])

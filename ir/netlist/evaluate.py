"""The reference evaluator of netlists: exact numbers, token by token.

It also checks what the layout relies on: bits are 0 or 1 where a head stores them, keys address one row, `write` and
`read` take only the values that they may, and every wire ends within its range.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail
from qgc.ir.netlist.graph import Graph, head_signals
from qgc.ir.netlist.netlist import FromUnit, Head, Netlist, Number, Signal

Values = NDArray[np.float64]
Indices = NDArray[np.int64]


def _sums(places: Indices, values: Values, size: int) -> Values:
    """The sum of the values of each place; numpy gives integers when there are none."""
    return np.bincount(places, values, size).astype(np.float64, copy=False)


class Affine:
    """Many signals as one sparse matrix; called with the values of all wires, it gives the value of every signal."""

    def __init__(self, signals: Sequence[Signal]) -> None:
        self.const = np.array([s.const for s in signals], dtype=np.float64)
        self.row = np.array([i for i, s in enumerate(signals) for _ in s.terms], dtype=np.int64)
        self.wire = np.array([w for s in signals for w, _ in s.terms], dtype=np.int64)
        self.coefficient = np.array([c for s in signals for _, c in s.terms], dtype=np.float64)

    def __call__(self, values: Values) -> Values:
        """The value of each signal."""
        products = self.coefficient * values[self.wire]
        return self.const + _sums(self.row, products, len(self.const))


@dataclass(frozen=True, slots=True)
class _Memory:
    """A head in its step: where its signals begin among those of the step's heads, and where its bits go."""

    number: int
    head: Head
    first: int
    bits: Indices
    wires: Indices


@dataclass(frozen=True, slots=True)
class _Step:
    """The nodes that run at one time: units, what they add to, and heads."""

    gate: Affine
    up: Affine
    target: Indices
    source: Indices
    coefficient: Values
    signals: Affine
    memories: tuple[_Memory, ...]


class Evaluator:
    """Runs a netlist; the memories of its heads live here between tokens.

    Attributes:
        state: for each head an array `[rows, bits]`; a row that was never written is all NaN and reads 0.
        values: of all wires, after the last token.
    """

    def __init__(self, netlist: Netlist, times: Sequence[int] | None = None) -> None:
        """Prepare a netlist.

        Args:
            netlist: a verified netlist.
            times: when each node runs (units, then heads); a node sees what was written at earlier times. By default
                as soon as all that it reads is complete.

        Raises:
            QgcError: `netlist-cycle`, without `times`.
        """
        self.netlist = netlist
        self.fields = {info.token_field: w for w, info in enumerate(netlist.wires) if info.token_field}
        self._low = np.array([info.low for info in netlist.wires], dtype=np.float64)
        self._high = np.array([info.high for info in netlist.wires], dtype=np.float64)
        self._outputs = Affine(list(netlist.outputs.values()))
        self._steps = _steps(netlist, times or Graph(netlist).depths()[1])
        self.reset()

    def reset(self) -> None:
        """Forget every token."""
        self.values = np.zeros(len(self.netlist.wires))
        self.state = [np.full((h.rows, len(h.data)), np.nan) for h in self.netlist.heads]

    def step(self, token: Mapping[str, Number]) -> dict[str, float]:
        """Evaluate one token, given the values of its fields (absent fields are 0); returns the outputs.

        Raises:
            QgcError: `netlist-write`, `netlist-read`, `netlist-bit`, `netlist-key`, `netlist-range`: a promise of the
                circuit is broken.
        """
        values = self.values = np.zeros(len(self.netlist.wires))
        for name, value in token.items():
            values[self.fields[name]] = value
        for step in self._steps:
            result = np.maximum(step.gate(values), 0) * step.up(values)
            added = _sums(step.target, step.coefficient * result[step.source], len(values))
            signals = step.signals(values)
            for memory in step.memories:
                np.add.at(added, memory.wires, self._access(memory, signals)[memory.bits])
            values += added
        if ((values < self._low) | (values > self._high)).any():
            wire = int(np.flatnonzero((values < self._low) | (values > self._high))[0])
            info = self.netlist.wires[wire]
            raise fail(
                "netlist-range", f"wire {info.name} is {values[wire]:g}, outside {info.low}..{info.high}"
            )
        return dict(zip(self.netlist.outputs, self._outputs(values).tolist(), strict=True))

    def _access(self, memory: _Memory, signals: Values) -> Values:
        """Write and read one head; returns the bits read."""
        head, state, width = memory.head, self.state[memory.number], len(memory.head.data)
        write_at = memory.first + width
        read_key_at = write_at + 1 + len(head.write_key.bits)
        read_at = read_key_at + len(head.read_key.bits)
        write, read = signals[write_at], signals[read_at]
        if write > 0:
            if write not in (0.5, 1):
                raise fail("netlist-write", f"head {head.name}: write is {write:g}, above 0 but not 1/2 or 1")
            data = signals[memory.first : write_at]
            if not _are_bits(data):
                raise fail("netlist-bit", f"head {head.name}: data {data} are not bits")
            row = _row(head, signals[write_at + 1 : read_key_at])
            old = np.nan_to_num(state[row])
            state[row] = data if write == 1 else old + write * (data - old)
        if read <= 0:
            return np.zeros(width)
        if read != 1:
            raise fail("netlist-read", f"head {head.name}: read is {read:g}, above 0 but not 1")
        bits: Values = np.nan_to_num(state[_row(head, signals[read_key_at:read_at])])
        return bits * (head.scale or 1)


def _are_bits(values: Values) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _row(head: Head, bits: Values) -> int:
    if not _are_bits(bits):
        raise fail("netlist-key", f"head {head.name}: key bits {bits} are not bits")
    row = sum(int(bit) << i for i, bit in enumerate(bits))
    if row >= head.rows:
        raise fail("netlist-key", f"head {head.name}: row {row} of {head.rows}")
    return row


def _steps(netlist: Netlist, times: Sequence[int]) -> list[_Step]:
    """The nodes by time, in order of time."""
    units = len(netlist.units)
    at: dict[int, tuple[list[int], list[int]]] = {time: ([], []) for time in sorted(set(times))}
    for node, time in enumerate(times):
        at[time][node >= units].append(node - units if node >= units else node)
    from_unit: dict[int, list[tuple[int, Number]]] = defaultdict(list)
    from_head: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for wire, info in enumerate(netlist.wires):
        for term in info.terms:
            if isinstance(term, FromUnit):
                from_unit[term.unit].append((wire, term.coefficient))
            else:
                from_head[term.head].append((term.bit, wire))
    return [_step(netlist, now, heads, from_unit, from_head) for now, heads in at.values()]


def _step(
    netlist: Netlist,
    units: list[int],
    heads: list[int],
    from_unit: Mapping[int, list[tuple[int, Number]]],
    from_head: Mapping[int, list[tuple[int, int]]],
) -> _Step:
    added = [(i, wire, c) for i, unit in enumerate(units) for wire, c in from_unit.get(unit, ())]
    signals: list[Signal] = []
    memories = []
    for number in heads:
        reads = from_head.get(number, [])
        bits, wires = (np.array([pair[i] for pair in reads], dtype=np.int64) for i in (0, 1))
        memories.append(_Memory(number, netlist.heads[number], len(signals), bits, wires))
        signals += head_signals(netlist.heads[number])
    return _Step(
        Affine([netlist.units[u].gate for u in units]),
        Affine([netlist.units[u].up for u in units]),
        np.array([wire for _, wire, _ in added], dtype=np.int64),
        np.array([i for i, _, _ in added], dtype=np.int64),
        np.array([c for _, _, c in added], dtype=np.float64),
        Affine(signals),
        tuple(memories),
    )

"""The reference evaluator of netlists: exact numbers, token by token.

It also checks what the layout relies on: bits are 0 or 1 where a head stores them, keys address one row, and `write`
and `read` take only the values that they may.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail
from qgc.ir.netlist.netlist import FromHead, FromUnit, Head, Netlist, Number, Signal, Term

Values = NDArray[np.float64]


class Affine:
    """Many signals as one sparse matrix; `self(values)` evaluates them all for a vector of wire values."""

    def __init__(self, signals: Sequence[Signal]) -> None:
        self.const = np.array([s.const for s in signals], dtype=np.float64)
        self.row = np.array([i for i, s in enumerate(signals) for _ in s.terms], dtype=np.int64)
        self.wire = np.array([w for s in signals for w, _ in s.terms], dtype=np.int64)
        self.coefficient = np.array([c for s in signals for _, c in s.terms], dtype=np.float64)

    def __call__(self, values: Values) -> Values:
        products = self.coefficient * values[self.wire]
        return self.const + np.bincount(self.row, products, len(self.const))


def depths(netlist: Netlist) -> tuple[list[int], list[int], list[int]]:
    """The level of every wire, unit and head: one more than the highest level among the wires that it reads.

    Raises:
        QgcError: `netlist-cycle`, naming the wires of one cycle.
    """
    reads: dict[Term, set[int]] = {}
    for i, unit in enumerate(netlist.units):
        reads[FromUnit(i, 0)] = {w for s in (unit.gate, unit.up) for w, _ in s.terms}
    for i, head in enumerate(netlist.heads):
        reads[FromHead(i, 0)] = {w for s in head_signals(head) for w, _ in s.terms}
    waiting = {}
    users: dict[int, list[Term]] = defaultdict(list)
    feeds: dict[Term, list[int]] = defaultdict(list)
    for node, wires in reads.items():
        waiting[node] = len(wires)
        for wire in wires:
            users[wire].append(node)
    open_terms = []
    for wire, info in enumerate(netlist.wires):
        nodes = {FromUnit(t.unit, 0) if isinstance(t, FromUnit) else FromHead(t.head, 0) for t in info.terms}
        open_terms.append(len(nodes))
        for node in nodes:
            feeds[node].append(wire)
    wire_depth = [0] * len(netlist.wires)
    node_depth = {node: 1 for node in reads}
    ready = [w for w, n in enumerate(open_terms) if n == 0]
    for node, count in waiting.items():
        if count == 0:
            _release(node, node_depth, wire_depth, feeds, open_terms, ready)
    done = 0
    while ready:
        wire = ready.pop()
        done += 1
        for node in users[wire]:
            node_depth[node] = max(node_depth[node], wire_depth[wire] + 1)
            waiting[node] -= 1
            if waiting[node] == 0:
                _release(node, node_depth, wire_depth, feeds, open_terms, ready)
    if done < len(netlist.wires):
        stuck = [netlist.wires[w].name for w, n in enumerate(open_terms) if n > 0]
        raise fail(
            "netlist-cycle", f"{len(stuck)} wires depend on themselves, among them {', '.join(stuck[:5])}"
        )
    units = [node_depth[FromUnit(i, 0)] for i in range(len(netlist.units))]
    heads = [node_depth[FromHead(i, 0)] for i in range(len(netlist.heads))]
    return wire_depth, units, heads


def _release(
    node: Term,
    node_depth: dict[Term, int],
    wire_depth: list[int],
    feeds: Mapping[Term, list[int]],
    open_terms: list[int],
    ready: list[int],
) -> None:
    for wire in feeds[node]:
        wire_depth[wire] = max(wire_depth[wire], node_depth[node])
        open_terms[wire] -= 1
        if open_terms[wire] == 0:
            ready.append(wire)


def head_signals(head: Head) -> list[Signal]:
    """Every signal that a head reads."""
    return [*head.data, head.write, *head.write_key.bits, *head.read_key.bits, head.read]


@dataclass(slots=True)
class _Level:
    gate: Affine
    up: Affine
    unit_numbers: NDArray[np.int64]
    heads: list[tuple[int, Head, Affine]]
    target: NDArray[np.int64]
    source: NDArray[np.int64]
    coefficient: Values


class Evaluator:
    """Runs a netlist; the memories of its heads live here between tokens.

    Attributes:
        state: for each head an array `[rows, bits]`; a row that was never written is all NaN and reads 0.
    """

    def __init__(self, netlist: Netlist) -> None:
        self.netlist = netlist
        self.state = [np.full((h.rows, len(h.data)), np.nan) for h in netlist.heads]
        self.fields = {info.token_field: w for w, info in enumerate(netlist.wires) if info.token_field}
        self._outputs = Affine(list(netlist.outputs.values()))
        self._levels = self._compile()

    def _compile(self) -> list[_Level]:
        _, unit_depth, head_depth = depths(self.netlist)
        levels = []
        for depth in range(1, max([0, *unit_depth, *head_depth]) + 1):
            units = [i for i, d in enumerate(unit_depth) if d == depth]
            place = {u: i for i, u in enumerate(units)}
            targets, sources, coefficients = [], [], []
            for wire, info in enumerate(self.netlist.wires):
                for term in info.terms:
                    if isinstance(term, FromUnit) and term.unit in place:
                        targets.append(wire)
                        sources.append(place[term.unit])
                        coefficients.append(float(term.coefficient))
            heads = [
                (i, h, Affine(head_signals(h)))
                for i, h in enumerate(self.netlist.heads)
                if head_depth[i] == depth
            ]
            levels.append(
                _Level(
                    Affine([self.netlist.units[u].gate for u in units]),
                    Affine([self.netlist.units[u].up for u in units]),
                    np.array(units, dtype=np.int64),
                    heads,
                    np.array(targets, dtype=np.int64),
                    np.array(sources, dtype=np.int64),
                    np.array(coefficients),
                )
            )
        self._head_targets: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for wire, info in enumerate(self.netlist.wires):
            for term in info.terms:
                if isinstance(term, FromHead):
                    self._head_targets[term.head].append((term.bit, wire))
        return levels

    def step(self, token: Mapping[str, Number]) -> dict[str, float]:
        """Evaluate one token, given the values of its fields (absent fields are 0); returns the outputs."""
        values = np.zeros(len(self.netlist.wires))
        for name, value in token.items():
            values[self.fields[name]] = value
        for level in self._levels:
            result = np.maximum(level.gate(values), 0) * level.up(values)
            added = np.bincount(level.target, level.coefficient * result[level.source], len(values))
            for number, head, affine in level.heads:
                read = self._head(number, head, affine(values))
                for bit, wire in self._head_targets[number]:
                    added[wire] += read[bit]
            values += added
        self.values = values
        return dict(zip(self.netlist.outputs, self._outputs(values).tolist(), strict=True))

    def _head(self, number: int, head: Head, signals: Values) -> Values:
        width, keys = len(head.data), len(head.write_key.bits)
        data, write, read = signals[:width], signals[width], signals[-1]
        state = self.state[number]
        if write > 0 and write not in (0.5, 1):
            raise fail("netlist-write", f"head {head.name}: write is {write}, above 0 but not 1/2 or 1")
        if write > 0:
            if not np.isin(data, (0, 1)).all():
                raise fail("netlist-bit", f"head {head.name}: data {data} are not bits")
            row = self._row(head, signals[width + 1 : width + 1 + keys])
            old = np.nan_to_num(state[row])
            state[row] = data if write == 1 else old + write * (data - old)
        if read <= 0:
            return np.zeros(width)
        if read != 1:
            raise fail("netlist-read", f"head {head.name}: read is {read}, above 0 but not 1")
        value = np.nan_to_num(state[self._row(head, signals[width + 1 + keys : -1])])
        return value * (head.scale or 1)

    @staticmethod
    def _row(head: Head, bits: Values) -> int:
        if not np.isin(bits, (0, 1)).all():
            raise fail("netlist-key", f"head {head.name}: key bits {bits} are not bits")
        row = int(sum(int(bit) << i for i, bit in enumerate(bits)))
        if row >= head.rows:
            raise fail("netlist-key", f"head {head.name}: row {row} of {head.rows}")
        return row

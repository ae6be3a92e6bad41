"""Heads to Gated DeltaNet heads used as memories.

The recurrent state of a head is its memory: row r of the key dimension is row r of the memory. Keys and queries are
one-hot after l2 normalisation, the decay is exactly 1, beta is exactly 0, 1/2 or 1. A row holds each bit in both
polarities, and pads up to 32 ones of 128 dimensions, so that the gated RMSNorm reads every written row back as exactly
2 where it is on, and an unwritten row as 0.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from qgc.backends.weights.swiglu import GATE
from qgc.ir.layout.weights import STATE_LEVEL, Entries, LayerWeights
from qgc.ir.netlist.netlist import HEAD_BITS, ONE, FromHead, Head, Key, Netlist, Signal, total

if TYPE_CHECKING:
    from qgc.backends.weights.lower import Lowering

BETA = 256.0
"""in_proj_b gives BETA * (write - 1/2): sigmoid(128) is 1 and sigmoid(-128) is 0 in float32."""
READ_LEVEL = 2.0
"""sqrt(128 / HEAD_BITS): what RMSNorm makes of a bit that is on."""
COUNTER_LEVEL = STATE_LEVEL / 8192
"""What a counter's 1 is in the state: its square is below half a unit in the last place of a stored bit's, so that
the norm's sum does not feel it, in any order; with the same significand it is read back as exactly."""

Targets = dict[int, list[tuple[int, int]]]


def targets(netlist: Netlist) -> Targets:
    """For each head the pairs (bit, wire) that it reads into."""
    out: Targets = defaultdict(list)
    for wire, info in enumerate(netlist.wires):
        for term in info.terms:
            if isinstance(term, FromHead):
                out[term.head].append((term.bit, wire))
    return out


def bit_dim(bit: int) -> int:
    """The value dimension of a bit; the next one holds its complement."""
    return 2 * bit


def lower_heads(lowering: Lowering, heads: list[int], to: Targets) -> LayerWeights:
    """The DeltaNet sublayer of one layer."""
    out = _Attention(lowering)
    for number in heads:
        out.head(lowering.netlist.heads[number], lowering.layout.head_slot[number], to[number])
    return out.weights


class _Attention:
    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._shape = lowering.layout.shape
        self._qkv, self._z, self._b, self._out = Entries(), Entries(), Entries(), Entries()

    @property
    def weights(self) -> LayerWeights:
        return {
            "linear_attn.in_proj_qkv.weight": self._qkv,
            "linear_attn.in_proj_z.weight": self._z,
            "linear_attn.in_proj_b.weight": self._b,
            "linear_attn.out_proj.weight": self._out,
        }

    def head(self, head: Head, slot: int, to: list[tuple[int, int]]) -> None:
        shape, dim = self._shape, self._shape.head_dim
        group = slot // (shape.value_heads // shape.heads)
        keys = shape.heads * dim
        self._rows(self._qkv, group * dim, _key_rows(head.read_key, head.rows))
        self._rows(self._qkv, keys + group * dim, _key_rows(head.write_key, head.rows))
        self._rows(self._qkv, 2 * keys + slot * dim, _value_rows(head))
        for column, value in self._lowering.row(head.write, BETA, -BETA / 2):
            self._b.add(slot, column, value)
        used = sorted({bit_dim(bit) for bit, _ in to})
        self._rows(self._z, slot * dim, {d: _opened(head.read) for d in used})
        level = READ_LEVEL * GATE
        if head.scale is not None:
            level *= COUNTER_LEVEL / STATE_LEVEL / head.scale
        for bit, wire in to:
            coordinate, factor = self._lowering.target(wire)
            self._out.add(coordinate, slot * dim + bit_dim(bit), factor / level)

    def _rows(self, entries: Entries, first: int, rows: dict[int, Signal]) -> None:
        for row, signal in rows.items():
            for column, value in self._lowering.row(signal):
                entries.add(first + row, column, value)


def _opened(read: Signal) -> Signal:
    """The output gate: GATE when `read` is 1, -3 GATE or less when it is 0 or less."""
    return 4 * GATE * read - 3 * GATE


def _key_rows(key: Key, rows: int) -> dict[int, Signal]:
    """Before silu: GATE on the addressed row, -GATE or less elsewhere."""
    n = len(key.bits)
    out = {}
    for row in range(rows):
        literals = [bit if row >> i & 1 else 1 - bit for i, bit in enumerate(key.bits)]
        out[row] = 2 * GATE * total(literals, -n) + GATE
    return out


def _value_rows(head: Head) -> dict[int, Signal]:
    """Before silu: the bits in both polarities, and ones to make up HEAD_BITS of them."""
    rows: dict[int, Signal] = {}
    first_pad = 2 * len(head.data)
    if head.scale is not None:
        rows[0] = 2 * COUNTER_LEVEL * head.data[0] - COUNTER_LEVEL
        return rows | {2 + i: STATE_LEVEL * ONE for i in range(HEAD_BITS)}
    for i, bit in enumerate(head.data):
        rows[bit_dim(i)] = 2 * STATE_LEVEL * bit - STATE_LEVEL
        rows[bit_dim(i) + 1] = STATE_LEVEL - 2 * STATE_LEVEL * bit
    for i in range(HEAD_BITS - len(head.data)):
        rows[first_pad + i] = STATE_LEVEL * ONE
    return rows

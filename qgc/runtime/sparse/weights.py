"""The weights of a checkpoint as sparse lists, read from its config and safetensors alone.

All rows are compressed (`ptr`, `col`, `val`): entries `ptr[i]` to `ptr[i + 1]` belong to row i. RMSNorm weights are
folded into the rows that read the normalised residual, and the newest convolution tap into queries, keys and values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Columns = NDArray[np.uint32]
"""Unsigned, because numba looks for the sign of every index that may have one."""
Floats = NDArray[np.float32]


class Rows(NamedTuple):
    """Compressed rows."""

    ptr: Ints
    col: Columns
    val: Floats


class Mlp(NamedTuple):
    """The SwiGLU units of all layers: layer n has units `layer[n]` to `layer[n + 1]`.

    Attributes:
        gate: the gate row of each unit.
        body: the entries of its up row, then those of its down column, side by side because an open unit needs both.
        middle: where in `body` the down column begins.
    """

    layer: Ints
    gate: Rows
    body: Rows
    middle: Ints

    def up(self, unit: int) -> Columns:
        """The coordinates that a unit's up row reads."""
        return self.body.col[self.body.ptr[unit] : self.middle[unit]]


class Keys(NamedTuple):
    """Query and key projections, equal ones of a layer once; each is a dense matrix over the few coordinates it reads.

    Attributes:
        col_ptr, col: projection i reads the coordinates `col[col_ptr[i]:col_ptr[i + 1]]`.
        row_ptr, row: it gives the key dimensions `row[row_ptr[i]:row_ptr[i + 1]]`, and 0 for all others.
        val_ptr, val: its matrix: for each coordinate all rows.
    """

    col_ptr: Ints
    col: Columns
    row_ptr: Ints
    row: Columns
    val_ptr: Ints
    val: Floats


class Values(NamedTuple):
    """Value projections, equal ones of a layer once; every row padded to the entries of the longest.

    Attributes:
        dim_ptr, dim: projection i gives the value dimensions `dim[dim_ptr[i]:dim_ptr[i + 1]]`, and 0 for all others.
        width: entries a row.
        entry_ptr, col, val: for each of the `width` entries that of every row, from `entry_ptr[i]` on.
    """

    dim_ptr: Ints
    dim: Columns
    width: Ints
    entry_ptr: Ints
    col: Columns
    val: Floats


class Memories(NamedTuple):
    """The recurrent states that differ: heads of one layer with the same keys, values, beta and decay are one memory.

    Attributes:
        layer: layer n has memories `layer[n]` to `layer[n + 1]`.
        beta: number of a row of the switches.
        decay: what the state is multiplied by, each token.
        key, value: numbers of a key and a value projection.
    """

    layer: Ints
    beta: Ints
    decay: Floats
    key: Ints
    value: Ints


class Reads(NamedTuple):
    """What heads read, for each of their output gates.

    Attributes:
        layer: layer n has reads `layer[n]` to `layer[n + 1]`.
        memory, query, gate: numbers of a memory, a query projection, a row of the switches.
        ptr, source, col, val: read i adds `val` times the `source`-th value dimension of its memory to coordinate `col`,
            for the entries `ptr[i]` to `ptr[i + 1]`; norm weights are folded in.
    """

    layer: Ints
    memory: Ints
    query: Ints
    gate: Ints
    ptr: Ints
    source: Columns
    col: Columns
    val: Floats


class Heads(NamedTuple):
    """The DeltaNet heads of all layers.

    Attributes:
        slots: `[layer][slot]`, the memory of each head; -1 for a head that writes nothing.
        switch_layer, switch: rows that betas and output gates are computed from, layer n's from `switch_layer[n]` to
            `switch_layer[n + 1]`; equal ones of a layer are one.
    """

    slots: Ints
    switch_layer: Ints
    switch: Rows
    keys: Keys
    values: Values
    memories: Memories
    reads: Reads


class Output(NamedTuple):
    """The output table, arranged to find the best row without computing every logit.

    Attributes:
        rows: the table.
        norm: the final norm's factor by coordinate.
        code: coordinates where every used row has plus or minus `level`.
        keys, ids: sorted sign patterns over `code`, and the row of each (the first one of equal rows).
        outside, largest: the other coordinates that have entries, and the largest absolute one of each.
    """

    rows: Rows
    norm: Floats
    code: Columns
    level: Floats
    keys: NDArray[np.int64]
    ids: Ints
    outside: Columns
    largest: Floats


class Weights(NamedTuple):
    """A whole model. `eps` of RMSNorm; `dim` is the heads' dimension."""

    hidden: int
    dim: int
    eps: float
    embedding: Rows
    heads: Heads
    mlp: Mlp
    output: Output

    @property
    def layers(self) -> int:
        """Compiled layers."""
        return len(self.mlp.layer) - 1

    @property
    def nonzeros(self) -> int:
        """Entries of all lists, padding left out; equal rows are listed once."""
        h, m = self.heads, self.mlp
        parts = (
            self.embedding.val,
            h.switch.val,
            h.keys.val,
            h.values.val,
            h.reads.val,
            m.gate.val,
            m.body.val,
        )
        return int(sum(np.count_nonzero(part) for part in parts))


def pack(rows: list[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> Rows:
    """Compress a list of (columns, values)."""
    lengths = np.array([len(c) for c, _ in rows], dtype=np.int64)
    ptr = np.zeros(len(rows) + 1, dtype=np.int32)
    ptr[1:] = np.cumsum(lengths)
    col = np.concatenate([c for c, _ in rows]) if rows else np.zeros(0)
    val = np.concatenate([v for _, v in rows]) if rows else np.zeros(0)
    return Rows(ptr, col.astype(np.uint32), val.astype(np.float32))

"""The weights of a checkpoint as sparse lists, read from its config and safetensors alone.

All rows are compressed (`ptr`, `col`, `val`): entries `ptr[i]` to `ptr[i + 1]` belong to row i. RMSNorm weights are
folded into the rows that read the normalised residual, and the newest convolution tap into queries, keys and values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


class Rows(NamedTuple):
    """Compressed rows."""

    ptr: Ints
    col: Ints
    val: Floats


class Mlp(NamedTuple):
    """The SwiGLU units of all layers: layer n has units `layer[n]` to `layer[n + 1]`."""

    layer: Ints
    gate: Rows
    up: Rows
    down: Rows


class Heads(NamedTuple):
    """The DeltaNet heads of all layers that write anything: layer n has heads `layer[n]` to `layer[n + 1]`.

    Attributes:
        slot: the head's number in its layer.
        switch_layer, switch: rows that betas and output gates are computed from, layer n's from `switch_layer[n]` to
            `switch_layer[n + 1]`; equal ones of a layer are one.
        beta: number of the head's row in `switch`.
        decay: what the state is multiplied by, each token.
        query, key: number of the key block that gives them. Equal blocks of a layer are one.
        block: key block i has rows `block[i]` to `block[i + 1]` of `block_row` (the row's number) and `block_rows`. The
            first of them is stored whole, each other one as its difference from the one before.
        value: head i has values `value[i]` to `value[i + 1]` of `value_dim` and `value_rows`.
        gate: head i has output gates `gate[i]` to `gate[i + 1]` of `gate_switch`, numbers of rows in `switch`.
        out: head i writes dimensions `out[i]` to `out[i + 1]` of `out_dim`, through gate `out_gate`, norm weight
            `out_norm`, to the coordinates of `out_rows`.
    """

    layer: Ints
    slot: Ints
    switch_layer: Ints
    switch: Rows
    beta: Ints
    decay: Floats
    query: Ints
    key: Ints
    block: Ints
    block_row: Ints
    block_rows: Rows
    value: Ints
    value_dim: Ints
    value_rows: Rows
    gate: Ints
    gate_switch: Ints
    out: Ints
    out_dim: Ints
    out_gate: Ints
    out_norm: Floats
    out_rows: Rows


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
    code: Ints
    level: Floats
    keys: NDArray[np.int64]
    ids: Ints
    outside: Ints
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
        """Entries of all lists; equal rows are listed once."""
        h, m = self.heads, self.mlp
        parts = (h.switch, h.block_rows, h.value_rows, h.out_rows, m.gate, m.up, m.down)
        return sum(len(p.val) for p in (self.embedding, *parts))


def pack(rows: list[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> Rows:
    """Compress a list of (columns, values)."""
    lengths = np.array([len(c) for c, _ in rows], dtype=np.int64)
    ptr = np.zeros(len(rows) + 1, dtype=np.int32)
    ptr[1:] = np.cumsum(lengths)
    col = np.concatenate([c for c, _ in rows]) if rows else np.zeros(0)
    val = np.concatenate([v for _, v in rows]) if rows else np.zeros(0)
    return Rows(ptr, col.astype(np.int32), val.astype(np.float32))

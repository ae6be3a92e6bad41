"""The DeltaNet layers of a checkpoint as lists; what is equal within a layer is listed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail
from qgc.runtime.sparse.files import Layer, Row
from qgc.runtime.sparse.weights import Columns, Heads, Ints, Keys, Memories, Reads, Values, pack


class HeadLists:
    """Collects layer after layer."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._dim = int(config["linear_key_head_dim"])
        self._keys, self._values = int(config["linear_num_key_heads"]), int(config["linear_num_value_heads"])
        self._slots: list[list[int]] = []
        self._switches = _Once()
        self._key_rows, self._value_rows = _Once(), _Once()
        self._memories = _Once()
        self._reads: list[tuple[int, int, int, list[tuple[int, int, float]]]] = []
        self._read_layer = [0]

    def add_layer(self, get: Layer) -> None:
        """Add one layer.

        Raises:
            QgcError: `fast-unsupported` for a convolution over several tokens, or a decay that depends on the token.
        """
        fold = 1 + get.dense("input_layernorm.weight")
        qkv = _tapped(get, get.rows("linear_attn.in_proj_qkv.weight", fold))
        z, b = (get.rows(f"linear_attn.in_proj_{n}.weight", fold) for n in ("z", "b"))
        if get.any("linear_attn.in_proj_a.weight"):
            raise fail(
                "fast-unsupported", "a state decays by what the token is", hint="run it with --engine hf"
            )
        decay = np.exp(
            -np.exp(get.dense("linear_attn.A_log")) * np.logaddexp(0, get.dense("linear_attn.dt_bias"))
        )
        out = get.rows("linear_attn.out_proj.weight", transpose=True)
        norm = get.dense("linear_attn.norm.weight")
        self._slots.append(
            [self._add_head(h, qkv, b, z, float(decay[h]), out, norm) for h in range(self._values)]
        )
        for lists in (self._switches, self._key_rows, self._value_rows, self._memories):
            lists.end_layer()
        self._read_layer.append(len(self._reads))

    def _add_head(
        self,
        head: int,
        qkv: list[Row],
        b: list[Row],
        z: list[Row],
        decay: float,
        out: list[Row],
        norm: NDArray[np.float64],
    ) -> int:
        """Add one head; returns the number of its memory, or -1 when nothing that it reads goes anywhere."""
        dim = self._dim
        own = slice(head * dim, (head + 1) * dim)
        if not any(len(row[0]) for row in out[own]):
            return -1
        group = head // (self._values // self._keys)
        first = 2 * self._keys * dim + head * dim
        query, key, values = (qkv[at : at + dim] for at in (group * dim, (self._keys + group) * dim, first))
        value = self._value_rows.number(values)
        memory = self._memories.add(
            (self._switches.number([b[head]]), decay, self._key_rows.number(key), value)
        )
        asked = self._key_rows.number(query)
        place = {d: i for i, d in enumerate(_used(values))}
        for gate, entries in self._gated(z[own], out[own], norm, place).items():
            self._reads.append((memory, asked, gate, entries))
        return memory

    def _gated(
        self, z: list[Row], out: list[Row], norm: NDArray[np.float64], place: dict[int, int]
    ) -> dict[int, list[tuple[int, int, float]]]:
        """By output gate: place among the written dimensions, coordinate and factor of every output."""
        gated: dict[int, list[tuple[int, int, float]]] = {}
        for d, (cols, vals) in enumerate(out):
            if len(cols) and d in place:
                entries = gated.setdefault(self._switches.number([z[d]]), [])
                entries += [(place[d], int(c), float(v * norm[d])) for c, v in zip(cols, vals, strict=True)]
        return gated

    def pack(self) -> Heads:
        """All layers as arrays."""
        return Heads(
            _ints(self._slots),
            _ints(self._switches.layer),
            pack([rows[0] for rows in self._switches.content]),
            _keys(self._key_rows.content),
            _values(self._value_rows.content),
            self._pack_memories(),
            self._pack_reads(),
        )

    def _pack_memories(self) -> Memories:
        beta, decay, key, value = (
            zip(*self._memories.content, strict=True) if self._memories.content else ((),) * 4
        )
        return Memories(
            _ints(self._memories.layer),
            _ints(beta),
            np.array(decay, dtype=np.float32),
            _ints(key),
            _ints(value),
        )

    def _pack_reads(self) -> Reads:
        entries = [entry for *_, part in self._reads for entry in part]
        memory, query, gate = ([read[i] for read in self._reads] for i in range(3))
        source, col, val = ([entry[i] for entry in entries] for i in range(3))
        return Reads(
            _ints(self._read_layer),
            _ints(memory),
            _ints(query),
            _ints(gate),
            _pointers([len(part) for *_, part in self._reads]),
            _columns(source),
            _columns(col),
            np.array(val, dtype=np.float32),
        )


@dataclass(slots=True)
class _Once:
    """Things in order, each of which is there once a layer; layer n has those from `layer[n]` to `layer[n + 1]`."""

    layer: list[int] = field(default_factory=lambda: [0])
    content: list[Any] = field(default_factory=list)
    _seen: dict[Any, int] = field(default_factory=dict)

    def number(self, rows: Sequence[Row]) -> int:
        """The number of a list of rows."""
        return self.add(rows, b"".join(c.tobytes() + b"|" + v.tobytes() + b";" for c, v in rows))

    def add(self, thing: Any, name: Any = None) -> int:
        """The number of a thing, by its name or by itself."""
        name = thing if name is None else name
        if name not in self._seen:
            self._seen[name] = len(self.content)
            self.content.append(thing)
        return self._seen[name]

    def end_layer(self) -> None:
        """What comes is of the next layer."""
        self.layer.append(len(self.content))
        self._seen.clear()


def _keys(blocks: list[list[Row]]) -> Keys:
    cols = [np.unique(np.concatenate([c for c, _ in rows])) for rows in blocks]
    rows = [_used(rows) for rows in blocks]
    matrices = []
    for used, numbers, block in zip(cols, rows, blocks, strict=True):
        matrix = np.zeros((len(used), len(numbers)), dtype=np.float32)
        for place, number in enumerate(numbers):
            c, v = block[number]
            matrix[np.searchsorted(used, c), place] = v
        matrices.append(matrix.ravel())
    return Keys(
        _pointers([len(c) for c in cols]),
        _columns(np.concatenate([*cols, np.zeros(0)])),
        _pointers([len(r) for r in rows]),
        _columns([number for r in rows for number in r]),
        _pointers([len(m) for m in matrices]),
        np.concatenate([*matrices, np.zeros(0, dtype=np.float32)]),
    )


def _values(blocks: list[list[Row]]) -> Values:
    dims = [_used(rows) for rows in blocks]
    widths = [max((len(c) for c, _ in rows), default=0) for rows in blocks]
    cols, vals = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for used, width, rows in zip(dims, widths, blocks, strict=True):
        col, val = np.zeros((width, len(used)), dtype=np.int64), np.zeros((width, len(used)))
        for place, d in enumerate(used):
            c, v = rows[d]
            col[: len(c), place], val[: len(c), place] = c, v
        cols.append(col.ravel())
        vals.append(val.ravel())
    return Values(
        _pointers([len(d) for d in dims]),
        _columns([d for used in dims for d in used]),
        _ints(widths),
        _pointers([len(c) for c in cols[1:]]),
        _columns(np.concatenate(cols)),
        np.concatenate(vals).astype(np.float32),
    )


def _used(rows: Sequence[Row]) -> list[int]:
    """The numbers of the rows that have entries."""
    return [number for number, (cols, _) in enumerate(rows) if len(cols)]


def _ints(values: Any) -> Ints:
    return np.array(values, dtype=np.int32)


def _columns(values: Any) -> Columns:
    return np.array(values, dtype=np.uint32)


def _pointers(lengths: list[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def _tapped(get: Layer, rows: list[Row]) -> list[Row]:
    """Rows times the newest convolution tap; older taps are refused where a row has entries."""
    taps = get.dense("linear_attn.conv1d.weight")[:, 0, :]
    used = np.array([len(c) > 0 for c, _ in rows])
    if taps[used, :-1].any():
        raise fail(
            "fast-unsupported", "a convolution looks at earlier tokens", hint="run it with --engine hf"
        )
    return [(c, v * tap) for (c, v), tap in zip(rows, taps[:, -1], strict=True)]

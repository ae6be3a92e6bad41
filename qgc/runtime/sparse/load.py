"""Checkpoint folder to sparse weights; refuses what is not sparse, or what the sparse step does not run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail
from qgc.runtime.progress import Progress, silent
from qgc.runtime.sparse.weights import Heads, Mlp, Output, Rows, Weights, pack

if TYPE_CHECKING:
    import torch

MAX_DENSITY = 0.05
"""Share of non-zero weights in the layers above which a checkpoint is refused: it would be slower than dense."""

Row = tuple[NDArray[np.int64], NDArray[np.float64]]
_NOTHING: Row = (np.zeros(0, dtype=np.int64), np.zeros(0))


def load(folder: Path, progress: Progress = silent) -> Weights:
    """Read a `qwen3_5_text` checkpoint, one tensor at a time.

    Raises:
        QgcError: `fast-checkpoint` when the folder is not such a checkpoint, `fast-dense` when it is not sparse enough
            (with the density), `fast-unsupported` when a layer does what the sparse step does not.
    """
    files = _Files(folder)
    config = files.config
    kinds = config["layer_types"]
    heads, mlp = _HeadLists(config), _MlpLists()
    for layer, kind in enumerate(kinds):
        progress("read weights", layer + 1, len(kinds))
        get = _Layer(files, f"model.layers.{layer}.")
        if kind == "linear_attention":
            heads.add_layer(get)
            mlp.add_layer(get)
        elif get.any("self_attn.o_proj.weight") or get.any("mlp.down_proj.weight"):
            raise fail(
                "fast-unsupported",
                f"layer {layer} is a full-attention layer that is not idle",
                hint="run it with --engine hf",
            )
        files.check_density(f"the first {layer + 1} layers have")
    table = _rows(files.tensor("model.embed_tokens.weight"))
    tied = config.get("tie_word_embeddings", False)
    out = table if tied else _rows(files.tensor("lm_head.weight"))
    norm = 1 + files.tensor("model.norm.weight").float().numpy()
    embedding = pack(table)
    output = _output(out, norm.astype(np.float32), config["hidden_size"])
    dim = config["linear_key_head_dim"]
    return Weights(
        config["hidden_size"], dim, config["rms_norm_eps"], embedding, heads.pack(), mlp.pack(), output
    )


class _Files:
    """The tensors of a folder by name, memory-mapped, and counts of what was read."""

    def __init__(self, folder: Path) -> None:
        self.entries = self.nonzeros = 0
        try:
            self.config: dict[str, Any] = json.loads((folder / "config.json").read_text())
            index = folder / "model.safetensors.index.json"
            names = json.loads(index.read_text())["weight_map"] if index.exists() else None
        except (OSError, ValueError, KeyError) as err:
            raise fail("fast-checkpoint", f"{folder} is no checkpoint: {err}") from err
        if self.config.get("model_type") != "qwen3_5_text":
            raise fail(
                "fast-checkpoint", f"{folder} is a {self.config.get('model_type')!r}, not a 'qwen3_5_text'"
            )
        self._folder, self._names = folder, names
        self._open: dict[str, Any] = {}

    def count(self, name: str, tensor: torch.Tensor) -> None:
        """Count a matrix's entries; a dense one is refused before it is listed.

        Raises:
            QgcError: `fast-dense`.
        """
        nonzeros, entries = int(tensor.count_nonzero()), tensor.numel()
        if nonzeros > entries / 2:
            self._refuse(nonzeros / entries, f"{name} has")
        self.nonzeros += nonzeros
        self.entries += entries

    def check_density(self, what: str) -> None:
        """Refuse when too many of the weights counted so far are not 0.

        Raises:
            QgcError: `fast-dense`.
        """
        if self.nonzeros > MAX_DENSITY * self.entries:
            self._refuse(self.nonzeros / self.entries, what)

    def _refuse(self, density: float, what: str) -> None:
        raise fail(
            "fast-dense",
            f"{what} {density:.1%} non-zero weights, the fast engine takes at most {MAX_DENSITY:.0%}",
            hint="run it with --engine hf",
        )

    def tensor(self, name: str) -> torch.Tensor:
        """One tensor, as stored."""
        from safetensors import SafetensorError, safe_open

        try:
            file = self._names[name] if self._names else "model.safetensors"
            if file not in self._open:
                self._open[file] = safe_open(self._folder / file, framework="pt")
            tensor: torch.Tensor = self._open[file].get_tensor(name)
        except (OSError, KeyError, SafetensorError) as err:
            raise fail("fast-checkpoint", f"{self._folder}: tensor {name} cannot be read: {err}") from err
        return tensor


class _Layer:
    """One layer's tensors."""

    def __init__(self, files: _Files, prefix: str) -> None:
        self._files, self._prefix = files, prefix

    def dense(self, name: str) -> NDArray[np.float64]:
        """A small tensor, dense."""
        return self._files.tensor(self._prefix + name).double().numpy()

    def any(self, name: str) -> bool:
        """Whether a tensor has a non-zero entry."""
        return bool(self._files.tensor(self._prefix + name).any())

    def rows(self, name: str, fold: NDArray[np.float64] | None = None, transpose: bool = False) -> list[Row]:
        """A matrix as rows (or columns, when transposed), scaled by `fold` along the entries of a row."""
        tensor = self._files.tensor(self._prefix + name)
        self._files.count(self._prefix + name, tensor)
        rows = _rows(tensor.T if transpose else tensor)
        return rows if fold is None else [(c, v * fold[c]) for c, v in rows]


def _rows(tensor: torch.Tensor) -> list[Row]:
    place = tensor.nonzero()
    if not len(place):
        return [_NOTHING] * tensor.shape[0]
    values = tensor[place[:, 0], place[:, 1]].double().numpy()
    row, col = place[:, 0].numpy(), place[:, 1].numpy()
    ends = np.searchsorted(row, np.arange(tensor.shape[0] + 1))
    return [(col[a:b], values[a:b]) for a, b in pairwise(ends)]


@dataclass(slots=True)
class _MlpLists:
    layer: list[int] = field(default_factory=lambda: [0])
    gate: list[Row] = field(default_factory=list)
    up: list[Row] = field(default_factory=list)
    down: list[Row] = field(default_factory=list)

    def add_layer(self, get: _Layer) -> None:
        fold = 1 + get.dense("post_attention_layernorm.weight")
        gate, up = (get.rows(f"mlp.{n}_proj.weight", fold) for n in ("gate", "up"))
        for g, u, d in zip(gate, up, get.rows("mlp.down_proj.weight", transpose=True), strict=True):
            if len(g[0]) and len(u[0]) and len(d[0]):
                self.gate.append(g)
                self.up.append(u)
                self.down.append(d)
        self.layer.append(len(self.gate))

    def pack(self) -> Mlp:
        return Mlp(np.array(self.layer, dtype=np.int32), pack(self.gate), pack(self.up), pack(self.down))


class _HeadLists:
    def __init__(self, config: dict[str, Any]) -> None:
        self._dim = int(config["linear_key_head_dim"])
        self._keys, self._values = int(config["linear_num_key_heads"]), int(config["linear_num_value_heads"])
        self._layer, self._block, self._value, self._gate, self._out = [0], [0], [0], [0], [0]
        self._slot: list[int] = []
        self._switch: list[Row] = []
        self._switch_layer = [0]
        self._beta: list[int] = []
        self._decay: list[float] = []
        self._query: list[int] = []
        self._key: list[int] = []
        self._block_row: list[int] = []
        self._block_rows: list[Row] = []
        self._value_dim: list[int] = []
        self._value_rows: list[Row] = []
        self._gate_switch: list[int] = []
        self._out_dim: list[int] = []
        self._out_gate: list[int] = []
        self._out_norm: list[float] = []
        self._out_rows: list[Row] = []

    def add_layer(self, get: _Layer) -> None:
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
        norm, dim = get.dense("linear_attn.norm.weight"), self._dim
        blocks: dict[bytes, int] = {}
        switches: dict[bytes, int] = {}
        for head in range(self._values):
            channels = range(head * dim, (head + 1) * dim)
            if not any(len(out[c][0]) for c in channels):
                continue
            group = head // (self._values // self._keys)
            first = 2 * self._keys * dim + head * dim
            self._slot.append(head)
            self._beta.append(self._add_switch(b[head], switches))
            self._decay.append(float(decay[head]))
            self._query.append(self._add_block(qkv[group * dim : (group + 1) * dim], blocks))
            key = (self._keys + group) * dim
            self._key.append(self._add_block(qkv[key : key + dim], blocks))
            values = qkv[first : first + dim]
            self._add_values(values)
            written = [
                row if len(value[0]) else _NOTHING
                for row, value in zip(out[channels.start :], values, strict=False)
            ]
            self._add_out(z[head * dim : (head + 1) * dim], written, norm, switches)
        self._layer.append(len(self._beta))
        self._switch_layer.append(len(self._switch))

    def _add_switch(self, row: Row, switches: dict[bytes, int]) -> int:
        content = row[0].tobytes() + row[1].tobytes()
        if content not in switches:
            switches[content] = len(self._switch)
            self._switch.append(row)
        return switches[content]

    def _add_block(self, rows: list[Row], blocks: dict[bytes, int]) -> int:
        content = b"".join(c.tobytes() + b"|" + v.tobytes() + b";" for c, v in rows)
        if content not in blocks:
            blocks[content] = len(self._block) - 1
            before = _NOTHING
            for number, row in enumerate(rows):
                if len(row[0]):
                    self._block_row.append(number)
                    self._block_rows.append(_difference(row, before))
                    before = row
            self._block.append(len(self._block_row))
        return blocks[content]

    def _add_values(self, rows: list[Row]) -> None:
        for dim, row in enumerate(rows):
            if len(row[0]):
                self._value_dim.append(dim)
                self._value_rows.append(row)
        self._value.append(len(self._value_dim))

    def _add_out(
        self, z: list[Row], out: list[Row], norm: NDArray[np.float64], switches: dict[bytes, int]
    ) -> None:
        gates: dict[int, int] = {}
        for dim, row in enumerate(out):
            if not len(row[0]):
                continue
            switch = self._add_switch(z[dim], switches)
            if switch not in gates:
                gates[switch] = len(self._gate_switch)
                self._gate_switch.append(switch)
            self._out_dim.append(dim)
            self._out_gate.append(gates[switch])
            self._out_norm.append(float(norm[dim]))
            self._out_rows.append(row)
        self._gate.append(len(self._gate_switch))
        self._out.append(len(self._out_dim))

    def pack(self) -> Heads:
        def ints(values: list[int]) -> NDArray[np.int32]:
            return np.array(values, dtype=np.int32)

        return Heads(
            ints(self._layer),
            ints(self._slot),
            ints(self._switch_layer),
            pack(self._switch),
            ints(self._beta),
            np.array(self._decay, dtype=np.float32),
            ints(self._query),
            ints(self._key),
            ints(self._block),
            ints(self._block_row),
            pack(self._block_rows),
            ints(self._value),
            ints(self._value_dim),
            pack(self._value_rows),
            ints(self._gate),
            ints(self._gate_switch),
            ints(self._out),
            ints(self._out_dim),
            ints(self._out_gate),
            np.array(self._out_norm, dtype=np.float32),
            pack(self._out_rows),
        )


def _difference(row: Row, before: Row) -> Row:
    """`row - before`, without zeros."""
    cols = np.union1d(row[0], before[0])
    values = np.zeros(len(cols))
    values[np.searchsorted(cols, row[0])] += row[1]
    values[np.searchsorted(cols, before[0])] -= before[1]
    return cols[values != 0], values[values != 0]


def _tapped(get: _Layer, rows: list[Row]) -> list[Row]:
    """Rows times the newest convolution tap; older taps are refused where a row has entries."""
    taps = get.dense("linear_attn.conv1d.weight")[:, 0, :]
    used = np.array([len(c) > 0 for c, _ in rows])
    if taps[used, :-1].any():
        raise fail(
            "fast-unsupported", "a convolution looks at earlier tokens", hint="run it with --engine hf"
        )
    return [(c, v * tap) for (c, v), tap in zip(rows, taps[:, -1], strict=True)]


def _output(table: list[Row], norm: NDArray[np.float32], hidden: int) -> Output:
    """Find the code: coordinates where all used rows have the same absolute value, at most 62 of them."""
    rows = pack(table)
    owner = np.repeat(np.arange(len(table)), np.diff(rows.ptr))
    used = np.unique(owner)
    size = np.abs(rows.val)
    count = np.bincount(rows.col, minlength=hidden)
    high, low, negative = np.zeros(hidden), np.full(hidden, np.inf), np.zeros(hidden, dtype=bool)
    np.maximum.at(high, rows.col, size)
    np.minimum.at(low, rows.col, size)
    negative[rows.col[rows.val < 0]] = True
    code = np.flatnonzero((count == len(used)) & (high == low) & negative)[:62]
    place = np.full(hidden, -1)
    place[code] = np.arange(len(code))
    keys = np.zeros(len(table), dtype=np.int64)
    inside = (place[rows.col] >= 0) & (rows.val > 0)
    np.add.at(keys, owner[inside], np.int64(1) << place[rows.col[inside]].astype(np.int64))
    unique, first = np.unique(keys[used], return_index=True)
    outside = np.setdiff1d(np.flatnonzero(high), code)
    return Output(
        rows,
        norm,
        code.astype(np.int32),
        high[code].astype(np.float32),
        unique,
        used[first].astype(np.int32),
        outside.astype(np.int32),
        high[outside].astype(np.float32),
    )


def tensors(weights: Weights) -> Iterator[tuple[str, Any]]:
    """All arrays and numbers of the weights by path, for storing them."""
    todo: list[tuple[str, Any]] = [("", weights)]
    while todo:
        name, value = todo.pop()
        if isinstance(value, tuple):
            todo += [(f"{name}.{f}" if name else f, getattr(value, f)) for f in value._fields]  # type: ignore[attr-defined]
        else:
            yield name, value


def assemble(arrays: dict[str, Any]) -> Weights:
    """The weights whose `tensors` these are."""

    def part(kind: Any, prefix: str) -> Any:
        values = []
        for name in kind._fields:
            path = f"{prefix}{name}"
            inner = {"mlp": Mlp, "heads": Heads, "output": Output}.get(path)
            if inner is None and f"{path}.ptr" in arrays:
                inner = Rows
            values.append(part(inner, path + ".") if inner else arrays[path])
        return kind(*values)

    weights: Weights = part(Weights, "")
    return weights._replace(hidden=int(weights.hidden), dim=int(weights.dim), eps=float(weights.eps))

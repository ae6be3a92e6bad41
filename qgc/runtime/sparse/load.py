"""Checkpoint folder to sparse weights; refuses what is not sparse, or what the sparse step does not run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail
from qgc.runtime.progress import Progress, silent
from qgc.runtime.sparse.files import NOTHING, Files, Layer, Merged, Row, sparse_rows
from qgc.runtime.sparse.heads import HeadLists
from qgc.runtime.sparse.weights import Mlp, Output, Rows, Weights, pack


def load(folder: Path, progress: Progress = silent, merged: Merged | None = None) -> Weights:
    """Read a `qwen3_5_text` checkpoint, one tensor at a time; of a merged one, the compiled layers and machine rows alone.

    The layers of its base cannot change a machine token (its margin was computed when it was built), so they are left out.

    Raises:
        QgcError: `fast-checkpoint` when the folder is not such a checkpoint, `fast-dense` when it is not sparse enough
            (with the density), `fast-unsupported` when a layer does what the sparse step does not.
    """
    files = Files(folder)
    config = files.config
    kinds = config["layer_types"][: None if merged is None else merged.layers]
    heads, mlp = HeadLists(config), _MlpLists()
    for layer, kind in enumerate(kinds):
        progress("read weights", layer + 1, len(kinds))
        get = Layer(files, f"{files.prefix}layers.{layer}.", () if merged is None else merged.idle)
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
    first = 0 if merged is None else merged.first_token
    table = _table(files, f"{files.prefix}embed_tokens.weight", first)
    tied = config.get("tie_word_embeddings", False)
    out = table if tied else _table(files, "lm_head.weight", first)
    norm = 1 + files.tensor(f"{files.prefix}norm.weight").float().numpy()
    embedding = pack(table)
    output = _output(out, norm.astype(np.float32), config["hidden_size"])
    dim = config["linear_key_head_dim"]
    return Weights(
        config["hidden_size"], dim, config["rms_norm_eps"], embedding, heads.pack(), mlp.pack(), output
    )


def _table(files: Files, name: str, first: int) -> list[Row]:
    """The rows of a table from `first` on; those before are empty."""
    return [NOTHING] * first + sparse_rows(files.tensor(name)[first:])


@dataclass(slots=True)
class _MlpLists:
    layer: list[int] = field(default_factory=lambda: [0])
    gate: list[Row] = field(default_factory=list)
    up: list[Row] = field(default_factory=list)
    down: list[Row] = field(default_factory=list)

    def add_layer(self, get: Layer) -> None:
        fold = 1 + get.dense("post_attention_layernorm.weight")
        gate, up = (get.rows(f"mlp.{n}_proj.weight", fold) for n in ("gate", "up"))
        for g, u, d in zip(gate, up, get.rows("mlp.down_proj.weight", transpose=True), strict=True):
            if len(g[0]) and len(u[0]) and len(d[0]):
                self.gate.append(g)
                self.up.append(u)
                self.down.append(d)
        self.layer.append(len(self.gate))

    def pack(self) -> Mlp:
        body = pack([row for unit in zip(self.up, self.down, strict=True) for row in unit])
        return Mlp(
            np.array(self.layer, dtype=np.int32),
            pack(self.gate),
            Rows(body.ptr[::2].copy(), body.col, body.val),
            body.ptr[1::2].copy(),
        )


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
        code.astype(np.uint32),
        high[code].astype(np.float32),
        unique,
        used[first].astype(np.int32),
        outside.astype(np.uint32),
        high[outside].astype(np.float32),
    )

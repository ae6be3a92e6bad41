"""What a context of the sparse step remembers, and the room it works in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qgc.runtime.sparse.weights import Weights


class State(NamedTuple):
    """What a context remembers, and room to work in.

    Attributes:
        memory: the recurrent states one after another, each `[key dimension][written value dimension]`.
        start: where in `memory` each begins.
        energy: `[memory][key dimension]`, the sum of squares of each row.
        number: tokens so far, units looked at, memories written and read, layers run in full.
        x, active, square: the residual, a bit for each coordinate that is not 0, the sum of squares.
        delta, pending: changes to the residual, and a bit for each coordinate that has one.
        seen: the last token that looked at a unit.
        switch: the switch rows' values.
        key_seen, key_count, key_row, key_val: the last token that computed a normalised query or key, and its non-zero rows.
        value_seen, value: the last token that computed a value projection, and its dimensions.
        sums: room for one projection.
        gated: room for the gates of the units that are always looked at.
    """

    memory: NDArray[np.float32]
    start: NDArray[np.int64]
    energy: NDArray[np.float32]
    number: NDArray[np.int64]
    x: NDArray[np.float32]
    active: NDArray[np.uint64]
    square: NDArray[np.float64]
    delta: NDArray[np.float32]
    pending: NDArray[np.uint64]
    seen: NDArray[np.int64]
    switch: NDArray[np.float32]
    key_seen: NDArray[np.int64]
    key_count: NDArray[np.int64]
    key_row: NDArray[np.int32]
    key_val: NDArray[np.float32]
    value_seen: NDArray[np.int64]
    value: NDArray[np.float32]
    sums: NDArray[np.float32]
    gated: NDArray[np.float32]


class Profile(NamedTuple):
    """What running in full has shown of the residual before each layer's units: `[layer][coordinate]`."""

    tokens: NDArray[np.int64]
    on: NDArray[np.int64]
    low: NDArray[np.float32]
    high: NDArray[np.float32]


def words(hidden: int) -> int:
    """Words of 64 bits that hold a bit for each coordinate."""
    return -(-hidden // 64)


def new_state(w: Weights) -> State:
    """An empty context."""
    h = w.heads
    written = np.diff(h.values.dim_ptr)[h.memories.value]
    start = np.concatenate([[0], np.cumsum(written.astype(np.int64) * w.dim)])
    keys, values = len(h.keys.row_ptr) - 1, len(h.values.width)
    return State(
        memory=np.zeros(start[-1], dtype=np.float32),
        start=start,
        energy=np.zeros((len(written), w.dim), dtype=np.float32),
        number=np.zeros(4, dtype=np.int64),
        x=np.zeros(w.hidden, dtype=np.float32),
        active=np.zeros(words(w.hidden), dtype=np.uint64),
        square=np.zeros(1, dtype=np.float64),
        delta=np.zeros(w.hidden, dtype=np.float32),
        pending=np.zeros(words(w.hidden), dtype=np.uint64),
        seen=np.full(len(w.mlp.middle), -1, dtype=np.int64),
        switch=np.zeros(len(h.switch.ptr) - 1, dtype=np.float32),
        key_seen=np.full(keys, -1, dtype=np.int64),
        key_count=np.zeros(keys, dtype=np.int64),
        key_row=np.zeros((keys, w.dim), dtype=np.int32),
        key_val=np.zeros((keys, w.dim), dtype=np.float32),
        value_seen=np.full(values, -1, dtype=np.int64),
        value=np.zeros((values, w.dim), dtype=np.float32),
        sums=np.zeros(w.dim, dtype=np.float32),
        gated=np.zeros(len(w.mlp.middle), dtype=np.float32),
    )


def new_profile(w: Weights) -> Profile:
    """An empty profile."""
    size = (w.layers, w.hidden)
    return Profile(
        np.zeros(1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.full(size, np.inf, dtype=np.float32),
        np.full(size, -np.inf, dtype=np.float32),
    )


def head_state(w: Weights, s: State, layer: int, slot: int) -> NDArray[np.float32]:
    """The recurrent state of one head, `[key dimension, value dimension]`; a copy."""
    full = np.zeros((w.dim, w.dim), dtype=np.float32)
    memory = int(w.heads.slots[layer, slot])
    if memory >= 0:
        value = w.heads.memories.value[memory]
        dims = w.heads.values.dim[w.heads.values.dim_ptr[value] : w.heads.values.dim_ptr[value + 1]]
        full[:, dims] = s.memory[s.start[memory] : s.start[memory + 1]].reshape(w.dim, len(dims))
    return full

"""One token through the sparse weights.

The residual is kept with a list of its non-zero coordinates. A layer's heads are skipped while their beta is 0 and their
output gates are shut; a layer's units are looked at only when a coordinate that can open them is not 0 (see `plan`).
All numbers are float32, as in the stock float32 model. What underflows there is skipped here: gates below SHUT, where
silu is smaller than 1e-7 of an open gate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from qgc.runtime.sparse.plan import Plan
from qgc.runtime.sparse.weights import Heads, Mlp, Output, Rows, Weights

SHUT = np.float32(-20.0)
NOISE = np.float32(2.0**-14)
"""Coordinates of at most this size count as 0 for what is skipped; sums still take them as they are."""
L2_EPS = np.float32(1e-6)
"""Of the l2 norm of queries and keys in transformers."""

Bools = NDArray[np.bool_]


class State(NamedTuple):
    """What a context remembers (`memory`), and room to work in.

    `memory` is `[head][key dimension][value dimension]`, the recurrent state of the heads that the weights list.
    `active` has a bit for each coordinate of the residual `x` that is not 0; `square` holds the sum of squares of x.
    `number` holds: pending changes, tokens so far, units looked at, heads at work, layers run in full.
    """

    memory: NDArray[np.float32]
    x: NDArray[np.float32]
    square: NDArray[np.float64]
    active: NDArray[np.uint64]
    number: NDArray[np.int64]
    delta: NDArray[np.float32]
    touched: NDArray[np.int32]
    is_touched: Bools
    seen: NDArray[np.int64]
    block_seen: NDArray[np.int64]
    block_count: NDArray[np.int32]
    block_row: NDArray[np.int32]
    block_val: NDArray[np.float32]
    room: NDArray[np.float32]


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
    heads, units, blocks = len(w.heads.decay), len(w.mlp.gate.ptr) - 1, len(w.heads.block) - 1
    return State(
        np.zeros((heads, w.dim, w.dim), dtype=np.float32),
        np.zeros(w.hidden, dtype=np.float32),
        np.zeros(1, dtype=np.float64),
        np.zeros(words(w.hidden), dtype=np.uint64),
        np.zeros(5, dtype=np.int64),
        np.zeros(w.hidden, dtype=np.float32),
        np.zeros(w.hidden, dtype=np.int32),
        np.zeros(w.hidden, dtype=np.bool_),
        np.full(units, -1, dtype=np.int64),
        np.full(blocks, -1, dtype=np.int64),
        np.zeros(blocks, dtype=np.int32),
        np.zeros((blocks, w.dim), dtype=np.int32),
        np.zeros((blocks, w.dim), dtype=np.float32),
        np.zeros(2 * w.dim, dtype=np.float32),
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


@njit(cache=True, inline="always")
def _dot(rows: Rows, i: int, x: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for e in range(rows.ptr[i], rows.ptr[i + 1]):
        total += rows.val[e] * x[rows.col[e]]
    return total


@njit(cache=True, inline="always")
def _silu(v: np.float32) -> np.float32:
    if v > -SHUT:
        return v  # exp(-20) is below float32's resolution beside 1
    return np.float32(v / (np.float32(1) + np.exp(-v)))


@njit(cache=True, inline="always")
def _add(s: State, c: int, v: np.float32) -> None:
    """Add to the pending change of a coordinate."""
    if not s.is_touched[c]:
        s.is_touched[c] = True
        s.touched[s.number[0]] = c
        s.number[0] += 1
    s.delta[c] += v


@intrinsic
def _lowest_bit(typingctx, word):  # type: ignore[no-untyped-def]
    """The number of the lowest bit that is set, of a word that is not 0."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), codegen


@njit(cache=True, inline="always")
def _set(s: State, c: int, value: np.float32) -> None:
    """Give a coordinate a value, and keep the list of those that are not 0 and the sum of squares."""
    old = np.float64(s.x[c])
    s.x[c] = value
    s.square[0] += np.float64(value) * np.float64(value) - old * old
    bit = np.uint64(1) << np.uint64(c & 63)
    if abs(value) > NOISE:
        s.active[c >> 6] |= bit
    else:
        s.active[c >> 6] &= ~bit


@njit(cache=True, inline="always")
def _apply(s: State) -> None:
    """Add the pending changes to the residual."""
    for t in range(s.number[0]):
        c = s.touched[t]
        _set(s, c, s.x[c] + s.delta[c])
        s.delta[c] = 0
        s.is_touched[c] = False
    s.number[0] = 0


@njit(cache=True, inline="always")
def _factor(s: State, hidden: int, eps: float) -> np.float32:
    """What RMSNorm multiplies the residual by."""
    return np.float32(1 / np.sqrt(np.float32(s.square[0]) / np.float32(hidden) + np.float32(eps)))


@njit(cache=True, inline="always")
def _key(h: Heads, s: State, block: int, f: np.float32) -> None:
    """The normalised query or key of a block, as a list of its non-zero rows; computed once a token."""
    if s.block_seen[block] == s.number[1]:
        return
    s.block_seen[block] = s.number[1]
    n = 0
    norm = np.float32(0)
    for e in range(h.block[block], h.block[block + 1]):
        g = f * _dot(h.block_rows, e, s.x)
        if g > SHUT and g != 0:
            v = _silu(g)
            s.block_row[block, n] = h.block_row[e]
            s.block_val[block, n] = v
            norm += v * v
            n += 1
    scale = np.float32(1) / np.sqrt(norm + L2_EPS)
    for i in range(n):
        s.block_val[block, i] *= scale
    s.block_count[block] = n


@njit(cache=True, inline="always")
def _write(h: Heads, s: State, head: int, beta: np.float32, f: np.float32) -> None:
    """The delta rule: move the addressed row towards the value by beta. Other dimensions than its values' stay 0."""
    block = h.key[head]
    _key(h, s, block, f)
    for e in range(h.value[head], h.value[head + 1]):
        d = h.value_dim[e]
        g = f * _dot(h.value_rows, e, s.x)
        change = _silu(g) if g > SHUT else np.float32(0)
        for i in range(s.block_count[block]):
            change -= s.block_val[block, i] * s.memory[head, s.block_row[block, i], d]
        change *= beta
        for i in range(s.block_count[block]):
            s.memory[head, s.block_row[block, i], d] += s.block_val[block, i] * change


@njit(cache=True, inline="always")
def _read(h: Heads, s: State, head: int, f: np.float32, eps: float) -> None:
    """Read the addressed row, normalise it, gate it, and add it to the pending changes."""
    block = h.query[head]
    _key(h, s, block, f)
    dim = s.memory.shape[1]
    read = s.room[:dim]
    scale = np.float32(1) / np.sqrt(np.float32(dim))
    total = np.float32(0)
    for e in range(h.value[head], h.value[head + 1]):
        d = h.value_dim[e]
        v = np.float32(0)
        for i in range(s.block_count[block]):
            v += (s.block_val[block, i] * scale) * s.memory[head, s.block_row[block, i], d]
        read[d] = v
        total += v * v
    if total == 0:
        return
    norm = np.float32(1) / np.sqrt(total / np.float32(dim) + np.float32(eps))
    gates = s.room[dim:]
    first = h.gate[head]
    for e in range(h.out[head], h.out[head + 1]):
        v = read[h.out_dim[e]]
        gate = gates[h.out_gate[e] - first]
        if v == 0 or gate == 0:
            continue
        v = v * norm * h.out_norm[e] * gate
        for o in range(h.out_rows.ptr[e], h.out_rows.ptr[e + 1]):
            _add(s, h.out_rows.col[o], v * h.out_rows.val[o])


@njit(cache=True, inline="always")
def _heads(h: Heads, s: State, layer: int, f: np.float32, eps: float) -> None:
    """The DeltaNet sublayer."""
    gates = s.room[s.memory.shape[1] :]
    for head in range(h.layer[layer], h.layer[layer + 1]):
        if h.decay[head] != 1:
            s.memory[head] *= h.decay[head]
        b = f * _dot(h.beta, head, s.x)
        is_open = False
        first = h.gate[head]
        for e in range(first, h.gate[head + 1]):
            g = f * _dot(h.gate_rows, e, s.x)
            gates[e - first] = _silu(g) if g > SHUT else np.float32(0)
            is_open |= gates[e - first] != 0
        if b > 4 * SHUT:
            _write(
                h, s, head, np.float32(1) if b > -SHUT else np.float32(1) / (np.float32(1) + np.exp(-b)), f
            )
        if is_open:
            _read(h, s, head, f, eps)
        s.number[3] += b > 4 * SHUT or is_open


@njit(cache=True, inline="always")
def _unit(m: Mlp, s: State, u: int, f: np.float32) -> None:
    """One SwiGLU unit."""
    g = f * _dot(m.gate, u, s.x)
    if g <= SHUT or g == 0:
        return
    up = f * _dot(m.up, u, s.x)
    if up == 0:
        return
    y = _silu(g) * up
    for e in range(m.down.ptr[u], m.down.ptr[u + 1]):
        _add(s, m.down.col[e], y * m.down.val[e])


@njit(cache=True, inline="always")
def _rest(m: Mlp, s: State, layer: int, f: np.float32) -> None:
    """All units of a layer that this token has not looked at yet."""
    s.number[4] += 1
    for u in range(m.layer[layer], m.layer[layer + 1]):
        if s.seen[u] != s.number[1]:
            s.number[2] += 1
            _unit(m, s, u, f)


@njit(cache=True, inline="always")
def _units(m: Mlp, s: State, p: Plan, layer: int, f: np.float32) -> None:
    """The MLP sublayer: the units that the plan says may open, and all when a value is out of the plan's bounds."""
    stamp = s.number[1]
    for e in range(p.always[layer], p.always[layer + 1]):
        s.seen[p.always_unit[e]] = stamp
        _unit(m, s, p.always_unit[e], f)
    s.number[2] += p.always[layer + 1] - p.always[layer]
    hidden = len(s.x)
    within = True
    for i in range(len(s.active)):
        within &= p.required[layer, i] & ~s.active[i] == np.uint64(0)
        word = s.active[i] & p.relevant[layer, i]
        while word:
            c = (i << 6) + np.int64(_lowest_bit(word))  # type: ignore[call-arg]
            word &= word - np.uint64(1)
            within &= p.low[layer, c] <= s.x[c] <= p.high[layer, c]
            place = layer * hidden + c
            for e in range(p.watch[place], p.watch[place + 1]):
                u = p.watch_unit[e]
                if s.seen[u] != stamp:
                    s.seen[u] = stamp
                    s.number[2] += 1
                    _unit(m, s, u, f)
    if not within:
        _rest(m, s, layer, f)


@njit(cache=True)
def _note(s: State, profile: Profile, layer: int) -> None:
    """Record which coordinates are not 0 before a layer's units, and their range."""
    for c in range(len(s.x)):
        if abs(s.x[c]) > NOISE:
            profile.on[layer, c] += 1
            profile.low[layer, c] = min(profile.low[layer, c], s.x[c])
            profile.high[layer, c] = max(profile.high[layer, c], s.x[c])


@njit(cache=True)
def _best_row(o: Output, s: State, f: np.float32) -> int:
    """The first row with the largest logit.

    The row whose signs are those of the residual over the code has the largest code logit, and every other row loses at
    least twice the weakest code coordinate. When nothing else can make that up, it is the best row; else all rows are
    computed.
    """
    rest = np.float32(0)
    for e in range(len(o.outside)):
        c = o.outside[e]
        rest += abs(s.x[c] * f * o.norm[c]) * o.largest[e]
    pattern = np.int64(0)
    weakest = np.float32(np.inf)
    for i in range(len(o.code)):
        v = s.x[o.code[i]] * f * o.norm[o.code[i]] * o.level[i]
        weakest = min(weakest, abs(v))
        if v > 0:
            pattern |= np.int64(1) << i
    if len(o.code) and weakest > rest:
        place = np.searchsorted(o.keys, pattern)
        if place < len(o.keys) and o.keys[place] == pattern:
            return int(o.ids[place])
    best, logit = 0, np.float32(-np.inf)
    for row in range(len(o.rows.ptr) - 1):
        total = np.float32(0)
        for e in range(o.rows.ptr[row], o.rows.ptr[row + 1]):
            c = o.rows.col[e]
            total += o.rows.val[e] * (s.x[c] * f * o.norm[c])
        if total > logit:
            best, logit = row, total
    return best


@njit(cache=True)
def feed(w: Weights, s: State, p: Plan, profile: Profile, is_profiling: bool, token: int) -> int:
    """Consume one token and return the model's greedy answer."""
    s.x[:] = 0
    s.active[:] = 0
    s.square[0] = 0
    for e in range(w.embedding.ptr[token], w.embedding.ptr[token + 1]):
        _set(s, w.embedding.col[e], w.embedding.val[e])
    s.number[1] += 1
    for layer in range(len(w.mlp.layer) - 1):
        _heads(w.heads, s, layer, _factor(s, w.hidden, w.eps), w.eps)
        _apply(s)
        if is_profiling:
            _note(s, profile, layer)
        _units(w.mlp, s, p, layer, _factor(s, w.hidden, w.eps))
        _apply(s)
    if is_profiling:
        profile.tokens[0] += 1
    return _best_row(w.output, s, _factor(s, w.hidden, w.eps))


@njit(cache=True)
def feed_all(
    w: Weights, s: State, p: Plan, profile: Profile, is_profiling: bool, tokens: NDArray[np.int64]
) -> int:
    """Consume several tokens; return the answer after the last one."""
    answer = 0
    for token in tokens:
        answer = feed(w, s, p, profile, is_profiling, token)
    return answer


@njit(cache=True)
def generate(
    w: Weights,
    s: State,
    p: Plan,
    profile: Profile,
    is_profiling: bool,
    answer: int,
    stop: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """Feed answers back, beginning with `answer`, until one of `stop` or until `out` is full; returns how many."""
    n = 0
    while n < len(out):
        out[n] = answer
        n += 1
        for token in stop:
            if token == answer:
                return n
        if n < len(out):
            answer = feed(w, s, p, profile, is_profiling, answer)
    return n

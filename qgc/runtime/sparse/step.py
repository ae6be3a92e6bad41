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
from qgc.runtime.sparse.weights import Ints, Weights

SHUT = np.float32(-20.0)
NOISE = np.float32(2.0**-14)
"""Coordinates of at most this size count as 0 for what is skipped; sums still take them as they are."""
L2_EPS = np.float32(1e-6)
"""Of the l2 norm of queries and keys in transformers."""


class State(NamedTuple):
    """What a context remembers, and room to work in.

    Attributes:
        memory: `[head][key dimension][value dimension]`, the recurrent state of the heads that the weights list.
        energy: the sum of squares of each row of it.
        number: tokens so far, units looked at, heads at work, layers run in full.
        x, active, square: the residual, a bit for each coordinate that is not 0, the sum of squares.
        delta, pending: changes to the residual, and a bit for each coordinate that has one.
        seen, block_seen: the last token that looked at a unit, a key block.
        switch_val: the switch rows' values.
        block_count, block_row, block_val: the key blocks' normalised queries and keys, as lists of non-zero rows.
    """

    memory: NDArray[np.float32]
    energy: NDArray[np.float32]
    number: NDArray[np.int64]
    x: NDArray[np.float32]
    active: NDArray[np.uint64]
    square: NDArray[np.float64]
    delta: NDArray[np.float32]
    pending: NDArray[np.uint64]
    seen: NDArray[np.int64]
    switch_val: NDArray[np.float32]
    block_seen: NDArray[np.int64]
    block_count: NDArray[np.int32]
    block_row: NDArray[np.int32]
    block_val: NDArray[np.float32]


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
    switches = len(w.heads.switch.ptr) - 1
    return State(
        np.zeros((heads, w.dim, w.dim), dtype=np.float32),
        np.zeros((heads, w.dim), dtype=np.float32),
        np.zeros(4, dtype=np.int64),
        np.zeros(w.hidden, dtype=np.float32),
        np.zeros(words(w.hidden), dtype=np.uint64),
        np.zeros(1, dtype=np.float64),
        np.zeros(w.hidden, dtype=np.float32),
        np.zeros(words(w.hidden), dtype=np.uint64),
        np.full(units, -1, dtype=np.int64),
        np.zeros(switches, dtype=np.float32),
        np.full(blocks, -1, dtype=np.int64),
        np.zeros(blocks, dtype=np.int32),
        np.zeros((blocks, w.dim), dtype=np.int32),
        np.zeros((blocks, w.dim), dtype=np.float32),
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


# Only `run` takes the tuples, once for many tokens; all below it take arrays, and what runs thousands of times a token is
# inlined. An array is passed as seven words, a tuple of arrays as all of theirs, which costs more than what these
# functions do.


@njit(cache=True, inline="always")
def _dot(ptr: Ints, col: Ints, val: NDArray[np.float32], i: int, x: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for e in range(ptr[i], ptr[i + 1]):
        total += val[e] * x[col[e]]
    return total


@njit(cache=True, inline="always")
def _silu(v: np.float32) -> np.float32:
    if v > -SHUT:
        return v  # exp(-20) is below float32's resolution beside 1
    return np.float32(v / (np.float32(1) + np.exp(-v)))


@intrinsic
def _lowest_bit(typingctx, word):  # type: ignore[no-untyped-def]
    """The number of the lowest bit that is set, of a word that is not 0."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), codegen


@njit(cache=True, inline="always")
def _add(delta: NDArray[np.float32], pending: NDArray[np.uint64], c: int, v: np.float32) -> None:
    """Add to the pending change of a coordinate."""
    delta[c] += v
    pending[c >> 6] |= np.uint64(1) << np.uint64(c & 63)


@njit(cache=True, inline="always")
def _set(
    x: NDArray[np.float32], active: NDArray[np.uint64], square: NDArray[np.float64], c: int, value: np.float32
) -> None:
    """Give a coordinate a value, and keep the bit of those that are not 0 and the sum of squares."""
    old = np.float64(x[c])
    x[c] = value
    square[0] += np.float64(value) * np.float64(value) - old * old
    bit = np.uint64(1) << np.uint64(c & 63)
    if abs(value) > NOISE:
        active[c >> 6] |= bit
    else:
        active[c >> 6] &= ~bit


@njit(cache=True)
def _apply(
    x: NDArray[np.float32],
    active: NDArray[np.uint64],
    square: NDArray[np.float64],
    delta: NDArray[np.float32],
    pending: NDArray[np.uint64],
) -> None:
    """Add the pending changes to the residual."""
    for i in range(len(pending)):
        word = pending[i]
        pending[i] = 0
        while word:
            c = (i << 6) + np.int64(_lowest_bit(word))  # type: ignore[call-arg]
            word &= word - np.uint64(1)
            _set(x, active, square, c, x[c] + delta[c])
            delta[c] = 0


@njit(cache=True, inline="always")
def _factor(square: NDArray[np.float64], hidden: int, eps: float) -> np.float32:
    """What RMSNorm multiplies the residual by."""
    return np.float32(1 / np.sqrt(np.float32(square[0]) / np.float32(hidden) + np.float32(eps)))


@njit(cache=True)
def _key(
    ptr: Ints,
    col: Ints,
    val: NDArray[np.float32],
    number: Ints,
    first: int,
    last: int,
    x: NDArray[np.float32],
    f: np.float32,
    row: Ints,
    out: NDArray[np.float32],
) -> int:
    """The normalised query or key of a block: its non-zero rows into `row` and `out`; returns how many.

    Rows are running sums of differences, in float64, so that they are at least as close as float32 sums of whole rows.
    """
    n = 0
    norm = np.float32(0)
    running = np.float64(0)
    for i in range(first, last):
        for e in range(ptr[i], ptr[i + 1]):
            running += np.float64(val[e]) * np.float64(x[col[e]])
        g = f * np.float32(running)
        if g > SHUT and g != 0:
            v = _silu(g)
            row[n] = number[i]
            out[n] = v
            norm += v * v
            n += 1
    scale = np.float32(1) / np.sqrt(norm + L2_EPS)
    for i in range(n):
        out[i] *= scale
    return n


@njit(cache=True)
def _write(
    ptr: Ints,
    col: Ints,
    val: NDArray[np.float32],
    dim: Ints,
    first: int,
    last: int,
    x: NDArray[np.float32],
    f: np.float32,
    row: Ints,
    key: NDArray[np.float32],
    count: int,
    beta: np.float32,
    memory: NDArray[np.float32],
    energy: NDArray[np.float32],
) -> None:
    """The delta rule: move the addressed row towards the value by beta. Other dimensions than its values' stay 0."""
    for i in range(count):
        energy[row[i]] = 0
    for e in range(first, last):
        d = dim[e]
        g = f * _dot(ptr, col, val, e, x)
        change = _silu(g) if g > SHUT else np.float32(0)
        for i in range(count):
            change -= key[i] * memory[row[i], d]
        change *= beta
        for i in range(count):
            memory[row[i], d] += key[i] * change
            energy[row[i]] += memory[row[i], d] * memory[row[i], d]


@njit(cache=True, inline="always")
def _recall(
    memory: NDArray[np.float32], row: Ints, query: NDArray[np.float32], count: int, d: int
) -> np.float32:
    """One dimension of what a query reads."""
    v = np.float32(0)
    for i in range(count):
        v += query[i] * memory[row[i], d]
    return v


@njit(cache=True)
def _read_norm(
    memory: NDArray[np.float32],
    energy: NDArray[np.float32],
    row: Ints,
    query: NDArray[np.float32],
    count: int,
    eps: float,
) -> np.float32:
    """What the gated RMSNorm multiplies a read by, query scale included; 0 for a read of nothing."""
    total = np.float32(0)
    size = memory.shape[1]
    if count == 1:
        total = query[0] * query[0] * energy[row[0]]
    elif count > 1:
        for d in range(size):
            v = _recall(memory, row, query, count, d)
            total += v * v
    if total == 0:
        return np.float32(0)
    scale = np.float32(1) / np.sqrt(np.float32(size))
    return np.float32(scale / np.sqrt(total * scale * scale / np.float32(size) + np.float32(eps)))


@njit(cache=True)
def _switches(
    ptr: Ints,
    col: Ints,
    val: NDArray[np.float32],
    first: int,
    last: int,
    x: NDArray[np.float32],
    f: np.float32,
    out: NDArray[np.float32],
) -> None:
    """The switch rows of one layer."""
    for i in range(first, last):
        out[i] = f * _dot(ptr, col, val, i, x)


@njit(cache=True)
def _read(
    memory: NDArray[np.float32],
    energy: NDArray[np.float32],
    row: Ints,
    query: NDArray[np.float32],
    count: int,
    eps: float,
    first: int,
    last: int,
    dim: Ints,
    gate: Ints,
    gate_switch: Ints,
    switch: NDArray[np.float32],
    weight: NDArray[np.float32],
    ptr: Ints,
    col: Ints,
    val: NDArray[np.float32],
    delta: NDArray[np.float32],
    pending: NDArray[np.uint64],
) -> None:
    """Read the addressed row, normalise it, gate it, and add it to the pending changes."""
    norm = _read_norm(memory, energy, row, query, count, eps)
    if norm == 0:
        return
    for e in range(first, last):
        v = _recall(memory, row, query, count, dim[e])
        g = switch[gate_switch[gate[e]]]
        if v != 0 and g > SHUT:
            v = v * norm * weight[e] * _silu(g)
            for o in range(ptr[e], ptr[e + 1]):
                _add(delta, pending, col[o], v * val[o])


@njit(cache=True, inline="always")
def _open_unit(
    u: int,
    g: np.float32,
    up_ptr: Ints,
    up_col: Ints,
    up_val: NDArray[np.float32],
    down_ptr: Ints,
    down_col: Ints,
    down_val: NDArray[np.float32],
    x: NDArray[np.float32],
    f: np.float32,
    delta: NDArray[np.float32],
    pending: NDArray[np.uint64],
) -> None:
    """What a SwiGLU unit adds, given its gate."""
    if g > SHUT and g != 0:
        y = _silu(g) * (f * _dot(up_ptr, up_col, up_val, u, x))
        if y != 0:
            for e in range(down_ptr[u], down_ptr[u + 1]):
                _add(delta, pending, down_col[e], y * down_val[e])


@njit(cache=True)
def _note(
    x: NDArray[np.float32], on: NDArray[np.int64], low: NDArray[np.float32], high: NDArray[np.float32]
) -> None:
    """Record which coordinates are not 0 before a layer's units, and their range."""
    for c in range(len(x)):
        if abs(x[c]) > NOISE:
            on[c] += 1
            low[c] = min(low[c], x[c])
            high[c] = max(high[c], x[c])


@njit(cache=True)
def _best_row(
    ptr: Ints,
    col: Ints,
    val: NDArray[np.float32],
    norm: NDArray[np.float32],
    code: Ints,
    level: NDArray[np.float32],
    keys: NDArray[np.int64],
    ids: Ints,
    outside: Ints,
    largest: NDArray[np.float32],
    x: NDArray[np.float32],
    f: np.float32,
) -> int:
    """The first row with the largest logit.

    The row whose signs are those of the residual over the code has the largest code logit, and every other row loses at
    least twice the weakest code coordinate. When nothing else can make that up, it is the best row; else all rows are
    computed.
    """
    rest = np.float32(0)
    for e in range(len(outside)):
        c = outside[e]
        rest += abs(x[c] * f * norm[c]) * largest[e]
    pattern = np.int64(0)
    weakest = np.float32(np.inf)
    for i in range(len(code)):
        v = x[code[i]] * f * norm[code[i]] * level[i]
        weakest = min(weakest, abs(v))
        if v > 0:
            pattern |= np.int64(1) << i
    if len(code) and weakest > rest:
        place = np.searchsorted(keys, pattern)
        if place < len(keys) and keys[place] == pattern:
            return int(ids[place])
    best, logit = 0, np.float32(-np.inf)
    for row in range(len(ptr) - 1):
        total = np.float32(0)
        for e in range(ptr[row], ptr[row + 1]):
            total += val[e] * (x[col[e]] * f * norm[col[e]])
        if total > logit:
            best, logit = row, total
    return best


@njit(cache=True)
def run(  # noqa: C901, PLR0915 (one function: see above)
    w: Weights,
    s: State,
    p: Plan,
    profile: Profile,
    is_profiling: bool,
    tokens: NDArray[np.int64],
    answer: int,
    stop: NDArray[np.int64],
    out: NDArray[np.int64],
) -> tuple[int, int]:
    """Consume `tokens`, then feed answers back into `out` until one of `stop`, or until `out` is full.

    `answer` is what was answered before, in case there are no tokens. The last token written to `out` is not fed.
    Returns the last answer and how many tokens were written to `out`.
    """
    layers, hidden, eps = len(w.mlp.layer) - 1, w.hidden, w.eps
    embed_ptr, embed_col, embed_val = w.embedding.ptr, w.embedding.col, w.embedding.val
    h, m, o = w.heads, w.mlp, w.output
    head_layer, decay, switch_layer, beta, query, key = (
        h.layer,
        h.decay,
        h.switch_layer,
        h.beta,
        h.query,
        h.key,
    )
    switch_ptr, switch_col, switch_val = h.switch.ptr, h.switch.col, h.switch.val
    block, block_row = h.block, h.block_row
    block_ptr, block_col, block_val = h.block_rows.ptr, h.block_rows.col, h.block_rows.val
    value, value_dim = h.value, h.value_dim
    value_ptr, value_col, value_val = h.value_rows.ptr, h.value_rows.col, h.value_rows.val
    gate, gate_switch = h.gate, h.gate_switch
    head_out, out_dim, out_gate, out_norm = h.out, h.out_dim, h.out_gate, h.out_norm
    out_ptr, out_col, out_val = h.out_rows.ptr, h.out_rows.col, h.out_rows.val
    unit_layer = m.layer
    gp, gc, gv = m.gate.ptr, m.gate.col, m.gate.val
    up, uc, uv = m.up.ptr, m.up.col, m.up.val
    dp, dc, dv = m.down.ptr, m.down.col, m.down.val
    logit_ptr, logit_col, logit_val = o.rows.ptr, o.rows.col, o.rows.val
    final_norm, code, level, keys, ids, outside, largest = (
        o.norm,
        o.code,
        o.level,
        o.keys,
        o.ids,
        o.outside,
        o.largest,
    )
    memory, energy, number, switched = s.memory, s.energy, s.number, s.switch_val
    x, active, square, delta, pending, seen = s.x, s.active, s.square, s.delta, s.pending, s.seen
    block_seen, count, rows, vals = s.block_seen, s.block_count, s.block_row, s.block_val
    watch, watch_unit, always, always_unit = p.watch, p.watch_unit, p.always, p.always_unit
    near_ptr, near_col, near_val = p.gate.ptr, p.gate.col, p.gate.val
    low, high, relevant, required = p.low, p.high, p.relevant, p.required
    consumed = made = 0
    while True:
        if consumed < len(tokens):
            token = tokens[consumed]
            consumed += 1
        else:
            if made == len(out):
                break
            out[made] = answer
            made += 1
            is_end = made == len(out)
            for last in stop:
                is_end |= last == answer
            if is_end:
                break
            token = answer
        stamp = number[0] + 1
        number[0] = stamp
        x[:] = 0
        active[:] = 0
        square[0] = 0
        for e in range(embed_ptr[token], embed_ptr[token + 1]):
            _set(x, active, square, embed_col[e], embed_val[e])
        for layer in range(layers):
            # The DeltaNet sublayer.
            f = _factor(square, hidden, eps)
            _switches(
                switch_ptr,
                switch_col,
                switch_val,
                switch_layer[layer],
                switch_layer[layer + 1],
                x,
                f,
                switched,
            )
            for head in range(head_layer[layer], head_layer[layer + 1]):
                if decay[head] != 1:
                    memory[head] *= decay[head]
                    energy[head] *= decay[head] * decay[head]
                b = switched[beta[head]]
                is_open = False
                for e in range(gate[head], gate[head + 1]):
                    is_open |= switched[gate_switch[e]] > SHUT
                if b <= 4 * SHUT and not is_open:
                    continue
                number[2] += 1
                if b > 4 * SHUT:
                    k = key[head]
                    if block_seen[k] != stamp:
                        block_seen[k] = stamp
                        count[k] = _key(
                            block_ptr,
                            block_col,
                            block_val,
                            block_row,
                            block[k],
                            block[k + 1],
                            x,
                            f,
                            rows[k],
                            vals[k],
                        )
                    strength = np.float32(1) if b > -SHUT else np.float32(1) / (np.float32(1) + np.exp(-b))
                    _write(
                        value_ptr,
                        value_col,
                        value_val,
                        value_dim,
                        value[head],
                        value[head + 1],
                        x,
                        f,
                        rows[k],
                        vals[k],
                        count[k],
                        strength,
                        memory[head],
                        energy[head],
                    )
                if is_open:
                    q = query[head]
                    if block_seen[q] != stamp:
                        block_seen[q] = stamp
                        count[q] = _key(
                            block_ptr,
                            block_col,
                            block_val,
                            block_row,
                            block[q],
                            block[q + 1],
                            x,
                            f,
                            rows[q],
                            vals[q],
                        )
                    _read(
                        memory[head],
                        energy[head],
                        rows[q],
                        vals[q],
                        count[q],
                        eps,
                        head_out[head],
                        head_out[head + 1],
                        out_dim,
                        out_gate,
                        gate_switch,
                        switched,
                        out_norm,
                        out_ptr,
                        out_col,
                        out_val,
                        delta,
                        pending,
                    )
            _apply(x, active, square, delta, pending)
            # The MLP sublayer: units that the plan says may open, and all when a value is out of the plan's bounds.
            f = _factor(square, hidden, eps)
            if is_profiling:
                _note(x, profile.on[layer], profile.low[layer], profile.high[layer])
            for e in range(always[layer], always[layer + 1]):
                u = always_unit[e]
                seen[u] = stamp
                g = f * _dot(gp, gc, gv, u, x)
                _open_unit(u, g, up, uc, uv, dp, dc, dv, x, f, delta, pending)
            looked = always[layer + 1] - always[layer]
            base = layer * hidden
            within = True
            for i in range(len(active)):
                within &= required[layer, i] & ~active[i] == np.uint64(0)
                word = active[i] & relevant[layer, i]
                while word:
                    c = (i << 6) + np.int64(_lowest_bit(word))  # type: ignore[call-arg]
                    word &= word - np.uint64(1)
                    within &= low[layer, c] <= x[c] <= high[layer, c]
                    for e in range(watch[base + c], watch[base + c + 1]):
                        u = watch_unit[e]
                        if seen[u] != stamp:
                            seen[u] = stamp
                            looked += 1
                            g = f * _dot(near_ptr, near_col, near_val, e, x)
                            _open_unit(u, g, up, uc, uv, dp, dc, dv, x, f, delta, pending)
            if not within:
                number[3] += 1
                for u in range(unit_layer[layer], unit_layer[layer + 1]):
                    if seen[u] != stamp:
                        looked += 1
                        g = f * _dot(gp, gc, gv, u, x)
                        _open_unit(u, g, up, uc, uv, dp, dc, dv, x, f, delta, pending)
            number[1] += looked
            _apply(x, active, square, delta, pending)
        if is_profiling:
            profile.tokens[0] += 1
        answer = _best_row(
            logit_ptr,
            logit_col,
            logit_val,
            final_norm,
            code,
            level,
            keys,
            ids,
            outside,
            largest,
            x,
            _factor(square, hidden, eps),
        )
    return answer, made


NO_TOKENS = np.zeros(0, dtype=np.int64)


def feed_all(
    w: Weights, s: State, p: Plan, profile: Profile, is_profiling: bool, tokens: NDArray[np.int64]
) -> int:
    """Consume several tokens; return the answer after the last one."""
    answer, _ = run(w, s, p, profile, is_profiling, tokens, 0, NO_TOKENS, NO_TOKENS)
    return int(answer)


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
    _, made = run(w, s, p, profile, is_profiling, NO_TOKENS, answer, stop, out)
    return int(made)

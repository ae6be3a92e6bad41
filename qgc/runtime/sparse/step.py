"""One token through the sparse weights.

The residual is kept with a list of its non-zero coordinates. A memory is skipped while its beta is 0, a read while its
output gate is shut; a layer's units are looked at only when a coordinate that can open them is not 0 (see `plan`).
All numbers are float32, as in the stock float32 model. What underflows there is skipped here: gates below SHUT, where
silu is smaller than 1e-7 of an open gate.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from qgc.runtime.sparse.jit import compiled
from qgc.runtime.sparse.plan import Plan
from qgc.runtime.sparse.state import Profile, State
from qgc.runtime.sparse.weights import Columns, Floats, Heads, Ints, Keys, Mlp, Rows, Weights

SHUT = np.float32(-20.0)
NOISE = np.float32(2.0**-14)
"""Coordinates of at most this size count as 0 for what is skipped; sums still take them as they are."""
L2_EPS = np.float32(1e-6)
"""Of the l2 norm of queries and keys in transformers."""

Longs = NDArray[np.int64]
Bits = NDArray[np.uint64]
Doubles = NDArray[np.float64]


# What is inlined takes tuples of arrays, which then cost nothing; what is called takes arrays, because a call passes an array
# as seven words and a tuple of arrays as all of theirs.


@compiled(is_inlined=True)
def _dot(rows: Rows, i: int, x: Floats) -> np.float32:
    total = np.float32(0)
    for e in range(rows.ptr[i], rows.ptr[i + 1]):
        total += rows.val[e] * x[rows.col[e]]
    return total


@compiled(is_inlined=True)
def _quad_dot(rows: Rows, i: int, x: Floats) -> np.float32:
    """A row of whole quads; their sums do not wait for each other."""
    col, val = rows.col, rows.val
    total = np.float32(0)
    for quad in range(rows.ptr[i], rows.ptr[i + 1]):
        e = quad << 2
        total += (val[e] * x[col[e]] + val[e + 1] * x[col[e + 1]]) + (
            val[e + 2] * x[col[e + 2]] + val[e + 3] * x[col[e + 3]]
        )
    return total


@compiled(is_inlined=True)
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


@compiled(is_inlined=True)
def _add(delta: Floats, pending: Bits, c: np.uint32, v: np.float32) -> None:
    """Add to the pending change of a coordinate."""
    delta[c] += v
    pending[c >> np.uint32(6)] |= np.uint64(1) << np.uint64(c & np.uint32(63))


@compiled()
def _embed(
    ptr: Ints, col: Columns, val: Floats, token: int, x: Floats, active: Bits, square: Doubles
) -> None:
    """Begin a token: its row of the embedding."""
    for i in range(len(x)):
        x[i] = 0
    for i in range(len(active)):
        active[i] = 0
    total = 0.0
    for e in range(ptr[token], ptr[token + 1]):
        c = col[e]
        x[c] = val[e]
        total += np.float64(val[e]) * np.float64(val[e])
        active[c >> np.uint32(6)] |= np.uint64(1) << np.uint64(c & np.uint32(63))
    square[0] = total


@compiled()
def _apply(x: Floats, active: Bits, square: Doubles, delta: Floats, pending: Bits) -> None:
    """Add the pending changes to the residual; keep the bits of what is not 0 and the sum of squares."""
    total = 0.0
    for i in range(len(pending)):
        word = pending[i]
        if word == 0:
            continue
        pending[i] = 0
        on, base = active[i], np.int64(i) << 6
        while word:
            low: np.uint64 = _lowest_bit(word)  # type: ignore[call-arg]
            word &= word - np.uint64(1)
            c = base + np.int64(low)
            old = x[c]
            new = old + delta[c]
            delta[c] = 0
            x[c] = new
            total += np.float64(new) * np.float64(new) - np.float64(old) * np.float64(old)
            bit = np.uint64(1) << low
            on = on | bit if abs(new) > NOISE else on & ~bit
        active[i] = on
    square[0] += total


@compiled(is_inlined=True)
def _factor(square: Doubles, hidden: int, eps: float) -> np.float32:
    """What RMSNorm multiplies the residual by."""
    return np.float32(1 / np.sqrt(np.float32(square[0]) / np.float32(hidden) + np.float32(eps)))


@compiled(is_inlined=True)
def _switches(h: Heads, s: State, layer: int, f: np.float32) -> None:
    """The switch rows of one layer."""
    for i in range(h.switch_layer[layer], h.switch_layer[layer + 1]):
        s.switch[i] = f * _dot(h.switch, i, s.x)


@compiled()
def _key(
    col: Columns,
    val: Floats,
    first: int,
    x: Floats,
    f: np.float32,
    dims: Columns,
    sums: Floats,
    row: Ints,
    out: Floats,
) -> int:
    """A normalised query or key: its non-zero rows into `row` and `out`; returns how many.

    `val` from `first` on is a matrix of all `dims` for each coordinate of `col`.
    """
    size = len(dims)
    for i in range(size):
        sums[i] = 0
    for j in range(len(col)):
        v = f * x[col[j]]
        if v != 0:
            base = first + j * size
            for i in range(size):
                sums[i] += v * val[base + i]
    n = 0
    norm = np.float32(0)
    for i in range(size):
        g = sums[i]
        if g > SHUT and g != 0:
            v = _silu(g)
            row[n] = dims[i]
            out[n] = v
            norm += v * v
            n += 1
    scale = np.float32(1) / np.sqrt(norm + L2_EPS)
    for i in range(n):
        out[i] *= scale
    return n


@compiled()
def _value(
    col: Columns, val: Floats, first: int, width: int, size: int, x: Floats, f: np.float32, out: Floats
) -> None:
    """The values that a projection gives, all its dimensions at once."""
    for d in range(size):
        out[d] = 0
    for k in range(width):
        base = first + k * size
        for d in range(size):
            out[d] += val[base + d] * x[col[base + d]]
    between = 0
    for d in range(size):
        out[d] *= f
        between += (abs(out[d]) < -SHUT) & (out[d] != 0)
    if between:
        for d in range(size):
            out[d] = _silu(out[d]) if out[d] > SHUT else np.float32(0)
    else:
        for d in range(size):
            out[d] = max(out[d], np.float32(0))


@compiled()
def _write(
    memory: Floats,
    start: int,
    size: int,
    energy: Floats,
    row: Ints,
    key: Floats,
    count: int,
    beta: np.float32,
    value: Floats,
    change: Floats,
) -> None:
    """The delta rule: move the addressed row towards the value by beta. Other dimensions than its values' stay 0."""
    for d in range(size):
        change[d] = value[d]
    for i in range(count):
        base = start + np.int64(row[i]) * size
        for d in range(size):
            change[d] -= key[i] * memory[base + d]
    for i in range(count):
        first = start + np.int64(row[i]) * size
        k = key[i] * beta
        for d in range(size):
            memory[first + d] += k * change[d]
        energy[row[i]] = _energy(memory, first, size)


@compiled()
def _decay(memory: Floats, first: int, last: int, energy: Floats, factor: np.float32) -> None:
    for i in range(first, last):
        memory[i] *= factor
    for i in range(len(energy)):
        energy[i] *= factor * factor


@compiled(reorders_sums=True)
def _energy(memory: Floats, first: np.int64, size: int) -> np.float32:
    total = np.float32(0)
    for d in range(first, first + size):
        total += memory[d] * memory[d]
    return total


@compiled()
def _recall(
    memory: Floats, start: int, size: int, energy: Floats, row: Ints, query: Floats, count: int, out: Floats
) -> np.float32:
    """What a query reads, into `out`; returns the sum of its squares."""
    for d in range(size):
        out[d] = 0
    for i in range(count):
        base = start + np.int64(row[i]) * size
        for d in range(size):
            out[d] += query[i] * memory[base + d]
    if count == 1:
        return np.float32(query[0] * query[0] * energy[row[0]])
    return _energy(out, np.int64(0), size)


@compiled()
def _emit(
    ptr: Ints,
    source: Columns,
    col: Columns,
    val: Floats,
    read: int,
    recalled: Floats,
    scale: np.float32,
    delta: Floats,
    pending: Bits,
) -> None:
    """Add what was recalled, times a scale, to the pending changes."""
    for e in range(ptr[read], ptr[read + 1]):
        v = recalled[source[e]]
        if v != 0:
            _add(delta, pending, col[e], v * scale * val[e])


@compiled(is_inlined=True)
def _open_unit(m: Mlp, s: State, u: int, g: np.float32, f: np.float32) -> None:
    """What a SwiGLU unit adds, given its gate."""
    if g > SHUT and g != 0:
        col, val = m.body.col, m.body.val
        up = np.float32(0)
        for e in range(m.body.ptr[u], m.middle[u]):
            up += val[e] * s.x[col[e]]
        y = _silu(g) * (f * up)
        if y != 0:
            for e in range(m.middle[u], m.body.ptr[u + 1]):
                _add(s.delta, s.pending, col[e], y * val[e])


@compiled()
def _note(x: Floats, on: Longs, low: Floats, high: Floats) -> None:
    """Record which coordinates are not 0 before a layer's units, and their range."""
    for c in range(len(x)):
        if abs(x[c]) > NOISE:
            on[c] += 1
            low[c] = min(low[c], x[c])
            high[c] = max(high[c], x[c])


@compiled()
def _best_row(
    ptr: Ints,
    col: Columns,
    val: Floats,
    norm: Floats,
    code: Columns,
    level: Floats,
    keys: Longs,
    ids: Ints,
    outside: Columns,
    largest: Floats,
    x: Floats,
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


@compiled(is_inlined=True)
def _projected(keys: Keys, s: State, i: int, stamp: int, f: np.float32) -> None:
    """Compute a query or key, unless this token has it already."""
    if s.key_seen[i] != stamp:
        s.key_seen[i] = stamp
        cols = keys.col[keys.col_ptr[i] : keys.col_ptr[i + 1]]
        dims = keys.row[keys.row_ptr[i] : keys.row_ptr[i + 1]]
        s.key_count[i] = _key(
            cols, keys.val, keys.val_ptr[i], s.x, f, dims, s.sums, s.key_row[i], s.key_val[i]
        )


@compiled(is_inlined=True)
def _write_memories(h: Heads, s: State, layer: int, stamp: int, f: np.float32) -> None:
    """The delta rule in every memory of a layer whose beta is not 0."""
    memories, values = h.memories, h.values
    for m in range(memories.layer[layer], memories.layer[layer + 1]):
        if memories.decay[m] != 1:
            _decay(s.memory, s.start[m], s.start[m + 1], s.energy[m], memories.decay[m])
        b = s.switch[memories.beta[m]]
        if b <= 4 * SHUT:
            continue
        s.number[2] += 1
        k, v = memories.key[m], memories.value[m]
        size = values.dim_ptr[v + 1] - values.dim_ptr[v]
        _projected(h.keys, s, k, stamp, f)
        if s.value_seen[v] != stamp:
            s.value_seen[v] = stamp
            _value(values.col, values.val, values.entry_ptr[v], values.width[v], size, s.x, f, s.value[v])
        strength = np.float32(1) if b > -SHUT else np.float32(1) / (np.float32(1) + np.exp(-b))
        _write(
            s.memory,
            s.start[m],
            size,
            s.energy[m],
            s.key_row[k],
            s.key_val[k],
            s.key_count[k],
            strength,
            s.value[v],
            s.sums,
        )


@compiled(is_inlined=True)
def _read_memories(h: Heads, s: State, layer: int, stamp: int, f: np.float32, dim: int, eps: float) -> None:
    """What the heads of a layer read through the output gates that are open, normalised and gated."""
    reads, values, scale = h.reads, h.values, np.float32(1) / np.sqrt(np.float32(dim))
    for r in range(reads.layer[layer], reads.layer[layer + 1]):
        g = s.switch[reads.gate[r]]
        if g <= SHUT:
            continue
        s.number[2] += 1
        q, m = reads.query[r], reads.memory[r]
        _projected(h.keys, s, q, stamp, f)
        v = h.memories.value[m]
        size = values.dim_ptr[v + 1] - values.dim_ptr[v]
        total = _recall(
            s.memory, s.start[m], size, s.energy[m], s.key_row[q], s.key_val[q], s.key_count[q], s.sums
        )
        if total != 0:
            norm = scale / np.sqrt(total * scale * scale / np.float32(dim) + np.float32(eps))
            _emit(
                reads.ptr, reads.source, reads.col, reads.val, r, s.sums, norm * _silu(g), s.delta, s.pending
            )


@compiled(is_inlined=True)
def _look(m: Mlp, s: State, p: Plan, layer: int, hidden: int, stamp: int, f: np.float32) -> bool:
    """The units of a layer that the plan says may open; returns whether every value is within the plan's bounds."""
    first, last = p.always[layer], p.always[layer + 1]
    for e in range(first, last):
        s.gated[e] = 0
    looked = last - first
    base = layer * hidden
    within = True
    for i in range(len(s.active)):
        within &= p.required[layer, i] & ~s.active[i] == np.uint64(0)
        word = s.active[i] & p.relevant[layer, i]
        while word:
            c = (i << 6) + np.int64(_lowest_bit(word))  # type: ignore[call-arg]
            word &= word - np.uint64(1)
            place = (base + c) << 1
            within &= p.bounds[place] <= s.x[c] <= p.bounds[place + 1]
            for e in range(p.lists[place + 1], p.lists[place + 3]):
                s.gated[p.column_place[e]] += p.column_val[e] * s.x[c]
            for e in range(p.lists[place], p.lists[place + 2]):
                u = p.watch_unit[e]
                if s.seen[u] != stamp:
                    s.seen[u] = stamp
                    looked += 1
                    _open_unit(m, s, u, f * _quad_dot(p.gate, e, s.x), f)
    for e in range(first, last):
        u = p.always_unit[e]
        s.seen[u] = stamp
        _open_unit(m, s, u, f * s.gated[e], f)
    s.number[1] += looked
    return within


@compiled(is_inlined=True)
def _look_at_all(m: Mlp, s: State, layer: int, stamp: int, f: np.float32) -> None:
    """The units of a layer that the plan has not looked at."""
    s.number[3] += 1
    for u in range(m.layer[layer], m.layer[layer + 1]):
        if s.seen[u] != stamp:
            s.number[1] += 1
            _open_unit(m, s, u, f * _dot(m.gate, u, s.x), f)


@compiled(releases_gil=True)
def run(
    w: Weights,
    s: State,
    p: Plan,
    profile: Profile,
    is_profiling: bool,
    tokens: Longs,
    answer: int,
    stop: Longs,
    out: Longs,
) -> tuple[int, int]:
    """Consume `tokens`, then feed answers back into `out` until one of `stop`, or until `out` is full.

    `answer` is what was answered before, in case there are no tokens. The last token written to `out` is not fed.
    Returns the last answer and how many tokens were written to `out`.
    """
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
        stamp = s.number[0] + 1
        s.number[0] = stamp
        _embed(w.embedding.ptr, w.embedding.col, w.embedding.val, token, s.x, s.active, s.square)
        for layer in range(len(w.mlp.layer) - 1):
            f = _factor(s.square, w.hidden, w.eps)
            _switches(w.heads, s, layer, f)
            _write_memories(w.heads, s, layer, stamp, f)
            _read_memories(w.heads, s, layer, stamp, f, w.dim, w.eps)
            _apply(s.x, s.active, s.square, s.delta, s.pending)
            f = _factor(s.square, w.hidden, w.eps)
            if is_profiling:
                _note(s.x, profile.on[layer], profile.low[layer], profile.high[layer])
            if not _look(w.mlp, s, p, layer, w.hidden, stamp, f):
                _look_at_all(w.mlp, s, layer, stamp, f)
            _apply(s.x, s.active, s.square, s.delta, s.pending)
        if is_profiling:
            profile.tokens[0] += 1
        o = w.output
        answer = _best_row(
            o.rows.ptr,
            o.rows.col,
            o.rows.val,
            o.norm,
            o.code,
            o.level,
            o.keys,
            o.ids,
            o.outside,
            o.largest,
            s.x,
            _factor(s.square, w.hidden, w.eps),
        )
    return answer, made


NO_TOKENS = np.zeros(0, dtype=np.int64)


def feed_all(w: Weights, s: State, p: Plan, profile: Profile, is_profiling: bool, tokens: Longs) -> int:
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
    stop: Longs,
    out: Longs,
) -> int:
    """Feed answers back, beginning with `answer`, until one of `stop` or until `out` is full; returns how many."""
    _, made = run(w, s, p, profile, is_profiling, NO_TOKENS, answer, stop, out)
    return int(made)

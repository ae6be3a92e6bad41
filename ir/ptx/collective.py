"""What threads of a warp compute together: shuffles, votes, matches, reductions (PTX ISA, Parallel Synchronization).

Each function receives the decoded form, the lanes (numbers in the warp) of the threads that take part, in order,
and their operands without the membermask, one element a participant; it returns the destinations alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qgc.ir.ptx.decode import Form

Array: TypeAlias = NDArray[Any]

_LOW5 = 31


def _shuffle(form: Form, lanes: Array, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    """`shfl.sync`: c packs the segment mask (bits 8-12) and the clamp lane (bits 0-4).

    A lane that asks for one that does not take part gets its own value; PTX leaves that undefined.
    """
    amount, clamp = (b & _LOW5).astype(np.int64), (c & _LOW5).astype(np.int64)
    segment = ((c >> 8) & _LOW5).astype(np.int64)
    inside = ~segment & _LOW5
    last = (lanes & segment) | (clamp & inside)
    mode = form.choice("SHUFFLE")
    wanted = {
        "up": lanes - amount,
        "down": lanes + amount,
        "bfly": lanes ^ amount,
        "idx": (lanes & segment) | (amount & inside),
    }[mode]
    is_valid = wanted >= last if mode == "up" else wanted <= last
    source = np.where(is_valid, wanted, lanes)
    found = np.isin(source, lanes)
    at = np.searchsorted(lanes, np.where(found, source, lanes))
    return a[at], is_valid


def _vote(form: Form, _lanes: Array, a: Array) -> tuple[Array, ...]:
    held = {"all": a.all(), "any": a.any(), "uni": a.all() or not a.any()}[form.choice("VOTE")]
    return (np.full(len(a), held),)


def _bits_of(lanes: Array) -> int:
    return sum(1 << lane for lane in lanes.tolist())


def _ballot(_form: Form, lanes: Array, a: Array) -> tuple[Array, ...]:
    return (np.full(len(a), _bits_of(lanes[a]), dtype=np.uint32),)


def _match_any(_form: Form, lanes: Array, a: Array) -> tuple[Array, ...]:
    return (np.array([_bits_of(lanes[a == value]) for value in a], dtype=np.uint32),)


def _match_all(_form: Form, lanes: Array, a: Array) -> tuple[Array, ...]:
    same = bool((a == a[0]).all())
    mask = _bits_of(lanes) if same else 0
    return np.full(len(a), mask, dtype=np.uint32), np.full(len(a), same)


def _reduce(operation: np.ufunc) -> Callable[..., tuple[Array, ...]]:
    def reduce(_form: Form, _lanes: Array, a: Array) -> tuple[Array, ...]:
        return (np.full(len(a), operation.reduce(a, dtype=a.dtype)),)

    return reduce


def _nothing(_form: Form, _lanes: Array) -> tuple[Array, ...]:
    return ()


WARP_OPS: dict[str, Callable[..., tuple[Array, ...]]] = {
    "bar.warp.sync": _nothing,
    "shfl.sync.SHUFFLE": _shuffle,
    "vote.sync.VOTE": _vote,
    "vote.sync.ballot": _ballot,
    "match.any.sync": _match_any,
    "match.all.sync": _match_all,
    "redux.sync.add": _reduce(np.add),
    "redux.sync.min": _reduce(np.minimum),
    "redux.sync.max": _reduce(np.maximum),
    "redux.sync.and": _reduce(np.bitwise_and),
    "redux.sync.or": _reduce(np.bitwise_or),
    "redux.sync.xor": _reduce(np.bitwise_xor),
}
"""Name of a row -> its function. The last source of these rows is the membermask."""

REDUCTIONS: dict[str, Callable[[Array], Any]] = {
    "bar.red.popc": np.count_nonzero,
    "bar.red.and": np.all,
    "bar.red.or": np.any,
}
"""Name of a row -> how the predicates of a block combine at the barrier."""

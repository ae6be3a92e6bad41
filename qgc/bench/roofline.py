"""How far the sparse step is from what memory bandwidth alone would allow, and what its time is spent on instead.

The bound is the bytes that a token touches over the bandwidth of copying a large array. A fit of layer times says what a layer, a
unit that is looked at, and a memory that is written or read cost: the step is bound by instructions and branches, not by bytes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from qgc.runtime.sparse.layers import LayerCost
from qgc.runtime.sparse.plan import QUAD, Plan
from qgc.runtime.sparse.weights import Weights


def roofline(
    weights: Weights, plan: Plan, units: float, heads: float, micros: float, costs: Sequence[LayerCost]
) -> dict[str, Any]:
    """The bounds and the fit.

    Args:
        weights, plan: the lists.
        units, heads: units looked at, and memories written and read, a token.
        micros: processor microseconds a token.
        costs: what each layer costs, of several kernels.
    """
    unit, head = _unit_bytes(weights, plan), _head_bytes(weights)
    touched = units * unit + heads * head
    bandwidth = copy_bandwidth()
    layer_us, unit_us, head_us = _fit(costs)
    return {
        "bytes_per_token": round(touched),
        "copy_gb_per_s": round(bandwidth / 1e9, 1),
        "bound_tokens_per_s": round(bandwidth / touched),
        "share": round(touched / bandwidth / (micros * 1e-6), 3),
        "micros_per_token": round(micros, 1),
        "fit_us": {
            "layer": round(layer_us, 3),
            "unit_looked_at": round(unit_us, 4),
            "memory_access": round(head_us, 4),
        },
    }


def _unit_bytes(w: Weights, plan: Plan) -> float:
    """Of a unit that is looked at: its number and mark, its padded gate row, and its body, as if it always opened."""
    gate = 8 * QUAD * plan.gate.ptr[-1] / max(1, len(plan.watch_unit))
    body = 8 * len(w.mlp.body.val) / len(w.mlp.middle)
    return float(12 + gate + body)


def _head_bytes(w: Weights) -> float:
    """Of a memory that is written or read: its switch, key matrix and value or output rows, and a row of state."""
    h = w.heads
    count = len(h.memories.beta) + len(h.reads.memory)
    lists = 8 * len(h.switch.val) + 4 * len(h.keys.val) + 8 * len(h.values.val) + 12 * len(h.reads.val)
    return float(lists / count + 2 * 4 * len(h.values.dim) / len(h.values.width))


def copy_bandwidth() -> float:
    """Bytes a second, read and written, of copying 64 MB."""
    array = np.zeros(1 << 26, dtype=np.uint8)
    other = array.copy()
    began = time.perf_counter()
    for _ in range(8):
        np.copyto(other, array)
    return 16 * array.nbytes / (time.perf_counter() - began)


def _fit(costs: Sequence[LayerCost]) -> tuple[float, float, float]:
    """Least squares of layer times: a constant, per unit looked at, per memory access."""
    counts = np.array([[1.0, cost.units, cost.heads] for cost in costs])
    times = np.array([cost.micros for cost in costs])
    constant, unit, head = np.linalg.lstsq(counts, times, rcond=None)[0]
    return float(constant), float(unit), float(head)

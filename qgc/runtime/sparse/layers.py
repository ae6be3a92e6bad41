"""What each layer of the sparse step costs, by running a sample through the first layers alone: one, two, and so on.

The step itself has no clock in it. A layer's time is what the first n layers take, less what the first n - 1 take; the
state of a layer depends on the layers below it alone, so both runs do the same there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qgc.runtime.sparse import step
from qgc.runtime.sparse.model import SparseModel
from qgc.runtime.sparse.state import new_profile, new_state
from qgc.runtime.sparse.weights import Weights

SAMPLE = 400
"""Tokens of a stream that are measured."""
TOKENS = 1200
"""Tokens to run for each number of layers: the sample as often as fits, and the fastest time counts."""
UNITS, HEADS = 1, 2
"""Places in `State.number`."""


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One layer, a token: microseconds, SwiGLU units looked at, DeltaNet heads at work."""

    layer: int
    micros: float
    units: float
    heads: float


def layer_costs(model: SparseModel, ids: Sequence[int], tokens: int = TOKENS) -> tuple[LayerCost, ...]:
    """The cost of every layer over the beginning of a stream, by the plan; a model that has none watches the stream first.

    Counts are exact; times are differences of measured times, and no less than 0.
    """
    sample = np.array(ids[:SAMPLE], dtype=np.int64)
    if not len(sample):
        return ()
    while not model.has_plan:
        model.answers(model.new_session(), sample.tolist())
    sums = [_measure(model, count, sample, tokens) for count in range(model.weights.layers + 1)]
    costs = []
    for layer in range(model.weights.layers):
        micros, units, heads = (
            (above - below) / len(sample) for above, below in zip(sums[layer + 1], sums[layer], strict=True)
        )
        costs.append(LayerCost(layer, max(0.0, micros), units, heads))
    return tuple(costs)


def first_layers(weights: Weights, count: int) -> Weights:
    """A model cut off after its first layers, without an output table, so that its answers cost and mean nothing."""
    out = weights.output
    empty = out._replace(
        rows=out.rows._replace(ptr=out.rows.ptr[:1]), code=out.code[:0], outside=out.outside[:0]
    )
    return weights._replace(mlp=weights.mlp._replace(layer=weights.mlp.layer[: count + 1]), output=empty)


def _measure(
    model: SparseModel, count: int, sample: NDArray[np.int64], tokens: int
) -> tuple[float, float, float]:
    """Processor microseconds of the fastest run through the first layers, units looked at, heads at work."""
    weights = first_layers(model.weights, count)
    spare, plan = new_profile(model.weights), model.plan
    times = []
    for _ in range(max(1, tokens // len(sample))):
        state = new_state(model.weights)
        began = time.thread_time()
        step.feed_all(weights, state, plan, spare, False, sample)
        times.append(time.thread_time() - began)
    units, heads = state.number[UNITS], state.number[HEADS]
    return 1e6 * min(times), float(units), float(heads)

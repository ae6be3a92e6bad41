"""Silence on text: a functional of the residual that is positive on every text row and exactly 0 on machine tokens.

Every gate, beta and output gate of a compiled layer gets -W times this functional. silu and sigmoid of so negative a number
are exactly 0, so a compiled layer adds exactly nothing to a text token, and text writes no memory.

A *direction* over few coordinates on whose positive side all text rows lie costs nothing: rows stay as they are. Where there
is none, a *guard* C is added to one coordinate of every text row. The closing layer takes away `C ms / (ms + eps)`, which is C
but for eps and rounding, and the stored row makes up for both as far as its dtype can.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qgc.backends.merge.base import Base, row_chunks
from qgc.diagnostics import fail

if TYPE_CHECKING:
    import torch

MOST = 128
"""Coordinates of a direction."""
ROUNDS = 200
"""Of the perceptron, for each number of coordinates."""
CLEARANCE = 256.0
"""A shut gate is below minus this: exp(256) is infinite in float32, so silu and sigmoid give 0."""
SLACK = 2.0**-6
"""Relative error that is allowed to a dot product: bfloat16 rounds its inputs to 2**-9 and its result to 2**-9."""


@dataclass(frozen=True, slots=True)
class Silence:
    """How text is told from machine tokens.

    Attributes:
        kind: `direction` or `guard`.
        coordinates, weights: the functional, over the normalised residual.
        constant: what the guard adds to its coordinate; 0 for a direction.
        least: the least value of the functional over all text rows, less what rounding may take.
    """

    kind: str
    coordinates: tuple[int, ...]
    weights: tuple[float, ...]
    constant: float
    least: float

    def share(self, hidden: int) -> float:
        """What the closing layer multiplies each square by: `constant / hidden` as a number of bfloat16."""
        import torch

        return float(torch.tensor(self.constant / hidden).bfloat16())

    def strength(self, largest: float, hidden: int) -> float:
        """W, a power of two, that shuts every gate whose row has at most the 2-norm `largest`.

        By Cauchy and Schwarz a row gives at most `largest sqrt(hidden)` on any normalised residual, so the bound holds for
        every row of the vocabulary: the least of the functional is taken over all of them.

        Raises:
            QgcError: `merge-silence` when W would not be a number that float32 multiplies safely.
        """
        need = (1 + SLACK) * largest * math.sqrt(hidden) + CLEARANCE
        strength = 2.0 ** math.ceil(math.log2(need / self.least))
        if strength * math.sqrt(hidden) * max(map(abs, self.weights)) > 2.0**100:
            raise fail(
                "merge-silence", f"a text row is too near to 0: {self.least:g}; its gates cannot be shut"
            )
        return strength

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "silence": self.kind,
            "coordinates": list(self.coordinates),
            "weights": list(self.weights),
            "constant": self.constant,
            "least": self.least,
        }


def choose(base: Base, dtype: str, room: int) -> Silence:
    """A direction when one is found on at most `room` coordinates, else the guard; checked on every row.

    Raises:
        QgcError: `merge-silence` when neither tells every text row from machine tokens.
    """
    low, high, mean, spread = _statistics(base)
    return _direction(base, mean / np.maximum(spread, 1e-30), min(room, MOST)) or _guard(
        base, dtype, low, high
    )


def normalised(rows: torch.Tensor, eps: float) -> torch.Tensor:
    """RMSNorm with weight 0, in float32, as transformers computes it."""
    x = rows.float()
    return x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt()


def _statistics(base: Base) -> tuple[NDArray[np.float64], ...]:
    """Smallest, largest, mean and spread of every coordinate over the vocabulary."""
    hidden = base.shape.hidden
    low, high = np.full(hidden, np.inf), np.full(hidden, -np.inf)
    total, squares = np.zeros(hidden), np.zeros(hidden)
    for _, rows in row_chunks(base.embedding):
        x = rows.float()
        if not bool(x.isfinite().all()):
            raise fail("merge-silence", f"{base.name}: the embedding has entries that are no finite numbers")
        low = np.minimum(low, x.amin(0).numpy())
        high = np.maximum(high, x.amax(0).numpy())
        total += x.sum(0).double().numpy()
        squares += x.pow(2).sum(0).double().numpy()
    mean = total / base.rows
    return low, high, mean, np.sqrt(np.maximum(squares / base.rows - mean**2, 0))


def _direction(base: Base, score: NDArray[np.float64], most: int) -> Silence | None:
    """The perceptron on the coordinates of least spread beside their mean: 1 of them, 2, 4, and so on."""
    import torch

    ranked = np.argsort(-np.abs(score), kind="stable")[:most].copy()
    if not len(ranked):
        return None
    x = torch.cat(
        [normalised(r, base.eps)[:, torch.from_numpy(ranked)] for _, r in row_chunks(base.embedding)]
    )
    counts = [1 << i for i in range(len(ranked).bit_length())]
    for count in sorted({min(c, len(ranked)) for c in counts}):
        weights = _perceptron(x[:, :count])
        if weights is None:
            continue
        found = x[:, :count] @ weights - SLACK * (x[:, :count].abs() @ weights.abs())
        if (least := float(found.min())) > 0:
            used = [i for i in range(count) if weights[i] != 0]
            places = tuple(int(ranked[i]) for i in used)
            return Silence("direction", places, tuple(float(weights[i]) for i in used), 0.0, least)
    return None


def _perceptron(x: torch.Tensor) -> torch.Tensor | None:
    """Weights of bfloat16 with `x @ weights` above what rounding may take, in every row; None when not found in time."""
    import torch

    weights = x.mean(0)
    for _ in range(ROUNDS):
        weights = weights / weights.abs().max().clamp_min(1e-30)
        rounded = weights.bfloat16().float()
        margin = x @ rounded - 2 * SLACK * (x.abs() @ rounded.abs())
        wrong = margin <= 0
        if not bool(wrong.any()):
            return rounded
        step = torch.nn.functional.normalize(x[wrong].mean(0), dim=0)
        weights = weights + step / math.sqrt(x.shape[1])
    return None


def _guard(base: Base, dtype: str, low: NDArray[np.float64], high: NDArray[np.float64]) -> Silence:
    """The coordinate of least size, and the power of two that makes it positive in every row."""
    size = np.maximum(np.abs(low), np.abs(high))
    coordinate = int(np.argmin(size))
    constant = 2.0 ** math.ceil(math.log2(max(1.125 * size[coordinate], 2.0**-6)))
    plain = Silence("guard", (coordinate,), (1.0,), constant, 0.0)
    least = math.inf
    for _, rows in row_chunks(base.embedding):
        found = normalised(guarded(rows, plain, base.eps, dtype), base.eps)[:, coordinate]
        least = min(least, (1 - SLACK) * float(found.min()))
    if least <= 0:
        raise fail(
            "merge-silence", f"{base.name}: coordinate {coordinate} cannot be made positive in every text row"
        )
    return Silence("guard", (coordinate,), (1.0,), constant, least)


def taken_away(rows: torch.Tensor, silence: Silence, eps: float, dtype: str) -> torch.Tensor:
    """What the closing layer subtracts from the guard coordinate of rows, `[rows]`, in the dtype it computes in."""
    import torch

    kind = getattr(torch, dtype)
    x = normalised(rows, eps).to(kind)
    squares = (x * x).float().sum(-1)
    return (squares * silence.share(rows.shape[-1])).to(kind).float()


def guarded(rows: torch.Tensor, silence: Silence, eps: float, dtype: str) -> torch.Tensor:
    """Text rows as they are stored: the guard is on, chosen so that what is left when it is taken away is nearest to the
    row's own value. A direction leaves rows alone.
    """
    import torch

    kind = getattr(torch, dtype)
    if silence.kind == "direction":
        return rows.to(kind)
    place = silence.coordinates[0]
    own = rows[:, place].to(kind).float()
    out = rows.to(kind).clone()
    out[:, place] = (own + silence.constant).to(kind)
    best, error = out[:, place].clone(), torch.full_like(own, math.inf)
    for _ in range(4):
        away = taken_away(out, silence, eps, dtype)
        left = (out[:, place].float() - away).to(kind).float()
        better = (left - own).abs() < error
        best = torch.where(better, out[:, place], best)
        error = torch.where(better, (left - own).abs(), error)
        out[:, place] = (own + away).to(kind)
    out[:, place] = best
    return out

"""What a product of a matrix with the normalised residual gives, for all inputs and any order of its sum.

Ideal values are multiples of a *grid*, a power of two. A coordinate carries noise only where its ideal value is 0; a sum is
*decided* when its own noise is so small that every result but 0 rounds to exactly the ideal number. Then noise stays with
zeros, and what this module proves about a layer is an induction over the layers.

Source of the rounding steps: IEEE 754, and that products of bfloat16 numbers are added in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

SINGLE_BITS = 24
"""Of a float32 significand; sums are in float32 in either dtype."""
BITS = {"float32": 24, "bfloat16": 8}
"""Of a stored activation's significand."""
SPREAD = 1 + 2.0**-10
"""A float32 sum of up to 2**13 noises is at most this times their exact sum."""


def absorbed() -> float:
    """Noise below this share of the smallest ideal number vanishes in every partial sum that is not ideally 0.

    Half the distance from a power of two to the float32 number below it. A wider distance holds for bfloat16 results, but
    partial sums are float32 ones.
    """
    return 2.0 ** -(SINGLE_BITS + 1)


def grid_of(values: Vector) -> Vector:
    """The largest power of two that divides each number; infinity for 0."""
    mantissa, exponent = np.frexp(np.where(values == 0, 1.0, values))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    return np.where(values == 0, np.inf, np.ldexp(lowest, exponent - 53))


@dataclass(frozen=True, slots=True)
class Matrix:
    """The entries of a stored matrix that are not 0."""

    rows: int
    row: Indices
    column: Indices
    value: Vector

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Matrix:
        """From a dense tensor of any dtype."""
        place = tensor.nonzero()
        row, column = place[:, 0], place[:, 1]
        value = tensor[row, column].double().numpy()
        return cls(tensor.shape[0], row.numpy(), column.numpy(), value)

    def sums(self, terms: Vector) -> Vector:
        """The sum of one term an entry, by row."""
        return np.bincount(self.row, terms, self.rows).astype(np.float64, copy=False)

    def least(self, terms: Vector) -> Vector:
        """The least of one term an entry, by row; infinity where there is none."""
        out = np.full(self.rows, np.inf)
        np.minimum.at(out, self.row, terms)
        return out

    @property
    def used(self) -> NDArray[np.bool_]:
        """Whether a row has an entry."""
        return np.bincount(self.row, minlength=self.rows) > 0


@dataclass(slots=True)
class Residual:
    """What is known of every coordinate of the residual stream, `[hidden]` each.

    Attributes:
        constant: the exact constant that it holds, else 0.
        low, high: bounds of its ideal value, which is a whole number.
        noise: bound of its deviation where the ideal value is 0.
    """

    constant: Vector
    low: Vector
    high: Vector
    noise: Vector


@dataclass(frozen=True, slots=True)
class Rows:
    """Bounds of a product `matrix @ normalised residual`, by row.

    Attributes:
        low, high: of the ideal result.
        grid: the ideal result is a multiple of it.
        may_be_zero: whether the ideal result may be 0.
        least: the least size of an ideal result that is not 0.
        noise: the deviation where the ideal result is 0.
        share: noise as a share of what is absorbed; below 1 the row is decided.
        size: all terms together, as a share of what float32 sums exactly; at most 1.
    """

    low: Vector
    high: Vector
    grid: Vector
    may_be_zero: NDArray[np.bool_]
    least: Vector
    noise: Vector
    share: Vector
    size: Vector


def _steps(matrix: Matrix, size: Vector, grid: Vector) -> Vector:
    """What every sum of whole multiples of a row's entries is a multiple of: the smallest of them where it divides the rest."""
    smallest = matrix.least(np.where(size > 0, size, np.inf))
    with np.errstate(invalid="ignore"):
        ratio = size / smallest[matrix.row]
        odd = matrix.sums((np.nan_to_num(ratio) % 1 != 0).astype(np.float64))
    return np.where(odd == 0, smallest, grid)


def product(matrix: Matrix, x: Residual, factor: float) -> Rows:
    """Bound a projection; `factor` is RMSNorm's, a power of two."""
    weight = matrix.value * factor
    is_constant = x.constant[matrix.column] != 0
    const = matrix.sums(weight * x.constant[matrix.column])
    a = np.where(is_constant, 0.0, weight)
    ends = np.stack([a * x.low[matrix.column], a * x.high[matrix.column]])
    low, high = const + matrix.sums(ends.min(0)), const + matrix.sums(ends.max(0))
    grid_terms = matrix.least(grid_of(a))
    grid = np.minimum(grid_terms, grid_of(const))
    step = _steps(matrix, np.abs(a), grid_terms)
    varies = np.isfinite(step)
    with np.errstate(invalid="ignore"):
        rest = np.where(varies, np.mod(const, step), np.abs(const))
        other = np.where(varies, step - rest, rest)
    least = np.where(rest > 0, np.minimum(rest, other), step)
    may_be_zero = (rest == 0) & (low <= 0) & (high >= 0)
    noise = SPREAD * matrix.sums(np.abs(a) * x.noise[matrix.column])
    total = np.abs(const) + matrix.sums(np.abs(ends).max(0))
    finite = np.isfinite(grid)
    safe = np.where(finite, grid, 1.0)
    share = np.where(finite, noise / safe / absorbed(), 0.0)
    size = np.where(finite, total / safe / 2.0**SINGLE_BITS, 0.0)
    return Rows(low, high, grid, may_be_zero, least, noise, share, size)

"""What the `weights` stage is: the non-zero entries of every tensor of the compiled layers, by tensor name.

Tensor names are those of the checkpoint without the `model.layers.N.` prefix, such as `mlp.gate_proj.weight`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qgc.ir.layout.shape import ModelShape

CONSTANT = 2.0**30
"""What the constant coordinates hold. So large that the wires, and the next token's code, vanish beside it: RMSNorm's
factor is then the same power of two for every token, in every dtype, and normalised wires are exact."""

CODE_LEVEL = 1024.0
"""The next token's code is written over the token's own, which has level 1, so much larger that it decides alone."""

DECAY_BIAS = -200.0
"""dt_bias: softplus(-200) is 0, so the state decays by exp(0) = 1."""

STATE_LEVEL = 1.25 * 2.0**18
"""What a stored bit is in the recurrent state; 0 when the bit is off. So large that eps vanishes in the gated RMSNorm;
with the significand 1.25 the squares that the norm sums have few bits, so their sum is exact in any order, and the roundings
of query scale and norm cancel: a bit is read back as exactly 1 (`qgc.backends.certify.reads` enumerates all orders)."""


def norm_factor(shape: ModelShape) -> float:
    """What RMSNorm multiplies by: `1 / sqrt(constants * CONSTANT**2 / hidden)`, a power of two."""
    return float((shape.hidden / shape.constants) ** 0.5 / CONSTANT)


@dataclass(slots=True)
class Entries:
    """Non-zero entries of one tensor, in any order; equal places add up."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, row: int, column: int, value: float) -> None:
        """Add `value` to one entry."""
        self.rows.append(row)
        self.columns.append(column)
        self.values.append(value)

    def merged(self, columns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The entries with equal places added, as flat places in a row-major matrix (ascending), and values."""
        flat = np.array(self.rows, dtype=np.int64) * columns + np.array(self.columns, dtype=np.int64)
        place, inverse = np.unique(flat, return_inverse=True)
        total: NDArray[np.float64] = np.zeros(len(place))
        np.add.at(total, inverse, self.values)
        return place, total


LayerWeights = dict[str, Entries]


def tensor_shapes(shape: ModelShape) -> dict[str, tuple[int, int]]:
    """Shapes (rows, columns) of the matrices of a linear-attention layer that the compiler writes."""
    key = shape.heads * shape.head_dim
    value = shape.value_heads * shape.head_dim
    return {
        "linear_attn.in_proj_qkv.weight": (2 * key + value, shape.hidden),
        "linear_attn.in_proj_z.weight": (value, shape.hidden),
        "linear_attn.in_proj_b.weight": (shape.value_heads, shape.hidden),
        "linear_attn.in_proj_a.weight": (shape.value_heads, shape.hidden),
        "linear_attn.out_proj.weight": (shape.hidden, value),
        "mlp.gate_proj.weight": (shape.intermediate, shape.hidden),
        "mlp.up_proj.weight": (shape.intermediate, shape.hidden),
        "mlp.down_proj.weight": (shape.hidden, shape.intermediate),
    }


class Ports(Protocol):
    """Where a token enters the residual stream and the next one leaves it; layouts and weights have these."""

    @property
    def shape(self) -> ModelShape:
        """The model's widths."""

    @property
    def constants(self) -> tuple[int, ...]:
        """Coordinates that hold the constant."""

    @property
    def fields(self) -> dict[str, int]:
        """The coordinate of each field of the token."""

    @property
    def code(self) -> dict[str, int]:
        """The coordinate of each output: the token's own code on input, the next token's on output."""


@dataclass(frozen=True, slots=True)
class Weights:
    """All compiled layers of a model, and its ports."""

    shape: ModelShape
    constants: tuple[int, ...]
    fields: dict[str, int]
    code: dict[str, int]
    layers: tuple[LayerWeights, ...]

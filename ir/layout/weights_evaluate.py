"""The reference evaluator of weights: a forward pass in plain numpy, token by token.

It computes what transformers' `modeling_qwen3_5.py` computes for these layers, on the entries that are not 0: RMSNorm,
the gated delta rule with l2-normalised keys and queries, gated RMSNorm, and SwiGLU. The convolution passes the newest
token on. In float64 the numbers are the exact ones within 1e-6; in float32 they are the model's, but for the order of sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qgc.ir.layout.weights import CONSTANT, DECAY_BIAS, Entries, LayerWeights, Weights, tensor_shapes
from qgc.ir.netlist.netlist import Number

EPS = 1e-6
"""Of every norm in a Qwen3.5 configuration."""

Vector = NDArray[Any]


class Evaluator:
    """Runs weights; the recurrent states live here between tokens.

    Attributes:
        state: for each layer `[value heads, key dimension, value dimension]`.
    """

    def __init__(self, weights: Weights, dtype: DTypeLike = np.float64) -> None:
        """Prepare weights.

        Args:
            weights: verified weights.
            dtype: float64 or float32.
        """
        self.weights = weights
        self.dtype = np.dtype(dtype)
        sizes = tensor_shapes(weights.shape)
        self._layers = [_Layer(layer, sizes, weights, self.dtype) for layer in weights.layers]
        self.reset()

    def reset(self) -> None:
        """Forget every token."""
        shape = self.weights.shape
        size = (shape.value_heads, shape.head_dim, shape.head_dim)
        self.state: list[Vector] = [np.zeros(size, self.dtype) for _ in self._layers]

    def step(self, token: Mapping[str, Number]) -> dict[str, float]:
        """Evaluate one token, given the values of its fields (absent fields are 0); returns the outputs, 0 or 1."""
        row = np.zeros(self.weights.shape.hidden)
        row[list(self.weights.constants)] = CONSTANT
        for name, value in token.items():
            row[self.weights.fields[name]] = value
        hidden = self.forward(row)
        return {name: float(hidden[at] > 0) for name, at in self.weights.code.items()}

    def forward(self, row: Vector) -> Vector:
        """The final norm's output for one token, given its row of the embedding."""
        x: Vector = np.asarray(row, dtype=self.dtype)
        for layer, state in zip(self._layers, self.state, strict=True):
            x = x + layer.attention(_rms(x), state)
            x = x + layer.mlp(_rms(x))
        return _rms(x)


def _rms(x: Vector) -> Vector:
    scaled: Vector = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(EPS))
    return scaled


def _sigmoid(x: Vector) -> Vector:
    with np.errstate(over="ignore"):
        open_by: Vector = 1 / (1 + np.exp(-x))
    return open_by


def _silu(x: Vector) -> Vector:
    return x * _sigmoid(x)


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A sparse matrix; `matrix @ x` is a vector of `rows`."""

    rows: int
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: Vector

    def __matmul__(self, x: Vector) -> Vector:
        sums = np.bincount(self.row, self.value * x[self.column], self.rows)
        return sums.astype(x.dtype, copy=False)


def _matrix(entries: Entries | None, size: tuple[int, int], dtype: np.dtype[Any]) -> _Matrix:
    place, value = (entries or Entries()).merged(size[1])
    row, column = np.divmod(place, size[1])
    return _Matrix(size[0], row, column, value.astype(dtype))


class _Layer:
    """One layer's matrices. Only heads that have an output gate are computed: the others add 0."""

    def __init__(
        self,
        layer: LayerWeights,
        sizes: Mapping[str, tuple[int, int]],
        weights: Weights,
        dtype: np.dtype[Any],
    ) -> None:
        shape = self.shape = weights.shape
        m = {name.split(".")[1]: _matrix(layer.get(name), size, dtype) for name, size in sizes.items()}
        self.qkv, self.z, self.b, self.a, self.out = (
            m[name] for name in ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj")
        )
        self.gate, self.up, self.down = (m[name] for name in ("gate_proj", "up_proj", "down_proj"))
        self.heads = np.unique(self.z.row // shape.head_dim)
        self.key_heads = self.heads // (shape.value_heads // shape.heads)

    def attention(self, x: Vector, state: Vector) -> Vector:
        """The DeltaNet sublayer; moves `state` on by one token."""
        shape, dim = self.shape, self.shape.head_dim
        if not len(self.heads):
            return np.zeros_like(x)
        mixed = _silu(self.qkv @ x)
        keys = shape.heads * dim
        query, key = (
            _unit(part.reshape(-1, dim)[self.key_heads]) for part in (mixed[:keys], mixed[keys : 2 * keys])
        )
        value = mixed[2 * keys :].reshape(-1, dim)[self.heads]
        beta = _sigmoid(self.b @ x)[self.heads, None]
        decay = np.exp(-np.log1p(np.exp((self.a @ x)[self.heads] + x.dtype.type(DECAY_BIAS))))
        memory = state[self.heads] * decay[:, None, None]
        delta = (value - np.einsum("hk,hkv->hv", key, memory)) * beta
        memory += key[:, :, None] * delta[:, None, :]
        state[self.heads] = memory
        read = np.einsum("hk,hkv->hv", query * x.dtype.type(dim**-0.5), memory)
        out = np.zeros((shape.value_heads, dim), x.dtype)
        out[self.heads] = _rms(read) * _silu(self.z @ x).reshape(-1, dim)[self.heads]
        return self.out @ out.reshape(-1)

    def mlp(self, x: Vector) -> Vector:
        """The SwiGLU sublayer."""
        return self.down @ (_silu(self.gate @ x) * (self.up @ x))


def _unit(x: Vector) -> Vector:
    """Rows of length 1."""
    scaled: Vector = x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True) + x.dtype.type(EPS))
    return scaled


def evaluator(weights: Weights) -> Evaluator:
    """An evaluator in float64."""
    return Evaluator(weights)

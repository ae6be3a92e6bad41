"""Widening: a `qwen3_5_text` checkpoint in a bigger shape, with its function unchanged.

Everything new is zero, and every factor is a power of two, so no weight is rounded:

- **Residual.** RMSNorm divides by the mean square. With H' = 4^n H coordinates, all but H of them zero, the mean square
  stays when the residual is 2^n times as large: embeddings and output projections take the factor 2^n. A norm then gives
  2^n times its old output, which the maps behind it take back. When H'/H is twice a power of four, the residual is
  written twice, and read from its first copy. The factor is on the residual, not on epsilon, which stays.
- **Tied output.** Logits would grow by 4^n: the final norm's factors 1 + w shrink by it, and are 0 on a second copy.
- **Heads.** New DeltaNet and attention heads have zero weights: they read 0 and write 0. A value head stays with its key
  head, an attention head with its key-value head.
- **Attention dimension.** Rotary pairs keep their frequencies: pair i of d goes to pair i d'/d of d'. Query and key rows
  take sqrt(d'/d), so that their norms see the same mean square; the key norm takes the surplus of the product back.

Sums run over more (zero) terms, so a library may add in another order: logits agree to rounding, not to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import isqrt
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import fail
from qgc.ir.layout.shape import ModelShape

if TYPE_CHECKING:
    import torch

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Widened:
    """A widened model.

    Attributes:
        config: fields of its configuration.
        tensors: its weights, by name.
        rounded: how many norm weights are not exact in their dtype; 0 when norms before linear maps were left at one.
    """

    config: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    rounded: int


def shape_of(config: Config, name: str, hidden: int) -> ModelShape:
    """The shape of a configuration, but with `hidden` coordinates."""
    return ModelShape(
        name,
        hidden,
        config["intermediate_size"],
        config["linear_num_key_heads"],
        config["linear_num_value_heads"],
        config["linear_key_head_dim"],
        config["num_attention_heads"],
        config["num_key_value_heads"],
        config["head_dim"],
    )


def widen(config: Config, tensors: Mapping[str, torch.Tensor], shape: ModelShape) -> Widened:
    """A model of `shape` that computes what the model of `config` and `tensors` computes.

    Raises:
        QgcError: `widen-shape` when the model does not fit, or a ratio is no power of two (of four for the attention
            dimension).
    """
    plan = _Plan.of(config, shape)
    out: dict[str, torch.Tensor] = {}
    rounded = 0
    for name, tensor in tensors.items():
        wide, lost = plan.tensor(name, tensor)
        out[name], rounded = wide.contiguous(), rounded + lost
    fields = {
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "linear_num_key_heads": shape.heads,
        "linear_num_value_heads": shape.value_heads,
        "num_attention_heads": shape.attention_heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.attention_dim,
    }
    return Widened({**config, **fields}, out, rounded)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where every coordinate, unit and row of a head goes, and the factors.

    Attributes:
        hidden, copies, scale: old coordinates, how often they are written, and the residual's factor.
        keys, values: new rows of the old DeltaNet key and value heads.
        queries, kv: new positions of the rows of attention heads, in the order of rotary pairs.
        outputs, kv_values: those of values and gates.
        inner: new positions within one attention head.
        turn: sqrt(d'/d), the factor of queries and keys.
    """

    shape: ModelShape
    is_tied: bool
    hidden: int
    copies: int
    scale: int
    keys: list[int]
    values: list[int]
    queries: list[int]
    outputs: list[int]
    kv: list[int]
    kv_values: list[int]
    inner: list[int]
    turn: int

    @staticmethod
    def of(config: Config, shape: ModelShape) -> _Plan:
        old = shape_of(config, "source", config["hidden_size"])
        _check(old, shape)
        ratio = shape.hidden // old.hidden
        copies = 1 if isqrt(ratio) ** 2 == ratio else 2
        wide, narrow = shape.attention_dim, old.attention_dim
        rope = config["rope_parameters"]
        inner = _rotary(narrow, wide, float(rope.get("partial_rotary_factor", 1.0)))
        group, old_group = shape.attention_heads // shape.kv_heads, old.attention_heads // old.kv_heads
        heads = [k * group + g for k in range(old.kv_heads) for g in range(old_group)]
        rank, old_rank = shape.value_heads // shape.heads, old.value_heads // old.heads
        values = [k * rank + r for k in range(old.heads) for r in range(old_rank)]
        plain = list(range(narrow))
        return _Plan(
            shape,
            bool(config["tie_word_embeddings"]),
            old.hidden,
            copies,
            isqrt(ratio // copies),
            _rows(range(old.heads), shape.head_dim),
            _rows(values, shape.head_dim),
            [h * wide + i for h, i in product(heads, inner)],
            [h * wide + i for h, i in product(heads, plain)],
            [k * wide + i for k, i in product(range(old.kv_heads), inner)],
            [k * wide + i for k, i in product(range(old.kv_heads), plain)],
            inner,
            isqrt(wide // narrow),
        )

    def tensor(self, name: str, old: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The widened tensor, and how many of its values were rounded."""
        layer_part = name.split("layers.")[-1].split(".", 1)[-1]
        if name.endswith("embed_tokens.weight"):
            return self._written(old.T).T, 0
        if name == "lm_head.weight":
            return self._read(old, list(range(len(old))), len(old)), 0
        if name.endswith(("layernorm.weight", "model.norm.weight")):
            return self._norm(old, is_final=name.endswith("model.norm.weight"))
        module, part, *_ = layer_part.split(".")
        match module:
            case "mlp":
                return self._mlp(part, old), 0
            case "linear_attn":
                return self._delta(part, old), 0
            case "self_attn":
                return self._attention(part, old)
        raise fail("widen-base", f"{name} is no tensor of a qwen3_5_text model")

    def _written(self, old: torch.Tensor) -> torch.Tensor:
        """A map to the residual: old has a row for every old coordinate."""
        new = old.new_zeros((self.shape.hidden, *old.shape[1:]))
        for copy in range(self.copies):
            new[copy * self.hidden : (copy + 1) * self.hidden] = old * self.scale
        return new

    def _read(self, old: torch.Tensor, rows: list[int], size: int) -> torch.Tensor:
        """A map from the normed residual to `size` rows, of which the old ones are `rows`."""
        new = old.new_zeros(size, self.shape.hidden)
        new[rows, : self.hidden] = old / self.scale
        return new

    def _norm(self, old: torch.Tensor, is_final: bool) -> tuple[torch.Tensor, int]:
        new = old.new_zeros(self.shape.hidden)
        if not (is_final and self.is_tied):
            new[: self.hidden] = old
            return new, 0
        new[: self.hidden], lost = _divided(old, self.scale**2)
        new[self.hidden : self.copies * self.hidden] = -1.0
        return new, lost

    def _mlp(self, part: str, old: torch.Tensor) -> torch.Tensor:
        size = self.shape.intermediate
        if part == "down_proj":
            return self._written(_columns(old, list(range(old.shape[1])), size))
        return self._read(old, list(range(len(old))), size)

    def _delta(self, part: str, old: torch.Tensor) -> torch.Tensor:
        key_size, value_size = (n * self.shape.head_dim for n in (self.shape.heads, self.shape.value_heads))
        mixed = [*self.keys, *(key_size + i for i in self.keys), *(2 * key_size + i for i in self.values)]
        heads = self.values[:: self.shape.head_dim]
        heads = [row // self.shape.head_dim for row in heads]
        match part:
            case "in_proj_qkv":
                return self._read(old, mixed, 2 * key_size + value_size)
            case "conv1d":
                return _placed(old, mixed, 2 * key_size + value_size)
            case "in_proj_z":
                return self._read(old, self.values, value_size)
            case "in_proj_a" | "in_proj_b":
                return self._read(old, heads, self.shape.value_heads)
            case "A_log" | "dt_bias":
                return _placed(old, heads, self.shape.value_heads)
            case "out_proj":
                return self._written(_columns(old, self.values, value_size))
        return old  # the gated norm, over one head

    def _attention(self, part: str, old: torch.Tensor) -> tuple[torch.Tensor, int]:
        wide, dim = self.shape.attention_dim, len(self.inner)
        heads, kv_heads = self.shape.attention_heads * wide, self.shape.kv_heads * wide
        match part:
            case "q_proj":  # of each head first the query, then the gate
                query, gate = old.view(-1, 2, dim, self.hidden).unbind(1)
                parts = (
                    self._read(query.flatten(0, 1) * self.turn, self.queries, heads),
                    self._read(gate.flatten(0, 1), self.outputs, heads),
                )
                both = [p.view(-1, wide, self.shape.hidden) for p in parts]
                return _interleaved(both).flatten(0, 2), 0
            case "k_proj":
                return self._read(old * self.turn, self.kv, kv_heads), 0
            case "v_proj":
                return self._read(old, self.kv_values, kv_heads), 0
            case "o_proj":
                return self._written(_columns(old, self.outputs, heads)), 0
            case "q_norm":
                return _placed(old, self.inner, wide), 0
        old, lost = _divided(old, self.turn)
        return _placed(old, self.inner, wide), lost


def _check(old: ModelShape, new: ModelShape) -> None:
    """Refuse a shape that cannot hold the model, with every number that is in the way."""
    pairs = [
        (name, getattr(old, name), getattr(new, name))
        for name in (
            "hidden", "intermediate", "heads", "value_heads", "attention_heads", "kv_heads", "attention_dim",
        )
    ]  # fmt: skip
    faults = [f"{name} {a} into {b}" for name, a, b in pairs if b < a]
    if old.value_heads // old.heads > new.value_heads // new.heads:
        faults.append("value heads of a key head")
    if old.attention_heads // old.kv_heads > new.attention_heads // new.kv_heads:
        faults.append("attention heads of a key-value head")
    if not _is_power(new.hidden, old.hidden, 2):
        faults.append(f"hidden {old.hidden} into {new.hidden}, no power of two times as much")
    if not _is_power(new.attention_dim, old.attention_dim, 4):
        faults.append(
            f"attention_dim {old.attention_dim} into {new.attention_dim}, no power of four times as much"
        )
    if faults:
        raise fail("widen-shape", f"the model does not fit shape {new.name!r}: {'; '.join(faults)}")


def _is_power(large: int, small: int, base: int) -> bool:
    while large > small and large % base == 0:
        large //= base
    return large == small


def _rotary(narrow: int, wide: int, factor: float) -> list[int]:
    """New positions of a head's dimensions: a rotary pair (i, i + half) goes where its frequency is."""
    turned, ratio = int(narrow * factor), wide // narrow
    half, new_half, new_turned = turned // 2, int(wide * factor) // 2, int(wide * factor)
    pairs = [start + i * ratio for start in (0, new_half) for i in range(half)]
    return pairs + [new_turned + j for j in range(narrow - turned)]


def _rows(heads: Any, dim: int) -> list[int]:
    return [head * dim + i for head in heads for i in range(dim)]


def _placed(old: torch.Tensor, rows: list[int], size: int) -> torch.Tensor:
    new = old.new_zeros((size, *old.shape[1:]))
    new[rows] = old
    return new


def _columns(old: torch.Tensor, columns: list[int], size: int) -> torch.Tensor:
    return _placed(old.T, columns, size).T


def _interleaved(parts: list[torch.Tensor]) -> torch.Tensor:
    import torch

    return torch.stack(parts, 1)


def _divided(weight: torch.Tensor, divisor: int) -> tuple[torch.Tensor, int]:
    """A norm's weight w with 1 + w divided, in its dtype, and how many values that rounds."""
    exact = (1.0 + weight.double()) / divisor - 1.0
    new = exact.to(weight.dtype)
    return new, int((new.double() != exact).sum())

"""The model as parameters: widths, heads and vocabulary of a Qwen3.5 text model."""

from __future__ import annotations

from dataclasses import dataclass

from qgc.diagnostics import fail


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The part of a `qwen3_5_text` configuration that a compiled layer depends on.

    Attributes:
        hidden: width of the residual stream.
        intermediate: SwiGLU units of a layer.
        heads: Gated DeltaNet key heads of a layer.
        value_heads: value heads of a layer; a multiple of `heads`.
        head_dim: dimension of keys and of values; rows of a memory head.
        attention_heads, kv_heads, attention_dim: of the full-attention layers.
    """

    name: str
    hidden: int
    intermediate: int
    heads: int = 16
    value_heads: int = 16
    head_dim: int = 128
    attention_heads: int = 8
    kv_heads: int = 2
    attention_dim: int = 256

    def __post_init__(self) -> None:
        if self.value_heads % self.heads:
            raise fail("shape-heads", f"shape {self.name!r}: value_heads must be a multiple of heads")
        if self.head_dim != 128:
            raise fail("shape-heads", f"shape {self.name!r}: head_dim must be 128, as in every Qwen3.5 model")

    @property
    def constants(self) -> int:
        """How many coordinates hold the constant, so that RMSNorm's factor is a power of two.

        With n coordinates at M the mean square is `n * M**2 / hidden` (the wires vanish beside it), so n is the odd
        part of `hidden`, doubled when `hidden / n` is no power of four.
        """
        odd = self.hidden // (self.hidden & -self.hidden)
        ratio = self.hidden // odd
        return odd if (ratio.bit_length() - 1) % 2 == 0 else 2 * odd


SHAPES: dict[str, ModelShape] = {
    shape.name: shape
    for shape in (
        ModelShape("qwen3.5-2b", 2048, 6144),
        ModelShape(
            "small", 2048, 4096, heads=8, value_heads=8, attention_heads=4, kv_heads=1, attention_dim=64
        ),
        ModelShape(
            "tiny", 1024, 2048, heads=8, value_heads=8, attention_heads=2, kv_heads=1, attention_dim=64
        ),
    )
}
"""Presets: the published 2B shape, and two smaller ones of our own for stand-alone checkpoints."""


def shape(name: str) -> ModelShape:
    """The shape called `name`.

    Raises:
        QgcError: `shape-unknown`, with the names that exist.
    """
    try:
        return SHAPES[name]
    except KeyError:
        raise fail("shape-unknown", f"no model shape {name!r}", hint=f"shapes: {', '.join(SHAPES)}") from None

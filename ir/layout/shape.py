"""The model as parameters: widths, heads and vocabulary of a Qwen3.5 text model."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from qgc.diagnostics import fail
from qgc.files import read_text
from qgc.names import unknown


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
        for field in fields(self)[1:]:
            if getattr(self, field.name) < 1:
                raise fail("shape-size", f"shape {self.name!r}: {field.name} must be at least 1")
        if self.hidden >= 1 << 16 or self.intermediate >= 1 << 20:
            raise fail(
                "shape-size", f"shape {self.name!r}: hidden is below {1 << 16}, intermediate below {1 << 20}"
            )
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
        ModelShape("qwen3.5-0.8b", 1024, 3584),
        ModelShape("qwen3.5-2b", 2048, 6144),
        ModelShape("qwen3.5-4b", 2560, 9216, value_heads=32, attention_heads=16, kv_heads=4),
        ModelShape("qwen3.5-9b", 4096, 12288, value_heads=32, attention_heads=16, kv_heads=4),
        ModelShape(
            "small", 2048, 4096, heads=8, value_heads=8, attention_heads=4, kv_heads=1, attention_dim=64
        ),
        ModelShape(
            "tiny", 1024, 2048, heads=8, value_heads=8, attention_heads=2, kv_heads=1, attention_dim=64
        ),
    )
}
"""Presets: the published models, and two smaller shapes of our own for stand-alone checkpoints. docs/machines.md says
where the numbers are from."""


def shape(name: str) -> ModelShape:
    """The shape called `name`.

    Raises:
        QgcError: `shape-unknown`, with the names that exist.
    """
    try:
        return SHAPES[name]
    except KeyError:
        raise fail("shape-unknown", f"no model shape {name!r}", hint=f"shapes: {', '.join(SHAPES)}") from None


_FORM = re.compile(r"[a-z_]+ *= *[0-9]+")


def parse_shape(text: str) -> ModelShape:
    """A shape as users write it: a preset's name, `hidden=1024,intermediate=2048,...`, or a `.toml` file of these fields.

    A shape that is no preset is called like its file, or `custom`.

    Raises:
        QgcError: `shape-unknown`, `shape-syntax`, `shape-size`, `shape-heads`; `io-read` when the file cannot be read.
    """
    if text in SHAPES:
        return SHAPES[text]
    if text.endswith(".toml"):
        path = Path(text)
        return _custom(path.stem, _toml(read_text(path), text), text)
    if "=" not in text:
        raise fail(
            "shape-unknown",
            unknown("shape", text, SHAPES),
            hint="or write hidden=N,intermediate=N, or name a .toml file",
        )
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not _FORM.fullmatch(part):
            raise fail("shape-syntax", f"{part!r} is not FIELD=NUMBER", hint=f"fields: {', '.join(_FIELDS)}")
    pairs = [(key.strip(), int(value)) for key, _, value in (part.partition("=") for part in parts)]
    if len(dict(pairs)) < len(pairs):
        raise fail("shape-syntax", f"{text!r} names a field twice")
    return _custom("custom", dict(pairs), text)


_FIELDS = tuple(field.name for field in fields(ModelShape) if field.name != "name")


def _toml(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise fail("shape-syntax", f"{file}: no TOML: {err}") from err


def _custom(name: str, values: dict[str, Any], source: str) -> ModelShape:
    if name in SHAPES or not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise fail("shape-syntax", f"{source}: a shape cannot be called {name!r}", hint="rename the file")
    for key, value in values.items():
        if key not in _FIELDS:
            raise fail("shape-syntax", f"{source}: {unknown('field', key, _FIELDS)}")
        if type(value) is not int:
            raise fail("shape-syntax", f"{source}: {key} must be a whole number, not {value!r}")
    if missing := [key for key in ("hidden", "intermediate") if key not in values]:
        raise fail(
            "shape-syntax",
            f"{source}: the shape has no {missing[0]}",
            hint="hidden and intermediate must be given",
        )
    return ModelShape(name, **values)

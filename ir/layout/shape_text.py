"""Shapes as one line of text: `shape tiny hidden=1024 intermediate=2048 ...`, every field by name."""

from __future__ import annotations

from dataclasses import fields

from qgc.diagnostics import QgcError
from qgc.ir.layout.shape import ModelShape
from qgc.ir.lines import LineReader

_FIELDS = tuple(f.name for f in fields(ModelShape) if f.name != "name")


def shape_text(shape: ModelShape) -> str:
    """The line of a shape."""
    return " ".join(["shape", shape.name, *(f"{name}={getattr(shape, name)}" for name in _FIELDS)])


def read_shape(lines: LineReader, body: str) -> ModelShape:
    """The shape of a `shape` line that `lines` is at; `body` is what follows the word.

    Raises:
        QgcError: the reader's code, when a field is missing, unknown or no number; `shape-heads`.
    """
    name, *words = body.split(" ")
    values: dict[str, int] = {}
    for word in words:
        field, _, number = word.partition("=")
        if field not in _FIELDS or field in values:
            raise lines.error(f"{word!r} is not FIELD=NUMBER", word, f"fields: {', '.join(_FIELDS)}")
        values[field] = lines.count(number)
    if missing := [field for field in _FIELDS if field not in values]:
        raise lines.error(f"the shape has no {missing[0]}", hint=f"fields: {', '.join(_FIELDS)}")
    try:
        return ModelShape(name, **values)
    except QgcError as err:
        fault = err.diagnostics[0]
        raise lines.error(fault.message, code=fault.code) from err

"""What holds for all `Weights`. Each line is one stable code.

    weights-coordinate  constants, fields and codes have coordinates of their own below `hidden`, as many constants as
                        the shape needs, and there are fields and codes
    weights-tensor      tensors have the names of the compiled tensors of a layer, and there is a layer
    weights-place       entries lie within their tensor
    weights-number      values are finite numbers that bfloat16 has

Everything is checked, and all faults are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import Diagnostic, Span, VerifyError
from qgc.ir.layout.weights import Entries, Weights, tensor_shapes
from qgc.ir.layout.weights_text import parse_with_places


def verify(weights: Weights, places: Mapping[str, Span] | None = None) -> None:
    """Check every invariant of this module.

    Raises:
        VerifyError: all faults.
    """
    faults = [*_ports(weights, places or {}), *_layers(weights, places or {})]
    if faults:
        raise VerifyError(*faults)


def load(text: str, file: str = "<weights>") -> Weights:
    """Parse weights and verify them, with faults placed in the text. Raises QgcError as `parse` and `verify` do."""
    weights, places = parse_with_places(text, file)
    verify(weights, places)
    return weights


def _ports(weights: Weights, places: Mapping[str, Span]) -> Iterator[Diagnostic]:
    shape = weights.shape
    named = [(f"constant {i}", c) for i, c in enumerate(weights.constants)]
    named += [(f"field {name}", c) for name, c in weights.fields.items()]
    named += [(f"code {name}", c) for name, c in weights.code.items()]
    seen: dict[int, str] = {}
    for name, coordinate in named:
        if not 0 <= coordinate < shape.hidden:
            message = f"{name}: coordinate {coordinate}; shape {shape.name!r} has {shape.hidden}"
            yield Diagnostic("weights-coordinate", message, places.get(name))
        elif coordinate in seen:
            message = f"{name}: coordinate {coordinate} is that of {seen[coordinate]}"
            yield Diagnostic("weights-coordinate", message, places.get(name))
        seen.setdefault(coordinate, name)
    if len(weights.constants) != shape.constants or not weights.fields or not weights.code:
        message = (
            f"{len(weights.constants)} constants, {len(weights.fields)} fields, {len(weights.code)} codes; "
            f"shape {shape.name!r} needs {shape.constants} constants, and at least one of the others"
        )
        yield Diagnostic("weights-coordinate", message)


def _layers(weights: Weights, places: Mapping[str, Span]) -> Iterator[Diagnostic]:
    sizes = tensor_shapes(weights.shape)
    if not weights.layers:
        yield Diagnostic("weights-tensor", "there is no layer")
    for number, layer in enumerate(weights.layers):
        for name, entries in layer.items():
            place = f"layer {number} tensor {name}"
            if name in sizes:
                yield from _entries(place, entries, sizes[name], places)
            else:
                message = f"layer {number}: no compiled tensor is called {name!r}"
                hint = f"tensors: {', '.join(sizes)}"
                yield Diagnostic("weights-tensor", message, places.get(place), hint)


def _entries(
    place: str, entries: Entries, size: tuple[int, int], places: Mapping[str, Span]
) -> Iterator[Diagnostic]:
    row, column = np.array(entries.rows, dtype=np.int64), np.array(entries.columns, dtype=np.int64)
    outside = (row < 0) | (row >= size[0]) | (column < 0) | (column >= size[1])
    for i in np.flatnonzero(outside).tolist():
        message = f"{place}: row {row[i]}, column {column[i]}; the tensor is {size[0]} by {size[1]}"
        yield Diagnostic("weights-place", message, places.get(f"{place} row {row[i]}"))
    if outside.any() or not len(row):
        return
    where, value = entries.merged(size[1])
    for i in np.flatnonzero(~_in_bfloat16(value)).tolist():
        at = divmod(int(where[i]), size[1])
        message = f"{place}: {value[i]!r} at row {at[0]}, column {at[1]} is no number of bfloat16"
        yield Diagnostic("weights-number", message, places.get(f"{place} row {at[0]}"))


def _in_bfloat16(value: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each value is finite and the upper half of a float32 holds it."""
    with np.errstate(over="ignore"):
        single = value.astype(np.float32)
    fits: NDArray[np.bool_] = np.isfinite(single) & (single == value) & (single.view(np.uint32) & 0xFFFF == 0)
    return fits

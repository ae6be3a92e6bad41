"""Nested tuples of arrays as one flat dictionary, for storing them, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, get_type_hints

import numpy as np

T = TypeVar("T")


def flatten(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """All arrays and numbers in a named tuple of named tuples, by path."""
    if isinstance(value, tuple):
        for field in value._fields:  # type: ignore[attr-defined]
            yield from flatten(getattr(value, field), f"{name}.{field}" if name else field)
    else:
        yield name, value


def assemble(kind: type[T], arrays: dict[str, Any], name: str = "") -> T:
    """The `kind` whose `flatten` these are.

    Raises:
        KeyError: one is missing.
    """
    values = []
    for field, inner in get_type_hints(kind).items():
        path = f"{name}.{field}" if name else field
        if hasattr(inner, "_fields"):
            values.append(assemble(inner, arrays, path))
        else:
            values.append(
                arrays[path]
                if isinstance(arrays[path], np.ndarray) and arrays[path].ndim
                else inner(arrays[path])
            )
    return kind(*values)

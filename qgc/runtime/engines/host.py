"""The host's side of a launch on a reference interpreter: arrays in its memory, and the parameter buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail
from qgc.ir.launch import Memory
from qgc.runtime.launch import Argument
from qgc.runtime.memory_image import same_array

GUARD = 256
"""Bytes between two arrays that belong to nobody."""


def check_arguments(kernel: str, names: Sequence[str], args: Sequence[Argument]) -> None:
    """Refuse a wrong number of arguments.

    Raises:
        QgcError: `launch-arguments`.
    """
    if len(args) != len(names):
        raise fail(
            "launch-arguments",
            f"kernel {kernel} takes {len(names)} arguments, got {len(args)}",
            hint=f"parameters: {', '.join(names) or 'none'}",
        )


def place(memory: Memory, names: Sequence[str], args: Sequence[Argument]) -> list[int]:
    """Put the arrays into memory, an array that is given twice once.

    Returns:
        What each parameter is passed: the address of its array, or its number.
    """
    values: list[int] = []
    for name, arg in zip(names, args, strict=True):
        if not isinstance(arg, np.ndarray):
            values.append(int(arg))
        elif (twin := _twin(args, len(values))) < len(values):
            values.append(values[twin])
        else:
            values.append(memory.append(name, arg.tobytes(), gap=GUARD).start)
    return values


def _twin(args: Sequence[Argument], index: int) -> int:
    """The first argument that is the same array as the one at `index`."""
    array = args[index]
    if not isinstance(array, np.ndarray):
        return index
    return next(
        i for i, other in enumerate(args) if isinstance(other, np.ndarray) and same_array(array, other)
    )


def pack(layout: Sequence[tuple[int, int]], values: Sequence[int]) -> bytes:
    """The parameter buffer: each value at its (offset, size) in bytes, little endian, cut to size."""
    buffer = bytearray(max((offset + size for offset, size in layout), default=0))
    for (offset, size), value in zip(layout, values, strict=True):
        buffer[offset : offset + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(buffer)


def read_back(memory: Memory, names: Sequence[str], args: Sequence[Argument]) -> dict[int, NDArray[Any]]:
    """The arrays as memory holds them now, by the parameter's number, with the shapes and types given."""
    arrays = {}
    for index, arg in enumerate(args):
        if isinstance(arg, np.ndarray):
            data = bytes(memory[names[_twin(args, index)]].data)
            arrays[index] = np.frombuffer(data, dtype=arg.dtype).reshape(arg.shape).copy()
    return arrays

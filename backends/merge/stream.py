"""Safetensors files written part by part, so that no table has to be in memory.

The format (safetensors documentation, "Format"): the length of a JSON header in 8 bytes, the header, the tensors' bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

CODES = {"float32": "F32", "bfloat16": "BF16", "float16": "F16"}
PART = 1 << 23
"""Entries that are converted at once."""


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor to be written: its name, dtype and shape, and what gives its rows in order."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    chunks: Callable[[], Iterator[torch.Tensor]]

    @property
    def bytes(self) -> int:
        """On disk."""
        return prod(self.shape) * (4 if self.dtype == "float32" else 2)


def whole(name: str, tensor: torch.Tensor, dtype: str) -> Part:
    """A tensor that is there already, converted in pieces when need be."""

    def chunks() -> Iterator[torch.Tensor]:
        flat = tensor.reshape(-1)
        yield from (flat[first : first + PART] for first in range(0, len(flat), PART))

    return Part(name, dtype, tuple(tensor.shape), chunks)


def write(path: Path, parts: Sequence[Part]) -> int:
    """Write a file; return the bytes of its tensors."""
    import torch

    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for part in parts:
        offsets = [end, end := end + part.bytes]
        header[part.name] = {"dtype": CODES[part.dtype], "shape": list(part.shape), "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            for chunk in part.chunks():
                data = chunk.to(getattr(torch, part.dtype)).contiguous().reshape(-1)
                file.write(data.view(torch.uint8).numpy().data)
        size = file.tell() - 8 - len(text)
    if size != end:
        raise AssertionError(f"{path.name}: {size} bytes written, {end} announced")
    return end

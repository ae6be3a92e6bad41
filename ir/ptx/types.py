"""The scalar types of PTX (PTX ISA 5.2) and the sizes that follow from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScalarType:
    """`kind` is s (signed), u (unsigned), b (bits), f (float) or p (predicate); `bits` the width in memory."""

    name: str
    kind: str
    bits: int

    @property
    def size(self) -> int:
        """Bytes in memory and natural alignment."""
        return self.bits // 8

    @property
    def is_integer(self) -> bool:
        """Whether integer instructions take it: s, u and b."""
        return self.kind in "sub"


def _table() -> dict[str, ScalarType]:
    rows = [ScalarType(f"{kind}{bits}", kind, bits) for kind in "sub" for bits in (8, 16, 32, 64)]
    rows += [ScalarType(f"{kind}128", kind, 128) for kind in "sub"]
    rows += [ScalarType(f"f{bits}", "f", bits) for bits in (16, 32, 64)]
    rows += [ScalarType("f16x2", "f", 32), ScalarType("bf16", "f", 16), ScalarType("bf16x2", "f", 32)]
    rows += [ScalarType("tf32", "f", 32), ScalarType("pred", "p", 8)]
    return {row.name: row for row in rows}


TYPES = _table()
"""Name without the dot -> type. Opaque types (texref, samplerref, surfref) and sub-byte formats are absent."""

OPAQUE_SIZE = 8
"""Bytes of a texture, sampler or surface handle."""


def size_of(type_name: str) -> int:
    """Return the bytes of one element of `type_name`; opaque types are 64-bit handles."""
    scalar = TYPES.get(type_name)
    return scalar.size if scalar else OPAQUE_SIZE

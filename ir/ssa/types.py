"""The types of SSA values. A pointer is an integer; a predicate is an i1.

To add a type, add a row: patterns in ops.py name rows, and everything else asks a row for its width.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ty:
    """A type: its name in text and its width. Values are held as unsigned integers of that many bits."""

    name: str
    bits: int

    @property
    def mask(self) -> int:
        """All ones in this type."""
        return (1 << self.bits) - 1

    def wrap(self, value: int) -> int:
        """Reduce any integer modulo 2^bits."""
        return value & self.mask

    def signed(self, value: int) -> int:
        """Read an unsigned value of this type as two's complement."""
        return signed(self.bits, value)

    def __str__(self) -> str:
        return self.name


def signed(bits: int, value: int) -> int:
    """Read an unsigned `bits`-bit value as two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


I1 = Ty("i1", 1)
I32 = Ty("i32", 32)
I64 = Ty("i64", 64)

TYPES: dict[str, Ty] = {ty.name: ty for ty in (I1, I32, I64)}


@dataclass(frozen=True, slots=True)
class Mem:
    """How a value lies in memory: bytes (little endian), the type it has in a register, and its extension."""

    name: str
    bytes: int
    ty: Ty
    is_signed: bool = False


MEMS: dict[str, Mem] = {
    mem.name: mem
    for mem in (
        Mem("u8", 1, I32),
        Mem("s8", 1, I32, is_signed=True),
        Mem("u16", 2, I32),
        Mem("s16", 2, I32, is_signed=True),
        Mem("b32", 4, I32),
        Mem("b64", 8, I64),
    )
}
"""Accesses by name; `load` extends to `ty`, `store` keeps the low bytes."""

SPACES: tuple[str, ...] = ("global", "shared", "const", "local", "frame", "exchange")
"""State spaces that a memory operation can name. Parameters are read by `param`."""

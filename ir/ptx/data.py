"""Variables: how long they are, and which bytes they start with (PTX ISA 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from qgc.ir.ptx.ast import Imm, Init, InitList, Symbol, Variable
from qgc.ir.ptx.constants import literal_bits
from qgc.ir.ptx.kernels import byte_size
from qgc.ir.ptx.types import size_of


def variable_size(variable: Variable) -> int:
    """Return a variable's bytes; `[]` takes its length from the initialiser, and is 0 without one."""
    if variable.init is None or None not in variable.dims:
        return byte_size(variable)
    row = size_of(variable.type) * variable.vector * prod(n for n in variable.dims if n is not None)
    filled = len(list(leaves(variable.init))) * size_of(variable.type)
    return -(-filled // row) * row if row else 0


def initial_bytes(variable: Variable, address_of: Callable[[Symbol], int]) -> bytes:
    """Return the bytes that a variable starts with.

    Inner braces only group, they do not pad: NVIDIA's assembler lays the elements out one after another. A mask
    picks one byte of an address: 0xFF00(x) is bits 8 to 15.
    """
    size = size_of(variable.type)
    raw = bytearray()
    for leaf in leaves(variable.init) if variable.init is not None else ():
        value = literal_bits(leaf, variable.type) if isinstance(leaf, Imm) else address_of(leaf)
        if isinstance(leaf, Symbol) and leaf.mask:
            lowest = leaf.mask & -leaf.mask
            value = (value & leaf.mask) // lowest
        raw += (value & (2 ** (8 * size) - 1)).to_bytes(size, "little")
    return bytes(raw.ljust(variable_size(variable), b"\0"))


def leaves(init: Init) -> Iterator[Imm | Symbol]:
    """Yield the elements of an initialiser, first to last."""
    if isinstance(init, InitList):
        for item in init.items:
            yield from leaves(item)
    else:
        yield init

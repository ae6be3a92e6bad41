"""What a row of the constant bank may ask of the launch: `param NAME`, `param NAME + BYTES`, `ntid.x`, `recip ntid.x`.

A parameter with an addend is a relocation, as in any linker: an array's address and a constant byte offset from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LAUNCH_CONSTANTS: tuple[str, ...] = tuple(
    f"{name}.{axis}" for name in ("ntid", "nctaid", "ctaid") for axis in "xyz"
)
"""Block shape, grid shape and block index, as in PTX (special registers `%ntid`, `%nctaid`, `%ctaid`)."""

PRODUCTS: tuple[str, ...] = tuple(
    f"{name}.{axis}*ntid.{axis}" for name in ("ctaid", "nctaid") for axis in "xyz"
)
"""The index of a block's first thread in the grid, and the threads of the grid, along one axis."""

RECIPROCALS: dict[str, str] = {"x": "recip ntid.x", "xy": "recip ntid.x*ntid.y"}
"""2^16 divided by a block's row or plane size, rounded up: `tid * recip >> 16` is the quotient for `tid` below 2^8.

Exact because recip * size exceeds 2^16 by less than size, so the error of tid * recip stays below 2^16 / size as long
as tid * size < 2^16.
"""

SHARED = ".shared"
"""Where the launch puts the thread block's shared memory: a base, as a parameter is, that the user does not pass."""

EXCHANGE = ".exchange"
"""Where the threads of a block exchange values: `ir.launch.exchange_words` words."""

FRAMES = ".frames"
"""Where the threads' local memory lies, one frame after another."""

TABLES = ".tables"
"""Where the program's constant tables lie."""

HIDDEN: tuple[str, ...] = (SHARED, EXCHANGE, FRAMES, TABLES)
"""Names of bases that are no parameters; no parameter's name begins with a dot."""

_SPILL = re.compile(r"\.spill[0-9]{1,4}", re.ASCII)


def spill_slot(number: int) -> str:
    """The base of a spill slot, which has a word for each thread of the block."""
    return f".spill{number}"


def is_spill_slot(name: str) -> bool:
    """Whether a base is a spill slot."""
    return _SPILL.fullmatch(name) is not None


def is_hidden(name: str) -> bool:
    """Whether a base is the program's own, and no parameter."""
    return name in HIDDEN or is_spill_slot(name)


SYMBOLS: tuple[str, ...] = (*LAUNCH_CONSTANTS, *PRODUCTS, *RECIPROCALS.values())
"""All symbols that are no parameter."""

NAME = re.compile(r"[A-Za-z_$%.][\w$.]*", re.ASCII)
"""A kernel's or parameter's name: an identifier of PTX."""

_PARAM = re.compile(
    rf"param (?P<name>{NAME.pattern})(?: (?P<sign>[+-]) (?P<addend>[0-9]{{1,10}}))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class ParamSymbol:
    """The value of a parameter (a pointer's is its byte address) plus `addend`, modulo 2^32."""

    name: str
    addend: int = 0

    def __str__(self) -> str:
        if not self.addend:
            return f"param {self.name}"
        return f"param {self.name} {'-' if self.addend < 0 else '+'} {abs(self.addend)}"


def param_symbol(text: str) -> ParamSymbol | None:
    """Read `param NAME` with an optional addend; None when the text is something else."""
    match = _PARAM.fullmatch(text)
    if not match:
        return None
    addend = int(match["addend"] or 0)
    return ParamSymbol(match["name"], -addend if match["sign"] == "-" else addend)

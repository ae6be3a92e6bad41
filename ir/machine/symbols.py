"""What a row of the constant bank may ask of the launch: `param NAME`, `param NAME + BYTES`, `ntid.x`, `ctaid.y`, ...

A parameter with an addend is a relocation, as in any linker: an array's address and a constant byte offset from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LAUNCH_CONSTANTS: tuple[str, ...] = tuple(
    f"{name}.{axis}" for name in ("ntid", "nctaid", "ctaid") for axis in "xyz"
)
"""Block shape, grid shape and block index, as in PTX (special registers `%ntid`, `%nctaid`, `%ctaid`)."""

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

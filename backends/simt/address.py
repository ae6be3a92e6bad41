"""Byte addresses of the form `A + B` and `4 * A + B`, found in SSA arithmetic.

An address is expanded through additions into terms; an expansion is kept when its terms fit the two operands of a load
or store. Constants and at most one parameter make one row of the constant bank (a relocation, `param a + 16`), a term
that is four times a value goes to the scaled operand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from qgc.ir.machine.symbols import LAUNCH_CONSTANTS, ParamSymbol
from qgc.ir.ssa.function import Const, Value, is_const

_DEPTH = 6
"""Additions that one address is expanded through; compilers nest few."""


@dataclass(frozen=True, slots=True)
class Address:
    """The sum of `value`s, of 4 times `scaled`, and of a constant-bank row (a parameter's name, an offset, or both)."""

    values: tuple[Value, ...]
    scaled: tuple[Value, ...] = ()
    param: str | None = None
    offset: int = 0

    @property
    def row(self) -> int | str | None:
        """What the constant bank has to hold, None for nothing."""
        if self.param is not None:
            return str(ParamSymbol(self.param, self.offset))
        return self.offset & 0xFFFFFFFF or None

    @property
    def fits(self) -> bool:
        """Whether two operands can hold it, at most one of them a row of the constant bank."""
        rows = sum(is_row(value) for value in (*self.values, *self.scaled)) + (self.row is not None)
        return len(self.scaled) <= 1 and self.terms <= 2 and rows <= 1

    @property
    def terms(self) -> int:
        """How many operands it takes."""
        return len(self.values) + len(self.scaled) + (self.row is not None)


def is_row(value: Value) -> bool:
    """Whether a value is a parameter or a launch constant: a row of the constant bank."""
    op = value.op
    if op is None:
        return False
    return op.name == "param" or (op.name == "sreg" and op.attr("sreg") in LAUNCH_CONSTANTS)


def quarter(value: Value) -> Value | None:
    """x when `value` is computed as 4 * x, else None."""
    op = value.op
    if op is None:
        return None
    if op.name == "shl" and is_const(op.operands[1], 2):
        return op.operands[0]
    if op.name == "mul":
        a, b = op.operands
        return a if is_const(b, 4) else b if is_const(a, 4) else None
    return None


def match_address(address: Address, param_names: dict[int, str]) -> Address:
    """The expansion of an address that takes in the most additions and fits.

    Args:
        address: one value, and perhaps a base.
        param_names: parameter names by byte offset.

    With a base there are three terms where a value and a row of the bank come besides: then the value is one operand
    and the base the other, whatever the value is computed from.
    """
    start = _normal(address, param_names)
    best, frontier = start if start.fits else address, [start]
    for _ in range(_DEPTH):
        frontier = [_normal(step, param_names) for address in frontier for step in _steps(address)]
        best = next((address for address in frontier if address.fits), best)
    return best


def _steps(address: Address) -> list[Address]:
    """The address with one of its sums written out."""
    found = []
    for i, value in enumerate(address.values):
        if value.op is not None and value.op.name == "add":
            rest = address.values[:i] + tuple(value.op.operands) + address.values[i + 1 :]
            found.append(replace(address, values=rest))
    for i, value in enumerate(address.scaled):
        op = value.op
        if op is not None and op.name == "add" and (isinstance(c := op.operands[1], Const)):
            rest = (*address.scaled[:i], op.operands[0], *address.scaled[i + 1 :])
            found.append(replace(address, scaled=rest, offset=address.offset + 4 * c.value))
    return found


def _normal(address: Address, param_names: dict[int, str]) -> Address:
    """Move constants, a parameter and a multiple of four out of the values."""
    values: list[Value] = []
    scaled, param, offset = list(address.scaled), address.param, address.offset
    for value in address.values:
        op = value.op
        if isinstance(value, Const):
            offset += value.value
        elif op is not None and op.name == "param" and param is None:
            param = param_names[int(op.attr("offset"))]
        elif not scaled and (x := quarter(value)) is not None:
            scaled.append(x)
        else:
            values.append(value)
    offset = (offset + (1 << 31)) % (1 << 32) - (1 << 31)
    return Address(tuple(values), tuple(scaled), param, offset)

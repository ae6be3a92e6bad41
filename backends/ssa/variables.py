"""Where the variables of a kernel lie in their state spaces (PTX ISA 5.4)."""

from __future__ import annotations

from collections.abc import Iterator

from qgc.diagnostics import fail
from qgc.ir.ptx import ast
from qgc.ir.ptx.ast import Address, Element, Symbol, Vector
from qgc.ir.ptx.data import initial_bytes, variable_size
from qgc.ir.ptx.flat import FlatFunction
from qgc.ir.ptx.kernels import alignment
from qgc.ir.ssa import function as ssa

_SPACES = ("shared", "local", "const")


def layout_symbols(module: ast.Module, flat: FlatFunction) -> dict[str, ssa.Symbol]:
    """Give the kernel's own shared, local and constant variables, and those it names, addresses in their spaces.

    They follow one another in the order of their declaration; all `.extern .shared` arrays start at the same place,
    after the others (their size comes with the launch).
    """
    named = dict.fromkeys(_names(flat))
    variables = {v.name: v for v in module.variables if v.name in named} | flat.variables
    used = {name: v for name, v in variables.items() if v.space in _SPACES}
    symbols: dict[str, ssa.Symbol] = {}
    end = dict.fromkeys(_SPACES, 0)
    for name, variable in used.items():
        if not _is_dynamic(variable):
            start = _aligned(end[variable.space], alignment(variable))
            init = initial_bytes(variable, _no_address) if variable.init is not None else b""
            symbols[name] = ssa.Symbol(name, variable.space, start, variable_size(variable), init)
            end[variable.space] = start + variable_size(variable)
    dynamic = {name: variable for name, variable in used.items() if _is_dynamic(variable)}
    if dynamic:
        start = _aligned(end["shared"], max(alignment(v) for v in dynamic.values()))
        symbols |= dict.fromkeys(dynamic, ssa.Symbol(next(iter(dynamic)), "shared", start, 0))
    return symbols


def _no_address(symbol: Symbol) -> int:
    message = f"an initialiser with the address of {symbol.name} is not supported"
    raise fail("ptx-unsupported", message, symbol.span, "compute the address in the kernel")


def _is_dynamic(variable: ast.Variable) -> bool:
    return variable.space == "shared" and None in variable.dims and variable.init is None


def _aligned(address: int, align: int) -> int:
    return -(-address // align) * align


def _names(flat: FlatFunction) -> Iterator[str]:
    """The variables that the kernel's instructions name."""
    for instruction in flat.code:
        work = list(instruction.operands)
        while work:
            operand = work.pop()
            if isinstance(operand, Symbol):
                yield operand.name
            elif isinstance(operand, Vector):
                work.extend(operand.items)
            elif isinstance(operand, Address | Element) and isinstance(operand.base, Symbol):
                yield operand.base.name

"""Parameters by the names that the source gives them, in place of those that a compiler made (`dot_param_0`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qgc.ir.machine.program import Program
from qgc.ir.machine.symbols import NAME, ParamSymbol, param_symbol


def name_params(program: Program, names: Sequence[str]) -> Program:
    """Rename the parameters and the symbols that name them; hidden bases keep their names.

    Names that do not fit (another number of them, one twice, one that is no name) leave the program as it is.
    """
    olds = [param.name for param in program.params]
    if len(names) != len(olds) or len(set(names)) < len(names) or not all(map(NAME.fullmatch, names)):
        return program
    new = dict(zip(olds, names, strict=True))
    params = tuple(replace(param, name=new[param.name]) for param in program.params)
    return replace(program, params=params, consts=tuple(_renamed(row, new) for row in program.consts))


def _renamed(row: int | str, new: dict[str, str]) -> int | str:
    symbol = param_symbol(row) if isinstance(row, str) else None
    return row if symbol is None else str(ParamSymbol(new.get(symbol.name, symbol.name), symbol.addend))

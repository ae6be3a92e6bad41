"""Name resolution: which of the names without a % are registers (PTX ISA 4.4: a % is custom, not meaning)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from qgc.ir.ptx.ast import (
    Address,
    Block,
    Element,
    Function,
    Group,
    Imm,
    Instruction,
    Module,
    Operand,
    Reg,
    RegDecl,
    Statement,
    Symbol,
    Variable,
    Vector,
)

_Name: TypeAlias = Reg | Symbol
_Scope = dict[str, bool]  # name -> is a register


def resolve(module: Module) -> Module:
    """Turn a `Symbol` that names a register into a `Reg`, and a `Reg` that names a variable into a `Symbol`.

    An inner declaration hides an outer one from its place on. Names that nothing declares stay as they are
    (labels, functions, and faults that the verifier reports).
    """
    outer = {v.name: False for v in module.variables if v.name.startswith("%")}
    items = tuple(_function(i, outer) if isinstance(i, Function) and i.body else i for i in module.items)
    return replace(module, items=items)


def _function(function: Function, outer: _Scope) -> Function:
    scope = dict(outer)
    for param in function.params + function.results:
        _declare(scope, param.name, param.space == "reg")
    body = function.body
    if body is None or not (scope or any(_odd_names(body))):
        return function
    return replace(function, body=_block(body, scope))


def _odd_names(block: Block) -> Iterator[str]:
    """Yield the declared names for which the % does not tell the kind."""
    for item in block.items:
        if isinstance(item, RegDecl):
            yield from (name.name for name in item.names if not name.name.startswith("%"))
        elif isinstance(item, Variable) and item.name.startswith("%"):
            yield item.name
        elif isinstance(item, Block):
            yield from _odd_names(item)


def _declare(scope: _Scope, name: str, is_register: bool) -> None:
    if name.startswith("%") != is_register or name in scope:
        scope[name] = is_register


def _block(block: Block, outer: _Scope) -> Block:
    scope = dict(outer)
    return replace(block, items=tuple(_statement(item, scope) for item in block.items))


def _statement(item: Statement, scope: _Scope) -> Statement:
    if isinstance(item, Block):
        return _block(item, scope)
    if isinstance(item, RegDecl):
        for name in item.names:
            for register in name.expand():
                _declare(scope, register, True)
    elif isinstance(item, Variable):
        _declare(scope, item.name, False)
    elif isinstance(item, Instruction):
        return replace(item, operands=tuple(_operand(op, scope) for op in item.operands))
    return item


def _operand(op: Operand, scope: _Scope) -> Operand:
    if isinstance(op, Reg | Symbol):
        return _name(op, scope)
    if isinstance(op, Address):
        base = op.base if isinstance(op.base, Imm) else _name(op.base, scope)
        return replace(op, base=base, coordinates=tuple(_operand(c, scope) for c in op.coordinates))
    if isinstance(op, Element) and not isinstance(op.index, Imm):
        return replace(op, index=_name(op.index, scope))
    if isinstance(op, Vector | Group):
        return replace(op, items=tuple(_operand(i, scope) for i in op.items))
    return op


def _name(op: _Name, scope: _Scope) -> _Name:
    is_register = scope.get(op.name)
    if isinstance(op, Symbol) and is_register and not op.offset:
        return Reg(op.name, span=op.span)
    if isinstance(op, Reg) and is_register is False and op.part is None:
        return Symbol(op.name, span=op.span)
    return op

"""A function without its scopes: every register, variable and label has one name, every label one index.

This is the form that the verifier, the interpreter and the lowering to SSA read. Nested `{ }` blocks are gone: what
they declare is called `name$1`, `name$2`, ..., so that it cannot be seen from outside. Elements of vector registers are registers of their own,
`v.x`; a whole vector register as an operand is the `Vector` of its elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from qgc.diagnostics import Diagnostic, Span
from qgc.ir.ptx.ast import (
    Address,
    Block,
    Element,
    Function,
    Group,
    Guard,
    Imm,
    Instruction,
    Label,
    Not,
    Operand,
    Pair,
    Prototype,
    Reg,
    RegDecl,
    Sink,
    Symbol,
    Targets,
    Variable,
    Vector,
)

_AXES = "xyzw"


@dataclass(frozen=True, slots=True)
class FlatFunction:
    """`code` holds the instructions in order; a label's value is the index of the instruction after it.

    `registers` maps a name to its type, `variables` the function's own shared, local and param variables,
    `tables` the targets of `.branchtargets` and `.calltargets`. `faults` are duplicate declarations.
    """

    function: Function
    code: tuple[Instruction, ...]
    labels: dict[str, int]
    registers: dict[str, str]
    variables: dict[str, Variable]
    tables: dict[str, tuple[str, ...]]
    prototypes: dict[str, Prototype]
    faults: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        """The function's symbol."""
        return self.function.name


def flatten(function: Function) -> FlatFunction:
    """Remove the scopes of a function that has a body. Names that nothing declares stay as they are."""
    flattener = _Flattener()
    scope = _Scope()
    for param in function.params + function.results:
        if param.space == "reg":
            flattener.declare_register(scope, param.name, param.type, param.vector, param.span)
        else:
            flattener.declare(scope, param.name, param.span)
    if function.body is not None:
        flattener.block(function.body, scope)
    return FlatFunction(
        function,
        tuple(flattener.code),
        flattener.labels,
        flattener.registers,
        flattener.variables,
        flattener.tables,
        flattener.prototypes,
        tuple(flattener.faults),
    )


@dataclass(slots=True)
class _Scope:
    """The names that one block declares, each with the name it has in the flat function."""

    names: dict[str, str] = field(default_factory=dict)
    outer: _Scope | None = None

    def find(self, name: str) -> str | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


_Named: TypeAlias = Reg | Symbol


@dataclass(slots=True)
class _Flattener:
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, Prototype] = field(default_factory=dict)
    faults: list[Diagnostic] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)

    def declare(self, scope: _Scope, name: str, span: Span | None) -> str:
        """Enter a name and return its flat one."""
        if name in scope.names:
            self.faults.append(Diagnostic("ptx-duplicate", f"{name} is declared twice in one scope", span))
            return scope.names[name]
        flat = name
        if scope.outer is not None:
            self.used[name] = self.used.get(name, 0) + 1
            flat = f"{name}${self.used[name]}"
        scope.names[name] = flat
        return flat

    def declare_register(
        self, scope: _Scope, name: str, type_name: str, vector: int, span: Span | None
    ) -> None:
        flat = self.declare(scope, name, span)
        if vector == 1:
            self.registers[flat] = type_name
        else:
            self.vectors[flat] = vector
            self.registers.update({part.name: type_name for part in _elements(flat, vector)})

    def block(self, block: Block, scope: _Scope) -> None:
        for item in block.items:  # labels are visible in the whole block, before their place too
            if isinstance(item, Label | Targets | Prototype):
                self.declare(scope, item.name, item.span)
        for item in block.items:
            if isinstance(item, Block):
                self.block(item, _Scope(outer=scope))
            elif isinstance(item, RegDecl):
                for name in item.names:
                    for register in name.expand():
                        self.declare_register(scope, register, item.type, item.vector, name.span)
            elif isinstance(item, Variable):
                self.variables[self.declare(scope, item.name, item.span)] = item
            elif isinstance(item, Instruction):
                self.code.append(self.instruction(item, scope))
            else:
                self.named(item, scope.names[item.name], scope)

    def named(self, item: Label | Targets | Prototype, flat: str, scope: _Scope) -> None:
        if isinstance(item, Label):
            self.labels.setdefault(flat, len(self.code))
        elif isinstance(item, Targets):
            self.tables[flat] = tuple(scope.find(target) or target for target in item.targets)
        else:
            self.prototypes[flat] = item

    def instruction(self, item: Instruction, scope: _Scope) -> Instruction:
        guard = item.guard
        if guard is not None:
            guard = Guard(self.register(guard.reg, scope), guard.negated, guard.span)
        operands = tuple(self.operand(op, scope) for op in item.operands)
        return replace(item, operands=operands, guard=guard)

    def register(self, reg: Reg, scope: _Scope) -> Reg:
        flat = scope.find(reg.name) or reg.name
        if flat in self.vectors and reg.part is not None:
            return Reg(f"{flat}.{reg.part}", span=reg.span)
        return replace(reg, name=flat)

    def name(self, op: _Named, scope: _Scope) -> _Named:
        if isinstance(op, Reg):
            return self.register(op, scope)
        return replace(op, name=scope.find(op.name) or op.name)

    def operand(self, op: Operand, scope: _Scope) -> Operand:
        if isinstance(op, Reg):
            reg = self.register(op, scope)
            size = self.vectors.get(reg.name) if reg.part is None else None
            return reg if size is None else Vector(tuple(_elements(reg.name, size, reg.span)), reg.span)
        if isinstance(op, Symbol):
            return self.name(op, scope)
        if isinstance(op, Not):
            return Not(self.register(op.reg, scope), op.span)
        if isinstance(op, Pair):
            return Pair(self.destination(op.first, scope), self.destination(op.second, scope), op.span)
        return self.compound(op, scope)

    def destination(self, op: Reg | Sink, scope: _Scope) -> Reg | Sink:
        return op if isinstance(op, Sink) else self.register(op, scope)

    def compound(self, op: Operand, scope: _Scope) -> Operand:
        if isinstance(op, Address):
            base = op.base if isinstance(op.base, Imm) else self.name(op.base, scope)
            coordinates = tuple(self.operand(c, scope) for c in op.coordinates)
            return replace(op, base=base, coordinates=coordinates)
        if isinstance(op, Element):
            index = op.index if isinstance(op.index, Imm) else self.name(op.index, scope)
            base = replace(op.base, name=scope.find(op.base.name) or op.base.name)
            return replace(op, base=base, index=index)
        if isinstance(op, Vector | Group):
            return replace(op, items=tuple(self.operand(i, scope) for i in op.items))
        return op


def _elements(name: str, size: int, span: Span | None = None) -> Iterator[Reg]:
    for axis in _AXES[:size]:
        yield Reg(f"{name}.{axis}", span=span)

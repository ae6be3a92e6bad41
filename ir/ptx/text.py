"""Syntax tree -> canonical PTX text: one statement a line, constants folded, `parse(to_text(m)) == m`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from qgc.ir.ptx.ast import (
    Address,
    Alias,
    Block,
    Directive,
    Element,
    Function,
    Group,
    Guard,
    Imm,
    ImmKind,
    Init,
    InitList,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Param,
    Prototype,
    Reg,
    RegDecl,
    RegName,
    Sink,
    Special,
    Statement,
    Symbol,
    Targets,
    Variable,
    Vector,
)

_INDENT = "  "


def to_text(module: Module) -> str:
    """Print a module; the last line ends in a newline."""
    header = [f".version {module.version}"]
    if module.target:
        header.append(f".target {', '.join(module.target)}")
    header.append(f".address_size {module.address_size}")
    lines = [*header, ""]
    for item in module.items:
        lines += _item(item)
    return "\n".join(lines).rstrip("\n") + "\n"


def _item(item: Variable | Function | Alias) -> Iterator[str]:
    if isinstance(item, Alias):
        yield f".alias {item.name}, {item.target};"
    elif isinstance(item, Variable):
        yield _variable(item)
    else:
        yield from _function(item)


# Operands


def operand_text(op: Operand) -> str:
    """Print one operand."""
    return _OPERANDS[type(op)](op)


def _imm(imm: Imm) -> str:
    if imm.kind is ImmKind.F32:
        return f"0f{imm.value:08X}"
    return f"0d{imm.value:016X}" if imm.kind is ImmKind.F64 else str(imm.value)


def _reg(reg: Reg) -> str:
    return reg.name if reg.part is None else f"{reg.name}.{reg.part}"


def _symbol(symbol: Symbol) -> str:
    text = f"generic({symbol.name})" if symbol.generic else symbol.name
    text += _offset(symbol.offset)
    return text if symbol.mask is None else f"{symbol.mask:#x}({text})"


def _offset(offset: int) -> str:
    return f"+{offset}" if offset else ""


def _address(address: Address) -> str:
    base = operand_text(address.base) + _offset(address.offset)
    return f"[{', '.join((base, *map(operand_text, address.coordinates)))}]"


_OPERANDS: dict[type, Callable[[Any], str]] = {
    Reg: _reg,
    Special: lambda op: op.name,
    Imm: _imm,
    Symbol: _symbol,
    Sink: lambda _: "_",
    Not: lambda op: f"!{_reg(op.reg)}",
    Pair: lambda op: f"{operand_text(op.first)}|{operand_text(op.second)}",
    Address: _address,
    Element: lambda op: f"{op.base.name}[{operand_text(op.index)}]",
    Vector: lambda op: "{" + ", ".join(map(operand_text, op.items)) + "}",
    Group: lambda op: "(" + ", ".join(map(operand_text, op.items)) + ")",
}


# Declarations


def _dims(dims: tuple[int | None, ...]) -> str:
    return "".join("[]" if n is None else f"[{n}]" for n in dims)


def _shape(align: int | None, vector: int, type_name: str) -> Iterator[str]:
    if align is not None:
        yield f".align {align}"
    if vector > 1:
        yield f".v{vector}"
    yield f".{type_name}"


def _init(init: Init) -> str:
    if isinstance(init, InitList):
        return "{" + ", ".join(map(_init, init.items)) + "}"
    return operand_text(init)


def _variable(variable: Variable) -> str:
    words = [f".{word}" for word in (*variable.linkage, variable.space)]
    words += [f".attribute(.{word})" for word in variable.attributes]
    words += _shape(variable.align, variable.vector, variable.type)
    words.append(variable.name + _dims(variable.dims))
    init = "" if variable.init is None else f" = {_init(variable.init)}"
    return " ".join(words) + init + ";"


def _param(param: Param) -> str:
    words = [f".{param.space}"]
    if param.pointer is None:
        words += _shape(param.align, param.vector, param.type)
    else:  # an .align before .ptr is the parameter's own, one after it the target's
        words += [*_shape(param.align, param.vector, param.type), ".ptr"]
        words += [f".{param.pointer.space}"] if param.pointer.space else []
        words += [f".align {param.pointer.align}"] if param.pointer.align else []
    return " ".join((*words, param.name + _dims(param.dims)))


def _params(params: tuple[Param, ...]) -> str:
    return f"({', '.join(map(_param, params))})"


def _directive(directive: Directive) -> str:
    values = ", ".join(map(str, directive.values))
    return f".{directive.name} {values}".rstrip()


def _function(function: Function) -> Iterator[str]:
    words = [f".{word}" for word in function.linkage]
    words.append(".entry" if function.is_entry else ".func")
    if function.results:
        words.append(_params(function.results))
    words.append(function.name)
    head = " ".join(words)
    if function.params:
        yield head + "("
        yield ",\n".join(_INDENT + _param(p) for p in function.params)
        yield ")"
    else:
        yield head + "()"
    yield from map(_directive, function.directives)
    if function.body is None:
        yield ";"
    else:
        yield from _block(function.body, "")
    yield ""


# Statements


def _block(block: Block, indent: str) -> Iterator[str]:
    yield indent + "{"
    for item in block.items:
        if isinstance(item, Block):
            yield from _block(item, indent + _INDENT)
        elif isinstance(item, Label):
            yield f"{indent}{item.name}:"
        else:
            yield indent + _INDENT + statement_text(item)
    yield indent + "}"


def statement_text(item: Statement) -> str:
    """Print one statement on one line, a block excepted. Raises TypeError for a block."""
    return _STATEMENTS[type(item)](item)


def _guard(guard: Guard) -> str:
    return f"@{'!' if guard.negated else ''}{_reg(guard.reg)} "


def _instruction(instruction: Instruction) -> str:
    guard = _guard(instruction.guard) if instruction.guard else ""
    operands = ", ".join(map(operand_text, instruction.operands))
    return f"{guard}{instruction.name} {operands}".rstrip() + ";"


def _regname(name: RegName) -> str:
    return name.name if name.count is None else f"{name.name}<{name.count}>"


def _regdecl(decl: RegDecl) -> str:
    shape = " ".join(_shape(None, decl.vector, decl.type))
    return f".reg {shape} {', '.join(map(_regname, decl.names))};"


def _prototype(prototype: Prototype) -> str:
    results = f" {_params(prototype.results)}" if prototype.results else ""
    directives = "".join(f" {_directive(d)}" for d in prototype.directives)
    return f"{prototype.name}: .callprototype{results} _ {_params(prototype.params)}{directives};"


_STATEMENTS: dict[type, Callable[[Any], str]] = {
    RegDecl: _regdecl,
    Variable: _variable,
    Label: lambda label: f"{label.name}:",
    Instruction: _instruction,
    Targets: lambda t: f"{t.name}: .{t.kind} {', '.join(t.targets)};",
    Prototype: _prototype,
}

"""Lark's parse tree -> the PTX syntax tree. One method a grammar rule; see grammar.lark for what each receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lark import Token, Tree
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from qgc.diagnostics import Span, fail
from qgc.ir.ptx import constants
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
    InitList,
    Instruction,
    Label,
    Module,
    Not,
    Pair,
    Param,
    Pointer,
    Prototype,
    Reg,
    RegDecl,
    RegName,
    Sink,
    Special,
    Symbol,
    Targets,
    Variable,
    Vector,
)
from qgc.ir.ptx.constants import Constant
from qgc.ir.ptx.special import SPECIAL_TYPES

_Children = list[Any]

MAX_REGISTERS = 1 << 20
"""The most registers that one `name<count>` may declare."""


def build(tree: Tree[Token], file: str) -> Module:
    """Build the syntax tree of `file` from what the grammar recognised.

    Raises:
        VisitError: around the `QgcError` (`ptx-syntax`, `ptx-constant`) of what the grammar lets through but PTX
            does not have.
    """
    return _Builder(file).transform(tree)


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Module]):
    """Works bottom-up. Names become `Special` by table, `Reg` by a leading %, else `Symbol`."""

    def __init__(self, file: str) -> None:
        super().__init__(visit_tokens=False)
        self.file = file

    # Places

    def _at(self, meta: Meta | Token) -> Span:
        end = meta.end_column if meta.end_line == meta.line else 0
        return Span(self.file, meta.line or 1, meta.column or 1, end or 0)

    def _plain(self, token: Token) -> str:
        """Return a name that is being declared: it has no `.x`."""
        if "." in token:
            raise fail("ptx-syntax", f"found {token}, expected a name without a dot", self._at(token))
        return str(token)

    # Modules

    def start(self, _meta: Meta, children: _Children) -> Module:
        header = {"version": "", "target": (), "address_size": 32}
        items: list[Any] = []
        for child in children:
            if isinstance(child, dict):
                header.update(child)
            elif isinstance(child, list):
                items += child
            else:
                items.append(child)
        return Module(**header, items=tuple(items), file=self.file)  # type: ignore[arg-type]

    def version(self, _meta: Meta, children: _Children) -> dict[str, str]:
        return {"version": str(children[0])}

    def target(self, _meta: Meta, children: _Children) -> dict[str, tuple[str, ...]]:
        return {"target": tuple(map(str, children))}

    def address_size(self, _meta: Meta, children: _Children) -> dict[str, int]:
        if children[0] not in ("32", "64"):
            raise fail(
                "ptx-syntax", f"found address size {children[0]}, expected 32 or 64", self._at(children[0])
            )
        return {"address_size": int(children[0])}

    def alias(self, _meta: Meta, children: _Children) -> Alias:
        return Alias(self._plain(children[0]), self._plain(children[1]), self._at(children[0]))

    # Declarations

    def linkage(self, _meta: Meta, children: _Children) -> tuple[str, ...]:
        return tuple(word[1:] for word in children)

    def variable(self, _meta: Meta, children: _Children) -> list[Variable]:
        linkage, space, *rest = children
        declarators = [c for c in rest if isinstance(c, tuple)]
        facts = self._facts([c for c in rest if not isinstance(c, tuple)], declarators[0][0])
        return [
            Variable(
                space=_space(space),
                type=facts["type"],
                name=self._plain(name),
                dims=dims,
                align=facts.get("align"),
                vector=facts.get("vector", 1),
                init=init,
                linkage=linkage,
                attributes=facts.get("attributes", ()),
                span=self._at(name),
            )
            for name, dims, init in declarators
        ]

    def declarator(self, _meta: Meta, children: _Children) -> tuple[Token, tuple[int | None, ...], Any]:
        dims = tuple(c[0] for c in children[1:] if isinstance(c, list))
        init = next((c for c in children[1:] if not isinstance(c, list)), None)
        return children[0], dims, init

    def dim(self, meta: Meta, children: _Children) -> list[int | None]:
        if children and not (children[0].kind is ImmKind.INT and children[0].value >= 0):
            raise fail("ptx-syntax", "an array length is a non-negative integer", self._at(meta))
        return [children[0].value if children else None]

    def align(self, _meta: Meta, children: _Children) -> int:
        value = self._literal(children[0]).value
        if value <= 0 or value & (value - 1):
            raise fail(
                "ptx-syntax", f"found alignment {value}, expected a power of two", self._at(children[0])
            )
        return value

    def _facts(self, words: _Children, name: Token) -> dict[str, Any]:
        """Sort the attribute words of one declaration; what follows `.ptr` describes the target."""
        facts: dict[str, Any] = {}
        for word in words:
            if isinstance(word, int):
                _into_pointer(facts, "align", word)
            elif word.type == "SPACE":
                _into_pointer(facts, "space", _space(word))
            elif word.type == "PTR":
                facts["pointer"] = Pointer()
            elif word.type == "VECTOR":
                facts["vector"] = int(word[2:])
            elif word.type == "ATTRIBUTE":
                facts["attributes"] = (*facts.get("attributes", ()), _attribute_text(word))
            else:
                facts["type"] = str(word[1:])
        if "type" not in facts:
            raise fail("ptx-syntax", f"{name} has no type", self._at(name), "write one, as in .u32")
        return facts

    def masked(self, meta: Meta, children: _Children) -> Symbol:
        mask = self._literal(children[0]).value
        inner: Symbol = children[1]
        return Symbol(inner.name, inner.offset, inner.generic, mask, self._at(meta))

    def init_list(self, meta: Meta, children: _Children) -> InitList:
        return InitList(tuple(children), self._at(meta))

    def regdecl(self, meta: Meta, children: _Children) -> RegDecl:
        names = [c for c in children if isinstance(c, RegName)]
        words = [c for c in children if not isinstance(c, RegName)]
        first = Token("NAME", names[0].name)
        facts = self._facts(words, first)
        return RegDecl(facts["type"], tuple(names), facts.get("vector", 1), self._at(meta))

    def regname(self, meta: Meta, children: _Children) -> RegName:
        count = self._literal(children[1]).value if len(children) > 1 else None
        if count is not None and not 0 <= count <= MAX_REGISTERS:
            raise fail("ptx-syntax", f"{count} registers, at most {MAX_REGISTERS}", self._at(children[1]))
        return RegName(self._plain(children[0]), count, self._at(meta))

    # Functions

    def function(self, _meta: Meta, children: _Children) -> Function:
        at = next(i for i, c in enumerate(children) if isinstance(c, Token) and c.type == "NAME")
        before, name, after = children[1:at], children[at], children[at + 1 :]
        return Function(
            name=self._plain(name),
            is_entry=before[0].type == "ENTRY",
            params=_params(after),
            results=_params(before),
            body=next((c for c in after if isinstance(c, Block)), None),
            linkage=children[0],
            directives=tuple(c for c in before + after if isinstance(c, Directive)),
            span=self._at(name),
        )

    def params(self, _meta: Meta, children: _Children) -> list[Param]:
        return children

    def param(self, _meta: Meta, children: _Children) -> Param:
        space, *rest = children
        at = next(i for i, c in enumerate(rest) if isinstance(c, Token) and c.type in ("NAME", "SINK"))
        facts = self._facts(rest[:at], rest[at])
        return Param(
            type=facts["type"],
            name=self._plain(rest[at]),
            dims=tuple(dim[0] for dim in rest[at + 1 :]),
            align=facts.get("align"),
            space=_space(space),
            vector=facts.get("vector", 1),
            pointer=facts.get("pointer"),
            span=self._at(rest[at]),
        )

    def directive(self, meta: Meta, children: _Children) -> Directive:
        return Directive(children[0][1:], tuple(self._literal(c).value for c in children[1:]), self._at(meta))

    # Statements

    def block(self, meta: Meta, children: _Children) -> Block:
        *statements, close = children
        items: list[Any] = []
        for child in statements:
            items += child if isinstance(child, list) else [child]
        return Block(tuple(items), Span(self.file, meta.line, meta.column), self._at(close))

    def label(self, _meta: Meta, children: _Children) -> Label:
        return Label(str(children[0]), self._at(children[0]))

    def targets(self, _meta: Meta, children: _Children) -> Targets:
        label, kind, *names = children
        return Targets(str(label), kind[1:], tuple(map(self._plain, names)), self._at(label))

    def prototype(self, _meta: Meta, children: _Children) -> Prototype:
        label, *rest = children
        at = next(i for i, c in enumerate(rest) if isinstance(c, Token))
        directives = tuple(c for c in rest if isinstance(c, Directive))
        results, params = _params(rest[:at]), _params(rest[at:])
        return Prototype(str(label), results, params, directives, self._at(label))

    def instruction(self, meta: Meta, children: _Children) -> Instruction:
        guard = children.pop(0) if isinstance(children[0], Guard) else None
        opcode, *modifiers = "".join(children[0].split()).split(".")
        return Instruction(opcode, tuple(modifiers), tuple(children[1:]), guard, self._at(meta))

    call = instruction

    def guard(self, meta: Meta, children: _Children) -> Guard:
        return Guard(self._register(children[-1]), len(children) > 1, self._at(meta))

    # Operands

    def name(self, _meta: Meta, children: _Children) -> Reg | Special | Symbol:
        token: Token = children[0]
        if str(token) in SPECIAL_TYPES:
            return Special(str(token), self._at(token))
        return self._named(token)

    def _named(self, token: Token) -> Reg | Symbol:
        if "." in token or token.startswith("%"):
            return self._register(token)
        return Symbol(str(token), span=self._at(token))

    def _register(self, token: Token) -> Reg:
        base, _dot, part = token.partition(".")
        return Reg(str(base), part or None, self._at(token))

    def sink(self, meta: Meta, _children: _Children) -> Sink:
        return Sink(self._at(meta))

    def complement(self, meta: Meta, children: _Children) -> Not:
        return Not(self._register(children[-1]), self._at(meta))

    def pair(self, meta: Meta, children: _Children) -> Pair:
        first, second = (Reg(c.name, span=c.span) if isinstance(c, Symbol) else c for c in children[::2])
        return Pair(first, second, self._at(meta))

    def sum(self, meta: Meta, children: _Children) -> Symbol:
        return Symbol(str(children[0]), self._integer(children[2]), span=self._at(meta))

    def _integer(self, imm: Imm) -> int:
        if imm.kind is not ImmKind.INT:
            raise fail("ptx-syntax", "an offset is an integer number of bytes", imm.span)
        return imm.value

    def symbol(self, meta: Meta, children: _Children) -> Symbol:
        names = [c for c in children if isinstance(c, Token) and c.type == "NAME"]
        if len(names) > 1 and names[0] != "generic":
            raise fail("ptx-syntax", f"found {names[0]}(...), expected generic(...)", self._at(names[0]))
        offset = self._integer(children[-1]) if isinstance(children[-1], Imm) else 0
        return Symbol(self._plain(names[-1]), offset, len(names) > 1, span=self._at(meta))

    def vector(self, meta: Meta, children: _Children) -> Vector:
        return Vector(tuple(children), self._at(meta))

    def address(self, meta: Meta, children: _Children) -> Address:
        offset, coordinates = 0, children[1:]
        base: Reg | Symbol | Imm = children[0] if isinstance(children[0], Imm) else self._named(children[0])
        if coordinates and isinstance(coordinates[0], Token):
            offset, coordinates = self._integer(coordinates[1]), coordinates[2:]
        return Address(base, offset, tuple(coordinates), self._at(meta))

    def element(self, meta: Meta, children: _Children) -> Element:
        base = Symbol(self._plain(children[0]), span=self._at(children[0]))
        return Element(base, children[1], self._at(meta))

    def group(self, meta: Meta, children: _Children) -> Group:
        return Group(tuple(children), self._at(meta))

    # Constants

    def constant(self, meta: Meta, children: _Children) -> Imm:
        folded = self.paren(meta, children)
        value = (
            folded.value if folded.value != -(2**63) else 2**63
        )  # the same 64 bits, which print as they parse
        return Imm(value, folded.kind, self._at(meta))

    def paren(self, meta: Meta, children: _Children) -> Constant:
        return self._try(meta, constants.fold, [c if isinstance(c, Constant) else str(c) for c in children])

    def _literal(self, token: Token) -> Constant:
        return self._try(token, constants.literal, token.type, str(token))

    def _try(self, meta: Meta | Token, function: Callable[..., Constant], *args: Any) -> Constant:
        """Call one of the folding functions; what it refuses is a fault at this place."""
        try:
            return function(*args)
        except ValueError as err:
            raise fail("ptx-constant", str(err), self._at(meta)) from err

    def literal(self, _meta: Meta, children: _Children) -> Constant:
        return self._literal(children[0])

    def unary(self, meta: Meta, children: _Children) -> Constant:
        return self._try(meta, constants.unary, str(children[0]), children[1])

    def cast(self, meta: Meta, children: _Children) -> Constant:
        return self._try(meta, constants.cast, children[0][1:], children[1])


def _space(word: Token) -> str:
    """Read `.shared::cta` as shared and `.const[2]` as const: sub-windows and banks name no other space here."""
    return "".join(word[1:].split()).partition("::")[0].partition("[")[0]


def _attribute_text(word: Token) -> str:
    """Return what stands between the parentheses of `.attribute(.managed)`, without the dot."""
    return "".join(word[word.index("(") + 1 : -1].split()).lstrip(".")


def _into_pointer(facts: dict[str, Any], key: str, value: Any) -> None:
    pointer: Pointer | None = facts.get("pointer")
    if pointer is None:
        facts[key] = value
    else:
        facts["pointer"] = replace(pointer, **{key: value})


def _params(children: _Children) -> tuple[Param, ...]:
    return next((tuple(c) for c in children if isinstance(c, list)), ())

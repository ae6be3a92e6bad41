"""The PTX syntax tree: what a `.ptx` file says, with the place of every node, and nothing derived.

Names carry no leading dot: `ld.global.v2.u32` is `opcode="ld"`, `modifiers=("global", "v2", "u32")`, and the type
of `.reg .b32 %r<4>` is `"b32"`. Spans never take part in comparisons, so trees that print alike are equal.
Constant expressions are folded by the parser (PTX ISA 4.5), debug directives (`.loc`, `.file`, `.section`,
`.pragma`) are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from qgc.diagnostics import Span

# Operands


@dataclass(frozen=True, slots=True)
class Reg:
    """A register: `%r1`, or with `part` one element `v.x` of a vector register or a byte `%r1.b0`."""

    name: str
    part: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Special:
    """A read-only special register by its full name: `%tid.x`, `%laneid`, `%clock64` (PTX ISA 10)."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


class ImmKind(Enum):
    """How a literal is spelled; the operand's type says how it is used."""

    INT = "int"
    F32 = "f32"
    F64 = "f64"


@dataclass(frozen=True, slots=True)
class Imm:
    """A literal. INT: the value, above -2^63 and below 2^64. F32, F64: the IEEE bit pattern, 32 or 64 bits."""

    value: int
    kind: ImmKind = ImmKind.INT
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a variable, parameter, label or function, plus a byte offset (`table+8`).

    `generic(table)` is the variable's generic address; `mask` belongs to initialisers: `0xFF00(f)` is the byte of
    the address that the mask selects (PTX ISA 5.4.4).
    """

    name: str
    offset: int = 0
    generic: bool = False
    mask: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a destination or operand that is not wanted."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    """`!%p1`: the complement of a predicate."""

    reg: Reg
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """`%p|%q` and `%r|%p`: two destinations of one instruction."""

    first: Reg | Sink
    second: Reg | Sink
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`, offset in bytes. `coordinates` are the further operands of texture and tensor addresses."""

    base: Reg | Symbol | Imm
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Element:
    """`a[3]`, `a[%r1]`: an array element by its index (PTX ISA 6.4.3)."""

    base: Symbol
    index: Reg | Symbol | Imm
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b}`: the elements of a vector operand; the first is the least significant or the lowest address."""

    items: tuple[Operand, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Group:
    """`(a, b)`: the results or the arguments of a call."""

    items: tuple[Operand, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Operand: TypeAlias = Reg | Special | Imm | Symbol | Sink | Not | Pair | Address | Element | Vector | Group


# Statements


@dataclass(frozen=True, slots=True)
class Guard:
    """`@%p` or `@!%p`: the instruction acts only in threads where the predicate holds."""

    reg: Reg
    negated: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. A `call` has operands `[Group results,] target, Group arguments[, prototype]`."""

    opcode: str
    modifiers: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()
    guard: Guard | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The mnemonic in full: `ld.global.u32`."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Label:
    """`name:`, visible in its own block and in the blocks inside it."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RegName:
    """`name`, or with a count `name<count>`: the registers name0 .. name(count-1)."""

    name: str
    count: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def expand(self) -> tuple[str, ...]:
        """List the registers that this declares."""
        return (self.name,) if self.count is None else tuple(f"{self.name}{i}" for i in range(self.count))


@dataclass(frozen=True, slots=True)
class RegDecl:
    """`.reg .b32 %r<6>, x;`; `vector` is 1, 2, 4 or 8 elements."""

    type: str
    names: tuple[RegName, ...]
    vector: int = 1
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InitList:
    """`{1, 2, {3}}`: inner braces only group; what is missing at the end is zero."""

    items: tuple[Init, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Init: TypeAlias = Imm | Symbol | InitList


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of state space `global`, `const`, `shared`, `local` or `param` (a call's argument).

    `align` is in bytes, None means the type's own. `dims` are the array's lengths, outermost first, () for a
    scalar; None stands for `[]`, sized by the initialiser or, in `.extern .shared`, by the launch. `linkage` holds
    `extern`, `visible`, `weak`, `common`; `attributes` words such as `managed`.
    """

    space: str
    type: str
    name: str
    dims: tuple[int | None, ...] = ()
    align: int | None = None
    vector: int = 1
    init: Init | None = None
    linkage: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Targets:
    """`name: .branchtargets A, B;` (of a `brx.idx`) or `name: .calltargets f, g;`: `kind` is the directive."""

    name: str
    kind: str
    targets: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Prototype:
    """`name: .callprototype (results) _ (params);`: the signature of an indirect call."""

    name: str
    results: tuple[Param, ...]
    params: tuple[Param, ...]
    directives: tuple[Directive, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """`{ ... }`: a scope of registers, variables and labels. `end` is the place of the closing brace."""

    items: tuple[Statement, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    end: Span | None = field(default=None, compare=False, repr=False)


Statement: TypeAlias = RegDecl | Variable | Label | Instruction | Targets | Prototype | Block


# Functions and modules


@dataclass(frozen=True, slots=True)
class Pointer:
    """`.ptr .global .align 8`: what a kernel parameter points to; None where the file does not say."""

    space: str | None = None
    align: int | None = None


@dataclass(frozen=True, slots=True)
class Param:
    """A formal parameter or result. `space` is `param`, or `reg` in old-style functions; dims as in `Variable`."""

    type: str
    name: str
    dims: tuple[int | None, ...] = ()
    align: int | None = None
    space: str = "param"
    vector: int = 1
    pointer: Pointer | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Directive:
    """A performance directive of a function: `.maxntid 256, 1, 1` is ("maxntid", (256, 1, 1))."""

    name: str
    values: tuple[int, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Function:
    """`.entry` (a kernel: `is_entry`) or `.func`. `body` is None in a declaration."""

    name: str
    is_entry: bool
    params: tuple[Param, ...] = ()
    results: tuple[Param, ...] = ()
    body: Block | None = None
    linkage: tuple[str, ...] = ()
    directives: tuple[Directive, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alias:
    """`.alias name, target;`: a second name of a function."""

    name: str
    target: str
    span: Span | None = field(default=None, compare=False, repr=False)


Item: TypeAlias = Variable | Function | Alias


@dataclass(frozen=True, slots=True)
class Module:
    """A whole file. `target` is `("sm_75",)` and texture modes; `address_size` is 32 or 64 bits."""

    version: str
    target: tuple[str, ...]
    address_size: int
    items: tuple[Item, ...] = ()
    file: str = field(default="", compare=False)

    @property
    def functions(self) -> tuple[Function, ...]:
        """Every function, declarations included, in file order."""
        return tuple(item for item in self.items if isinstance(item, Function))

    @property
    def kernels(self) -> tuple[Function, ...]:
        """Every `.entry` that has a body, in file order."""
        return tuple(f for f in self.functions if f.is_entry and f.body is not None)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Every module-scope variable, in file order."""
        return tuple(item for item in self.items if isinstance(item, Variable))

"""The text form of SSA: `to_text` prints it, `parse` reads it back; printing what was read gives the same bytes.

    kernel halve from "halve.ptx" {
    param 0: u64 ptr "halve_param_0"

    entry:  ; #0
      %rd1: i32 = param 0  @12
      %r1: i32 = sreg.tid.x  @13
      %p1: i1 = icmp.lt.u %r1, 4  @14
      cbr %p1, body, exit  @15
    ...
    }

`%name: type = op operands` defines a value, after `ir-div` with `uniform` or `varying` before the type (and before the
condition of a branch). A bare number is an i32 constant, other types are written out (`4:i64`). Attributes follow the
op's name after dots, a numeric one stands first among the operands. `if %p` is the guard, `@12` the line in the
source. Comments run from `;` to the end of the line; those that the printer writes number a block and name its
predecessors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from qgc.diagnostics import Diagnostic, QgcError, Span, fail
from qgc.ir.ssa.function import Attr, Block, Const, Function, Module, Op, Param, Symbol, Value, const
from qgc.ir.ssa.ops import ATTRS, OPS, OpSpec
from qgc.ir.ssa.types import I1, I32, SPACES, TYPES, Ty

_UNIFORMITY = {None: "", True: "uniform ", False: "varying "}
_LONGEST_NUMBER = 24
_KEYWORDS = ("uniform", "varying", "if")


# Printing


class _Names:
    """Hands out unique names: the hint itself when it is free, else the hint with a number."""

    def __init__(self, *reserved: str) -> None:
        self._taken = set(reserved)
        self._next: dict[str, int] = {}

    def pick(self, hint: str) -> str:
        name = hint
        base = re.sub(r"\.\d+$", "", hint)
        while not name or name in self._taken:
            count = self._next.get(base, 0 if not base else 1)
            self._next[base] = count + 1
            name = f"{base}.{count}" if base else f"{count}"
        self._taken.add(name)
        return name


class _Printer:
    def __init__(self, function: Function) -> None:
        self.function = function
        labels, values = _Names(*_KEYWORDS), _Names()
        self.labels = {block: labels.pick(block.name or "b") for block in function.blocks}
        self.values = {
            op.result: values.pick(op.result.name) for op in function.ops() if op.result is not None
        }

    def value(self, value: Value) -> str:
        if isinstance(value, Const):
            return format_const(value)
        return "%" + self.values.get(value, f"undefined.{value.name}")

    def label(self, block: Block) -> str:
        return self.labels.get(block, f"unknown.{block.name}")

    def op(self, op: Op) -> str:
        """One op without indentation."""
        numbers = [str(a) for a in op.attrs if isinstance(a, int)]
        name = ".".join([op.name, *(a for a in op.attrs if isinstance(a, str))])
        operands = [self.value(v) for v in op.operands]
        if op.name == "cbr":
            operands = [_UNIFORMITY[v.uniform] + text for v, text in zip(op.operands, operands, strict=True)]
        if op.name == "phi":
            operands = [f"{self.label(b)}: {v}" for b, v in zip(op.blocks, operands, strict=False)]
        else:
            operands += [self.label(b) for b in op.blocks]
        text = " ".join([name, ", ".join(numbers + operands)]).rstrip()
        if op.result is not None:
            uniformity = _UNIFORMITY[op.result.uniform]
            text = f"{self.value(op.result)}: {uniformity}{op.result.ty} = {text}"
        if op.guard is not None:
            text += f" if {self.value(op.guard)}"
        if op.span is not None and op.span.file == self.function.source:
            text += f"  @{op.span.line}"
        return text

    def lines(self) -> Iterator[str]:
        function = self.function
        yield f"kernel {function.name} from {json.dumps(function.source)} {{"
        for p in function.params:
            yield f"param {p.offset}: {p.type} {'ptr ' if p.is_pointer else ''}{json.dumps(p.name)}"
        for s in function.symbols:
            init = f" = {s.init.hex()}" if s.init else ""
            yield f"{s.space} {s.address}: {s.size} {json.dumps(s.name)}{init}"
        came: dict[Block, list[str]] = {}
        for block in function.blocks:
            for successor in block.successors if block.ops else []:
                came.setdefault(successor, []).append(self.label(block))
        for number, block in enumerate(function.blocks):
            yield ""
            from_ = f", from {', '.join(came[block])}" if block in came else ""
            yield f"{self.label(block)}:  ; #{number}{from_}"
            for op in block.ops:
                yield "  " + self.op(op)
        yield "}"


def format_const(value: Const) -> str:
    """Small constants in decimal with their sign, others in hexadecimal; i32 without its type."""
    number = value.ty.signed(value.value) if value.ty is not I1 else value.value
    text = str(number) if abs(number) < 1 << 16 else hex(value.value)
    return text if value.ty is I32 else f"{text}:{value.ty}"


def function_text(function: Function) -> str:
    """Print one kernel."""
    return "\n".join(_Printer(function).lines()) + "\n"


def op_text(function: Function, op: Op) -> str:
    """Print one op of a kernel, for messages."""
    return _Printer(function).op(op)


def to_text(module: Module) -> str:
    """Print a module: its kernels, an empty line between them."""
    return "\n".join(function_text(function) for function in module.functions)


# Reading

_TOKEN = re.compile(
    r"\s*(?:(?P<comment>;.*)|(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<value>%[\w$.]+)|(?P<number>-?(?:0x[0-9a-f]+|\d+))"
    r"(?![\w$.])|(?P<name>[A-Za-z_$][\w$.]*)|(?P<hex>[0-9a-f]+)|(?P<mark>[:=,{}@\[\]]))"
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    span: Span


def _tokens(text: str, file: str, line: int) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            raise fail("ssa-syntax", f"cannot read {text[column - 1 :]!r}", Span(file, line, column))
        kind = str(match.lastgroup)
        if kind != "comment":
            span = Span(file, line, match.start(kind) + 1, match.end(kind) + 1)
            tokens.append(_Token(kind, match[kind], span))
        at = match.end()
    return tokens


class _Line:
    """The tokens of one line, read from left to right."""

    def __init__(self, text: str, file: str, number: int) -> None:
        self.tokens = _tokens(text, file, number)
        self.place = Span(file, number, len(text) - len(text.lstrip()) + 1, len(text.rstrip()) + 1)
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.tokens)

    def peek(self, text: str | None = None, kind: str | None = None, ahead: int = 0) -> bool:
        if self.at + ahead >= len(self.tokens):
            return False
        token = self.tokens[self.at + ahead]
        return text in (None, token.text) and kind in (None, token.kind)

    def take(self, kind: str, what: str) -> _Token:
        if not self.peek(kind=kind):
            self.wrong(what)
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, text: str) -> bool:
        """Step over `text` when it comes next."""
        found = self.peek(text)
        self.at += found
        return found

    def expect(self, text: str) -> None:
        if not self.skip(text):
            self.wrong(repr(text))

    def integer(self, what: str) -> int:
        token = self.take("number", what)
        if len(token.text) > _LONGEST_NUMBER:
            raise fail("ssa-syntax", "the number is too long", token.span)
        return int(token.text, 16 if "x" in token.text else 10)

    def string(self, what: str) -> str:
        token = self.take("string", what)
        try:
            return str(json.loads(token.text))
        except json.JSONDecodeError:
            raise fail("ssa-syntax", f"{token.text} has an unknown escape", token.span) from None

    def end(self) -> None:
        if self:
            self.wrong("the end of the line")

    def wrong(self, what: str) -> None:
        token = self.tokens[self.at] if self else None
        found = repr(token.text) if token else "the end of the line"
        raise fail("ssa-syntax", f"expected {what}, found {found}", token.span if token else self.place)


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        rows = (_Line(row, file, number) for number, row in enumerate(text.splitlines(), start=1))
        self.lines = [row for row in rows if row]
        self.at = 0
        self.file = file
        self.values: dict[str, Value] = {}
        self.blocks: dict[str, Block] = {}
        self.first_use: dict[str, Span] = {}
        self.branches: list[tuple[Op, _Token]] = []
        self.source = ""

    def module(self) -> Module:
        module = Module()
        while self.at < len(self.lines):
            module.functions.append(self.function())
        return module

    def next(self) -> _Line:
        if self.at == len(self.lines):
            end = self.lines[-1].place if self.lines else Span(self.file, 1, 1)
            raise fail("ssa-syntax", "the kernel is not closed", end, hint="end it with a line '}'")
        self.at += 1
        return self.lines[self.at - 1]

    def function(self) -> Function:
        self.values, self.blocks, self.first_use, self.branches = {}, {}, {}, []
        line = self.next()
        line.expect("kernel")
        name = line.take("name", "the kernel's name").text
        line.expect("from")
        self.source = line.string("the source file's name")
        line.expect("{")
        line.end()
        params: list[Param] = []
        symbols: list[Symbol] = []
        blocks: list[Block] = []
        while not (line := self.next()).peek("}"):
            if line.peek(kind="name") and line.peek(":", ahead=1):
                blocks.append(self.label(line, blocks))
            elif blocks:
                blocks[-1].ops.append(self.op(line))
            elif line.skip("param"):
                params.append(self.param(line))
            else:
                symbols.append(self.symbol(line))
            line.end()
        line.expect("}")
        line.end()
        self.check_names(blocks)
        return Function(name, self.source, tuple(params), tuple(symbols), blocks)

    def check_names(self, blocks: list[Block]) -> None:
        faults = [
            Diagnostic("ssa-undefined", f"%{name} is not defined in this kernel", self.first_use[name])
            for name, value in self.values.items()
            if value.op is None
        ]
        faults += [
            Diagnostic("ssa-undefined", f"there is no block {name!r} in this kernel", self.first_use[name])
            for name, block in self.blocks.items()
            if block not in blocks
        ]
        faults += [
            Diagnostic("ssa-uniformity", f"the condition is not {token.text}", token.span)
            for op, token in self.branches
            if op.operands and op.operands[0].uniform is not (token.text == "uniform")
        ]
        if faults:
            raise QgcError(*faults)

    def param(self, line: _Line) -> Param:
        offset = line.integer("the parameter's offset")
        line.expect(":")
        ty = line.take("name", "the parameter's type").text
        size = int("".join(re.findall(r"\d+", ty)[:1]) or 0) // 8
        if line.skip("["):
            count = line.integer("the number of elements")
            line.expect("]")
            ty, size = f"{ty}[{count}]", size * count
        is_pointer = line.skip("ptr")
        name = line.string("the parameter's name")
        return Param(name, ty, offset, size, is_pointer)

    def symbol(self, line: _Line) -> Symbol:
        if not any(line.peek(space) for space in SPACES):
            line.wrong("a parameter, a variable or a label")
        space = line.take("name", "a state space").text
        address = line.integer("the variable's address")
        line.expect(":")
        size = line.integer("the variable's size in bytes")
        name = line.string("the variable's name")
        init = b""
        if line.skip("="):
            digits = "".join(t.text for t in line.tokens[line.at :])
            line.at = len(line.tokens)
            if not re.fullmatch("(?:[0-9a-f]{2})*", digits):
                raise fail("ssa-syntax", "initial bytes are pairs of hexadecimal digits", line.place)
            init = bytes.fromhex(digits)
        return Symbol(name, space, address, size, init)

    def label(self, line: _Line, blocks: list[Block]) -> Block:
        token = line.take("name", "a label")
        line.expect(":")
        block = self.block(token)
        if block in blocks:
            raise fail("ssa-duplicate", f"block {token.text!r} is defined twice", token.span)
        return block

    def block(self, token: _Token) -> Block:
        self.first_use.setdefault(token.text, token.span)
        return self.blocks.setdefault(token.text, Block(token.text))

    def op(self, line: _Line) -> Op:
        place = line.place
        result = self.result(line) if line.peek(kind="value") else None
        spec, attrs = self.head(line)
        op = Op(spec, attrs=attrs, result=result, span=place)
        if result is not None:
            result.op = op
        if "offset" in spec.attrs:
            op.attrs = (*attrs, line.integer(f"the number of {spec.name}"))
            line.skip(",")
        if op.name == "cbr" and (line.peek("uniform") or line.peek("varying")):
            self.branches.append((op, line.take("name", "uniform or varying")))
        while line and not line.peek("if") and not line.peek("@"):
            self.operand(line, op)
            if not line.skip(","):
                break
        if line.skip("if"):
            op.guard = self.value(line)
        if line.skip("@"):
            op.span = Span(self.source, line.integer("a line number"), 1)
        return op

    def result(self, line: _Line) -> Value:
        token = line.take("value", "a value")
        line.expect(":")
        uniform = None
        if line.peek("uniform") or line.peek("varying"):
            uniform = line.take("name", "uniform or varying").text == "uniform"
        ty = self.type(line)
        line.expect("=")
        value = self.values.setdefault(token.text[1:], Value(ty, token.text[1:]))
        if value.op is not None:
            raise fail("ssa-duplicate", f"{token.text} is defined twice", token.span)
        value.ty, value.uniform = ty, uniform
        return value

    def type(self, line: _Line) -> Ty:
        token = line.take("name", "a type")
        if token.text not in TYPES:
            raise fail(
                "ssa-syntax", f"there is no type {token.text!r}", token.span, f"types: {', '.join(TYPES)}"
            )
        return TYPES[token.text]

    def head(self, line: _Line) -> tuple[OpSpec, tuple[Attr, ...]]:
        """Read an op's name and its named attributes."""
        token = line.take("name", "an operation")
        parts = token.text.split(".")
        name = next((n for i in range(len(parts), 0, -1) if (n := ".".join(parts[:i])) in OPS), None)
        if name is None:
            raise fail("ssa-unknown-op", f"there is no operation {token.text!r}", token.span)
        rest = token.text[len(name) + 1 :]
        attrs: list[Attr] = []
        for kind in OPS[name].attrs:
            if kind == "offset":
                continue
            attr = next((a for a in ATTRS[kind] if rest == a or rest.startswith(a + ".")), None)
            if attr is None:
                raise fail(
                    "ssa-attr", f"{name} needs a {kind}, found {rest!r}", token.span, ", ".join(ATTRS[kind])
                )
            attrs.append(attr)
            rest = rest[len(attr) + 1 :]
        if rest:
            raise fail("ssa-attr", f"{name} has no attribute {rest!r}", token.span)
        return OPS[name], tuple(attrs)

    def operand(self, line: _Line, op: Op) -> None:
        if op.spec.blocks < 0:
            op.blocks.append(self.block(line.take("name", "a block")))
            line.expect(":")
        if line.peek(kind="name"):
            op.blocks.append(self.block(line.take("name", "a block")))
        else:
            op.operands.append(self.value(line))

    def value(self, line: _Line) -> Value:
        if line.peek(kind="number"):
            number = line.integer("a number")
            return const(self.type(line) if line.skip(":") else I32, number)
        token = line.take("value", "a value or a number")
        self.first_use.setdefault(token.text[1:], token.span)
        return self.values.setdefault(token.text[1:], Value(I1, token.text[1:]))


def parse(text: str, file: str) -> Module:
    """Read a module; `file` names the text in messages and in the spans of ops that state no source line.

    Raises:
        QgcError: `ssa-syntax`, `ssa-unknown-op`, `ssa-attr`, `ssa-duplicate`, or `ssa-undefined` for every name
            without a definition. Types and structure are `verify`'s business.
    """
    return _Parser(text, file).module()

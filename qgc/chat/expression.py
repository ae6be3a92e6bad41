"""Expressions as text and as trees. The grammar is `expression.lark`; docs/chat.md explains it.

A tree says what is applied to what; it computes nothing. `chat.evaluate` launches a kernel for every node.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from qgc.chat.functions import BINARY, CALLABLE, FUNCTIONS, UNARY, Function
from qgc.diagnostics import QgcError, Span, fail
from qgc.names import unknown

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark.exceptions import UnexpectedInput

FILE = "<expression>"
"""What diagnostics call the text."""
MAX_CHARACTERS = 2000
MAX_DEPTH = 50
LEAST, MOST = -(2**31), 2**31 - 1
"""The range of an integer."""


@dataclass(frozen=True, slots=True)
class Number:
    """An integer as it is written, its sign included."""

    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class Items:
    """A list: of integers, a vector; of vectors, a matrix."""

    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Apply:
    """A function or an operator and its arguments."""

    function: Function
    arguments: tuple[Node, ...]
    span: Span


Node: TypeAlias = "Number | Items | Apply"


def parse(text: str) -> Node:
    """Read an expression.

    Raises:
        QgcError: `expression-syntax`, `expression-size` (too long or too deep), `expression-range` (a number beyond
            32 bits), `expression-name`, `expression-arity`; with a place in `FILE`.
    """
    from lark.exceptions import UnexpectedInput

    if len(text) > MAX_CHARACTERS:
        raise fail(
            "expression-size", f"the expression has {len(text)} characters; the most is {MAX_CHARACTERS}"
        )
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as err:
        raise _unexpected(text, err) from None
    return _node(text, tree, 0)


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = (Path(__file__).parent / "expression.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def _unexpected(text: str, err: UnexpectedInput) -> QgcError:
    if not text.strip():
        return fail("expression-syntax", "the expression is empty")
    at = err.pos_in_stream
    if at is None or at < 0 or at >= len(text) or getattr(getattr(err, "token", None), "type", "") == "$END":
        end = _place(text, len(text.rstrip()), len(text.rstrip()) + 1)
        return fail("expression-syntax", "the expression ends too early", end)
    found = str(getattr(err, "token", text[at]))
    hints = {
        "/": "write a // b for the whole part of a quotient",
        ".": "there are whole numbers only",
        "=": "write a == b to compare",
    }
    return fail(
        "expression-syntax", f"{found!r} is out of place", _place(text, at, at + len(found)), hints.get(found)
    )


def _place(text: str, start: int, end: int) -> Span:
    """The span of some characters; one that goes over a line's end stops there."""
    line = text.count("\n", 0, start)
    first = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    end = min(end, stop if stop >= 0 else max(end, start + 1))
    return Span(FILE, line + 1, start - first + 1, end - first + 1)


def _node(text: str, tree: Any, depth: int) -> Node:
    span = _place(text, tree.meta.start_pos, tree.meta.end_pos)
    if depth > MAX_DEPTH:
        raise fail("expression-size", f"the expression is nested more than {MAX_DEPTH} deep", span)
    if tree.data == "number":
        return _number(tree.children[0], span, 1)
    if tree.data == "unary":
        return _signed(text, tree, span, depth)
    if tree.data == "binary":
        left, sign, right = tree.children
        return Apply(BINARY[sign], (_node(text, left, depth + 1), _node(text, right, depth + 1)), span)
    if tree.data == "list":
        return Items(tuple(_node(text, item, depth + 1) for item in tree.children[:-1]), span)
    name, *given = tree.children
    return _call(name, tuple(_node(text, item, depth + 1) for item in given), span)


def _signed(text: str, tree: Any, span: Span, depth: int) -> Node:
    sign, operand = tree.children
    if sign == "-" and operand.data == "number":  # -2147483648 is a number; 2147483648 is none
        return _number(operand.children[0], span, -1)
    inner = _node(text, operand, depth + 1)
    return inner if sign == "+" else Apply(UNARY[sign], (inner,), span)


def _number(token: Token, span: Span, sign: int) -> Number:
    digits = str(token)
    value = sign * int(digits, 16 if digits[:2] in ("0x", "0X") else 10)
    if not LEAST <= value <= MOST:
        raise fail(
            "expression-range",
            f"{digits if sign > 0 else '-' + digits} does not fit 32 bits",
            span,
            f"integers are from {LEAST} to {MOST}",
        )
    return Number(value, span)


def _call(name: Token, arguments: tuple[Node, ...], span: Span) -> Node:
    function = CALLABLE.get(str(name))
    if function is None:
        place = Span(FILE, span.line, span.column, span.column + len(name))
        raise fail("expression-name", unknown("function", str(name), CALLABLE), place)
    if function in (FUNCTIONS["min"], FUNCTIONS["max"]) and len(arguments) > 1:
        return Apply(function, (Items(arguments, span),), span)
    if len(arguments) != function.arity:
        wanted = "1 argument" if function.arity == 1 else f"{function.arity} arguments"
        raise fail("expression-arity", f"{name} takes {wanted}, {len(arguments)} are given", span)
    return Apply(function, arguments, span)

"""PTX text -> syntax tree, with diagnostics that say what was found and what could have stood there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import QgcError, Span, fail
from qgc.folders import tables_file
from qgc.ir.ptx.ast import Module
from qgc.ir.ptx.resolve import resolve

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

MAX_NESTING = 200
"""Deepest tree that is accepted, counted in grammar rules: far above any compiler's, far below Python's stack."""

_WORDS = {
    "$END": "the end of the file",
    "AT": "a guard",
    "ATTRIBUTE": ".attribute",
    "BAR": "'|'",
    "CALL": "an instruction",
    "CLOSE": "'}'",
    "COLON": "':'",
    "COMMA": "','",
    "DECIMAL": "a number",
    "DIRECTIVE": "a directive",
    "ENTRY": ".entry",
    "EQUAL": "'='",
    "F32": "a number",
    "F64": "a number",
    "FUNC": ".func",
    "INT": "a number",
    "LABEL": "a label",
    "LBRACE": "'{'",
    "LESSTHAN": "'<'",
    "LINKAGE": ".visible",
    "LPAR": "'('",
    "LSQB": "'['",
    "MINUS": "a number",
    "MORETHAN": "'>'",
    "NAME": "a name",
    "NOT": "'!'",
    "NUMBER": "a version number",
    "OPCODE": "an instruction",
    "OPERAND": "an operand",
    "OPERATOR": "an operator",
    "PLUS": "'+'",
    "PTR": ".ptr",
    "REG": ".reg",
    "RPAR": "')'",
    "RSQB": "']'",
    "SEMICOLON": "';'",
    "SINK": "'_'",
    "SPACE": "a state space",
    "TARGETS": "a list of targets",
    "TILDE": "a number",
    "TYPE": "a type",
    "VECTOR": "a vector size",
    "WARP_SZ": "a number",
    "_ADDRESS_SIZE": ".address_size",
    "_ALIAS": ".alias",
    "_ALIGN": ".align",
    "_CALLPROTOTYPE": ".callprototype",
    "_TARGET": ".target",
    "_VERSION": ".version",
}
"""How a diagnostic names a terminal of the grammar."""

_OPERAND = frozenset(
    [
        "DECIMAL",
        "F32",
        "F64",
        "INT",
        "LBRACE",
        "LPAR",
        "LSQB",
        "MINUS",
        "NAME",
        "NOT",
        "PLUS",
        "SINK",
        "TILDE",
        "WARP_SZ",
    ]
)  # what starts an operand


@cache
def _grammar() -> Lark:
    """The parser; its tables are kept in the user's cache, because making them takes longer than all else."""
    from lark import Lark

    text = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    options: dict[str, Any] = {"propagate_positions": True, "maybe_placeholders": False}
    stored = tables_file("ptx", text)
    return Lark(text, parser="lalr", lexer="contextual", cache=str(stored) if stored else False, **options)


def parse(text: str, file: str = "<ptx>") -> Module:
    """Parse a PTX file. `file` is the name that spans carry.

    Raises:
        QgcError: `ptx-syntax` (what was found, what was expected), `ptx-constant` (an undefined constant
            expression), `ptx-nesting` (deeper than `MAX_NESTING`).
    """
    from lark.exceptions import UnexpectedInput, VisitError

    from qgc.ir.ptx.build import build

    try:
        tree = _grammar().parse(text)
        _check_depth(tree, file)
        return resolve(build(tree, file))
    except UnexpectedInput as err:
        raise _syntax_error(err, text, file) from None
    except VisitError as err:
        if isinstance(err.orig_exc, QgcError):
            raise err.orig_exc from None
        raise


def _check_depth(tree: Tree[Token], file: str) -> None:
    from lark import Tree

    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_NESTING:
            span = Span(file, node.meta.line, node.meta.column)
            raise fail(
                "ptx-nesting", f"nested deeper than {MAX_NESTING}", span, "split the expression or the block"
            )
        stack += [(child, depth + 1) for child in node.children if isinstance(child, Tree)]


def _syntax_error(err: UnexpectedInput, text: str, file: str) -> QgcError:
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    names = err.allowed if isinstance(err, UnexpectedCharacters) else ()
    if isinstance(err, UnexpectedToken):
        names = err.accepts or err.expected
    if isinstance(err, UnexpectedToken) and err.token.type == "$END":
        rows = text.splitlines() or [""]
        found, span = "the end of the file", Span(file, len(rows), len(rows[-1]) + 1)
    else:
        word = _word_at(text, err.pos_in_stream or 0)
        found, span = repr(word), Span(file, err.line, err.column, err.column + len(word))
    return fail("ptx-syntax", f"found {found}, expected {_expectation(names)}", span)


def _word_at(text: str, position: int) -> str:
    match = re.compile(r"[.%$\w]+|.").match(text, position)
    return match.group() if match else ""


def _expectation(terminals: Iterable[str]) -> str:
    """Name the terminals, each once, in a fixed order."""
    accepted = set(terminals)
    if accepted >= _OPERAND:
        accepted = accepted - _OPERAND | {"OPERAND"}
    names = sorted({_WORDS.get(name, name) for name in accepted})
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]

"""The grammar: what is read, with which precedence, and what is refused where."""

from __future__ import annotations

from random import Random

import pytest

from qgc.chat.expression import MAX_DEPTH, Apply, Items, Node, Number, parse
from qgc.diagnostics import QgcError
from qgc.host.questions import question
from qgc.host.templates import KINDS


def shown(node: Node) -> str:
    """A tree with all its parentheses."""
    match node:
        case Number():
            return str(node.value)
        case Items():
            return f"[{' '.join(map(shown, node.items))}]"
        case Apply():
            return f"({node.function.name} {' '.join(map(shown, node.arguments))})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", "(add 1 (multiply 2 3))"),
        ("(1 + 2) * 3", "(multiply (add 1 2) 3)"),
        ("7 - 2 - 1", "(subtract (subtract 7 2) 1)"),
        ("2 ** 3 ** 2", "(power 2 (power 3 2))"),
        ("-2 ** 2", "(negate (power 2 2))"),
        ("2 ** -1", "(power 2 -1)"),
        ("-3 * -4", "(multiply -3 -4)"),
        ("7-3", "(subtract 7 3)"),
        ("-2147483648", "-2147483648"),
        ("~-5", "(invert -5)"),
        ("+5", "5"),
        ("--5", "(negate -5)"),
        ("1 | 2 ^ 3 & 4 << 5 + 6", "(or 1 (xor 2 (and 3 (shift_left 4 (add 5 6)))))"),
        ("1 < 2 + 3", "(less 1 (add 2 3))"),
        ("8 >> 1 >= 4", "(greater_equal (shift_right 8 1) 4)"),
        ("0xff % 7 // 2", "(divide (remainder 255 7) 2)"),
        ("[1, 2,] @ [3, 4]", "(matmul [1 2] [3 4])"),
        ("[[1, 2], [3, 4]]", "[[1 2] [3 4]]"),
        ("[]", "[]"),
        ("gcd(12, -18)", "(gcd 12 -18)"),
        ("min(3, 1, 2) + max([4])", "(add (min [3 1 2]) (max [4]))"),
        ("sum(\n[1,\n2])", "(sum [1 2])"),
    ],
)
def test_trees(text: str, tree: str) -> None:
    assert shown(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("1 +", "expression-syntax", 4),
        ("", "expression-syntax", 0),
        ("  ", "expression-syntax", 0),
        ("7 / 2", "expression-syntax", 3),
        ("1.5", "expression-syntax", 2),
        ("1 < 2 < 3", "expression-syntax", 7),
        ("1 = 1", "expression-syntax", 3),
        ("(1 + 2", "expression-syntax", 7),
        ("x", "expression-syntax", 2),
        ("print(1)", "expression-name", 1),
        ("1 + gdc(1, 2)", "expression-name", 5),
        ("gcd(1)", "expression-arity", 1),
        ("sum()", "expression-arity", 1),
        ("1 + 2147483648", "expression-range", 5),
        ("-2147483649", "expression-range", 1),
        ("9" * 1999, "expression-range", 1),
        ("1" * 2001, "expression-size", 0),
        ("~" * (MAX_DEPTH + 1) + "1", "expression-size", MAX_DEPTH + 2),
    ],
)
def test_refusals(text: str, code: str, column: int) -> None:
    with pytest.raises(QgcError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.column if found.span else 0) == (code, column)


def test_a_misspelled_function_is_named() -> None:
    with pytest.raises(QgcError, match="did you mean 'gcd'"):
        parse("gdc(1, 2)")


def test_the_place_of_a_later_line() -> None:
    with pytest.raises(QgcError, match="<expression>:2:5"):
        parse("1 +\n2 + ?")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_question_can_be_read(kind: object) -> None:
    rng = Random(7)
    for _ in range(20):
        parse(question(rng, kind).expression)  # type: ignore[arg-type]

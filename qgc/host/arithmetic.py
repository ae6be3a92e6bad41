"""What an expression is worth, in Python integers: the results that training conversations show.

No answer of the trained model comes from here; there a launch computes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

Value = int | list[Any]
"""An integer, a vector, or a matrix as a list of rows."""


def value(expression: str) -> Value:
    """The value of an expression.

    Raises:
        ZeroDivisionError: of a division by zero.
    """
    found: Value = _value(ast.parse(expression.strip(), mode="eval").body)
    return found


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.List():
            return [_value(item) for item in node.elts]
        case ast.UnaryOp(ast.USub()):
            return _each(lambda a, _: -a, _value(node.operand), 0)
        case ast.BinOp(left, ast.MatMult(), right):
            return _matmul(_value(left), _value(right))
        case ast.BinOp(left, op, right):
            return _each(_OPERATORS[type(op)], _value(left), _value(right))
        case ast.Compare(left, [op], [right]):
            return _each(_OPERATORS[type(op)], _value(left), _value(right))
        case ast.Call(ast.Name(name), arguments):
            return _FUNCTIONS[name](*map(_value, arguments))
    raise ValueError(ast.unparse(node))


def _each(operation: Callable[[int, int], int], left: Any, right: Any) -> Any:
    """Apply to every element; an integer goes with each of them."""
    if isinstance(left, list) and isinstance(right, list):
        return [_each(operation, a, b) for a, b in zip(left, right, strict=True)]
    if isinstance(left, list):
        return [_each(operation, a, right) for a in left]
    if isinstance(right, list):
        return [_each(operation, left, b) for b in right]
    return operation(left, right)


def _matmul(left: Any, right: Any) -> Any:
    if not isinstance(left[0], list):
        return sum(a * b for a, b in zip(left, right, strict=True))
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left]


def _is_prime(n: int) -> int:
    return int(n > 1 and all(n % k for k in range(2, math.isqrt(n) + 1)))


def _fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: int(a**b),
    ast.Gt: lambda a, b: int(a > b),
    ast.Lt: lambda a, b: int(a < b),
    ast.Eq: lambda a, b: int(a == b),
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": sum,
    "prod": math.prod,
    "min": min,
    "max": max,
    "sort": sorted,
    "reverse": lambda v: v[::-1],
    "cumsum": lambda v: list(accumulate(v)),
    "len": len,
    "range": lambda n: list(range(n)),
    "gcd": math.gcd,
    "lcm": math.lcm,
    "isprime": _is_prime,
    "fib": _fibonacci,
    "popcount": int.bit_count,
    "abs": abs,
}

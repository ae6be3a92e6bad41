"""Everything that an expression can apply: operators and functions, each with the kernel that computes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"


class Form(Enum):
    """How arguments become a launch, and what shape the result has."""

    EACH = "of an integer, or of each element"
    PAIR = "of two integers, or of two equal shapes element by element; an integer goes with every element"
    FOLD = "of a vector; an integer"
    LIST = "of a vector; a vector of the same length"
    COUNT = "of a vector or a matrix; an integer"
    RANGE = "of an integer; a vector"
    TRANSPOSE = "of a matrix; a matrix"
    PRODUCT = "of vectors (the dot product), matrices, or a matrix and a vector"


@dataclass(frozen=True, slots=True)
class Function:
    """One row of the table.

    Attributes:
        name: of the function and of its kernel's file.
        form: its shapes.
        doc: what it is, in a few words.
        sign: the operator that means it; empty when it is called by its name.
        refusal: what the kernel's status 3 means.
        is_callable: whether it can be called by its name.
    """

    name: str
    form: Form
    doc: str
    sign: str = ""
    refusal: str = ""
    is_callable: bool = True

    @property
    def arity(self) -> int:
        """Arguments that the kernel takes."""
        return 2 if self.form in (Form.PAIR, Form.PRODUCT) else 1

    @property
    def source(self) -> Path:
        """The kernel's file; the kernel in it is called NAME_kernel."""
        return KERNELS / f"{self.name}.cu"


def _operator(name: str, sign: str, doc: str, form: Form = Form.PAIR, refusal: str = "") -> Function:
    return Function(name, form, doc, sign, refusal, is_callable=False)


_TABLE = (
    _operator("add", "+", "sum"),
    _operator("subtract", "-", "difference"),
    _operator("multiply", "*", "product"),
    _operator("divide", "//", "quotient, rounded down"),
    _operator("remainder", "%", "remainder, with the sign of the divisor"),
    _operator("power", "**", "power", refusal="a negative exponent gives a fraction"),
    _operator("and", "&", "and, bit by bit"),
    _operator("or", "|", "or, bit by bit"),
    _operator("xor", "^", "exclusive or, bit by bit"),
    _operator("shift_left", "<<", "shift to the left", refusal="the distance of a shift is negative"),
    _operator("shift_right", ">>", "shift to the right, rounded down", refusal="the distance of a shift is negative"),
    _operator("less", "<", "1 if it is so, else 0"),
    _operator("less_equal", "<=", "1 if it is so, else 0"),
    _operator("greater", ">", "1 if it is so, else 0"),
    _operator("greater_equal", ">=", "1 if it is so, else 0"),
    _operator("equal", "==", "1 if it is so, else 0"),
    _operator("not_equal", "!=", "1 if it is so, else 0"),
    _operator("negate", "-x", "negative", Form.EACH),
    _operator("invert", "~x", "not, bit by bit", Form.EACH),
    _operator("copy", "x", "what is written out", Form.EACH),
    Function("matmul", Form.PRODUCT, "matrix product, or dot product", "@"),
    Function("abs", Form.EACH, "absolute value"),
    Function("factorial", Form.EACH, "factorial", refusal="there is no factorial of a negative number"),
    Function("fib", Form.EACH, "Fibonacci number; fib(0) = 0, fib(1) = 1"),
    Function("isprime", Form.EACH, "1 if it is prime, else 0"),
    Function("popcount", Form.EACH, "ones among the bits of the absolute value"),
    Function("gcd", Form.PAIR, "greatest common divisor"),
    Function("lcm", Form.PAIR, "least common multiple"),
    Function("sum", Form.FOLD, "sum of all elements"),
    Function("prod", Form.FOLD, "product of all elements"),
    Function("min", Form.FOLD, "least element; also min(a, b, ...)"),
    Function("max", Form.FOLD, "greatest element; also max(a, b, ...)"),
    Function("sort", Form.LIST, "in ascending order"),
    Function("reverse", Form.LIST, "backwards"),
    Function("cumsum", Form.LIST, "running sums"),
    Function("len", Form.COUNT, "how many elements, or rows"),
    Function("range", Form.RANGE, "the integers from 0 below it"),
    Function("transpose", Form.TRANSPOSE, "rows and columns exchanged"),
)  # fmt: skip
FUNCTIONS = {function.name: function for function in _TABLE}
CALLABLE = {name: function for name, function in FUNCTIONS.items() if function.is_callable}
BINARY = {f.sign: f for f in _TABLE if f.sign and f.arity == 2}
UNARY = {f.sign[0]: f for f in _TABLE if f.sign and f.arity == 1 and f.sign[0] != "x"}

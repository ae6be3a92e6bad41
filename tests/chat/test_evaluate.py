"""Kernels and evaluator against Python's integers: equal, or refused for the right reason."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.chat.device import Device
from qgc.chat.evaluate import evaluate, largest
from qgc.chat.functions import CALLABLE, FUNCTIONS, KERNELS
from qgc.diagnostics import QgcError
from qgc.driver import Kernel, Settings, source
from qgc.host.arithmetic import value
from qgc.host.questions import question, written
from qgc.host.templates import KINDS
from qgc.ir.machine.config import PRESETS

LEAST, MOST = -(2**31), 2**31 - 1
DEVICE = Device(None, "isa", PRESETS["simt4"])
EDGES = st.sampled_from(
    [LEAST, LEAST + 1, -65537, -46341, -2, -1, 0, 1, 2, 31, 32, 46340, 65536, MOST - 1, MOST]
)
WORDS = EDGES | st.integers(LEAST, MOST) | st.integers(-100, 100)

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip


def outcome(expression: str) -> Any:
    """The value, or the code of the refusal."""
    try:
        return evaluate(expression, DEVICE).value
    except QgcError as err:
        return err.diagnostics[0].code


def wanted(result: int) -> int | str:
    return int(result) if LEAST <= result <= MOST else "expression-overflow"


@pytest.mark.parametrize("sign", OPERATORS)
@given(x=WORDS, y=WORDS)
def test_operators(sign: str, x: int, y: int) -> None:
    expected = "expression-zero" if sign in ("//", "%") and y == 0 else wanted(OPERATORS[sign](x, y))
    assert outcome(f"{x} {sign} {y}") == expected


@given(x=WORDS, y=st.integers(-2, 40) | WORDS)
def test_shifts(x: int, y: int) -> None:
    left = wanted(x << min(y, 64)) if y >= 0 else "expression-domain"
    assert outcome(f"{x} << {y}") == left
    assert outcome(f"{x} >> {y}") == (x >> y if y >= 0 else "expression-domain")


@given(x=st.integers(-40, 40) | WORDS, y=st.integers(-2, 40) | EDGES)
def test_power(x: int, y: int) -> None:
    expected = "expression-domain" if y < 0 else wanted(x ** (y if abs(x) < 2 else min(y, 40)))
    if abs(x) < 2 and y > 40:
        expected = wanted(x ** (40 + y % 2))
    assert outcome(f"({x}) ** {y}") == expected


@given(x=WORDS)
def test_functions_of_one_integer(x: int) -> None:
    for name in ("abs", "popcount"):
        assert outcome(f"{name}({x})") == wanted(value(f"{name}({x})"))  # type: ignore[arg-type]
    assert outcome(f"-({x})") == wanted(-x)
    assert outcome(f"~({x})") == ~x


@given(x=st.integers(-3, 60))
def test_functions_that_grow_fast(x: int) -> None:
    assert outcome(f"fib({x})") == wanted(value(f"fib({x})"))  # type: ignore[arg-type]
    product = 1
    for factor in range(2, x + 1):
        product *= factor
    assert outcome(f"factorial({x})") == (wanted(product) if x >= 0 else "expression-domain")


@given(x=WORDS, y=WORDS)
def test_divisors_and_multiples(x: int, y: int) -> None:
    for name in ("gcd", "lcm"):
        assert outcome(f"{name}({x}, {y})") == wanted(value(f"{name}({x}, {y})"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "n",
    [
        -7,
        0,
        1,
        2,
        3,
        4,
        9,
        11,
        25,
        561,
        2047,
        7919,
        1373653,
        25326001,
        46337 * 46337,
        999999937,
        MOST,
        MOST - 2,
    ],
)
def test_primes(n: int) -> None:
    """With Carmichael numbers, strong pseudoprimes of the first bases, and the square of a prime."""
    assert outcome(f"isprime({n})") == value(f"isprime({n})")


def test_all_small_primes() -> None:
    for first in range(0, 320, 32):
        numbers = list(range(first, first + 32))
        assert outcome(f"isprime({numbers})") == [value(f"isprime({n})") for n in numbers]


@given(v=st.lists(WORDS, max_size=32))
def test_reductions_have_no_overflow_on_the_way(v: list[int]) -> None:
    assert outcome(f"sum({v})") == wanted(sum(v))
    for name in ("min", "max"):
        assert outcome(f"{name}({v})") == (value(f"{name}({v})") if v else "expression-domain")
    assert outcome(f"sort({v})") == sorted(v)
    assert outcome(f"reverse({v})") == v[::-1]
    assert outcome(f"len({v})") == len(v)
    sums = [sum(v[: i + 1]) for i in range(len(v))]
    assert outcome(f"cumsum({v})") == (
        sums if all(LEAST <= s <= MOST for s in sums) else "expression-overflow"
    )


@given(v=st.lists(st.integers(-30, 30) | EDGES, max_size=12))
def test_products(v: list[int]) -> None:
    assert outcome(f"prod({v})") == wanted(value(f"prod({v})"))  # type: ignore[arg-type]


@given(pairs=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=32))
def test_dot_product(pairs: list[tuple[int, int]]) -> None:
    v, w = [x for x, _ in pairs], [y for _, y in pairs]
    found, exact = outcome(f"{v} @ {w}"), wanted(sum(x * y for x, y in pairs))
    partial = [sum(x * y for x, y in pairs[: i + 1]) for i in range(len(pairs))]
    if all(-(2**63) <= s < 2**63 for s in partial):
        assert found == exact
    else:
        assert found == "expression-overflow"


def test_a_sum_beyond_64_bits_is_refused() -> None:
    assert outcome(f"{[LEAST] * 4} @ {[LEAST] * 4}") == "expression-overflow"


@given(data=st.data(), rows=st.integers(1, 5), inner=st.integers(1, 5), columns=st.integers(1, 5))
def test_matrices(data: st.DataObject, rows: int, inner: int, columns: int) -> None:
    def matrix(height: int, width: int) -> list[list[int]]:
        row = st.lists(st.integers(-999, 999), min_size=width, max_size=width)
        return data.draw(st.lists(row, min_size=height, max_size=height))

    m, n = matrix(rows, inner), matrix(inner, columns)
    assert outcome(f"{m} @ {n}") == value(f"{m} @ {n}")
    assert outcome(f"transpose({m})") == [list(column) for column in zip(*m, strict=True)]
    assert outcome(f"{m} @ {[row[0] for row in n]}") == [
        sum(x * row[0] for x, row in zip(line, n, strict=True)) for line in m
    ]
    assert outcome(f"{m} * 3 - {m}") == [[2 * x for x in line] for line in m]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_question(kind: Any) -> None:
    rng = Random(11)
    for _ in range(4):
        asked = question(rng, kind)
        found = evaluate(asked.expression, DEVICE)
        assert found.text == asked.result, asked.expression
        assert found.launches or found.value == []


def test_expressions_of_several_operators() -> None:
    rng = Random(12)
    for _ in range(40):
        asked = written(rng)
        assert evaluate(asked.expression, DEVICE).text == asked.result


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("[1, 2] + [1, 2, 3]", "expression-shape"),
        ("[[1, 2], [3, 4]] + [1, 2]", "expression-shape"),
        ("[1, 2] @ [[1, 2], [3, 4]]", "expression-shape"),
        ("[[1, 2]] @ [[1, 2]]", "expression-shape"),
        ("3 @ 4", "expression-shape"),
        ("[[1, 2], [3]]", "expression-shape"),
        ("[[1, 2], 3]", "expression-shape"),
        ("[[]]", "expression-shape"),
        ("[[[1]]]", "expression-shape"),
        ("sum(3)", "expression-shape"),
        ("sort([[1], [2]])", "expression-shape"),
        ("len(3)", "expression-shape"),
        ("range([1])", "expression-shape"),
        ("transpose([1])", "expression-shape"),
        ("range(33)", "expression-size"),
        (str(list(range(33))), "expression-size"),
        (f"transpose([{list(range(32))}]) @ [[1, 2]]", "expression-size"),
        ("min([])", "expression-domain"),
        ("1 + 1 // (3 - 3)", "expression-zero"),
        ("[1, 2] // [1, 0]", "expression-zero"),
        ("[1, 2147483647] + 1", "expression-overflow"),
        ("-(-2147483648)", "expression-overflow"),
    ],
)
def test_refusals(expression: str, code: str) -> None:
    assert outcome(expression) == code


def test_every_number_comes_from_a_launch() -> None:
    assert [launched.name for launched in evaluate("5", DEVICE).launches] == ["copy"]
    found = evaluate("[1, 2, 3] @ [4, 5, 6] + 7 * 2", DEVICE)
    assert found.value == 46
    assert [launched.name for launched in found.launches] == ["matmul", "multiply", "add"]
    assert all(
        launched.execs > 0 and launched.generated_tokens > launched.execs for launched in found.launches
    )
    assert evaluate("range(0) + 1", DEVICE).launches == ()


def test_the_result_is_what_the_device_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluator that computed by itself would not see that the machine's answer has changed."""
    device = Device(None, "isa", PRESETS["simt4"])
    real = device.launch

    def off_by_one(*args: Any) -> Any:
        arrays, launched = real(*args)
        arrays[2] = arrays[2] + 1
        return arrays, launched

    monkeypatch.setattr(device, "launch", off_by_one)
    assert evaluate("2 + 3", device).value == 6


def test_each_launch_is_told(simt4: Device) -> None:
    told: list[str] = []
    evaluate("(1 + 2) * 3", simt4, lambda launched: told.append(launched.line()))
    assert [re.sub(r"\d+", "N", line) for line in told] == [
        "add: N + N tokens, N EXEC, N.N s",
        "multiply: N + N tokens, N EXEC, N.N s",
    ]


def test_a_trace_has_every_token(simt4: Device) -> None:
    (launched,) = evaluate("2 + 3", simt4).launches
    fed, *rest = launched.trace().splitlines()
    assert len(fed.split()) == launched.prompt_tokens + 1
    assert sum(line.split()[0].isdigit() for line in rest) == launched.generated_tokens
    assert rest[-1].split()[1] == "<halt>"


@pytest.mark.parametrize("frontend", ["clang", "nvrtc"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_kernel_fits_the_machine_with_both_compilers(name: str, frontend: str) -> None:
    path = FUNCTIONS[name].source
    program = Kernel(source(path.read_text(), path.name), Settings(frontend)).program
    assert program.kernel == f"{name}_kernel"


def test_every_kernel_has_a_function_and_is_documented() -> None:
    page = (Path(__file__).parent.parent.parent / "docs/chat.md").read_text()
    assert sorted(path.stem for path in KERNELS.glob("*.cu")) == sorted(FUNCTIONS)
    assert [name for name in CALLABLE if f"`{name}(" not in page and name != "matmul"] == []
    assert largest(DEVICE) == 32
    assert "32 elements" in page

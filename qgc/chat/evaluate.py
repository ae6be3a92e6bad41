"""The value of an expression: one launch for every node of its tree, and no arithmetic anywhere else.

What is done here is what a host does: it checks shapes, lays out arrays, reads them back, and says what a status means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from qgc.chat.device import Device, Launched
from qgc.chat.expression import FILE, Apply, Items, Node, Number, parse
from qgc.chat.functions import FUNCTIONS, Form, Function
from qgc.diagnostics import QgcError, Span, fail

if TYPE_CHECKING:
    from qgc.ir.launch import Dim3
    from qgc.runtime.launch import Argument

Value: TypeAlias = "int | list[int] | list[list[int]]"
"""An integer, a vector, or a matrix as a list of rows."""

Told = Callable[[Launched], None]
"""Is told of every launch when it is over."""

BESIDE = 5
"""Words of memory that the three arrays of a launch leave free: its status, and a word after each array."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The value of an expression, and the launches that it took, in order."""

    value: Value
    launches: tuple[Launched, ...]

    @property
    def text(self) -> str:
        """The value as an expression has it."""
        return str(self.value)


def largest(device: Device) -> int:
    """How many elements a value may have: a thread for each, and three arrays in memory."""
    return min(device.machine.threads, (device.machine.words - BESIDE) // 3)


def evaluate(text: str, device: Device, told: Told = lambda _: None) -> Evaluation:
    """Parse an expression and launch what it says.

    Raises:
        QgcError: what `parse` raises; `expression-shape` for arguments that do not go together, `expression-size` for values
            that are too large for the machine, `expression-overflow` for a result beyond 32 bits, `expression-zero` for a
            division by 0, `expression-domain` for arguments that a function is not defined for; what a launch raises.
    """
    tree = parse(text)
    walk = _Walk(device, told)
    value = walk.value(tree)
    if not walk.launches and value != []:  # what is written out is said by the model all the same
        value = walk.apply(FUNCTIONS["copy"], [value], tree.span)
    return Evaluation(value, tuple(walk.launches))


class _Walk:
    """One evaluation."""

    def __init__(self, device: Device, told: Told) -> None:
        self._device = device
        self._told = told
        self._limit = largest(device)
        self.launches: list[Launched] = []

    def value(self, node: Node) -> Value:
        """The value of a node, after its arguments'."""
        match node:
            case Number():
                return node.value
            case Items():
                return self._items(node)
            case Apply():
                return self.apply(node.function, [self.value(a) for a in node.arguments], node.span)

    def _items(self, node: Items) -> Value:
        found: Any = [self.value(item) for item in node.items]
        self._fits(_size(found), node.span)
        if all(isinstance(item, int) for item in found):
            return list(found)
        rows = {len(item) if isinstance(item, list) else -1 for item in found}
        if len(rows) > 1 or rows & {-1, 0} or any(isinstance(item[0], list) for item in found):
            message = "a list holds integers, or vectors of one length"
            raise fail("expression-shape", f"{message}; this one holds {_shapes(found)}", node.span)
        return list(found)

    def apply(self, function: Function, arguments: list[Value], span: Span) -> Value:
        """Launch one function."""
        rules: dict[Form, Callable[..., Value]] = {
            Form.EACH: self._each,
            Form.PAIR: self._pair,
            Form.FOLD: self._fold,
            Form.LIST: self._list,
            Form.COUNT: self._count,
            Form.RANGE: self._range,
            Form.TRANSPOSE: self._transpose,
            Form.PRODUCT: self._product,
        }
        return rules[function.form](function, *arguments, span)

    def _each(self, function: Function, a: Value, span: Span) -> Value:
        words = _flat(a)
        return _like(a, self._run(function, [words], len(words), span, (len(words), 1, 1)))

    def _pair(self, function: Function, a: Value, b: Value, span: Span) -> Value:
        if isinstance(a, list) and isinstance(b, list) and _shape(a) != _shape(b):
            raise self._mismatch(function, [a, b], span)
        shape = a if isinstance(a, list) else b
        count = len(_flat(shape))
        steps = [int(isinstance(x, list)) for x in (a, b)]
        return _like(shape, self._run(function, [_flat(a), _flat(b)], count, span, (count, 1, 1), steps))

    def _fold(self, function: Function, a: Value, span: Span) -> Value:
        words = self._vector(function, a, span)
        if not words and function.name in ("min", "max"):
            raise fail("expression-domain", f"there is no {function.name} of nothing", span)
        return self._run(function, [words], 1, span, (1, 1, 1), [len(words)])[0]

    def _list(self, function: Function, a: Value, span: Span) -> Value:
        words = self._vector(function, a, span)
        is_serial = function.name == "cumsum"  # each of its sums needs the one before
        block, numbers = ((1, 1, 1), [len(words)]) if is_serial else ((len(words), 1, 1), [])
        return self._run(function, [words], len(words), span, block, numbers)

    def _count(self, function: Function, a: Value, span: Span) -> Value:
        if not isinstance(a, list):
            raise self._mismatch(function, [a], span)
        return self._run(function, [], 1, span, (len(a), 1, 1))[0] if a else 0

    def _range(self, function: Function, a: Value, span: Span) -> Value:
        if not isinstance(a, int):
            raise self._mismatch(function, [a], span)
        self._fits(a, span)
        return self._run(function, [], max(a, 0), span, (max(a, 0), 1, 1))

    def _transpose(self, function: Function, a: Value, span: Span) -> Value:
        shape = _shape(a)
        if len(shape) != 2:
            raise self._mismatch(function, [a], span)
        rows, columns = shape
        words = self._run(function, [_flat(a)], rows * columns, span, (columns, rows, 1))
        return [words[i * rows : (i + 1) * rows] for i in range(columns)]

    def _product(self, function: Function, a: Value, b: Value, span: Span) -> Value:
        left, right = _shape(a), _shape(b)
        is_vector = len(right) == 1
        if not left or not right or (len(left), len(right)) == (1, 2) or left[-1] != right[0]:
            raise self._mismatch(function, [a, b], span)
        rows, columns = left[0] if len(left) == 2 else 1, 1 if is_vector else right[1]
        self._fits(rows * columns, span)
        block = (columns, rows, 1)
        words = self._run(function, [_flat(a), _flat(b)], rows * columns, span, block, [right[0]])
        if is_vector:
            return words if len(left) == 2 else words[0]
        return [words[i * columns : (i + 1) * columns] for i in range(rows)]

    def _run(
        self,
        function: Function,
        inputs: Sequence[list[int]],
        count: int,
        span: Span,
        block: Dim3,
        numbers: Sequence[int] = (),
    ) -> list[int]:
        """Launch a kernel: inputs, `count` words of output, the status, numbers. A result of no words takes no launch.

        A kernel that reads no array gets no input.
        """
        import numpy as np

        if count == 0:
            return []
        for words in inputs:
            self._fits(len(words), span)
        arrays = [np.array(words or [0], dtype=np.int32) for words in inputs]
        out, status = np.zeros(count, dtype=np.int32), np.zeros(1, dtype=np.int32)
        kernel = self._device.compiled(function.source)
        args: list[Argument] = [*arrays, out, status, *numbers]
        after, launched = self._device.launch(kernel, (1, 1, 1), block, args)
        self.launches.append(launched)
        self._told(launched)
        if code := int(after[len(arrays) + 1][0]):
            raise _refused(function, code, span)
        return [int(word) for word in after[len(arrays)]]

    def _vector(self, function: Function, a: Value, span: Span) -> list[int]:
        if len(_shape(a)) != 1:
            raise self._mismatch(function, [a], span)
        return _flat(a)

    def _fits(self, count: int, span: Span) -> None:
        if count > self._limit:
            machine = self._device.machine.name
            message = f"{count} elements; a value on machine {machine} has at most {self._limit}"
            raise fail("expression-size", message, span)

    def _mismatch(self, function: Function, given: list[Value], span: Span) -> QgcError:
        name = function.sign or function.name
        return fail(
            "expression-shape",
            f"{name} does not take {' and '.join(map(_shape_text, given))}",
            span,
            f"{name} is the {function.doc}, {function.form.value}",
        )


def _refused(function: Function, code: int, span: Span) -> QgcError:
    """What a kernel's status means."""
    if code == 1:
        return fail("expression-overflow", "the result does not fit 32 bits", span)
    if code == 2:
        return fail("expression-zero", "division by zero", span)
    if code == 3 and function.refusal:
        return fail("expression-domain", function.refusal, span)
    raise ValueError(f"kernel {function.name} ended with status {code}")


def _shape(value: Value) -> tuple[int, ...]:
    if isinstance(value, int):
        return ()
    return (len(value), len(value[0])) if value and isinstance(value[0], list) else (len(value),)


def _size(found: list[Any]) -> int:
    return sum(_size(item) if isinstance(item, list) else 1 for item in found)


def _shape_text(value: Value) -> str:
    shape = _shape(value)
    names = (
        "an integer",
        f"a vector of {shape[0] if shape else 0}",
        f"a matrix of {' x '.join(map(str, shape))}",
    )
    return names[len(shape)]


def _shapes(found: list[Value]) -> str:
    return ", ".join(dict.fromkeys(map(_shape_text, found)))


def _flat(value: Value) -> list[int]:
    if isinstance(value, int):
        return [value]
    return [word for item in value for word in (item if isinstance(item, list) else [item])]


def _like(shape: Value, words: list[int]) -> Value:
    """Words in the shape of another value."""
    if isinstance(shape, int):
        return words[0]
    if len(_shape(shape)) == 1:
        return words
    width = len(words) // len(shape)
    return [words[i : i + width] for i in range(0, len(words), width)]


def error_text(err: QgcError) -> str:
    """A fault in one line, for a conversation."""
    first = err.diagnostics[0]
    place = f" (column {first.span.column})" if first.span and first.span.file == FILE else ""
    return f"{first.message}{place}"

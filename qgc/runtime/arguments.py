"""Kernel arguments as people write them: `a=1,2,3 out=0:5 n=7`, and their fit to a kernel's parameters.

A value is a comma-separated list of items, an item is a number or `NUMBER:COUNT` (that number COUNT times). Numbers are
decimal or `0x` hexadecimal, from -2^31 to 2^32 - 1. A pointer takes a list, of one item perhaps; any other parameter
takes one number. `NAME=` may be left out when all arguments stand in the order of the parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qgc.diagnostics import Diagnostic, QgcError
from qgc.ir.machine.isa import MASK
from qgc.ir.machine.program import Param
from qgc.names import unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_WORDS = 1 << 20
"""Words that one argument may have; no machine is near that."""

_ARGUMENT = re.compile(r"(?:(?P<name>[A-Za-z_$%][\w$]*)=)?(?P<value>.*)", re.DOTALL)
_ITEM = re.compile(r"(?P<number>[-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+))(?::(?P<count>[0-9]+))?", re.ASCII)


class ArgumentError(QgcError):
    """The arguments do not fit the kernel: wrong usage."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument as written: the parameter's name, or None for the next one, and unsigned 32-bit words.

    `is_list` says that it was written as a list, with a comma or a count.
    """

    name: str | None
    words: tuple[int, ...]
    is_list: bool


def parse_argument(text: str) -> Argument:
    """Read `NAME=VALUE` or `VALUE`.

    Raises:
        ArgumentError: `argument-syntax` or `argument-range`.
    """
    match = _ARGUMENT.fullmatch(text)
    name, value = (match["name"], match["value"]) if match else (None, text)
    words: list[int] = []
    for item in value.removesuffix(",").split(","):
        words += _item(text, item)
    if len(words) > MAX_WORDS:
        raise _fault("argument-range", f"{_shown(text)} has {len(words)} words; the most is {MAX_WORDS}")
    return Argument(name, tuple(words), "," in value or ":" in value)


def _item(text: str, item: str) -> list[int]:
    match = _ITEM.fullmatch(item.strip())
    if not match:
        raise _fault(
            "argument-syntax",
            f"{_shown(text)}: {item!r} is no number",
            "write NAME=1,2,3 for an array, NAME=0:5 for five zeros, NAME=7 for a number",
        )
    digits = match["number"]
    number = int(digits, 16 if "x" in digits.lower() else 10) if len(digits) < 40 else 1 << 40
    if not -(1 << 31) <= number <= MASK:
        raise _fault("argument-range", f"{_shown(text)}: {item.strip()[:40]} does not fit 32 bits")
    count = int((match["count"] or "1")[:12])
    if count > MAX_WORDS:
        raise _fault("argument-range", f"{_shown(text)}: the most words of an array are {MAX_WORDS}")
    return [number & MASK] * count


def bind(params: Sequence[Param], arguments: Iterable[Argument]) -> list[int | NDArray[np.int32]]:
    """Give each parameter its argument: a word, or an array of int32, in the order of the parameters.

    Raises:
        ArgumentError: everything that does not fit: `argument-unknown`, `argument-twice`, `argument-missing`,
            `argument-scalar`.
    """
    by_name: dict[str, Argument] = {}
    faults: list[Diagnostic] = []
    names = [p.name for p in params]
    unnamed = iter(names)
    for argument in arguments:
        name = argument.name or next((n for n in unnamed if n not in by_name), None)
        if name is None:
            faults.append(
                Diagnostic("argument-unknown", f"the kernel has {len(names)} parameters", hint=_call(params))
            )
        elif name not in names:
            faults.append(
                Diagnostic("argument-unknown", unknown("parameter", name, names), hint=_call(params))
            )
        elif name in by_name:
            faults.append(
                Diagnostic("argument-twice", f"parameter {name!r} is given twice", hint=_call(params))
            )
        else:
            by_name[name] = argument
    for param in params:
        faults += _misfit(param, by_name.get(param.name), params)
    if faults:
        raise ArgumentError(*faults)
    return [_value(param, by_name[param.name]) for param in params]


def _value(param: Param, argument: Argument) -> int | NDArray[np.int32]:
    import numpy as np

    if not param.is_pointer:
        return argument.words[0]
    return np.array(argument.words, dtype=np.uint32).view(np.int32)


def _misfit(param: Param, argument: Argument | None, params: Sequence[Param]) -> list[Diagnostic]:
    if argument is None:
        return [Diagnostic("argument-missing", f"parameter {param.name!r} has no value", hint=_call(params))]
    if not param.is_pointer and (argument.is_list or len(argument.words) != 1):
        message = f"parameter {param.name!r} is a number, and {len(argument.words)} words are given"
        return [Diagnostic("argument-scalar", message, hint=_call(params))]
    return []


def _call(params: Sequence[Param]) -> str:
    """How the arguments of a kernel are written."""
    shown = " ".join(f"{p.name}={'0,0,...' if p.is_pointer else '0'}" for p in params)
    return f"the kernel takes: {shown}" if params else "the kernel takes no arguments"


def value_text(words: Sequence[int]) -> str:
    """Write words as signed numbers, as `parse_argument` reads them."""
    return ",".join(str(word - (1 << 32) if word >> 31 else word) for word in words)


def _fault(code: str, message: str, hint: str | None = None) -> ArgumentError:
    return ArgumentError(Diagnostic(code, message, hint=hint))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")

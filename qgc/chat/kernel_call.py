"""A kernel that a model wrote: compiled, launched as its launch line says, and its arrays as text.

    launch: NAME grid=2 block=4 a=1,2,3,4 out=0:4 n=4

NAME may be left out when there is one kernel. `grid` and `block` are X, X,Y or X,Y,Z; everything else is an argument, written as
for `qgc run`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from qgc.chat.device import Device, Launched
from qgc.diagnostics import QgcError, fail
from qgc.runtime.arguments import bind, parse_argument, value_text
from qgc.sources import Sources

if TYPE_CHECKING:
    from qgc.ir.launch import Dim3

FILE = "kernel.cu"
"""What diagnostics call the model's text."""
MAX_CHARACTERS = 20_000
_SIZE = re.compile(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8}){0,2}")


def run_kernel(code: str, line: str, device: Device) -> tuple[str, Launched]:
    """Compile and launch; returns the arrays, a line each, as arguments are written.

    Raises:
        QgcError: `chat-kernel` (too long), `chat-launch` (a launch line that cannot be read); what compiling, binding the arguments
            and running raise.
    """
    if len(code) > MAX_CHARACTERS:
        raise fail("chat-kernel", f"the kernel has {len(code)} characters; the most is {MAX_CHARACTERS}")
    name, grid, block, written = _parts(line)
    kernel = device.compile(code, FILE, name)
    args = bind(kernel.params, [parse_argument(text) for text in written])
    after, launched = device.launch(kernel, grid, block, args)
    lines = [
        f"{kernel.params[number].name}={value_text([int(w) & 0xFFFFFFFF for w in np.ravel(array)])}"
        for number, array in after.items()
    ]
    return "\n".join(lines), launched


def _parts(line: str) -> tuple[str | None, Dim3, Dim3, list[str]]:
    """The kernel's name, grid, block and arguments of a launch line."""
    name: str | None = None
    sizes: dict[str, Dim3] = {"grid": (1, 1, 1), "block": (1, 1, 1)}
    written: list[str] = []
    for word in line.split():
        key, is_pair, value = word.partition("=")
        if key in sizes and is_pair:
            sizes[key] = _size(word, value)
        elif is_pair:
            written.append(word)
        elif name is None and not written:
            name = word
        else:
            raise fail(
                "chat-launch",
                f"launch line: {word!r} has no name",
                hint="write NAME=1,2,3 without spaces",
            )
    return name, sizes["grid"], sizes["block"], written


def _size(word: str, value: str) -> Dim3:
    if not _SIZE.fullmatch(value):
        raise fail("chat-launch", f"launch line: {word!r} is no size", hint="write block=4 or block=4,2")
    x, y, z = (*map(int, value.split(",")), 1, 1)[:3]
    return x, y, z


def fault_text(err: QgcError, code: str) -> str:
    """A compiler's faults with the lines that they mean, for the model to read."""
    sources = Sources()
    sources.remember(FILE, code)
    return "\n".join(diagnostic.render(sources) for diagnostic in err.diagnostics[:5])

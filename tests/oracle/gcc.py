"""Runs CUDA kernels on the host: g++ compiles the same .cu files against `cuda_host.h`. Shares no code with qgc."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = Path(__file__).with_name("cuda_host.h")
COMPILER = shutil.which("g++")

# -fwrapv because CUDA kernels rely on wrapping; a recent standard for `template <auto>`.
_FLAGS = ("-std=c++20", "-O1", "-fwrapv", "-w", "-x", "c++", "-include", str(HEADER))


_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?P<type>\w+)\s+(?P<name>\w+)\[\]")
_DYNAMIC_WORDS = 1 << 12


def build(sources: Mapping[str, Path], folder: Path) -> Path:
    """Compile the file of each kernel into one program in `folder`, which runs the kernel that its argument names.

    The files see nothing of each other: each has a namespace.
    """
    program = folder / "kernels"
    assert COMPILER is not None
    command = [COMPILER, *_FLAGS, "-", "-o", str(program)]
    done = subprocess.run(command, input=_main(sources), text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def _main(sources: Mapping[str, Path]) -> str:
    lines = []
    for kernel, source in sources.items():
        lines.append(f'namespace in_{kernel} {{\n#include "{source}"')
        for match in _DYNAMIC.finditer(source.read_text(encoding="utf-8")):
            lines.append(f"thread_local {match['type']} {match['name']}[{_DYNAMIC_WORDS}];")
        lines.append("}")
    lines.append("int main(int, char **arguments) {")
    for kernel in sources:
        launch = f"oracle::Launch<in_{kernel}::{kernel}>::run()"
        lines.append(f'    if (!std::strcmp(arguments[1], "{kernel}")) return {launch};')
    return "\n".join([*lines, "    return 2;", "}", ""])


def run(
    program: Path,
    kernel: str,
    grid: Sequence[int],
    block: Sequence[int],
    args: Mapping[str, NDArray[Any] | int],
) -> dict[str, NDArray[Any]]:
    """Launch a kernel of the program and return every array argument as it is afterwards."""
    words = [*grid, *block]
    for value in args.values():
        words += [len(value), *_unsigned(value)] if isinstance(value, np.ndarray) else [value & (2**64 - 1)]
    text = " ".join(str(word) for word in words)
    command = [str(program), kernel]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    arrays = {name: value for name, value in args.items() if isinstance(value, np.ndarray)}
    rows = done.stdout.splitlines()
    return {
        name: np.array([int(word) for word in row.split()], dtype=f"u{value.dtype.itemsize}").view(
            value.dtype
        )
        for (name, value), row in zip(arrays.items(), rows, strict=True)
    }


def _unsigned(array: NDArray[Any]) -> list[int]:
    words: list[int] = array.view(f"u{array.dtype.itemsize}").tolist()
    return words

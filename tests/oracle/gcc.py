"""Runs a CUDA kernel on the host: g++ compiles the same .cu against `cuda_host.h`. Shares no code with qgc."""

from __future__ import annotations

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


def build(source: Path, kernel: str, folder: Path) -> Path:
    """Compile one kernel into a program in `folder` and return its path."""
    program = folder / f"{source.stem}.{kernel}"
    main = f'#include "{source}"\nint main() {{ return oracle::Launch<{kernel}>::run(); }}\n'
    assert COMPILER is not None
    command = [COMPILER, *_FLAGS, "-", "-o", str(program)]
    done = subprocess.run(command, input=main, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def run(
    program: Path, grid: Sequence[int], block: Sequence[int], args: Mapping[str, NDArray[Any] | int]
) -> dict[str, NDArray[Any]]:
    """Launch the kernel and return every array argument as it is afterwards."""
    words = [*grid, *block]
    for value in args.values():
        words += [len(value), *_unsigned(value)] if isinstance(value, np.ndarray) else [value & (2**64 - 1)]
    text = " ".join(str(word) for word in words)
    done = subprocess.run([program], input=text, text=True, capture_output=True, check=True, timeout=60)
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

"""The collection of kernels under examples/: all manifests, and each kernel's PTX from every compiler."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from qgc.frontends import FRONTENDS, compile_cuda
from qgc.ir.ptx.ast import Module
from qgc.ir.ptx.parse import parse
from qgc.runtime.manifest import Case, KernelCase, load_manifest

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "arithmetic", "control", "memory", "shared", "atomics", "warp", "grid", "algorithms")
"""Where the 64 kernels are; examples/peer has programs of its own."""

VARIANTS: dict[str, tuple[Literal["clang", "nvrtc"], Literal[32, 64]]] = {
    "clang32": ("clang", 32),
    "clang64": ("clang", 64),
    "nvrtc": ("nvrtc", 64),
}
"""The PTX that every kernel must work from: compiler and bits of a pointer."""

COLLECTION: dict[str, KernelCase] = {
    kernel.name if folder == "." else f"{folder}/{kernel.name}": kernel
    for folder in FOLDERS
    for kernel in load_manifest(ROOT / "examples" / folder / "manifest.toml")
}
"""Folder and name -> kernel."""

each_kernel = pytest.mark.parametrize("kernel", COLLECTION.values(), ids=COLLECTION)


@cache
def ptx_of(source: Path, variant: str) -> str:
    """The PTX of a CUDA file, compiled once a session; the test is skipped where the compiler is not installed."""
    frontend, bits = VARIANTS[variant]
    if not FRONTENDS[frontend].is_available():
        pytest.skip(f"{frontend} is not installed")
    text = source.read_text(encoding="utf-8")
    return compile_cuda(text, file=source.name, frontend=frontend, pointer_bits=bits)


@cache
def module_of(source: Path, variant: str) -> Module:
    """`ptx_of`, parsed."""
    return parse(ptx_of(source, variant))


def check_arrays(kernel: KernelCase, case: Case, arrays: dict[str, NDArray[Any]]) -> None:
    """The outputs are as expected, and every other array that is no work area is as it was."""
    for name, array in arrays.items():
        if name not in kernel.work:
            want = case.expected.get(name, case.args[name])
            np.testing.assert_array_equal(array, np.asarray(want), err_msg=f"{kernel.name}: {name}")
    assert case.expected.keys() <= arrays.keys()

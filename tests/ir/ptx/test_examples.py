"""The twelve example kernels on the PTX of every front end, against the values of the manifest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from qgc.ir.ptx.ast import Module
from qgc.ir.ptx.parse import parse
from qgc.ir.ptx.text import to_text
from qgc.ir.ptx.verify import verify
from qgc.runtime.manifest import KernelCase, load_manifest
from tests.helpers.ptx import launch

ROOT = Path(__file__).parents[3]
KERNELS = load_manifest(ROOT / "examples" / "manifest.toml")
PTX = sorted((ROOT / "golden" / "ptx").glob("*.ptx"))


def load(path: Path) -> Module:
    return parse(path.read_text(encoding="utf-8"), path.name)


def check_cases(kernel: KernelCase, module: Module) -> None:
    for case in kernel.cases:
        out = launch(module, case.args, grid=case.grid, block=case.block, kernel=kernel.kernel)
        for name, expected in case.expected.items():
            np.testing.assert_array_equal(out[name], expected)


def test_every_example_has_ptx_from_each_front_end() -> None:
    names = [
        f"{kernel.name}.{variant}.ptx" for kernel in KERNELS for variant in ("clang32", "clang64", "nvrtc")
    ]
    assert sorted(names) == [path.name for path in PTX]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("variant", ["clang32", "clang64", "nvrtc"])
def test_interpreter_gives_the_expected_arrays(kernel: KernelCase, variant: str) -> None:
    check_cases(kernel, load(ROOT / "golden" / "ptx" / f"{kernel.name}.{variant}.ptx"))


@pytest.mark.parametrize("path", PTX, ids=lambda path: path.stem)
def test_text_round_trip(path: Path, golden: Callable[[str, str], None]) -> None:
    module = load(path)
    verify(module)
    text = to_text(module)
    golden(f"ast/{path.name}", text)
    again = parse(text, path.name)
    assert again == module
    assert to_text(again) == text

"""The programs of examples/peer: the same arrays from a host build, the PTX of each compiler, and every interpreter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from qgc.driver import Kernel, Settings, source
from qgc.frontends import FRONTENDS, compile_cuda
from qgc.ir.machine.text import parse, to_text
from qgc.ir.machine.verify import verify
from qgc.ir.ptx.parse import parse as parse_ptx
from qgc.runtime.engines import Request, engine
from qgc.runtime.manifest import KernelCase, load_manifest
from tests.helpers.ptx import launch
from tests.oracle import gcc

ROOT = Path(__file__).parent.parent.parent
PTX = ROOT / "golden/ptx/peer"
KERNELS = load_manifest(ROOT / "examples/peer/manifest.toml")
Variant = tuple[Literal["clang", "nvrtc"], Literal[32, 64]]
VARIANTS: dict[str, Variant] = {"clang32": ("clang", 32), "clang64": ("clang", 64), "nvrtc": ("nvrtc", 64)}

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def compiled(kernel: KernelCase) -> Kernel:
    path = PTX / f"{kernel.name}.clang32.ptx"
    return Kernel(source(path.read_text(encoding="utf-8"), path.name), Settings(kernel=kernel.kernel))


@each_kernel
@pytest.mark.skipif(gcc.COMPILER is None, reason="g++ is not installed")
def test_host_build(kernel: KernelCase, tmp_path: Path) -> None:
    program = gcc.build({kernel.kernel: kernel.source}, tmp_path)
    for case in kernel.cases:
        out = gcc.run(program, kernel.kernel, case.grid, case.block, case.args)
        for name, array in out.items():
            np.testing.assert_array_equal(array, np.asarray(case.expected.get(name, case.args[name])))


@each_kernel
@pytest.mark.parametrize("variant", VARIANTS)
def test_compilers(kernel: KernelCase, variant: str, request: pytest.FixtureRequest) -> None:
    """What each compiler makes runs on the PTX interpreter; the PTX that the other tests start from is kept."""
    frontend, bits = VARIANTS[variant]
    if not FRONTENDS[frontend].is_available():
        pytest.skip(f"{frontend} is not installed")
    cuda = kernel.source.read_text(encoding="utf-8")
    text = compile_cuda(cuda, file=kernel.source.name, frontend=frontend, pointer_bits=bits)
    if variant == "clang32" and request.config.getoption("--bless"):
        (PTX / f"{kernel.name}.{variant}.ptx").write_text(text, encoding="utf-8")
    module = parse_ptx(text)
    for case in kernel.cases:
        out = launch(module, case.args, grid=case.grid, block=case.block)
        for name, expected in case.expected.items():
            np.testing.assert_array_equal(out[name], expected)


@each_kernel
@pytest.mark.parametrize("name", ["isa", "ssa", "ptx"])
def test_interpreters(kernel: KernelCase, name: str) -> None:
    for case in kernel.cases:
        result = engine(name).run(compiled(kernel), Request(case.grid, case.block, list(case.args.values())))
        names = list(case.args)
        for number, array in result.arrays.items():
            want = case.expected.get(names[number], case.args[names[number]])
            np.testing.assert_array_equal(array, np.asarray(want))
            assert array.dtype == np.asarray(want).dtype


@each_kernel
def test_blocks(kernel: KernelCase, golden: Callable[[str, str], None]) -> None:
    program = compiled(kernel).program
    verify(program)
    text = to_text(program)
    assert to_text(parse(text)) == text
    golden(f"blocks/peer/{kernel.name}.clang32.blocks", text)


def test_lanes_save_tokens() -> None:
    """The version for several lanes takes fewer tokens for the same answers, or for more answers fewer an answer."""
    tokens = {}
    for kernel in KERNELS:
        case = kernel.cases[0]
        result = engine("isa").run(compiled(kernel), Request(case.grid, case.block, list(case.args.values())))
        assert result.run is not None
        tokens[kernel.name] = len(result.run.tokens)
    assert tokens["fibonacci_lanes"] < tokens["fibonacci"]
    assert tokens["addition_lanes"] < tokens["addition"]
    assert tokens["collatz_lanes"] < 2 * tokens["collatz"]  # four sequences

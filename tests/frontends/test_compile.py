"""CUDA to PTX through each installed compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from qgc import frontends
from qgc.diagnostics import QgcError
from qgc.frontends import FRONTENDS, compile_cuda
from qgc.ir.ptx.kernels import find_kernel
from qgc.ir.ptx.parse import parse
from qgc.ir.ptx.text import to_text
from qgc.ir.ptx.verify import verify
from qgc.runtime.manifest import KernelCase, load_manifest
from tests.helpers.ptx import launch

ROOT = Path(__file__).parents[2]
KERNELS = load_manifest(ROOT / "examples" / "manifest.toml")
Variant = tuple[Literal["clang", "nvrtc"], Literal[32, 64]]
VARIANTS: dict[str, Variant] = {"clang32": ("clang", 32), "clang64": ("clang", 64), "nvrtc": ("nvrtc", 64)}

BROKEN = "__global__ void k(int *a) {\n    a[0] = nowhere + 1;\n    int *p = 3.0;\n}\n"


def compile_variant(source: str, variant: str, file: str = "k.cu") -> str:
    frontend, bits = VARIANTS[variant]
    if not FRONTENDS[frontend].is_available():
        pytest.skip(f"{frontend} is not installed")
    return compile_cuda(source, file=file, frontend=frontend, pointer_bits=bits)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("variant", VARIANTS)
def test_examples_compile_and_run(kernel: KernelCase, variant: str, request: pytest.FixtureRequest) -> None:
    text = compile_variant(kernel.source.read_text(encoding="utf-8"), variant, kernel.source.name)
    if request.config.getoption("--bless"):
        (ROOT / "golden" / "ptx" / f"{kernel.name}.{variant}.ptx").write_text(text, encoding="utf-8")
    module = parse(text)
    verify(module)
    assert module.address_size == VARIANTS[variant][1]
    for case in kernel.cases:
        out = launch(module, case.args, grid=case.grid, block=case.block)
        for name, expected in case.expected.items():
            np.testing.assert_array_equal(out[name], expected)


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiler_messages_become_diagnostics(variant: str) -> None:
    with pytest.raises(QgcError) as caught:
        compile_variant(BROKEN, variant, "dir/broken.cu")
    first, second = caught.value.diagnostics
    assert first.code == second.code == "cuda-error"
    assert first.span is not None and second.span is not None
    assert (first.span.file, first.span.line, first.span.column, first.span.end) == (
        "dir/broken.cu",
        2,
        12,
        19,
    )
    assert "nowhere" in first.message
    assert second.span.line == 3


@pytest.mark.parametrize("variant", VARIANTS)
def test_mangled_kernels_are_found_by_their_name(variant: str) -> None:
    source = """
    namespace ns { template <class T> __global__ void fill(T *a, T v) { a[threadIdx.x] = v; } }
    template __global__ void ns::fill<int>(int *, int);
    __global__ void clear(int *a) { a[threadIdx.x] = 0; }
    """
    module = parse(compile_variant(source, variant))
    assert find_kernel(module, "clear").name == "_Z5clearPi"
    assert find_kernel(module, "fill") is find_kernel(module, "ns::fill")
    out = launch(module, {"a": np.ones(4, np.int32), "v": 7}, block=(3, 1, 1), kernel="fill")
    assert out["a"].tolist() == [7, 7, 7, 1]


@pytest.mark.parametrize("variant", VARIANTS)
def test_includes_beside_the_source(variant: str, tmp_path: Path) -> None:
    (tmp_path / "three.h").write_text("#define THREE 3\n")
    source = tmp_path / "k.cu"
    source.write_text('#include "three.h"\n__global__ void k(int *a) { *a = THREE; }\n')
    module = parse(compile_variant(source.read_text(), variant, str(source)))
    assert launch(module, {"a": np.zeros(1, np.int32)})["a"].tolist() == [3]


def test_clang_header_covers_the_intrinsics() -> None:
    """Everything that qgc_cuda.h declares compiles, in both pointer widths, and the result is PTX we can print."""
    source = (Path(__file__).parent / "intrinsics.cu").read_text(encoding="utf-8")
    for variant in ("clang32", "clang64", "nvrtc"):
        module = parse(compile_variant(source, variant, "intrinsics.cu"))
        assert parse(to_text(module)) == module


def test_structs_have_the_same_layout_with_32_bit_pointers() -> None:
    source = """
    struct Mixed { int a; long long b; double c; char d; };
    static_assert(sizeof(Mixed) == 32 && alignof(long long) == 8, "as on every CUDA target");
    __global__ void k(long long *out, Mixed m) { *out = m.b + m.d; }
    """
    module = parse(compile_variant(source, "clang32"))
    assert find_kernel(module).params[1].dims == (32,)


def test_nvrtc_refuses_32_bit_pointers() -> None:
    if not FRONTENDS["nvrtc"].is_available():
        pytest.skip("nvrtc is not installed")
    with pytest.raises(QgcError, match="64-bit pointers only"):
        compile_cuda("", file="k.cu", frontend="nvrtc", pointer_bits=32)


def test_without_any_compiler_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setattr("ctypes.util.find_library", lambda _name: None)
    for name in ("auto", "clang", "nvrtc"):
        with pytest.raises(QgcError) as caught:
            compile_cuda("", file="k.cu", frontend=name)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "frontend-missing"
        assert diagnostic.hint is not None and "install" in diagnostic.hint


def test_unknown_front_end() -> None:
    with pytest.raises(QgcError, match="frontend-unknown"):
        frontends.compile_cuda("", file="k.cu", frontend="gcc")  # type: ignore[arg-type]

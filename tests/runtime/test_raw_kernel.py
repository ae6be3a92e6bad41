"""`qgc.RawKernel` has CuPy's calling convention."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import qgc
from qgc.diagnostics import QgcError

SOURCE = """
extern "C" __global__ void scale(int *out, const int *x, int n, int factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * factor;
}
"""


def test_arrays_are_updated_in_place_over_a_grid() -> None:
    kernel = qgc.RawKernel(SOURCE, "scale", engine="isa")
    x = np.arange(5, dtype=np.int32)
    out = np.full(6, -1, dtype=np.int32)
    kernel((2,), (3,), (out, x, 5, -3))
    assert out.tolist() == [0, -3, -6, -9, -12, -1]
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert kernel.last is not None
    assert kernel.last.run is not None
    kernel((2, 1, 1), (3, 1), (out, x, np.int32(5), np.uint32(2)))
    assert out.tolist() == [0, 2, 4, 6, 8, -1]


def test_unsigned_and_shaped_arrays_keep_their_type() -> None:
    kernel = qgc.RawKernel(SOURCE, "scale", engine="isa")
    x = np.array([[1, 2], [3, 2**32 - 1]], dtype=np.uint32)
    out = np.zeros((2, 2), dtype=np.uint32)
    kernel((1,), (4,), (out, x, 4, 2))
    assert out.tolist() == [[2, 4], [6, 2**32 - 2]]


def test_a_read_only_input_stays_usable() -> None:
    x = np.arange(3, dtype=np.int32)
    x.flags.writeable = False
    out = np.zeros(3, dtype=np.int32)
    qgc.RawKernel(SOURCE, "scale", engine="ssa")((1,), (3,), (out, x, 3, 1))
    assert out.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "grid", "args", "code"),
    [
        ("scal", (1,), (np.zeros(1, np.int32), np.zeros(1, np.int32), 1, 1), "kernel-missing"),
        ("scale", (), (np.zeros(1, np.int32), np.zeros(1, np.int32), 1, 1), "launch-threads"),
        ("scale", (1,), (np.zeros(1, np.float32), np.zeros(1, np.int32), 1, 1), "launch-type"),
        ("scale", (1,), (np.zeros(1, np.int32), np.zeros(1, np.int32), 1), "launch-arguments"),
        ("scale", (1,), (np.zeros(1, np.int32), np.zeros(1, np.int32), 1, 1.5), "launch-type"),
    ],
)
def test_what_does_not_fit_is_refused(
    name: str, grid: tuple[int, ...], args: tuple[object, ...], code: str
) -> None:
    with pytest.raises(QgcError, match=code):
        qgc.RawKernel(SOURCE, name, engine="isa")(grid, (1,), args)


def test_the_package_itself_imports_nothing_heavy() -> None:
    code = "import sys, qgc; print([m for m in ('numpy', 'torch', 'click', 'lark') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = qgc.nothing

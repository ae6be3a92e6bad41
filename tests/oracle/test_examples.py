"""A host build of every example gives the manifest's expected values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qgc.runtime.manifest import KernelCase, load_manifest
from tests.oracle import gcc

KERNELS = load_manifest(Path(__file__).parents[2] / "examples" / "manifest.toml")

pytestmark = pytest.mark.skipif(gcc.COMPILER is None, reason="g++ is not installed")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_host_build_gives_the_expected_arrays(kernel: KernelCase, tmp_path: Path) -> None:
    program = gcc.build(kernel.source, kernel.kernel, tmp_path)
    for case in kernel.cases:
        out = gcc.run(program, case.grid, case.block, case.args)
        for name, expected in case.expected.items():
            np.testing.assert_array_equal(out[name], expected)
        for name in out.keys() - case.expected.keys():
            np.testing.assert_array_equal(out[name], case.args[name])


def test_barriers_and_returns(tmp_path: Path) -> None:
    """Each thread reads what another wrote before the barrier; a thread that returned does not hold it up."""
    source = tmp_path / "turn.cu"
    source.write_text(
        """
        extern "C" __global__ void turn(int *a, int n) {
            __shared__ int kept[8];
            int i = threadIdx.x;
            if (i >= n) return;
            kept[i] = a[i];
            __syncthreads();
            a[i] = kept[n - 1 - i] + blockIdx.x;
        }
        """
    )
    program = gcc.build(source, "turn", tmp_path)
    out = gcc.run(program, (2, 1, 1), (8, 1, 1), {"a": np.arange(6, dtype=np.int32), "n": 6})
    assert out["a"].tolist() == [1, 2, 3, 4, 5, 6]

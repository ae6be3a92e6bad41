"""A host build of every kernel of the collection gives the manifest's expected values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qgc.runtime.manifest import KernelCase
from tests.helpers.examples import COLLECTION, check_arrays, each_kernel
from tests.oracle import gcc

pytestmark = pytest.mark.skipif(gcc.COMPILER is None, reason="g++ is not installed")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One program of all kernels."""
    sources = {kernel.kernel: kernel.source for kernel in COLLECTION.values()}
    return gcc.build(sources, tmp_path_factory.mktemp("host"))


@each_kernel
def test_host_build_gives_the_expected_arrays(kernel: KernelCase, host: Path) -> None:
    for case in kernel.cases:
        check_arrays(kernel, case, gcc.run(host, kernel.kernel, case.grid, case.block, case.args))


def run_text(tmp_path: Path, text: str, block: int, grid: int = 1, **args: int | np.ndarray) -> list[int]:
    """Run the kernel `k` of a text and return its array `a`."""
    source = tmp_path / "k.cu"
    source.write_text(text)
    out = gcc.run(gcc.build({"k": source}, tmp_path), "k", (grid, 1, 1), (block, 1, 1), args)
    words: list[int] = out["a"].tolist()
    return words


def test_barriers_and_returns(tmp_path: Path) -> None:
    """Each thread reads what another wrote before the barrier; a thread that returned does not hold it up."""
    text = """
    extern "C" __global__ void k(int *a, int n) {
        __shared__ int kept[8];
        int i = threadIdx.x;
        if (i >= n) return;
        kept[i] = a[i];
        __syncthreads();
        a[i] = kept[n - 1 - i] + blockIdx.x;
    }
    """
    assert run_text(tmp_path, text, 8, 2, a=np.arange(6, dtype=np.int32), n=6) == [1, 2, 3, 4, 5, 6]


def test_parts_of_a_warp_and_a_barrier_wait_each_for_their_own(tmp_path: Path) -> None:
    """Each half of a warp goes round its own number of times; a thread that returned takes no part any more."""
    text = """
    extern __shared__ int kept[];

    extern "C" __global__ void k(int *a) {
        int i = threadIdx.x, sum = i;
        if (i == 6) return;
        for (int turn = 0; turn < (i < 4 ? 1 : 3); turn++) {
            sum += __shfl_xor_sync(i < 4 ? 0x0f : 0xf0, sum, 1);
            kept[i] = __popc(__ballot_sync(i < 4 ? 0x0f : 0xf0, i != 5));
        }
        __syncthreads();
        a[i] = i < 6 ? 100 * kept[i < 4 ? 5 : 0] + sum : kept[i];
    }
    """
    out = run_text(tmp_path, text, 8, a=np.full(8, -1, dtype=np.int32))
    assert out == [201, 201, 205, 205, 436, 436, -1, 2]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("if (threadIdx.x < 2) __syncwarp(); else __syncthreads();", "every thread waits for another"),
        ("__shfl_sync(1, 0, 0);", "thread (1, 0, 0): its mask leaves itself out"),
        ("if (threadIdx.x) __any_sync(3, 1); else __syncwarp(3);", "other threads are at another operation"),
    ],
)
def test_misuse_is_refused(tmp_path: Path, statement: str, message: str) -> None:
    text = f'extern "C" __global__ void k(int *a) {{ {statement} }}'
    with pytest.raises(AssertionError, match=message.replace("(", r"\(").replace(")", r"\)")):
        run_text(tmp_path, text, 4 if "2" in statement else 2, a=np.zeros(1, dtype=np.int32))

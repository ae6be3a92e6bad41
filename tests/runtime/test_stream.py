"""Several kernels in one context: memory stays, programs and constants change."""

from __future__ import annotations

import numpy as np
import pytest

import qgc
from qgc.diagnostics import QgcError
from qgc.runtime.checkpoint import Checkpoint

SCALE = """
__constant__ int powers[4] = {1, 10, 100, 1000};
extern "C" __global__ void scale(int *a, int which) { a[threadIdx.x] *= powers[which]; }
"""
TOTAL = """
extern "C" __global__ void total(const int *a, int *out) {
    extern __shared__ int all[];
    int i = threadIdx.x;
    all[i] = a[i];
    __syncthreads();
    if (i == 0) { int sum = 0; for (int k = 0; k < blockDim.x; k++) sum += all[k]; *out = sum; }
}
"""
NEGATE = 'extern "C" __global__ void negate(int *a) { a[blockIdx.x] = -a[blockIdx.x]; }'


def test_kernels_of_one_stream_share_memory() -> None:
    scale, total, negate = (
        qgc.RawKernel(code, name, engine="isa", frontend="clang")
        for code, name in ((SCALE, "scale"), (TOTAL, "total"), (NEGATE, "negate"))
    )
    a, first, second = np.arange(1, 7, dtype=np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    stream = qgc.Stream()
    scale((1,), (6,), (a, 1), stream=stream)
    total((1,), (6,), (a, first), shared_mem=24, stream=stream)
    negate((2,), (1,), (a,), stream=stream)
    scale((1,), (4,), (a, 2), stream=stream)
    total((1,), (6,), (a, second), shared_mem=24, stream=stream)
    assert (a[0], first[0]) == (1, 0), "nothing runs before it is synchronized"
    stream.synchronize()
    assert a.tolist() == [-1000, -2000, 3000, 4000, 50, 60]
    assert (first[0], second[0]) == (210, 4110)
    assert len(stream.runs) == 5
    again = [t for t in stream.runs[4].tokens if t.kind in ("adr", "adr_v")]
    assert len(again) < 12, "arrays are not sent again"


CLEAR = """\
machine nano
kernel clear
param a ptr
const k0 = param a
block 0:
  0: nop
  1: stx tid, k0 <- r0
  branch 1
block 1:
  branch exit
"""
COUNT = """\
machine nano
kernel count
param a ptr
const k0 = param a
block 0:
  0: ldx tid, k0
  1: add f0, tid
  out r1 = f1
  branch 1
block 1:
  0: or r1, r0
  1: stx tid, k0 <- f0
  branch 2
block 2:
  branch exit
"""


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_model_runs_a_chain_as_the_interpreter_does(nano: Checkpoint, is_sparse: bool) -> None:
    from qgc.ir.machine.verify import load
    from qgc.runtime.isa import run_chain_isa
    from qgc.runtime.launch import Step, link_chain

    a = np.array([5, -3, 2], dtype=np.int32)
    count, clear = load(COUNT), load(CLEAR)
    steps = [Step(p, (1, 1, 1), (n, 1, 1), (a,)) for p, n in ((count, 3), (clear, 1), (count, 3), (count, 2))]
    want = run_chain_isa(link_chain(steps))
    got = nano.run_chain(link_chain(steps), is_sparse=is_sparse)
    assert [run.tokens for run in got] == [run.tokens for run in want]
    assert got[-1].memory == want[-1].memory
    assert want[-1].arrays["a"].tolist() == [0, 0, 6]


def test_what_a_stream_refuses() -> None:
    stream = qgc.Stream()
    stream.synchronize()
    a = np.zeros(2, np.int32)
    isa, ssa = (qgc.RawKernel(NEGATE, "negate", engine=name, frontend="clang") for name in ("isa", "ssa"))
    isa((1,), (1,), (a,), stream=stream)
    with pytest.raises(QgcError, match="stream-kernels"):
        ssa((1,), (1,), (a,), stream=stream)
    other = qgc.Stream()
    ssa((1,), (1,), (a,), stream=other)
    with pytest.raises(QgcError, match="stream-engine"):
        other.synchronize()

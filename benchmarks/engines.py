"""The engines on one checkpoint: the sparse step against stock transformers, kernels, cost curves, and the roofline.

Times are of this process and in one run, so ratios hold on any machine. The sparse engine is timed in processor time on one
thread; transformers in wall time on all of its threads, which favours it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from qgc.driver import Kernel, Settings, source
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.runtime.cache import STORED_DTYPE, CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.manifest import KernelCase
from qgc.runtime.stats import stats

HF_TOKENS = 12
"""Tokens that transformers generate to be timed."""
LOOP = """
extern "C" __global__ void loop(int *out, int n) {
    unsigned x = threadIdx.x + 1;
    for (int i = 0; i < n; ++i) x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    out[threadIdx.x] = x;
}
"""
SCALE = 'extern "C" __global__ void scale(int *a, int n) { for (int i = 0; i < n; ++i) a[i] = 3 * a[i] + 1; }'


def measure_engines(shape: str, examples: list[tuple[KernelCase, Launch]]) -> dict[str, Any]:
    """All figures of one shape of `simt4`."""
    folder = cached(CheckpointSpec(PRESETS["simt4"], SHAPES[shape], STORED_DTYPE))
    checkpoint = Checkpoint(folder)
    kernels = [_kernel(checkpoint, launch) for _, launch in examples for _ in range(2)][
        1::2
    ]  # warm, then timed
    rates = [row["tokens_per_s"] for row in kernels]
    stock = _stock(checkpoint, examples[0][1])
    median = float(np.median(rates))
    return {
        "shape": shape,
        "layers": checkpoint.sparse.weights.layers,
        "fast_tokens_per_s": {"min": min(rates), "median": median, "max": max(rates)},
        "hf": stock,
        "fast_over_hf_step_by_step": round(median / stock["step_tokens_per_s"]),
        "fast_over_hf_prefill": round(median / stock["prefill_tokens_per_s"], 1),
        "kernels": kernels,
        "curves": list(_curves(checkpoint)),
        "roofline": _roofline(checkpoint, median, [row["work"] for row in kernels]),
    }


def _kernel(checkpoint: Checkpoint, launch: Launch) -> dict[str, Any]:
    began = time.process_time()
    run = checkpoint.run(launch, is_sparse=True)
    seconds = time.process_time() - began
    cost = stats(launch.program, run)
    session = checkpoint.sparse.new_session()
    checkpoint.sparse.answers(session, checkpoint.ids(run.tokens))
    number = session.machine_state.number
    return {
        "kernel": launch.program.kernel,
        "tokens": len(run.tokens),
        "generated": cost.answers,
        "tokens_per_operation": round(cost.tokens_per_issue, 2),
        "tokens_per_s": round(len(run.tokens) / seconds),
        "operations_per_s": round(cost.issued / seconds),
        "lane_operations_per_s": round(cost.operations / seconds),
        "work": {"units": float(number[1] / number[0]), "heads": float(number[2] / number[0])},
    }


def _stock(checkpoint: Checkpoint, launch: Launch) -> dict[str, Any]:
    """Transformers, float32: tokens a second step by step, and by prefill of the same tokens."""
    run = run_isa(launch)
    ids = checkpoint.ids(run.tokens)
    session = checkpoint.model.new_session()
    checkpoint.model.extend(session, ids, [], 2)  # warm: prompt and first steps
    began = time.perf_counter()
    checkpoint.model.extend(session, [], [], HF_TOKENS)
    stepped = time.perf_counter() - began
    began = time.perf_counter()
    checkpoint.model.replay(ids)
    prefilled = time.perf_counter() - began
    return {
        "step_tokens_per_s": round(HF_TOKENS / stepped, 3),
        "prefill_tokens_per_s": round(len(ids) / prefilled, 2),
    }


def _curves(checkpoint: Checkpoint) -> Iterator[dict[str, Any]]:
    """How tokens and seconds grow with loop count, array length and the number of groups."""
    for text, name, sizes in ((LOOP, "loop count", (10, 100, 1000)), (SCALE, "array length", (10, 40, 100))):
        kernel = Kernel(source(text, "k.cu"), Settings())
        for size in sizes:
            array = np.zeros(4 if name == "loop count" else size, dtype=np.int32)
            yield _point(checkpoint, name, size, link(kernel.program, (1, 1, 1), (1, 1, 1), [array, size]))
    kernel = Kernel(source(LOOP, "k.cu"), Settings())
    for groups in (1, 2, 4, 8):
        threads = groups * PRESETS["simt4"].lanes
        array = np.zeros(threads, dtype=np.int32)
        yield _point(
            checkpoint, "groups", groups, link(kernel.program, (1, 1, 1), (threads, 1, 1), [array, 50])
        )


def _point(checkpoint: Checkpoint, what: str, size: int, launch: Launch) -> dict[str, Any]:
    began = time.process_time()
    run = checkpoint.run(launch, is_sparse=True)
    return {what: size, "tokens": len(run.tokens), "seconds": round(time.process_time() - began, 4)}


def _roofline(checkpoint: Checkpoint, rate: float, work: list[dict[str, float]]) -> dict[str, Any]:
    """Bytes that a token touches over the bandwidth of copying a large array, against the time that it takes.

    A unit that is looked at reads its gate row (4 bytes of column and 4 of value an entry); a head at work reads its
    switch, key and value rows, and reads and writes one row of state.
    """
    weights = checkpoint.sparse.weights
    gate = 8 * len(weights.mlp.gate.val) / (len(weights.mlp.gate.ptr) - 1)
    h = weights.heads
    rows = 8 * (len(h.switch.val) + len(h.block_rows.val) + len(h.value_rows.val) + len(h.out_rows.val))
    head = rows / len(h.decay) + 3 * 4 * weights.dim
    touched = float(np.median([w["units"] * gate + w["heads"] * head for w in work]))
    array = np.zeros(1 << 26, dtype=np.uint8)
    array.copy()
    began = time.perf_counter()
    for _ in range(8):
        array.copy()
    bandwidth = 8 * 2 * array.nbytes / (time.perf_counter() - began)
    return {
        "bytes_per_token": round(touched),
        "copy_bandwidth_gb_per_s": round(bandwidth / 1e9, 1),
        "roofline_tokens_per_s": round(bandwidth / touched),
        "share_of_roofline": round(rate * touched / bandwidth, 3),
    }

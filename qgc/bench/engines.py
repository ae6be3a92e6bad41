"""The engines on one checkpoint: the sparse step against stock transformers, kernels, and cost curves.

All is measured in one run, so ratios hold on any machine. The sparse engine is timed in processor time on one thread, but for
the curve of batches; transformers in wall time on all of its threads, which favours it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np

from qgc.bench.roofline import roofline
from qgc.bench.subjects import Subject, timed
from qgc.driver import Kernel, Settings, source
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.sparse.layers import LayerCost, layer_costs

HF_TOKENS = 12
"""Tokens that transformers generate to be timed."""
REPEATS = 5
"""Runs of a kernel; the fastest counts."""
SAMPLED = 4
"""Kernels whose layers are timed."""
LOOP = """
extern "C" __global__ void loop(int *out, int n) {
    unsigned x = threadIdx.x + 1;
    for (int i = 0; i < n; ++i) x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    out[threadIdx.x] = x;
}
"""
SCALE = 'extern "C" __global__ void scale(int *a, int n) { for (int i = 0; i < n; ++i) a[i] = 3 * a[i] + 1; }'


def measure_engines(checkpoint: Checkpoint, subjects: Sequence[Subject]) -> dict[str, Any]:
    """All figures of one checkpoint."""
    launches = [subject.launch for subject in subjects]
    for launch in launches:
        checkpoint.run(launch, is_sparse=True)  # compiles, and learns the plan
    kernels = [_kernel(checkpoint, subject) for subject in subjects]
    rates = [row["tokens_per_s"] for row in kernels]
    stock = _stock(checkpoint, launches[0])
    costs = [
        cost
        for launch in launches[:SAMPLED]
        for cost in layer_costs(checkpoint.sparse, checkpoint.ids(run_isa(launch).tokens))
    ]
    return {
        "layers": checkpoint.sparse.weights.layers,
        "nonzeros": checkpoint.sparse.weights.nonzeros,
        "fast_tokens_per_s": {"min": min(rates), "median": round(median(rates)), "max": max(rates)},
        "hf": stock,
        "fast_over_hf_step_by_step": round(median(rates) / stock["step_tokens_per_s"]),
        "fast_over_hf_prefill": round(median(rates) / stock["prefill_tokens_per_s"], 1),
        "kernels": kernels,
        "curves": list(_curves(checkpoint)),
        "batches": list(_batches(checkpoint, launches[0])),
        "roofline": _roofline(checkpoint, kernels, costs),
    }


def _kernel(checkpoint: Checkpoint, subject: Subject) -> dict[str, Any]:
    """One launch from prompt to arrays."""
    launch, cost = subject.launch, subject.cost
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        run = checkpoint.run(launch, is_sparse=True)
        times.append(time.process_time() - began)
    seconds = min(times)
    session = checkpoint.sparse.new_session()
    checkpoint.sparse.answers(session, checkpoint.ids(run.tokens))
    number = session.machine_state.number
    return {
        "kernel": subject.name,
        "tokens": len(run.tokens),
        "generated": cost.answers,
        "tokens_per_operation": round(cost.tokens_per_issue, 2),
        "cpu_ms": round(1e3 * seconds, 2),
        "tokens_per_s": round(len(run.tokens) / seconds),
        "operations_per_s": round(cost.issued / seconds),
        "lane_operations_per_s": round(cost.operations / seconds),
        "units_per_token": round(float(number[1] / number[0])),
        "memories_per_token": round(float(number[2] / number[0]), 1),
    }


def _stock(checkpoint: Checkpoint, launch: Launch) -> dict[str, Any]:
    """Transformers, float32: tokens a second step by step, and by prefill of the same tokens."""
    ids = checkpoint.ids(run_isa(launch).tokens)
    session = checkpoint.model.new_session()
    checkpoint.model.extend(session, ids, [], 2)  # warm: prompt and first steps
    _, stepped = timed(lambda: checkpoint.model.extend(session, [], [], HF_TOKENS))
    _, prefilled = timed(lambda: checkpoint.model.replay(ids))
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
    lanes = kernel.program.config.lanes
    for groups in (1, 2, 4, 8):
        array = np.zeros(groups * lanes, dtype=np.int32)
        launch = link(kernel.program, (1, 1, 1), (groups * lanes, 1, 1), [array, 50])
        yield _point(checkpoint, "groups", groups, launch)


def _point(checkpoint: Checkpoint, what: str, size: int, launch: Launch) -> dict[str, Any]:
    began = time.process_time()
    run = checkpoint.run(launch, is_sparse=True)
    return {what: size, "tokens": len(run.tokens), "cpu_s": round(time.process_time() - began, 4)}


def _batches(checkpoint: Checkpoint, launch: Launch) -> Iterator[dict[str, Any]]:
    """Independent launches: wall seconds of several at once, on one thread and on two."""
    for count in (1, 8, 64):
        for threads in (1, 2):
            runs, seconds = timed(lambda: checkpoint.run_many([launch] * count, threads), REPEATS)  # noqa: B023
            tokens = sum(len(run.tokens) for run in runs)
            yield {
                "launches": count,
                "threads": threads,
                "wall_s": round(seconds, 4),
                "tokens_per_s": round(tokens / seconds),
            }


def _roofline(
    checkpoint: Checkpoint, kernels: Sequence[dict[str, Any]], costs: Sequence[LayerCost]
) -> dict[str, Any]:
    sparse = checkpoint.sparse
    units, memories, rate = (
        float(median([row[name] for row in kernels]))
        for name in ("units_per_token", "memories_per_token", "tokens_per_s")
    )
    return roofline(sparse.weights, sparse.plan, units, memories, 1e6 / rate, costs)

"""All 64 kernels in stock transformers: whole streams, or the first part of long ones, in one teacher-forced prefill each.

Every generated token is compared with the interpreter's, and all of memory where the whole stream was fed. The totals that
the tests print are those of docs/kernels.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.runtime.cache import STORED_DTYPE, CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.engines import Request, engine
from qgc.runtime.isa import Run
from qgc.runtime.manifest import KernelCase
from tests.examples.test_collection import BUDGET, compiled, fast
from tests.helpers.examples import COLLECTION

pytestmark = pytest.mark.slow

MOST = 1500
"""Tokens of a stream that are fed."""

SHAPE_OF = {"simt4": "small", "simt4x": "qwen3.5-2b"}
"""The smallest preset shape that holds each machine."""


@cache
def checkpoint(machine: str, shape: str, dtype: str) -> Checkpoint:
    return Checkpoint(cached(CheckpointSpec(PRESETS[machine], SHAPES[shape], STORED_DTYPE)), dtype)


def runs(kernel: KernelCase) -> Iterator[Run]:
    """A kernel's launches on the interpreter, shortest first."""
    made = compiled(kernel, "clang32", kernel.machine)
    found = []
    for case in fast(kernel):
        request = Request(case.grid, case.block, list(case.args.values()), BUDGET, shared=case.shared)
        run = engine("isa").run(made, request).run
        assert run is not None
        found.append(run)
    yield from sorted(found, key=lambda run: len(run.tokens))


def positions(model: Checkpoint, run: Run) -> int:
    """Compare one stream; returns how many generated tokens were compared."""
    if len(run.tokens) <= MOST:
        replay = model.replay(run)
        assert replay.is_equal, replay.first
        return replay.positions
    ids = model.ids(run.tokens)
    answers, _ = model.model.replay(ids[: MOST - 1])
    own = [i for i in range(1, MOST) if run.generated[i]]
    assert [i for i in own if answers[i - 1] != ids[i]] == []
    return len(own)


def total(
    machine: str, shape: str, dtype: str, cases: int, wanted: Callable[[int], bool] = lambda number: True
) -> tuple[int, int]:
    """Tokens fed and generated tokens compared over the kernels of a machine."""
    model, fed, compared, kernels = checkpoint(machine, shape, dtype), 0, 0, 0
    chosen = [kernel for kernel in COLLECTION.values() if kernel.machine == machine]
    for number, kernel in enumerate(chosen):
        for run in list(runs(kernel))[:cases] if wanted(number) else ():
            compared += positions(model, run)
            fed += min(len(run.tokens), MOST)
        kernels += wanted(number)
    print(
        f"{machine}, {shape}, {dtype}: {kernels} kernels, {fed} positions fed, {compared} compared, 0 differences"
    )
    return fed, compared


def test_the_reference_machine_in_float32() -> None:
    assert total("simt4", "small", "float32", 9)[0] >= 20_000


def test_the_reference_machine_in_bfloat16() -> None:
    assert total("simt4", "small", "bfloat16", 1, lambda number: number % 6 == 0)[0] >= 2_000


def test_the_reference_machine_in_the_shape_of_qwen() -> None:
    assert total("simt4", "qwen3.5-2b", "float32", 1, lambda number: number % 8 == 1)[0] >= 1_000


def test_the_large_machine() -> None:
    assert total("simt4x", "qwen3.5-2b", "float32", 1)[0] >= 5_000

"""The sparse engine against stock transformers: the answer at every position of whole streams, prompts included.

Transformers is fed each stream in one prefill; the sparse step takes one token after another. The counts that the tests print
are those that docs/fast.md records.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from qgc.driver import Kernel, Settings, source
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.runtime.cache import STORED_DTYPE, CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.manifest import load_manifest

ROOT = Path(__file__).parent.parent.parent
MANIFESTS = ("examples/manifest.toml", "examples/peer/manifest.toml")
PTX = {"examples": "golden/ptx", "peer": "golden/ptx/peer"}

pytestmark = pytest.mark.slow


@cache
def checkpoint(shape: str, dtype: str) -> Checkpoint:
    return Checkpoint(cached(CheckpointSpec(PRESETS["simt4"], SHAPES[shape], STORED_DTYPE)), dtype)


def launches() -> Iterator[tuple[str, Launch]]:
    """Every case of every example."""
    for manifest in MANIFESTS:
        for kernel in load_manifest(ROOT / manifest):
            path = ROOT / PTX[kernel.source.parent.name] / f"{kernel.name}.clang32.ptx"
            program = Kernel(source(path.read_text(), path.name), Settings(kernel=kernel.kernel)).program
            for number, case in enumerate(kernel.cases):
                yield (
                    f"{kernel.name}-{number}",
                    link(program, case.grid, case.block, list(case.args.values())),
                )


def differences(model: Checkpoint, name: str, launch: Launch) -> int:
    """Compare one stream; returns how many positions were compared."""
    ids = model.ids(run_isa(launch).tokens)
    stock, _ = model.model.replay(ids)
    assert model.sparse.answers(model.sparse.new_session(), ids) == stock, name
    return len(ids)


def compare(shape: str, dtype: str, at_least: int, some: slice) -> None:
    model = checkpoint(shape, dtype)
    counts = [differences(model, *named) for named in islice(launches(), some.start, some.stop, some.step)]
    print(f"{shape}, {dtype}: {len(counts)} launches, {sum(counts)} positions, 0 differences")
    assert sum(counts) >= at_least


def test_every_case_in_float32() -> None:
    compare("small", "float32", 10_000, slice(None))


def test_some_cases_in_bfloat16() -> None:
    compare("small", "bfloat16", 1_000, slice(0, 20, 2))


def test_some_cases_in_the_shape_of_qwen() -> None:
    compare("qwen3.5-2b", "float32", 500, slice(1, 12, 2))

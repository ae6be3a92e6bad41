"""An estimate is what a build then is, number by number."""

from __future__ import annotations

import pytest

from qgc.backends.weights.estimate import estimate
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.runtime.checkpoint import Checkpoint


def test_an_estimate_counts_what_is_built(nano: Checkpoint) -> None:
    from safetensors.torch import load_file

    found = estimate(PRESETS["nano"], SHAPES["tiny"])
    tensors = [t for file in sorted(nano.folder.glob("*.safetensors")) for t in load_file(file).values()]
    assert found.parameters == sum(t.numel() for t in tensors)
    assert found.non_zeros == sum(int(t.count_nonzero()) for t in tensors)
    assert found.bytes_float32 == sum(t.numel() * t.element_size() for t in tensors)
    assert found.layers == nano.manifest["layers"]


@pytest.mark.parametrize("shape", ["qwen3.5-2b", "small"])
def test_no_schedule_is_shorter_than_its_limits(shape: str) -> None:
    found = estimate(PRESETS["simt4"], SHAPES[shape])
    assert found.layers >= max(found.critical_path, found.unit_layers, found.head_layers)
    assert found.critical_path == 21
    assert 1 < found.tokens_per_operation < 4

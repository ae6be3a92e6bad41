"""Devices: `auto` finds one always, a missing one is said before anything is built, fixed caches give the same tokens."""

from __future__ import annotations

import numpy as np
import pytest

from qgc.diagnostics import QgcError
from qgc.driver import Kernel, Settings, source
from qgc.ir.machine.config import PRESETS
from qgc.runtime import device
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.engines import Request, engine
from qgc.runtime.engines.base import ModelChoice
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import link

GRID = 'extern "C" __global__ void grid(int *a) { a[blockIdx.x] += gridDim.x; }'


def have(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(device, "PRESENT", {n: lambda n=n: n in names for n in ("cuda", "mps", "cpu")})


@pytest.mark.parametrize(
    ("there", "best", "dtype"),
    [
        (["cpu"], "cpu", "float32"),
        (["mps", "cpu"], "mps", "float32"),
        (["cuda", "cpu"], "cuda", "bfloat16"),
        (["cuda", "mps", "cpu"], "cuda", "bfloat16"),
    ],
)
def test_auto_takes_the_best(
    monkeypatch: pytest.MonkeyPatch, there: list[str], best: str, dtype: str
) -> None:
    have(monkeypatch, *there)
    assert device.pick("auto") == best
    assert device.dtype_on(best, "auto") == dtype
    assert device.dtype_on(best, "float32") == "float32"
    assert [device.pick(name) for name in there] == there


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_missing_device_is_said_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    have(monkeypatch, "cpu")
    with pytest.raises(QgcError, match=rf"device-missing.*no device {name}: torch \S+ finds cpu here"):
        device.pick(name)
    kernel = Kernel(source(GRID, "k.cu"), Settings(machine=PRESETS["nano"]))
    request = Request((1, 1, 1), (1, 1, 1), [np.zeros(1, np.int32)], model=ModelChoice(device=name))
    with pytest.raises(QgcError, match="device-missing"):
        engine("hf").run(kernel, request)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(QgcError, match=r"device-unknown.*did you mean 'cuda'"):
        device.pick("cudo")


def test_what_this_machine_has_can_be_picked() -> None:
    assert device.pick("auto") in device.PRESENT
    assert device.pick("cpu") == "cpu"


def test_only_cuda_with_triton_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "find_spec", lambda name: None if name == "triton" else name)
    assert not device.can_compile("cuda")
    monkeypatch.setattr(device, "find_spec", lambda name: name)
    assert [name for name in device.PRESENT if device.can_compile(name)] == ["cuda"]


def test_a_cache_of_fixed_size_gives_the_same_run(nano: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cuda runs with, on whatever is here: three blocks of a grid in one session, and memory out of its state."""
    kernel = Kernel(source(GRID, "k.cu"), Settings(machine=PRESETS["nano"]))
    launch = link(kernel.program, (3, 1, 1), (1, 1, 1), [np.array([10, 20, 30], dtype=np.int32)])
    monkeypatch.setattr(nano.model, "is_static", True)
    want, got = run_isa(launch), nano.run(launch, budget=60)
    assert type(nano.model.new_session(9).cache).__name__ == "StaticCache"
    assert nano.model.new_session().cache is None
    assert got.tokens == want.tokens
    assert got.memory == want.memory

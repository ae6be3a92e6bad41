"""Running SSA functions in tests: on the cases of the example manifest, and with every annotation checked as it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgc.ir.launch import Launch, Memory
from qgc.ir.ssa.function import Function, Op
from qgc.ir.ssa.interpret import run
from qgc.runtime.engines.host import pack, place, read_back
from qgc.runtime.manifest import Case, KernelCase, load_manifest

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "golden"
FRONTENDS = ("clang32", "clang64", "nvrtc")
KERNELS: tuple[KernelCase, ...] = load_manifest(ROOT / "examples" / "manifest.toml")
WARP = 32


def check_uniform(op: Op, active: Sequence[int], column: list[int]) -> None:
    """Observer: lanes of one warp that run an op with a uniform result agree on it."""
    if op.result is None or not op.result.uniform:
        return
    seen: dict[int, int] = {}
    for thread in active:
        first = seen.setdefault(thread // WARP, column[thread])
        if first != column[thread]:
            raise AssertionError(f"{op.result.name} is uniform, and lanes have {first} and {column[thread]}")


def run_case(function: Function, case: Case) -> dict[str, NDArray[Any]]:
    """Launch a kernel as a manifest case says and return its arrays."""
    names, args = [p.name for p in function.params], list(case.args.values())
    memory = Memory()
    values = place(memory, names, args)
    buffer = pack([(p.offset, p.size) for p in function.params], values)
    run(function, Launch(case.grid, case.block), buffer, memory, budget=1_000_000, observe=check_uniform)
    arrays = read_back(memory, names, args)
    return {name: arrays[i] for i, name in enumerate(case.args) if i in arrays}


def assert_expected(function: Function, case: Case) -> None:
    """The arrays that the case names come out as it says, and no other array changes."""
    for name, array in run_case(function, case).items():
        want = case.expected.get(name, case.args[name])
        np.testing.assert_array_equal(array, np.asarray(want), err_msg=name)

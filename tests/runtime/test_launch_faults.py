"""Launches that go wrong say where, and what was done so far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qgc.diagnostics import Diagnostic, QgcError
from qgc.ir.machine.verify import load
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import link

HEAD = "machine simt4\nkernel k\nparam a ptr\nparam out ptr\nconst k0 = param a\nconst k1 = param out\nconst k2 = 400\nconst k3 = 1\n"
COPY = "block 0:\n  0: ldx tid, k0 @ k.ptx:7:1-9\n  1: nop\n  2: nop\n  3: stx tid, k1 <- f0 @ k.ptx:9:3-20\n  branch exit\n"


def ints(*values: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)


def fault(body: str, threads: int, a: Any, out: Any, budget: int = 1000, grid: int = 1) -> Diagnostic:
    launch = link(load(HEAD + body), (grid, 1, 1), (threads, 1, 1), (a, out))
    with pytest.raises(QgcError) as caught:
        run_isa(launch, budget)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_an_array_shorter_than_what_the_kernel_writes() -> None:
    found = fault(COPY, 6, ints(1, 2, 3, 4, 5, 6), ints(0, 0, 0, 0, 0))
    assert found.code == "run-store"
    assert found.span is not None
    assert str(found.span) == "k.ptx:9:3"
    assert "thread 5 stores" in found.message
    assert "byte address 48, 0 bytes past the end of out (5 words at byte address 28)" in found.message
    assert "so far: a = 1 2 3 4 5 6; out = 1 2 3 4 0" in (found.hint or "")


def test_a_store_between_two_arrays_is_noticed() -> None:
    assert fault(COPY.replace("tid, k1", "tid, k0"), 3, ints(1, 2), ints(0)).code == "run-store"


def test_a_load_out_of_memory() -> None:
    found = fault("block 0:\n  0: ldx tid, k2 @ k.ptx:7:1-9\n  branch exit\n", 32, ints(1), ints(2))
    assert found.code == "run-fault"
    assert str(found.span) == "k.ptx:7:1"
    assert "thread 28 loads from byte address 512, 500 bytes past the end of out" in found.message
    assert "memory ends at 512" in found.message
    assert "block 0 of the program, stage 0: ldx tid, k2)" in found.message


def test_a_misaligned_store() -> None:
    body = "block 0:\n  0: nop\n  1: nop\n  2: nop\n  3: st k3, r0 <- tid\n  branch exit\n"
    found = fault(body, 1, ints(1), ints(2))
    assert found.code == "run-fault"
    assert "stores to byte address 1, which is no multiple of 4" in found.message


def test_a_kernel_that_never_ends_tells_where_and_what_was_done() -> None:
    body = COPY.replace("exit", "1") + "block 1:\n  0: add r1, k3 @ k.ptx:12:1-5\n  out r1 = f0\n  branch 1\n"
    found = fault(body, 2, ints(5, 6), ints(0, 0), budget=60)
    assert found.code == "run-budget"
    assert str(found.span) == "k.ptx:12:1"
    assert (
        "did not end within 60 tokens; still going: threads 0, 1, at block 1 of the program" in found.message
    )
    assert "out = 5 6" in (found.hint or "")


def test_long_arrays_are_cut_short() -> None:
    found = fault("block 0:\n  branch 0\n", 1, ints(*range(40)), ints(0), budget=5)
    assert "15 ...;" in (found.hint or "")


def test_the_block_of_the_grid_is_named() -> None:
    found = fault("const k4 = ctaid.x\n" + COPY.replace("stx tid, k1", "stx f2, k1").replace("  2: nop", "  2: or k4, r0"),
                  1, ints(7), ints(0, 0), grid=4)  # fmt: skip
    assert found.code == "run-store"
    assert "thread 0 of block (2, 0, 0) stores to byte address 16" in found.message
    assert "out = 7 7" in (found.hint or "")


def test_the_budget_is_for_the_whole_grid() -> None:
    body = "block 0:\n  branch exit\n"
    launch = link(load(HEAD + body), (5, 1, 1), (1, 1, 1), (ints(1), ints(1)))
    assert len(run_isa(launch, 10).answers) == 10
    with pytest.raises(QgcError, match="run-budget"):
        run_isa(launch, 9)

"""The cost of a launch, counted by hand."""

from __future__ import annotations

import numpy as np

from qgc.ir.machine.verify import load
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import link
from qgc.runtime.stats import Stats, stats, table

PROGRAM = load(
    "machine simt4\nkernel total\nparam a ptr\nparam out ptr\nconst k0 = param a\nconst k1 = param out\n"
    "block 0:\n  0: ldx tid, k0\n  out r1 = f0\n  branch 1\n"
    "block 1 serial:\n  0: ld k1, r0\n  1: add f0, r1\n  2: nop\n  3: st k1, r0 <- f1\n  branch exit\n"
)


def test_counts() -> None:
    a, out = np.array([1, 1, 2], np.int32), np.zeros(1, np.int32)
    run = run_isa(link(PROGRAM, (1, 1, 1), (3, 1, 1), (a, out)))
    found = stats(PROGRAM, run)
    assert run.arrays["out"].tolist() == [4]
    prompt = len(run.tokens) - len(run.answers)
    # exec, val_v; three times exec, adr, mem_s; halt. One load a thread, then load, add, store in each.
    assert found == Stats("total", 2, 1, 2, prompt, 2 + 9 + 1, 4, 3 + 9, 1 + 9)
    assert found.tokens_per_operation == 1.0
    assert found.tokens_per_issue == 1.2


def test_table() -> None:
    row = Stats("k", 2, 3, 4, 50, 12, 4, 24, 10)
    assert table([row]).splitlines() == [
        "kernel  blocks  registers  constants  prompt  answers  executed  operations  issued  tokens/op  tokens/issue",
        "k            2          3          4      50       12         4          24      10       0.50          1.20",
    ]


def test_a_launch_of_no_operations_has_no_ratio() -> None:
    assert table([Stats("k", 1, 0, 0, 9, 2, 1, 0, 0)]).endswith("inf\n")

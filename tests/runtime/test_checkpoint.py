"""A checkpoint as a machine: its tokens, and launches part by part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from qgc.diagnostics import QgcError
from qgc.driver import Kernel, Settings, source
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.tokens import Token
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import Launch, link

MIX = """
extern "C" __global__ void mix(int *a, int n) {
    int x = blockIdx.x;
    do x ^= n; while (--n);
    *a = x;
}
"""


def launch(rounds: int) -> Launch:
    """Two blocks of the grid, one after the other."""
    program = Kernel(source(MIX, "k.cu"), Settings(machine=PRESETS["nano"])).program
    return link(program, (2, 1, 1), (1, 1, 1), [np.zeros(1, dtype=np.int32), rounds])


def test_numbers_and_tokens(nano: Checkpoint) -> None:
    halt = Token("halt")
    (number,) = nano.ids([halt])
    assert nano.token(number) == halt
    assert nano.token(number) is nano.token(number)
    for wrong in (-1, nano.ids([Token("fault")])[0] + 1):
        with pytest.raises(QgcError, match="checkpoint-token"):
            nano.token(wrong)


@pytest.mark.parametrize("is_sparse", [True, False])
def test_a_stream_is_handed_on_in_order(nano: Checkpoint, is_sparse: bool) -> None:
    parts: list[tuple[list[Token], bool]] = []

    def keep(part: Sequence[Token], is_own: bool) -> None:
        parts.append((list(part), is_own))

    want = run_isa(launch(2))
    memory = nano.stream(launch(2), keep, is_sparse=is_sparse)
    assert memory == want.memory
    assert want.arrays["a"].tolist() == [1 ^ 2 ^ 1]
    assert [token for part, _ in parts for token in part] == want.tokens
    assert [is_own for part, is_own in parts for _ in part] == want.generated
    assert [part for part, is_own in parts if not is_own] == launch(2).prompts


def test_a_stream_in_many_parts(nano: Checkpoint) -> None:
    """Longer than a part; the second block of the grid goes on where the first one ended."""
    sizes: list[int] = []
    nano.stream(launch(600), lambda part, is_own: sizes.append(len(part) * is_own), is_sparse=True)
    assert sum(size > 0 for size in sizes) > 2
    assert nano.run(launch(600), is_sparse=True).tokens == run_isa(launch(600)).tokens


def test_the_budget_is_that_of_all_blocks(nano: Checkpoint) -> None:
    total = sum(run_isa(launch(1)).generated)
    assert sum(nano.run(launch(1), total, is_sparse=True).generated) == total
    for budget in (total - 1, total // 2):
        with pytest.raises(QgcError, match=f"did not end within {budget} tokens"):
            nano.run(launch(1), budget, is_sparse=True)

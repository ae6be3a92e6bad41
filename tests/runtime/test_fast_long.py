"""The sparse engine against the reference interpreter on more than a million generated positions, token for token.

No stream is kept: the interpreter goes along part by part. `docs/fast.md` records a run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from qgc.diagnostics import QgcError
from qgc.driver import Kernel, Settings, source
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.tokens import Token
from qgc.runtime.cache import STORED_DTYPE, CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.faults import Watch
from qgc.runtime.isa import stream_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.manifest import load_manifest
from tests.helpers.programs import Case, multi_block_programs, single_block_programs

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SIMT4 = PRESETS["simt4"]
BUDGET = 10_000_000
MEGABYTE = 1 << 20

LOOPS = """
extern "C" __global__ void lcg(unsigned *state, int n) {
    unsigned x = state[threadIdx.x];
    for (int i = 0; i < n; i++) x = x * 1664525u + 1013904223u;
    state[threadIdx.x] = x;
}
extern "C" __global__ void mixed(unsigned *state, unsigned *table, int n) {
    unsigned x = state[threadIdx.x], *own = table + 8 * threadIdx.x;
    for (int i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        if (x >> 16 & 1) x ^= own[x >> 29] >> (x & 31);
        else if ((int)x < 0) own[x >> 28 & 7] = x - i;
        else own[i & 7] ^= x;
    }
    state[threadIdx.x] = x;
}
"""
Arrays = Sequence[NDArray[Any] | int]
"""Arguments."""

pytestmark = pytest.mark.slow


@dataclass(slots=True)
class Machine:
    """The checkpoint, and what has been compared on it."""

    checkpoint: Checkpoint
    positions: dict[str, int] = field(default_factory=dict)
    seconds: float = 0
    fault: str = ""

    def reference(self, watch: Watch) -> Iterator[tuple[Token, bool]]:
        """The interpreter's stream; it ends at a fault, and `fault` says what was wrong."""
        try:
            yield from stream_isa(watch, BUDGET)
        except QgcError as err:
            self.fault = str(err)

    def compare(self, launch: Launch, what: str, look: Callable[[], None] = lambda: None) -> int:
        """Run a launch on both, and return how many tokens both generated; a fault is the same on both.

        `look` is called after each part of the stream.
        """
        watch = Watch(launch)
        reference = self.reference(watch)
        count = 0

        def check(part: Sequence[Token], is_own: bool) -> None:
            nonlocal count
            want = list(islice(reference, len(part)))
            assert want == [(token, is_own) for token in part[: len(want)]]
            assert len(want) == len(part) or self.fault
            count += is_own * len(want)
            look()

        began = time.perf_counter()
        self.fault = fault = ""
        try:
            memory = self.checkpoint.stream(launch, check, BUDGET, is_sparse=True)
        except QgcError as err:
            fault = str(err)
        assert next(reference, None) is None
        assert fault == self.fault
        assert fault or memory == watch.machine.memory
        self.seconds += time.perf_counter() - began
        self.positions[what] = self.positions.get(what, 0) + count
        return count


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """The machine that `make run` uses, out of the user's cache; at the end, what was compared is printed."""
    made = Machine(Checkpoint(cached(CheckpointSpec(SIMT4, SHAPES["small"], STORED_DTYPE))))
    yield made
    total = sum(made.positions.values())
    parts = ", ".join(f"{what} {count:,}" for what, count in made.positions.items())
    print(f"\n{total:,} generated positions, 0 differences, {made.seconds:.0f} s: {parts}")


def loop(kernel: str, threads: int, args: Arrays) -> Launch:
    return link(
        Kernel(source(LOOPS, "loops.cu"), Settings("clang", kernel)).program,
        (1, 1, 1),
        (threads, 1, 1),
        args,
    )


def random(count: int) -> NDArray[np.uint32]:
    return np.random.default_rng(count).integers(0, 1 << 32, count, dtype=np.uint32)


def resident() -> int:
    """The memory of this process now, in bytes; what it had before, when it loaded the checkpoint, does not count."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("this system does not say how much memory a process has now")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_million_tokens_in_one_launch_take_constant_memory(machine: Machine) -> None:
    machine.compare(loop("lcg", 1, [random(1), 2000]), "warming up")
    before = most = resident()

    def look() -> None:
        nonlocal most
        most = max(most, resident())

    count = machine.compare(loop("lcg", 1, [random(1), 200_000]), "one launch", look)
    grown = (most - before) / MEGABYTE
    print(f"\n{count:,} tokens: {before / MEGABYTE:.0f} MB before, at most {grown:.1f} MB more")
    assert count >= 1_000_000
    assert grown < 64


@pytest.mark.parametrize(
    ("kernel", "threads", "args"),
    [
        ("lcg", 4, [random(4), 5000]),
        ("mixed", 1, [random(1), random(8), 2000]),
        ("mixed", 4, [random(4), random(32), 500]),
        ("mixed", 7, [random(7), random(56), 200]),
    ],
)
def test_long_loops(machine: Machine, kernel: str, threads: int, args: Arrays) -> None:
    assert machine.compare(loop(kernel, threads, args), "long loops") > 10_000


LARGER: dict[str, tuple[int, Arrays]] = {
    "bitrev": (32, [random(32), np.zeros(32, np.uint32)]),
    "collatz": (4, [np.array([837799, 626331, 511935, 410011], np.uint32), np.zeros(4, np.int32)]),
    "copy2": (32, [random(60), np.zeros(60, np.uint32), 60]),
    "gcd": (4, [np.array([46368, 100000, 999983, 12], np.uint32), np.array([28657, 999, 1009, 18], np.uint32), random(4)]),
    "horner": (16, [random(40), 39, random(16), random(16)]),
    "maximum": (10, [random(100).view(np.int32), 10, np.zeros(10, np.int32)]),
    "nested": (32, [random(32), random(32)[::-1].copy(), random(32)]),
    "sum": (1, [random(110).view(np.int32), 110, np.zeros(1, np.int32)]),
    "vadd": (32, [random(32), random(32)[::-1].copy(), random(32), 31]),
    "dot": (32, [random(32), random(32)[::-1].copy(), random(1)]),
    "xorshift": (4, [random(4), 300]),
}  # fmt: skip


def test_examples(machine: Machine) -> None:
    """Every case of every manifest, and larger inputs of most kernels."""
    for manifest in (EXAMPLES / "manifest.toml", EXAMPLES / "peer/manifest.toml"):
        for example in load_manifest(manifest):
            text = source(example.source.read_text(encoding="utf-8"), example.source.name)
            program = Kernel(text, Settings("clang", example.kernel)).program
            launches = [(c.grid, c.block, list(c.args.values())) for c in example.cases]
            if manifest.parent == EXAMPLES and example.name in LARGER:
                threads, args = LARGER[example.name]
                launches.append(((1, 1, 1), (threads, 1, 1), list(args)))
            for grid, block, args in launches:
                machine.compare(link(program, grid, block, args), "examples")


@given(multi_block_programs(SIMT4))
def test_generated_programs(machine: Machine, case: Case) -> None:
    machine.compare(case.launch(), "generated programs")


@given(single_block_programs(SIMT4))
def test_generated_blocks(machine: Machine, case: Case) -> None:
    machine.compare(case.launch(), "generated blocks")

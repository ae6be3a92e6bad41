"""Real compiler output beyond the examples: the PTX interpreter and every SSA stage leave the same memory."""

from __future__ import annotations

import random

import pytest

from qgc.ir.launch import Launch, Memory
from qgc.ir.ptx import ast
from qgc.ir.ptx.interpret import run as run_ptx
from qgc.ir.ptx.kernels import find_kernel, ptx_params
from qgc.ir.ptx.parse import parse
from qgc.ir.ssa.interpret import run as run_ssa
from qgc.ir.ssa.verify import STAGES
from qgc.passes.manager import Options
from qgc.passes.pipelines import compile_ptx_to
from tests.helpers.ssa import FRONTENDS, GOLDEN, check_uniform

RNG = random.Random(11)
EDGES = [0, 1, 2, 3, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


def words(count: int) -> bytes:
    numbers = [RNG.choice(EDGES) if RNG.random() < 0.4 else RNG.getrandbits(32) for _ in range(count)]
    return b"".join(n.to_bytes(4, "little") for n in numbers)


LAUNCHES: dict[str, tuple[tuple[int, int, int], list[bytes | int]]] = {
    "sha": ((4, 1, 1), [words(64), bytes(16), 4]),
    "divide": ((24, 1, 1), [words(24), words(24), bytes(96), 24]),
    "wide": ((24, 1, 1), [words(24), words(24), bytes(192), 24]),
    "scan": ((32, 1, 1), [words(32), 30]),
    "bitonic": ((32, 1, 1), [words(32)]),
    "histogram": ((8, 1, 1), [words(50), bytes(64), 50]),
    "queens": ((6, 1, 1), [bytes(4), 6]),
    "choose": ((30, 1, 1), [words(30), bytes(120), 30]),
    "bytes": ((8, 1, 1), [words(8), words(8), bytes(32), 8]),
    "life": ((5, 4, 1), [words(20), bytes(80), 5, 4]),
}


def image(kernel: ast.Function, args: list[bytes | int]) -> tuple[Memory, bytes]:
    """Arrays in memory, and the parameter buffer."""
    memory, buffer = Memory(), bytearray()
    for layout, arg in zip(ptx_params(kernel), args, strict=True):
        value = memory.append(layout.name, arg, gap=256).start if isinstance(arg, bytes) else arg
        buffer = buffer.ljust(layout.offset, b"\0") + value.to_bytes(layout.size, "little")
    return memory, bytes(buffer)


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize("name", LAUNCHES)
def test_all_stages_agree_with_the_ptx_interpreter(name: str, frontend: str) -> None:
    file = f"kernels.{frontend}.ptx"
    module = parse((GOLDEN / "ssa-kernels" / file).read_text(), file)
    block, args = LAUNCHES[name]
    want, params = image(find_kernel(module, name), args)
    run_ptx(module, Launch(block=block), params, want, kernel=name)
    for stage in STAGES:
        (function,) = compile_ptx_to(stage, module, name, Options(check_changed=True)).functions
        got, params = image(find_kernel(module, name), args)
        run_ssa(function, Launch(block=block), params, got, observe=check_uniform)
        for region in want.regions:
            assert got[region.name].data == region.data, f"{stage}: {region.name}"

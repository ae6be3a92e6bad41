"""Every lowered instruction against the PTX interpreter, on numbers where things go wrong, at the first and last SSA stage."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import pytest

from qgc.backends.ssa.lower import LOWERINGS
from qgc.ir.launch import Launch, Memory
from qgc.ir.ptx.interpret import run as run_ptx
from qgc.ir.ptx.parse import parse
from qgc.ir.ssa.interpret import run as run_ssa
from qgc.ir.ssa.verify import verify
from qgc.passes.pipelines import compile_ptx_to

EDGES = [
    0,
    1,
    2,
    3,
    5,
    31,
    32,
    33,
    64,
    255,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFE,
    0xFFFFFFFF,
]
THREADS, WORDS = 40, 8

HEADER = """.version 7.8
.target sm_75
.address_size 32
.const .align 4 .u32 table[2] = {0x01020304, 0x89ABCDEF};
.visible .entry k(.param .u32 src, .param .u32 dst, .param .u64 wide, .param .align 4 .b8 bytes[8])
{
 .reg .pred %p<10>;
 .reg .b16 %h<10>;
 .reg .b32 %r<10>;
 .reg .b32 %a<10>;
 .reg .b64 %d<10>;
 .shared .align 8 .b8 scratch[4096];
 .local .align 8 .b8 depot[16];
 ld.param.u32 %a1, [src];
 ld.param.u32 %a2, [dst];
 mov.u32 %a3, %tid.x;
 shl.b32 %a4, %a3, 5;
 add.u32 %a1, %a1, %a4;
 add.u32 %a2, %a2, %a4;
 ld.global.u32 %r1, [%a1];
 ld.global.u32 %r2, [%a1+4];
 ld.global.u32 %r3, [%a1+8];
 ld.global.u32 %r4, [%a1+12];
 ld.global.u64 %d1, [%a1+16];
 ld.global.u64 %d2, [%a1+24];
 cvt.u16.u32 %h1, %r1;
 cvt.u16.u32 %h2, %r2;
 cvt.u16.u32 %h3, %r3;
 and.b32 %r5, %r1, 1;
 setp.ne.u32 %p1, %r5, 0;
 setp.lt.s32 %p2, %r2, %r3;
 mov.u32 %r9, 77;
"""
FOOTER = """
 selp.u32 %r5, 1, 0, %p9;
 selp.u32 %r6, 1, 0, %p8;
 shl.b32 %r6, %r6, 1;
 or.b32 %r5, %r5, %r6;
 cvt.u32.u16 %r6, %h9;
 shl.b32 %r6, %r6, 16;
 or.b32 %r5, %r5, %r6;
 st.global.u32 [%a2], %r9;
 st.global.u32 [%a2+4], %r5;
 st.global.u64 [%a2+8], %d9;
 st.global.u32 [%a2+28], %r8;
 ret;
}
"""


def expand(line: str) -> list[str]:
    """Every choice of the <a|b> in a line."""
    parts = re.split(r"<([^>]*)>", line)
    return [
        "".join(words)
        for words in itertools.product(
            *(part.split("|") if i % 2 else [part] for i, part in enumerate(parts))
        )
    ]


LINES = [
    line
    for line in (Path(__file__).parent / "instructions.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def rows() -> list[list[int]]:
    """One row of words for each thread: edges mostly, and random words."""
    rng = random.Random(7)
    return [
        [rng.choice(EDGES) if rng.random() < 0.75 else rng.getrandbits(32) for _ in range(WORDS)]
        for _ in range(THREADS)
    ]


PARAMS = b"".join(
    v.to_bytes(4, "little") for v in (0x1000, 0x8000, 0x89ABCDEF, 0x01234567, 0x807F0180, 0xFEDC8001)
)


def memory() -> Memory:
    result = Memory()
    data = b"".join(w.to_bytes(4, "little") for row in rows() for w in row)
    result.map("src", 0x1000, data)
    result.map("dst", 0x8000, bytes(len(data)))
    return result


@pytest.mark.parametrize("line", LINES)
def test_instruction(line: str) -> None:
    launch = Launch(block=(THREADS, 1, 1))
    for instruction in expand(line):
        module = parse(HEADER + instruction + FOOTER, "k.ptx")
        want = memory()
        run_ptx(module, launch, PARAMS, want)
        for stage in ("ir", "ir-div"):
            lowered = compile_ptx_to(stage, module)
            verify(lowered, stage)
            got = memory()
            run_ssa(lowered.functions[0], launch, PARAMS, got)
            for region in ("src", "dst"):
                assert got[region].data == want[region].data, f"{instruction} at {stage}: {region}"


def test_every_lowering_has_a_line() -> None:
    text = " ".join(LINES)
    words = set(re.findall(r"[a-z][a-z0-9]*", text))
    assert {op for op in LOWERINGS if op not in words} == {
        "ldu",
        "cvta",
        "barrier",
        "prefetch",
        "prefetchu",
        "nanosleep",
    }

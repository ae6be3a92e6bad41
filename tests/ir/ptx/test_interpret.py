"""Threads, memory, branches, barriers and warp operations of the reference interpreter."""

from __future__ import annotations

import re

import numpy as np
import pytest

from qgc.diagnostics import QgcError
from qgc.ir.launch import Launch, Memory
from qgc.ir.ptx.interpret import run
from qgc.ir.ptx.ops import OPS
from qgc.ir.ptx.parse import parse
from qgc.ir.ptx.semantics import SEMANTICS
from tests.helpers.ptx import kernel_text, launch, results, run_text, store

TID = "mov.u32 r30, %tid.x; mad.wide.u32 d30, r30, 8, d31;\n"
"""r30 = the thread's number, d30 = the address of its result."""


def per_thread(body: str, threads: int, before: str = "", **options: object) -> list[int]:
    """Run `body` in a block; each thread leaves its result in r0."""
    text = kernel_text(TID + body + "\nst.global.u32 [d30], r0;", before)
    return run_text(text, threads, threads, **options)


def fault(body: str, threads: int = 1, before: str = "", words: int = 4, **options: object) -> QgcError:
    with pytest.raises(QgcError) as caught:
        run_text(kernel_text(TID + body, before), threads, words, **options)
    return caught.value


# Registers and addresses


def test_every_row_is_executed_by_something() -> None:
    """Rows are computed, or move data, or are control, or act on other threads: none is left out."""
    moves = {"ld", "ldu", "st", "prefetch", "prefetchu", "cvta", "isspacep"}
    control = {"bra", "brx", "ret", "exit", "trap"}
    others = {
        "bar",
        "barrier",
        "membar",
        "fence",
        "nanosleep",
        "shfl",
        "vote",
        "match",
        "redux",
        "activemask",
    }
    elsewhere = moves | control | others
    assert [spec.name for spec in OPS if spec.name not in SEMANTICS and spec.opcode not in elsewhere] == []


def test_narrow_loads_extend_by_the_type_and_stores_take_the_low_bits() -> None:
    body = """
    mov.b64 d0, 0xfedcba9876543280; st.global.b64 [d31+8], d0;
    ld.global.s8 r0, [d31+8]; ld.global.u8 r1, [d31+8]; ld.global.s16 d1, [d31+12]; ld.global.b32 d2, [d31+12];
    st.global.u8 [d31+8], r0; st.global.u16 [d31+10], d0;
    ld.global.u64 d3, [d31+8];
    """
    text = kernel_text(
        body + store("r0", "d31").splitlines()[0] + "\nst.global.u64 [d31+8], d3;\n"
        "st.global.u32 [d31+16], r1; st.global.u64 [d31+24], d1; st.global.u64 [d31+32], d2;"
    )
    assert run_text(text, words=5) == [0xFFFFFF80, 0xFEDCBA9832803280, 0x80, 0xFFFFFFFFFFFFBA98, 0xFEDCBA98]


def test_vectors_pack_unpack_and_move() -> None:
    body = """
    .reg .v2 .b32 pair;
    mov.b64 d0, 0x0123456789abcdef; mov.b64 {r0, r1}, d0; mov.b64 d1, {r1, r0};
    mov.b64 {h0, h1, h2, h3}, d0; mov.b32 r2, {h3, h0};
    mov.v2.u32 pair, %ntid; add.u32 r3, pair.x, pair.y;
    """
    assert results(body, "r0", "r1", "d1", "r2", "r3") == [
        0x89ABCDEF,
        0x1234567,
        0x89ABCDEF01234567,
        0xCDEF0123,
        2,
    ]


def test_vector_memory() -> None:
    body = "mov.u32 r0, 1; mov.u32 r1, 2; st.global.v4.u32 [d31+16], {r0, r1, r0, 7};\n"
    body += "ld.global.v2.u64 {d0, _}, [d31+16]; ld.global.v2.u8 {r2, h3}, [d31+20]; st.global.u64 [d31], d0;"
    assert run_text(kernel_text(body), words=4) == [0x2_0000_0001, 0, 0x2_0000_0001, 0x7_0000_0001]


def test_a_guarded_instruction_leaves_its_destination() -> None:
    assert per_thread(
        "mov.u32 r0, 5; setp.lt.u32 p1, r30, 2; @p1 mov.u32 r0, 9; @!p1 add.u32 r0, r0, 1;", 4
    ) == [9, 9, 6, 6]


def test_a_predicated_off_access_cannot_fault() -> None:
    assert per_thread("mov.u32 r0, 1; setp.eq.u32 p1, r30, 7; @p1 ld.global.u32 r0, [d30+4096];", 2) == [1, 1]


def test_three_dimensional_indices() -> None:
    body = "mov.u32 r1, %tid.z; mov.u32 r2, %ctaid.y; mov.u32 r3, %nctaid.y; mov.u32 r4, %ntid.z; mov.u32 r5, %tid.y;"
    body += """
    mov.u32 r6, %ctaid.x; mov.u32 r7, %tid.x;
    mad.lo.u32 r8, r2, 2, r6; mad.lo.u32 r8, r8, 2, r1; mad.lo.u32 r8, r8, 3, r5; mad.lo.u32 r8, r8, 2, r7;
    mad.wide.u32 d0, r8, 8, d31; st.global.u32 [d0], r8; st.global.u32 [d0+4], r4;
    """
    module = parse(kernel_text(body))
    out = launch(module, {"out": np.zeros(96, np.uint32)}, grid=(2, 2, 1), block=(2, 3, 2))["out"]
    assert out[::2].tolist() == list(range(48))
    assert out[1::2].tolist() == [2] * 48


def test_special_registers_of_the_warp() -> None:
    body = "mov.u32 r1, %laneid; mov.u32 r2, %warpid; mov.u32 r3, %lanemask_lt; mov.u32 r4, %lanemask_ge;"
    body += "add.u32 r0, r3, r4; mad.lo.u32 r0, r2, 100, r0; add.u32 r0, r0, r1;"
    assert per_thread(body, 34)[31:] == [(0xFFFFFFFF + 31) & 0xFFFFFFFF, 0xFFFFFFFF + 100 & 0xFFFFFFFF, 100]


# Variables


def test_initialised_variables_and_pointers() -> None:
    before = """
    .const .align 4 .b8 bytes[8] = {1, 0, 0, 0, 2};
    .global .u32 table[2][2] = {{10}, {20, 30}};
    .global .u64 pointer = generic(table)+8;
    .const .u64 inside = generic(bytes)+4;
    .global .b8 low = 0xFF(table);
    """
    body = """
    ld.const.u32 r0, [bytes+4]; ld.global.u64 d0, [pointer]; ld.u32 r1, [d0]; ld.const.u64 d1, [inside]; ld.u32 r2, [d1];
    ld.global.u8 r3, [low]; mov.u64 d2, table; cvt.u32.u64 r4, d2; and.b32 r4, r4, 255; sub.u32 r3, r3, r4;
    ld.global.u32 r5, table[1]; mov.u32 r6, 2; ld.global.u32 r7, table[r6];
    """
    text = kernel_text(body + store("r0", "r1", "r2", "r3", "r5", "r7"), before)
    assert run_text(text, words=6) == [2, 30, 2, 0, 20, 30]


def test_global_variables_keep_their_values_between_launches() -> None:
    module = parse(
        kernel_text(
            "ld.global.u32 r0, [count]; add.u32 r0, r0, 1; st.global.u32 [count], r0;",
            ".global .u32 count = 5;",
        )
    )
    memory = Memory()
    out = memory.append("out", bytes(8))
    for _ in range(3):
        run(module, Launch(), out.start.to_bytes(8, "little"), memory)
    assert int.from_bytes(memory["count"].data, "little") == 8
    memory["count"].data[:] = bytes(4)
    run(module, Launch(), out.start.to_bytes(8, "little"), memory)
    assert int.from_bytes(memory["count"].data, "little") == 1


def test_shared_memory_belongs_to_the_block() -> None:
    body = """
    mov.u32 r1, %ctaid.x; shl.b32 r2, r30, 2; mov.u32 r3, kept; add.u32 r2, r2, r3;
    ld.shared.u32 r9, [r2]; add.u32 r9, r9, r30; st.shared.u32 [r2], r9; bar.sync 0;
    sub.u32 r4, 12, r2; ld.shared.u32 r0, [r4+0]; mad.lo.u32 r0, r1, 10, r0;
    mad.wide.u32 d30, r1, 32, d30;
    """
    text = kernel_text(TID + body + "st.global.u32 [d30], r0;", ".shared .u32 kept[4];")
    out = launch(parse(text), {"out": np.zeros(8, np.uint64)}, grid=(2, 1, 1), block=(4, 1, 1))["out"]
    assert out.tolist() == [3, 2, 1, 0, 13, 12, 11, 10]


def test_dynamic_shared_arrays_start_at_one_place_after_the_static_ones() -> None:
    before = ".extern .shared .align 8 .b8 first[]; .shared .u32 kept[3]; .extern .shared .u32 second[];"
    body = "mov.u32 r0, first; mov.u32 r1, second; mov.u32 r2, kept; mov.u32 r3, %dynamic_smem_size;"
    body += "st.shared.u32 [first+4], 7; ld.shared.u32 r4, [second+4];"
    text = kernel_text(body + store("r0", "r1", "r2", "r3", "r4"), before)
    assert run_text(text, words=5, dynamic_shared=8) == [16, 16, 0, 8, 7]
    with pytest.raises(QgcError, match="memory-bounds"):
        run_text(text, words=5, dynamic_shared=4)


def test_local_memory_belongs_to_the_thread_and_has_generic_addresses() -> None:
    body = """
    .local .align 8 .b8 own[16];
    mov.u64 d0, own; cvta.local.u64 d1, d0; st.u32 [d1+8], r30; st.local.u32 [own+4], 100; bar.sync 0;
    ld.local.u32 r1, [d0+8]; cvta.to.local.u64 d2, d1; ld.local.u32 r2, [d2+4]; add.u32 r0, r1, r2;
    isspacep.local p1, d1; isspacep.global p2, d31; @!p1 mov.u32 r0, 0; @!p2 mov.u32 r0, 0;
    """
    assert per_thread(body, 3) == [100, 101, 102]


def test_generic_accesses_reach_every_space_at_once() -> None:
    body = """
    mov.u64 d0, kept; cvta.shared.u64 d0, d0; setp.eq.u32 p1, r30, 1; add.u64 d1, d31, 32; selp.b64 d2, d0, d1, p1;
    add.u32 r1, r30, 50; st.u32 [d2], r1; ld.u32 r0, [d2]; bar.sync 0; @!p1 ld.shared.u32 r0, [kept];
    """
    text = kernel_text(TID + body + "st.global.u32 [d30], r0;", ".shared .u32 kept;")
    assert run_text(text, 2, 5) == [51, 51, 0, 0, 50]


def test_parameters_may_be_structs_and_are_read_in_pieces() -> None:
    text = kernel_text(
        "ld.param.u32 r0, [record+12]; ld.param.u16 r1, [small]; ld.param.u32 r2, [out];\n"
        + store("r0", "r1")
    )
    text = text.replace(
        ".param .u64 out)", ".param .u64 out, .param .u16 small, .param .align 8 .b8 record[16])"
    )
    memory = Memory()
    out = memory.append("out", bytes(16), gap=256)
    record = bytes(range(16))
    params = out.start.to_bytes(8, "little") + (0x1234).to_bytes(2, "little") + bytes(6) + record
    run(parse(text), Launch(), params, memory)
    assert np.frombuffer(out.data, np.uint64).tolist() == [0x0F0E0D0C, 0x1234]
    with pytest.raises(QgcError, match="takes 32 parameter bytes, got 8"):
        run(parse(text), Launch(), params[:8], memory)


# Atomics


@pytest.mark.parametrize(
    ("code", "start", "end"),
    [
        ("add.u32 r0, [d31+64], r1", 5, 5 + 1 + 2 + 3 + 4),
        ("min.s32 r0, [d31+64], r2", 0, 0xFFFFFFFD),
        ("max.u32 r0, [d31+64], r2", 0, 0xFFFFFFFF),
        ("and.b32 r0, [d31+64], r1", 7, 0),
        ("or.b32 r0, [d31+64], r1", 8, 15),
        ("xor.b32 r0, [d31+64], r1", 0, 1 ^ 2 ^ 3 ^ 4),
        ("exch.b32 r0, [d31+64], r1", 9, 4),
        ("inc.u32 r0, [d31+64], 2", 1, 2),
        ("dec.u32 r0, [d31+64], 2", 1, 0),
        ("cas.b32 r0, [d31+64], r30, r1", 0, 4),
    ],
)
def test_atomics_take_turns(code: str, start: int, end: int) -> None:
    """Threads 0 to 3 add 1 to 4 (r2: minus the thread's number) to one word, in order; each sees the word before."""
    setup = f"add.u32 r1, r30, 1; sub.u32 r2, 0, r30; setp.eq.u32 p1, r30, 0; @p1 st.global.u32 [d31+64], {start};"
    text = kernel_text(TID + setup + f"bar.sync 0; atom.global.{code};\nst.global.u32 [d30], r0;")
    out = run_text(text, 4, 9)
    assert out[8] == end
    assert out[0] == start
    space = re.sub(r" r0,", "", code)
    if not code.startswith(("cas", "exch")):
        assert run_text(kernel_text(TID + setup + f"bar.sync 0; red.{space};"), 4, 9)[8] == end


def test_atomic_dec_and_64_bit() -> None:
    body = "st.global.u64 [d31+8], 0; atom.global.dec.u32 r0, [d31+8], 9; ld.global.u32 r1, [d31+8];"
    body += (
        "atom.global.add.u64 d1, [d31+8], -9; atom.global.exch.b64 _, [d31+8], d1; ld.global.u64 d2, [d31+8];"
    )
    body += "atom.global.min.s64 d3, [d31+8], -5; ld.global.u64 d4, [d31+8];"
    assert results(body, "r1", "d1", "d2", "d3", "d4")[0::2] == [9, 9, 2**64 - 5]


def test_atomics_on_shared_memory_count_the_block() -> None:
    body = "atom.shared.add.u32 r1, [kept], 1; bar.sync 0; ld.shared.u32 r0, [kept];"
    assert per_thread(body, 70, ".shared .u32 kept;") == [70] * 70


# Control


def test_divergent_loops_reconverge() -> None:
    """After the loop all lanes are together again: activemask sees the whole block."""
    body = """
    mov.u32 r1, 0;
again:
    setp.ge.u32 p1, r1, r30; @p1 bra done; add.u32 r1, r1, 1; bra.uni again;
done:
    activemask.b32 r2; popc.b32 r2, r2; mad.lo.u32 r0, r1, 100, r2;
    """
    assert per_thread(body, 5) == [100 * thread + 5 for thread in range(5)]


def test_branch_tables() -> None:
    body = """
    mov.u32 r0, 0;
list: .branchtargets a, b, c;
    brx.idx r30, list;
a:  add.u32 r0, r0, 1;
b:  add.u32 r0, r0, 10; bra.uni end;
c:  mov.u32 r0, 7;
end:
    """
    assert per_thread(body, 3) == [11, 10, 7]
    error = fault(body, threads=4)
    assert "launch-branch" in str(error) and "thread (3, 0, 0)" in str(error)


def test_a_lock_between_lanes_of_one_warp_makes_progress() -> None:
    """The lanes that spin stand at a lower address than the one that holds the lock."""
    body = """
again:
    atom.shared.cas.b32 r1, [lock], 0, 1; setp.ne.u32 p1, r1, 0; @p1 bra again;
    ld.shared.u32 r2, [count]; add.u32 r0, r2, 1; st.shared.u32 [count], r0;
    atom.shared.exch.b32 r3, [lock], 0;
    """
    assert sorted(per_thread(body, 8, ".shared .u32 lock; .shared .u32 count;")) == list(range(1, 9))


def test_a_return_before_a_barrier_is_legal() -> None:
    body = "setp.ge.u32 p1, r30, 3; @p1 ret; st.global.u32 [d30], 1; bar.sync 0; ld.global.u32 r0, [d31]; add.u32 r0, r0, r30;"
    assert per_thread(body, 5) == [1, 2, 3, 0, 0]


def test_counted_barriers_and_arrivals() -> None:
    """Warp 0 waits at barrier 1 for 64 threads; warp 1 stores, arrives, and does not wait."""
    body = """
    setp.lt.u32 p1, r30, 32; @p1 bra consumer;
    st.shared.u32 [kept], 9; bar.arrive 1, 64; mov.u32 r0, 1; bra end;
consumer:
    bar.sync 1, 64; ld.shared.u32 r0, [kept];
end:
    """
    assert per_thread(body, 64, ".shared .u32 kept;") == [9] * 32 + [1] * 32


def test_barriers_that_reduce() -> None:
    body = "setp.lt.u32 p1, r30, 3; bar.red.popc.u32 r1, 0, p1; bar.red.and.pred p2, 0, p1; bar.red.or.pred p3, 0, !p1;"
    body += "selp.b32 r2, 10, 0, p2; selp.b32 r3, 100, 0, p3; add.u32 r0, r1, r2; add.u32 r0, r0, r3;"
    assert per_thread(body, 40) == [103] * 40
    assert per_thread(body, 2) == [12] * 2


# Warp operations


def shuffle(mode: str, threads: int, b: str, width: int = 32) -> list[tuple[int, int]]:
    clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
    body = f"add.u32 r1, r30, 1000; shfl.sync.{mode}.b32 r2|p1, r1, {b}, {clamp}, -1;\n"
    body += "selp.b32 r3, 1, 0, p1; mad.lo.u32 r0, r3, 100000, r2;"
    return [divmod(word, 100000) for word in per_thread(body, threads)]


@pytest.mark.parametrize("width", [32, 8, 4])
def test_shuffles(width: int) -> None:
    def model(mode: str, amount: int) -> list[tuple[int, int]]:
        out = []
        for lane in range(32):
            base = lane - lane % width
            wanted = {
                "up": lane - amount,
                "down": lane + amount,
                "bfly": lane ^ amount,
                "idx": base + amount % width,
            }[mode]
            is_valid = wanted >= base if mode == "up" else wanted < base + width
            if mode == "bfly":
                is_valid = wanted <= base + width - 1
            out.append((int(is_valid), 1000 + (wanted if is_valid else lane)))
        return out

    for mode in ("up", "down", "bfly", "idx"):
        for amount in (0, 1, 5, 17):
            assert shuffle(mode, 32, str(amount), width) == model(mode, amount), (mode, amount)


def test_shuffle_in_a_partial_warp_and_by_a_varying_lane() -> None:
    assert [value for _ok, value in shuffle("idx", 3, "r30")] == [1000, 1001, 1002]
    assert [value for _ok, value in shuffle("down", 3, "1")] == [1001, 1002, 1002]


def test_votes_and_matches() -> None:
    body = """
    setp.lt.u32 p1, r30, 3; and.b32 r5, r30, 1;
    vote.sync.ballot.b32 r1, p1, -1; vote.sync.any.pred p2, p1, -1; vote.sync.all.pred p3, p1, -1;
    vote.sync.uni.pred p4, p1, -1; match.any.sync.b32 r2, r5, -1; match.all.sync.b32 r3|p5, r5, -1;
    mov.u32 r0, r1; @p2 or.b32 r0, r0, 0x100; @p3 or.b32 r0, r0, 0x200; @p4 or.b32 r0, r0, 0x400;
    @p5 or.b32 r0, r0, 0x800; shl.b32 r2, r2, 16; or.b32 r0, r0, r2; or.b32 r0, r0, r3;
    """
    even, odd = 0b10101 << 16, 0b01010 << 16
    assert per_thread(body, 5) == [0x107 | (odd if thread % 2 else even) for thread in range(5)]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.s32", -8),
        ("add.u32", -8),
        ("min.s32", -5),
        ("min.u32", 1),
        ("max.s32", 1),
        ("max.u32", -1),
        ("and.b32", -5 & -3 & -1 & 1),
        ("or.b32", -1),
        ("xor.b32", -5 ^ -3 ^ -1 ^ 1),
    ],
)
def test_reductions(operation: str, expected: int) -> None:
    """-5, -3, -1 and 1; the fifth thread is not in the mask, and reduces by itself."""
    body = f"""
    shl.b32 r1, r30, 1; sub.s32 r1, r1, 5; setp.lt.u32 p1, r30, 4;
    @p1 redux.sync.{operation} r0, r1, 0xf; @!p1 redux.sync.{operation} r0, r1, 0x10;
    """
    assert per_thread(body, 5) == [expected & 0xFFFFFFFF] * 4 + [3]


def test_warp_operations_wait_for_the_members_that_diverged() -> None:
    body = """
    mov.u32 r1, r30; setp.eq.u32 p1, r30, 0; @p1 bra slow;
    shfl.sync.idx.b32 r0, r1, 0, 31, 0xe; bra end;
slow:
    mov.u32 r0, 77; bar.warp.sync 1;
end:
    bar.warp.sync 0xf; vote.sync.ballot.b32 r2, p1, 0xf; add.u32 r0, r0, r2;
    """
    assert per_thread(body, 4) == [78, 2, 3, 4]


# Faults


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (
            "mov.u32 r0, 1;\nst.global.u32 [d30+32], r0;",
            "memory-bounds",
            [
                "thread (0, 0, 0) of block (0, 0, 0)",
                "stores 4 bytes",
                "0 bytes past the end of out (32 bytes)",
            ],
        ),
        ("ld.global.u64 d0, [d31+20];", "memory-align", ["loads 8 bytes", "no multiple of 8"]),
        ("ld.global.u64 d0, [d31+1048576];", "memory-bounds", ["past the end of out"]),
        ("mov.u64 d0, 0; ld.u32 r0, [d0];", "memory-bounds", ["0x0, before everything in .global memory"]),
        ("ld.shared.u32 r0, [d31];", "memory-bounds", [".shared"]),
        ("trap;", "launch-trap", ["executed trap"]),
        ("setp.eq.u32 p1, r30, 0; bar.warp.sync 2;", "launch-membermask", ["not in its own membermask 0x2"]),
        ("mov.u32 r0, %envreg3;", "ptx-unsupported", ["%envreg3"]),
    ],
)
def test_faults_name_the_thread_the_address_and_the_line(body: str, code: str, words: list[str]) -> None:
    (diagnostic,) = fault(body).diagnostics
    assert diagnostic.code == code
    assert diagnostic.span is not None and diagnostic.span.line == 10 + body.count("\n")
    for word in words:
        assert word in diagnostic.message, diagnostic.message


def test_the_first_thread_at_fault_is_named() -> None:
    error = fault("st.global.u64 [d30], d31;", threads=6)
    assert "thread (4, 0, 0)" in str(error)


def test_a_launch_that_never_ends_runs_out_of_budget() -> None:
    error = fault("again: bra again;", budget=1000)
    assert "launch-budget" in str(error) and "1000 instructions" in str(error)


def test_the_count_of_instructions_is_that_of_the_threads() -> None:
    memory = Memory()
    out = memory.append("out", bytes(64))
    module = parse(kernel_text("mov.u32 r0, 1;"))
    assert run(module, Launch((2, 1, 1), (5, 1, 1)), out.start.to_bytes(8, "little"), memory) == 2 * 5 * 3


@pytest.mark.parametrize(
    "body",
    [
        "setp.eq.u32 p1, r30, 0; @p1 bar.sync 1; @!p1 bar.sync 2;",
        "setp.eq.u32 p1, r30, 0; @p1 bar.warp.sync 3; @!p1 bar.sync 0;",
        "bar.sync 1, 64;",
    ],
)
def test_deadlocks_are_reported(body: str) -> None:
    assert "launch-deadlock" in str(fault(body, threads=2))

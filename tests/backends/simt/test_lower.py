"""What the back end makes of single SSA features, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qgc.backends.simt.lower import lower
from qgc.diagnostics import QgcError
from qgc.ir.machine.config import MachineConfig, preset
from qgc.ir.machine.program import Program
from qgc.ir.machine.text import to_text
from qgc.ir.ssa.text import parse
from qgc.ir.ssa.verify import verify
from qgc.passes.ssa.uniformity import Uniformity
from qgc.runtime.isa import Run, run_isa
from qgc.runtime.launch import link

SIMT4 = preset("simt4")
PARAMS = 'param 0: u32 ptr "a"\nparam 4: u32 ptr "b"\nparam 8: u32 "n"\n'
USES = "  %a: i32 = param 0\n  %b: i32 = param 4\n  %n: i32 = param 8\n  %t: i32 = sreg.tid.x\n"
STORE = "  %s: i32 = shl %t, 2\n  %q: i32 = add %b, %s\n  store.global.b32 %q, %v\n  ret\n"


def compile_text(body: str, config: MachineConfig = SIMT4) -> Program:
    """A kernel of parameters a, b (arrays) and n; `body` starts in its entry block."""
    module = parse(f'kernel k from "k.ptx" {{\n{PARAMS}\nentry:\n{USES}{body}}}\n', "k.ir")
    Uniformity().run(module.functions[0])
    verify(module, "ir-div")
    return lower(module.functions[0], config)


def blocks_text(program: Program) -> str:
    """The blocks alone, without source locations."""
    lines = to_text(program).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("block"))
    return "\n".join(line.split(" @")[0] for line in lines[start:])


def ints(*values: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)


def run(program: Program, threads: int, *args: Any) -> Run:
    return run_isa(link(program, (1, 1, 1), (threads, 1, 1), args))


def refused(body: str, config: MachineConfig = SIMT4) -> tuple[str, str]:
    with pytest.raises(QgcError) as caught:
        compile_text(body, config)
    fault = caught.value.diagnostics[0]
    assert fault.span is not None
    return fault.code, f"{fault.message} {fault.hint or ''}"


# Addresses -----------------------------------------------------------------------------------------------------------


def test_base_index_and_offset_are_one_operand_pair() -> None:
    program = compile_text(
        "  %s: i32 = shl %t, 2\n  %p: i32 = add %a, %s\n  %p8: i32 = add %p, 8\n  %x: i32 = load.global.b32 %p8\n"
        "  %q: i32 = add %b, %s\n  store.global.b32 %q, %x\n  ret\n"
    )
    assert (
        blocks_text(program)
        == "block 0:\n  0: ldx tid, k0\n  1: nop\n  2: nop\n  3: stx tid, k1 <- f0\n  branch exit"
    )
    assert program.consts == ("param a + 8", "param b")
    assert run(program, 2, ints(1, 2, 3, 4), ints(0, 0), 0).arrays["b"].tolist() == [3, 4]


def test_an_index_with_an_offset_is_scaled_with_it() -> None:
    program = compile_text(
        "  %i: i32 = add %t, -1\n  %s: i32 = shl %i, 2\n  %p: i32 = add %a, %s\n  %v: i32 = load.global.b32 %p\n"
        + STORE.replace("%s", "%z")
    )
    assert program.consts == ("param a - 4", "param b")


def test_two_parameters_do_not_meet_in_one_operation() -> None:
    program = compile_text(
        "  %s: i32 = shl %n, 2\n  %p: i32 = add %a, %s\n  %v: i32 = load.global.b32 %p\n"
        + STORE.replace("%s", "%z")
    )
    assert run(program, 1, ints(5, 6, 7), ints(0), 2).arrays["b"].tolist() == [7]


def test_pointers_are_found_by_their_use() -> None:
    program = compile_text("  %v: i32 = load.global.b32 %n\n" + STORE)
    assert [(p.name, p.is_pointer) for p in program.params] == [("a", True), ("b", True), ("n", True)]


def test_a_multiple_of_four_is_added_in_one_operation() -> None:
    program = compile_text("  %s4: i32 = shl %t, 2\n  %v: i32 = add %s4, %n\n" + STORE)
    assert "addx tid, k0" in blocks_text(program)
    assert run(program, 3, ints(0), ints(0, 0, 0), 100).arrays["b"].tolist() == [100, 104, 108]


def test_loads_do_not_pass_stores_that_may_alias() -> None:
    body = (
        "  %s: i32 = shl %t, 2\n  %q: i32 = add %b, %s\n  store.global.b32 %q, %n\n  %p: i32 = add %a, %s\n"
        "  %x: i32 = load.global.b32 %p\n  %y: i32 = add %x, 1\n  store.global.b32 %q, %y\n  ret\n"
    )
    program = compile_text(body)
    assert len(program.blocks) == 2
    both = ints(5, 6)
    assert run(program, 2, both, both, 40).arrays["b"].tolist() == [41, 41]


def test_loads_pass_stores_to_other_words() -> None:
    body = (
        "  %s: i32 = shl %t, 2\n  %q: i32 = add %b, %s\n  %x: i32 = load.global.b32 %q\n  store.global.b32 %q, %n\n"
        "  %q4: i32 = add %q, 64\n  %y: i32 = load.global.b32 %q4\n  %z: i32 = add %x, %y\n"
        "  %q8: i32 = add %q, 128\n  store.global.b32 %q8, %z\n  ret\n"
    )
    program = compile_text(body)
    assert len(program.blocks) == 2
    assert blocks_text(program).count("ldx") == 2


# Constants and conditions --------------------------------------------------------------------------------------------


def test_equal_constants_share_a_row_and_zero_needs_none() -> None:
    program = compile_text(
        "  %x: i32 = add %t, 7\n  %y: i32 = xor %x, 7\n  %c: i1 = icmp.eq %y, 0\n  %v: i32 = zext %c\n"
        + STORE
    )
    assert program.consts == (7, "param b")
    assert "seteq f1, r0" in blocks_text(program)


def test_the_second_of_two_constants_comes_through_a_stage() -> None:
    program = compile_text("  %c: i1 = icmp.lt.s %t, %n\n  %v: i32 = select %c, 5, 6\n" + STORE)
    assert run(program, 4, ints(0), ints(0, 0, 0, 0), 2).arrays["b"].tolist() == [5, 5, 6, 6]


def test_negations_become_negated_guards() -> None:
    program = compile_text(
        "  %c: i1 = icmp.lt.s %t, %n\n  %d: i1 = xor %c, 1:i1\n  %v: i32 = select %d, %t, 0\n" + STORE
    )
    assert "sel tid, r0 if !f0" in blocks_text(program)


def test_a_negation_that_is_a_value_is_computed() -> None:
    program = compile_text(
        "  %c: i1 = icmp.lt.s %t, %n\n  %d: i1 = xor %c, 1:i1\n  %v: i32 = zext %d\n" + STORE
    )
    assert run(program, 3, ints(0), ints(9, 9, 9), 1).arrays["b"].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("compare", "bit", "guard"),
    [("ne", 0, "if f0"), ("eq", 1, "if f0"), ("eq", 0, "if !f0"), ("ne", 1, "if !f0")],
)
def test_a_test_of_the_lowest_bit_is_that_bit(compare: str, bit: int, guard: str) -> None:
    program = compile_text(
        f"  %x: i32 = add %t, %n\n  %m: i32 = and %x, 1\n  %c: i1 = icmp.{compare} %m, {bit}\n"
        "  %v: i32 = select %c, %x, 0\n" + STORE
    )
    assert f"sel f0, r0 {guard}" in blocks_text(program)


@pytest.mark.parametrize(
    ("compare", "want"),
    [
        ("icmp.lt.s %x, 1", [1, 1, 0, 0]),
        ("icmp.ge.s %x, 1", [0, 0, 1, 1]),
        ("icmp.lt.u %x, 1", [0, 1, 0, 0]),
        ("icmp.ge.u %x, 1", [1, 0, 1, 1]),
        ("icmp.lt.s -1, %x", [0, 1, 1, 1]),
        ("icmp.ge.s -1, %x", [1, 0, 0, 0]),
        ("icmp.lt.s %x, -1", [0, 0, 0, 0]),
    ],
)
def test_comparisons_with_one_are_comparisons_with_zero(compare: str, want: list[int]) -> None:
    program = compile_text(f"  %x: i32 = sub %t, %n\n  %c: i1 = {compare}\n  %v: i32 = zext %c\n" + STORE)
    assert run(program, 4, ints(0), ints(0, 0, 0, 0), 1).arrays["b"].tolist() == want


def test_block_index_times_size_is_a_launch_constant() -> None:
    body = (
        "  %c: i32 = sreg.ctaid.x\n  %z: i32 = sreg.ntid.x\n  %m: i32 = mul %c, %z\n  %i: i32 = add %m, %t\n"
        "  %s: i32 = shl %i, 2\n  %q: i32 = add %b, %s\n  store.global.b32 %q, %i\n  ret\n"
    )
    program = compile_text(body)
    assert (
        blocks_text(program)
        == "block 0:\n  0: add k0, tid\n  1: nop\n  2: nop\n  3: stx f0, k1 <- f0\n  branch exit"
    )
    grid = run_isa(link(program, (3, 1, 1), (2, 1, 1), (ints(0), ints(*[0] * 6), 0)))
    assert grid.arrays["b"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("block", [(4, 4, 1), (3, 2, 1), (5, 3, 2), (1, 7, 3), (32, 1, 1)])
def test_coordinates_of_the_thread(block: tuple[int, int, int]) -> None:
    body = (
        "  %y: i32 = sreg.tid.y\n  %z: i32 = sreg.tid.z\n  %w: i32 = sreg.ntid.x\n  %h: i32 = sreg.ntid.y\n"
        "  %y8: i32 = shl %y, 8\n  %z16: i32 = shl %z, 16\n  %xy: i32 = add %t, %y8\n  %v: i32 = add %xy, %z16\n"
        "  %zh: i32 = mul %z, %h\n  %r: i32 = add %zh, %y\n  %rw: i32 = mul %r, %w\n  %l: i32 = add %rw, %t\n"
        "  %s: i32 = shl %l, 2\n  %q: i32 = add %b, %s\n  store.global.b32 %q, %v\n  ret\n"
    )
    threads = block[0] * block[1] * block[2]
    launch = link(compile_text(body), (1, 1, 1), block, (ints(0), ints(*[-1] * threads), 0))
    want = [
        x + (y << 8) + (z << 16) for z in range(block[2]) for y in range(block[1]) for x in range(block[0])
    ]
    assert run_isa(launch).arrays["b"].tolist() == want


def test_lane_and_warp() -> None:
    program = compile_text("  %l: i32 = sreg.laneid\n  %w: i32 = sreg.warpid\n  %h: i32 = shl %w, 8\n  %v: i32 = add %l, %h\n" + STORE,
                           replace(SIMT4, groups=16))  # fmt: skip
    assert run(program, 34, ints(0), np.zeros(34, np.int32), 0).arrays["b"].tolist()[30:] == [
        30,
        31,
        256,
        257,
    ]


@pytest.mark.parametrize(("guard", "want"), [(0, [0, 0]), (1, [8, 9])])
def test_guards_that_are_constant(guard: int, want: list[int]) -> None:
    program = compile_text(
        f"  %s4: i32 = shl %t, 2\n  %p: i32 = add %a, %s4\n  %v: i32 = load.global.b32 %p if {guard}:i1\n"
        + STORE
    )
    assert run(program, 2, ints(8, 9), ints(5, 5), 0).arrays["b"].tolist() == want
    stored = compile_text(STORE.replace("%v\n  ret", f"7 if {guard}:i1\n  ret"))
    assert run(stored, 1, ints(0), ints(5), 0).arrays["b"].tolist() == [7 if guard else 5]
    atomic = compile_text(f"  %v: i32 = atomic.global.add.b32 %a, 3 if {guard}:i1\n" + STORE)
    arrays = run(atomic, 1, ints(4), ints(5), 0).arrays
    assert (arrays["a"].tolist(), arrays["b"].tolist()) == (([7], [4]) if guard else ([4], [0]))


@pytest.mark.parametrize("bit", [0, 1])
def test_choices_that_are_constant(bit: int) -> None:
    program = compile_text(f"  %v: i32 = select {bit}:i1, %t, %n\n" + STORE)
    assert run(program, 1, ints(0), ints(5), 9).arrays["b"].tolist() == [0 if bit else 9]
    branched = compile_text(f"  cbr {bit}:i1, yes, no\nyes:\n  store.global.b32 %b, 1\n  ret\nno:\n  ret\n")
    assert run(branched, 1, ints(0), ints(5), 9).arrays["b"].tolist() == [1 if bit else 5]


# Atomics -------------------------------------------------------------------------------------------------------------

RMW = {
    "add": [7 + 0, 7 + 0 + 1, 7 + 0 + 1 + 2],
    "xor": [7, 7 ^ 1, 7 ^ 1 ^ 2],
    "or": [7, 7, 7],
    "and": [0, 0, 0],
    "exch": [0, 1, 2],
    "smin": [0, 0, 0],
    "smax": [7, 7, 7],
    "umin": [0, 0, 0],
    "umax": [7, 7, 7],
}
"""For threads 0 to 2 with operand tid, on a word that holds 7: the word after each."""


@pytest.mark.parametrize("rmw", RMW)
def test_atomic_with_and_without_result(rmw: str) -> None:
    with_result = compile_text(f"  %v: i32 = atomic.global.{rmw}.b32 %a, %t\n" + STORE)
    arrays = run(with_result, 3, ints(7), ints(-1, -1, -1), 0).arrays
    assert arrays["b"].tolist() == [7, *RMW[rmw][:2]]
    assert arrays["a"].tolist() == [RMW[rmw][2]]
    without = compile_text(f"  atomic.global.{rmw}.b32 %a, %t\n  ret\n")
    assert run(without, 3, ints(7), ints(0), 0).arrays["a"].tolist() == [RMW[rmw][2]]
    assert any(block.serial for block in without.blocks) == (rmw not in ("exch", "add"))


@pytest.mark.parametrize("threads", [1, 3, 4, 7])
def test_lanes_that_add_to_one_word_add_their_sum(threads: int) -> None:
    """One turn a group: its sum, one load and one store, whichever lanes run."""
    program = compile_text(
        "  %c: i1 = icmp.ne.s %t, 1\n  cbr %c, add, out\nadd:\n  atomic.global.add.b32 %a, %t\n  br out\nout:\n  ret\n".replace(
            "icmp.ne.s", "icmp.ne"
        )
    )
    assert not any(block.serial for block in program.blocks)
    result = run(program, threads, ints(100), ints(0), 0)
    assert result.arrays["a"].tolist() == [100 + sum(t for t in range(threads) if t != 1)]
    assert sum(t.kind == "adr" for t in result.answers) == -(-threads // 4)


def test_lanes_that_add_to_words_of_their_own_take_turns() -> None:
    program = compile_text(
        "  %s: i32 = shl %t, 2\n  %q: i32 = add %b, %s\n  atomic.global.add.b32 %q, %t\n  ret\n"
    )
    assert any(block.serial for block in program.blocks)
    assert run(program, 3, ints(0), ints(5, 5, 5), 0).arrays["b"].tolist() == [5, 6, 7]


def test_atomic_at_an_address_of_each_lane() -> None:
    """A histogram: the bin is loaded in the serial block itself."""
    program = compile_text(
        "  %s: i32 = shl %t, 2\n  %p: i32 = add %a, %s\n  %x: i32 = load.global.b32 %p\n  %xs: i32 = shl %x, 2\n"
        "  %q: i32 = add %b, %xs\n  atomic.global.add.b32 %q, 1\n  ret\n"
    )
    assert len(program.blocks) == 1
    assert program.blocks[0].serial
    result = run(program, 6, ints(2, 0, 2, 1, 2, 0), ints(0, 0, 0), 0)
    assert result.arrays["b"].tolist() == [2, 1, 3]


def test_compare_and_swap() -> None:
    program = compile_text("  %v: i32 = cas.global.b32 %a, 1, %n\n" + STORE)
    arrays = run(program, 3, ints(1), ints(0, 0, 0), 50).arrays
    assert (arrays["a"].tolist(), arrays["b"].tolist()) == ([50], [1, 50, 50])


def test_a_guarded_atomic_is_branched_around() -> None:
    program = compile_text(
        "  %c: i1 = icmp.lt.s %t, %n\n  %v: i32 = atomic.global.add.b32 %a, 1 if %c\n" + STORE
    )
    result = run(program, 4, ints(10), ints(-1, -1, -1, -1), 2)
    assert (result.arrays["a"].tolist(), result.arrays["b"].tolist()) == ([12], [10, 11, 0, 0])
    assert sum(t.kind == "exec" for t in result.answers) == 1 + 2 + 1


def test_an_atomic_at_the_end_of_a_loop_keeps_lanes_together() -> None:
    """All lanes finish a round before any begins the next: the serial block does not branch back itself."""
    program = compile_text(
        "  br loop\nloop:\n  %i: i32 = phi entry: 0, loop: %i1\n  %i1: i32 = add %i, 1\n  %c: i1 = icmp.lt.s %i1, %n\n"
        "  atomic.global.xor.b32 %a, %i1\n  cbr %c, latch, out\nlatch:\n  br loop\nout:\n  ret\n".replace(
            "loop: %i1", "latch: %i1"
        )
    )
    result = run(program, 4, ints(5), ints(0), 3)
    assert result.arrays["a"].tolist() == [5]
    masks = [t.payload & 15 for t in result.answers if t.kind == "exec"]
    assert masks.count(15) == 1 + 3 + 3 + 2


# Loops and phis ------------------------------------------------------------------------------------------------------

LOOP = (
    "  br loop\nloop:\n  %i: i32 = phi entry: 0, latch: %i1\n  %x: i32 = phi entry: 0, latch: %{x}\n"
    "  %y: i32 = phi entry: 1, latch: %{y}\n  %z: i32 = add %x, %y\n  %i1: i32 = add %i, 1\n"
    "  %c: i1 = icmp.lt.s %i1, %n\n  cbr %c, latch, out\nlatch:\n  br loop\nout:\n  %v: i32 = shl %{v}, %t\n"
)


def loop(x: str, y: str, v: str) -> Program:
    return compile_text(LOOP.replace("{x}", x).replace("{y}", y).replace("{v}", v) + STORE)


@pytest.mark.parametrize(("n", "value"), [(1, 1), (2, 2), (6, 13)])
def test_values_that_shift_along(n: int, value: int) -> None:
    """Fibonacci: x takes y's old value."""
    assert run(loop("y", "z", "z"), 2, ints(0), ints(0, 0), n).arrays["b"].tolist() == [value, 2 * value]


@pytest.mark.parametrize(("n", "value"), [(1, 0), (2, 1), (3, 0), (8, 1)])
def test_values_that_change_places(n: int, value: int) -> None:
    """A swap: each register takes the other's old value."""
    assert run(loop("y", "x", "x"), 1, ints(0), ints(0), n).arrays["b"].tolist() == [value]


def test_an_old_value_that_is_needed_after_the_loop() -> None:
    """The phi's value, not its successor, leaves the loop."""
    assert run(loop("z", "y", "x"), 1, ints(0), ints(0), 5).arrays["b"].tolist() == [4]


def test_a_loop_on_its_counter_is_one_block() -> None:
    program = compile_text(
        "  br loop\nloop:\n  %i: i32 = phi entry: 0, latch: %i1\n  %v: i32 = phi entry: 0, latch: %v1\n"
        "  %s: i32 = shl %i, 2\n  %p: i32 = add %a, %s\n  %x: i32 = load.global.b32 %p\n  %v1: i32 = add %v, %x\n"
        "  %i1: i32 = add %i, 1\n  %c: i1 = icmp.lt.s %i1, %n\n  cbr %c, latch, out\nlatch:\n  br loop\nout:\n"
        "  %s2: i32 = shl %t, 2\n  %q: i32 = add %b, %s2\n  store.global.b32 %q, %v1\n  ret\n"
    )
    assert len(program.blocks) == 3
    result = run(program, 1, ints(3, 4, 5), ints(0), 3)
    assert result.arrays["b"].tolist() == [12]
    assert sum(t.kind == "exec" for t in result.answers) == 1 + 3 + 1


def test_copies_before_a_loop_are_hoisted_over_its_guard() -> None:
    program = compile_text(
        "  %e: i1 = icmp.lt.s %n, 1\n  cbr %e, skip, start\nskip:\n  br out\nstart:\n  br loop\n"
        "loop:\n  %i: i32 = phi start: 0, latch: %i1\n  %x: i32 = phi start: 0, latch: %x1\n  %x1: i32 = add %x, %i\n"
        "  %i1: i32 = add %i, 1\n  %c: i1 = icmp.lt.s %i1, %n\n  cbr %c, latch, leave\nlatch:\n  br loop\n"
        "leave:\n  br out\nout:\n  %v: i32 = phi skip: 0, leave: %x1\n" + STORE
    )
    assert len(program.blocks) == 3
    for n in (0, 1, 5):
        assert run(program, 1, ints(0), ints(9), n).arrays["b"].tolist() == [n * (n - 1) // 2]


@pytest.mark.parametrize(
    ("kind", "mask"),
    [
        ("eq", lambda lane: 1 << lane),
        ("lt", lambda lane: (1 << lane) - 1),
        ("le", lambda lane: (2 << lane) - 1),
        ("gt", lambda lane: -2 << lane),
        ("ge", lambda lane: -1 << lane),
    ],
)
def test_lane_masks(kind: str, mask: Callable[[int], int]) -> None:
    body = f"  %x: i32 = sreg.lanemask_{kind}\n" + STORE.replace("%v", "%x")
    found = run(compile_text(body), 32, ints(0), ints(*[0] * 32), 0).arrays["b"]
    assert found.view(np.uint32).tolist() == [mask(lane) & 0xFFFFFFFF for lane in range(32)]


def test_a_barrier_and_shared_memory() -> None:
    """Every thread reads what its neighbour in another group has written before the barrier."""
    body = (
        "  %at: i32 = shl %t, 2\n  store.shared.b32 %at, %t\n  barrier 0\n  %o: i32 = xor %at, 16\n"
        "  %x: i32 = load.shared.b32 %o\n" + STORE.replace("%v", "%x")
    )
    launch = link(compile_text(body), (1, 1, 1), (8, 1, 1), (ints(0), ints(*[0] * 8), 0), shared=32)
    assert run_isa(launch).arrays["b"].tolist() == [4, 5, 6, 7, 0, 1, 2, 3]


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code", "part"),
    [
        ("  %x: i32 = load.local.b32 %t\n" + STORE.replace("%v", "%x"), "simt-space", "local"),
        ("  %x: i32 = atomic.global.inc.b32 %a, %t\n" + STORE.replace("%v", "%x"), "simt-op", "inc"),
    ],
)
def test_what_the_machine_cannot_do_is_refused_at_its_place(body: str, code: str, part: str) -> None:
    found, message = refused(body)
    assert found == code
    assert part in message


def test_parts_of_words_are_refused() -> None:
    text = 'kernel k from "k" {\nparam 0: u32 "a"\nparam 4: b8[8] "s"\nentry:\n  %a: i32 = param 0\n'
    module = parse(
        text + "  %x: i32 = load.global.u8 %a\n  %y: i32 = param 8\n  store.global.b32 %x, %y\n  ret\n}\n",
        "k.ir",
    )
    with pytest.raises(QgcError) as caught:
        lower(module.functions[0], SIMT4)
    messages = [(d.code, d.message) for d in caught.value.diagnostics]
    assert messages == [
        ("simt-type", "`load` of u8; the machine accesses whole words"),
        ("simt-param", "no parameter starts at byte 8"),
    ]


def test_64_bit_values_are_refused() -> None:
    module = parse(
        'kernel k from "k" {\nparam 0: u64 "a"\nentry:\n  %x: i64 = param 0\n  %y: i64 = add %x, 1:i64\n  ret\n}\n',
        "k.ir",
    )
    with pytest.raises(QgcError) as caught:
        lower(module.functions[0], SIMT4)
    assert [d.code for d in caught.value.diagnostics] == ["simt-type", "simt-type"]


def test_a_machine_without_multiplier_refuses_products() -> None:
    config = replace(SIMT4, multiply_stages=())
    code, message = refused("  %v: i32 = mul %t, %n\n" + STORE, config)
    assert (code, "no multiplier" in message) == ("simt-multiply", True)
    assert refused("  %v: i32 = sreg.tid.y\n" + STORE, config)[0] == "simt-multiply"


def test_an_atomic_that_does_not_fit_the_stages_is_refused() -> None:
    code, message = refused(
        "  atomic.global.add.b32 %a, %t\n  ret\n", replace(SIMT4, stages=2, multiply_stages=())
    )
    assert code == "simt-op"
    assert "does not fit 2 stages" in message


def test_too_many_live_values_are_spilled_or_refused_with_the_numbers() -> None:
    loads = "".join(
        f"  %p{i}: i32 = add %a, {4 * i}\n  %x{i}: i32 = load.global.b32 %p{i}\n" for i in range(20)
    )
    stores = "".join(
        f"  %q{i}: i32 = add %b, {4 * i}\n  store.global.b32 %q{i}, %x{19 - i}\n" for i in range(20)
    )
    body = loads + "  store.global.b32 %a, %n\n" + stores + "  ret\n"
    program = compile_text(body, replace(SIMT4, name="large", blocks=256))
    assert any(".spill" in str(row) for row in program.consts)
    found = run(program, 1, ints(*range(100, 120)), ints(*[0] * 20), 7).arrays
    assert found["b"].tolist() == [*range(119, 99, -1)]


def test_what_spilling_does_not_help_is_refused_with_the_numbers() -> None:
    """Two words have to be in registers at once where a block has one operation."""
    body = "  %x: i32 = load.global.b32 %a\n  %y: i32 = load.global.b32 %b\n  %v: i32 = xor %x, %y\n" + STORE
    config = replace(SIMT4, name="tiny", registers=2, stages=1, multiply_stages=())
    code, message = refused(body, config)
    assert code == "simt-registers"
    assert "1 registers" in message


def test_a_program_too_large_is_refused_with_the_numbers() -> None:
    adds = "".join(f"  %y{i}: i32 = mul %{'t' if i == 0 else f'y{i - 1}'}, %n\n" for i in range(40))
    with pytest.raises(QgcError, match=r"blocks-rom.*needs \d+ blocks, the ROM of small has 8"):
        compile_text(adds + STORE.replace("%v", "%y39"), replace(SIMT4, name="small", blocks=8))

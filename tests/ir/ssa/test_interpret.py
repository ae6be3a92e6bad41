"""The SSA interpreter: order of threads, barriers, spaces, and how it refuses what a kernel does wrong."""

from __future__ import annotations

from typing import Any

import pytest

from qgc.diagnostics import QgcError
from qgc.ir.launch import Launch, Memory
from qgc.ir.ssa.interpret import run
from qgc.ir.ssa.text import parse
from qgc.ir.ssa.verify import verify


def execute(
    body: str, launch: Launch, words: int = 8, params: bytes = b"", head: str = "", **options: Any
) -> list[int]:
    """Run a kernel on `words` zero words at address 0 and return them."""
    module = parse(f'kernel k from "k.ptx" {{\n{head}\nentry:\n{body}\n}}\n', "k.ir")
    verify(module)
    memory = Memory()
    memory.map("data", 0, bytes(4 * words))
    run(module.functions[0], launch, params, memory, **options)
    data = memory["data"].data
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def refused(code: str, *args: object, **options: object) -> str:
    with pytest.raises(QgcError) as caught:
        execute(*args, **options)  # type: ignore[arg-type]
    (fault,) = caught.value.diagnostics
    assert fault.code == code
    assert fault.hint or code == "launch-params"
    return fault.render()


FOUR = Launch(block=(4, 1, 1))
AT = " %t: i32 = sreg.tid.x\n %at: i32 = shl %t, 2\n"


def test_threads_run_in_order_and_atomics_see_each_other() -> None:
    body = AT + " %old: i32 = atomic.global.add.b32 28, %t\n store.global.b32 %at, %old\n ret"
    assert execute(body, FOUR) == [0, 0, 1, 3, 0, 0, 0, 6]


def test_blocks_of_the_grid_run_one_after_another() -> None:
    body = " %c: i32 = sreg.ctaid.y\n %old: i32 = atomic.global.add.b32 28, 1\n %a: i32 = shl %c, 2\n store.global.b32 %a, %old\n ret"
    assert execute(body, Launch(grid=(1, 3, 1)))[:3] == [0, 1, 2]


def test_a_guard_that_is_off_touches_nothing_and_reads_zero() -> None:
    body = AT + (
        " %p: i1 = icmp.eq %t, 1\n %x: i32 = load.global.b32 1000000 if 0:i1\n %y: i32 = add %x, 7\n"
        " store.global.b32 %at, %y if %p\n ret"
    )
    assert execute(body, FOUR)[:4] == [0, 7, 0, 0]


def test_threads_wait_at_a_barrier_for_all_that_have_not_ended() -> None:
    body = AT + (
        " %gone: i1 = icmp.eq %t, 0\n cbr %gone, out, stay\nout:\n ret\nstay:\n %late: i1 = icmp.eq %t, 3\n"
        " cbr %late, slow, wait\nslow:\n store.shared.b32 0, 9\n br wait\nwait:\n barrier 0\n"
        " %x: i32 = load.shared.b32 0\n store.global.b32 %at, %x\n ret"
    )
    assert execute(body, FOUR, head='shared 0: 4 "s"')[:4] == [0, 9, 9, 9]


def test_lanes_leave_a_loop_at_different_times() -> None:
    body = AT + (
        " br loop\nloop:\n %i: i32 = phi entry: 0, loop: %j\n %s: i32 = phi entry: 0, loop: %r\n %j: i32 = add %i, 1\n"
        " %r: i32 = add %s, %j\n %p: i1 = icmp.lt.u %i, %t\n cbr %p, loop, end\nend:\n store.global.b32 %at, %r\n ret"
    )
    assert execute(body, FOUR)[:4] == [1, 3, 6, 10]


def test_phis_of_a_block_are_read_at_once() -> None:
    body = (
        " br loop\nloop:\n %a: i32 = phi entry: 1, loop: %b\n %b: i32 = phi entry: 2, loop: %a\n %n: i32 = phi entry: 0, loop: %m\n"
        " %m: i32 = add %n, 1\n %p: i1 = icmp.lt.u %m, 4\n cbr %p, loop, end\nend:\n store.global.b32 0, %a\n"
        " store.global.b32 4, %b\n ret"
    )
    assert execute(body, Launch())[:2] == [2, 1]


def test_each_thread_has_its_own_local_memory_and_all_see_constants() -> None:
    body = AT + (
        " store.local.b32 0, %t\n %x: i32 = load.local.b32 0\n %c: i32 = load.const.s16 2\n %y: i32 = add %x, %c\n"
        " store.global.b32 %at, %y\n ret"
    )
    head = 'local 0: 4 "l"\nconst 0: 4 "c" = 0000ffff'
    assert execute(body, FOUR, head=head)[:4] == [0xFFFFFFFF, 0, 1, 2]


def test_dynamic_shared_memory_has_the_size_of_the_launch() -> None:
    body = " store.shared.b32 8, 5\n %x: i32 = load.shared.b32 8\n store.global.b32 0, %x\n ret"
    assert execute(body, Launch(), head='shared 0: 0 "dyn"', dynamic_shared=12)[0] == 5
    assert "past the end of dyn (8 bytes)" in refused(
        "memory-bounds", body, Launch(), head='shared 0: 0 "dyn"', dynamic_shared=8
    )


def test_parameters_are_read_little_endian() -> None:
    body = " %a: i32 = param 4\n store.global.b32 0, %a\n ret"
    assert (
        execute(body, Launch(), params=bytes([0, 0, 0, 0, 1, 2, 3, 4]), head='param 4: u32 "n"')[0]
        == 0x04030201
    )
    assert "takes 8 parameter bytes, got 3" in refused(
        "launch-params", body, Launch(), 8, b"abc", head='param 4: u32 "n"'
    )


def test_an_access_out_of_bounds_names_thread_line_and_array() -> None:
    body = AT + " %far: i32 = add %at, 20\n store.global.b32 %far, 1  @17\n ret"
    message = refused("memory-bounds", body, FOUR)
    assert message.startswith(
        "k.ptx:17:1: error[memory-bounds]: 4 bytes at address 0x20 are 0 bytes past the end of data"
    )
    assert "store by thread (3, 0, 0) of block (0, 0, 0)" in message


def test_a_misaligned_access_is_refused() -> None:
    assert "address 0x2 is not a multiple of the access's 4 bytes" in refused(
        "memory-align", " %x: i32 = load.global.b32 2\n store.global.b32 0, %x\n ret", Launch()
    )


def test_a_kernel_that_never_ends_is_stopped() -> None:
    message = refused("launch-budget", " br loop\nloop:\n br loop  @9", FOUR, budget=1000)
    assert message.startswith("k.ptx:9:1: error[launch-budget]: the launch did not end within 1000 ops")

"""Control flow, registers and variables of lowered kernels, and what is refused, with its place and a way out."""

from __future__ import annotations

import pytest

from qgc.backends.ssa import lower_module
from qgc.diagnostics import QgcError
from qgc.ir.launch import Launch, Memory
from qgc.ir.ptx.parse import parse
from qgc.ir.ssa.function import Function, Module
from qgc.ir.ssa.interpret import run
from qgc.ir.ssa.text import function_text
from qgc.ir.ssa.verify import verify
from qgc.passes.pipelines import compile_ptx_to

REGISTERS = ".reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %d<5>; .reg .f32 %f<5>;"


def module_of(body: str, before: str = "", params: str = ".param .u32 out", size: int = 32) -> Module:
    text = f".version 7.8\n.target sm_75\n.address_size {size}\n{before}\n.visible .entry k({params})\n{{\n{REGISTERS}\n{body}\n}}\n"
    module = lower_module(parse(text, "k.ptx"))
    verify(module)
    return module


def words_of(function: Function, threads: int = 4, count: int = 8) -> list[int]:
    """Run with `out` at address 0 and return what it holds."""
    memory = Memory()
    memory.map("out", 0, bytes(4 * count))
    run(function, Launch(block=(threads, 1, 1)), bytes(8), memory, dynamic_shared=64, budget=100_000)
    return [int.from_bytes(memory["out"].data[i : i + 4], "little") for i in range(0, 4 * count, 4)]


def result(body: str, **options: object) -> list[int]:
    """Run a body that leaves thread t's result in %r9, at every stage."""
    body = f"mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;\n{body}\nst.global.u32 [%r2], %r9; ret;"
    (function,) = module_of(body, **options).functions  # type: ignore[arg-type]
    return words_of(function)[:4]


def test_a_loop_that_starts_at_the_first_instruction() -> None:
    body = "L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 5; @%p1 bra L; mov.u32 %r2, 0; st.global.u32 [%r2], %r1; ret;"
    (function,) = module_of(body).functions
    assert [b.name for b in function.blocks][:2] == ["entry", "L"]
    assert words_of(function, threads=1)[0] == 5


def test_registers_start_at_zero_and_phis_stand_only_where_they_are_read() -> None:
    assert result(
        "setp.eq.u32 %p1, %r1, 0; @%p1 bra L; mov.u32 %r3, 5; mov.u32 %r4, 6; L: add.u32 %r9, %r3, 1;"
    ) == [1, 6, 6, 6]
    (function,) = module_of(
        "@%p1 bra L; mov.u32 %r3, 5; mov.u32 %r4, 6; L: st.global.u32 [%r1], %r3; ret;"
    ).functions
    assert len([op for op in function.ops() if op.name == "phi"]) == 1


def test_a_label_at_the_end_and_the_implicit_return() -> None:
    (function,) = module_of("setp.eq.u32 %p1, %r1, 0; @%p1 bra E; st.global.u32 [%r1], 7; E:").functions
    assert words_of(function, threads=1)[0] == 0


def test_code_that_nothing_reaches_is_dropped() -> None:
    (function,) = module_of("bra L; M: mov.u32 %r1, 5; bra M; L: ret;").functions
    assert "M" not in [b.name for b in function.blocks]


def test_scopes_hide_outer_names() -> None:
    assert result("mov.u32 %r9, 1; { .reg .u32 %r9; mov.u32 %r9, 100; L: } { L: add.u32 %r9, %r9, 1; }") == [
        2,
        2,
        2,
        2,
    ]


def test_a_branch_table() -> None:
    body = "T: .branchtargets A, B, C;\nbrx.idx %r1, T;\nA: mov.u32 %r9, 10; bra E; B: mov.u32 %r9, 20; bra E; C: mov.u32 %r9, 30; E:"
    assert result(body) == [10, 20, 30, 30]


def test_a_guarded_branch_table_and_a_guarded_barrier() -> None:
    body = (
        "T: .branchtargets A, B;\nsetp.lt.u32 %p1, %r1, 2; mov.u32 %r9, 5;\n@%p1 brx.idx %r1, T;\nbra E;\n"
        "A: mov.u32 %r9, 10; bra E; B: mov.u32 %r9, 20; E: @!%p1 bar.sync 0;"
    )
    assert result(body) == [10, 20, 5, 5]


def test_unified_and_guarded_exits() -> None:
    assert result("setp.gt.u32 %p1, %r1, 1; mov.u32 %r9, 3; @%p1 exit; mov.u32 %r9, 4;") == [4, 4, 0, 0]


def test_shared_variables_follow_one_another_and_dynamic_ones_come_last() -> None:
    before = ".extern .shared .align 16 .b8 dyn[];\n.extern .shared .align 4 .b8 also[];\n.shared .align 4 .b8 unused[512];"
    body = (
        ".shared .align 2 .b8 first[6]; .shared .align 8 .b8 second[8];\n"
        "mov.u32 %r3, first; mov.u32 %r4, second; mov.u32 %r5, dyn; mov.u32 %r6, also;\n"
        "mad.lo.u32 %r9, %r5, 1000, %r6; mad.lo.u32 %r9, %r9, 1000, %r4;"
    )
    (function,) = module_of(body + " ret;", before=before).functions
    assert [(s.name, s.address, s.size) for s in function.symbols] == [
        ("first", 0, 6),
        ("second", 8, 8),
        ("dyn", 16, 0),
    ]
    assert result(body, before=before)[0] == 16016008


def test_names_and_lines_survive() -> None:
    (function,) = module_of("add.u32 %r7, %r1, 5;\nst.global.u32 [%r7], 1; ret;").functions
    text = function_text(function)
    assert "%r7: i32 = add 0, 5  @8" in text
    assert "store.global.b32 %r7, 1  @9" in text


def test_the_wanted_kernel_alone_is_lowered() -> None:
    kernels = "".join(
        f".visible .entry {n}() {{ {c}; }}\n" for n, c in (("a", "ret"), ("b", "trap"), ("c", "ret"))
    )
    module = parse(f".version 7.8\n.target sm_75\n.address_size 32\n{kernels}", "k.ptx")
    assert [f.name for f in lower_module(module, "c").functions] == ["c"]
    assert [f.name for f in compile_ptx_to("ir-div", module, "a").functions] == ["a"]
    with pytest.raises(QgcError, match="trap is not supported"):
        lower_module(module)
    with pytest.raises(QgcError, match="kernel-missing"):
        lower_module(module, "d")


def test_a_module_without_kernels_is_refused() -> None:
    with pytest.raises(QgcError, match="kernel-missing"):
        lower_module(parse(".version 7.8\n.target sm_75\n.address_size 32\n", "k.ptx"))


REFUSED = [
    ("add.f32 %f1, %f2, %f3;", "add.f32", "integers"),
    ("fma.rn.f32 %f1, %f2, %f3, %f4;", "fma.rn.f32", "integers"),
    ("cvt.rn.f32.s32 %f1, %r1;", "cvt.rn.f32.s32", "integers"),
    ("match.any.sync.b64 %r1, %d1, -1;", "match.any.sync.b64", "halves"),
    ("bar.red.popc.u32 %r1, 0, 64, %p1;", "bar.red.popc.u32", "all threads"),
    ("bar.sync 0, 64;", "bar.sync", "__syncthreads"),
    ("bar.arrive 0, 64;", "bar.arrive", "__syncthreads"),
    ("trap;", "trap", "assert"),
    ("mov.u32 %r1, %clock;", "special register %clock", "tid.x"),
    ("atom.global.add.f32 %f1, [%r1], %f2;", "atom.global.add.f32", "integers"),
    ("call f, (%r1);", "call", "inline"),
    ("mov.u32 %r1, v;", "the address of v", "shared, local and constant"),
    ("cvta.shared.u32 %r1, %r2;", "cvta.shared.u32", "state spaces"),
    ("cvta.shared.u32 %r1, %r2; ld.u32 %r3, [%r1];", "cvta.shared.u32", "state spaces"),
    ("prmt.b32.f4e %r1, %r2, %r3, %r4;", "prmt.b32.f4e", "default mode"),
]


@pytest.mark.parametrize(("instruction", "what", "hint"), REFUSED)
def test_what_is_not_supported_says_so_at_its_place(instruction: str, what: str, hint: str) -> None:
    with pytest.raises(QgcError) as caught:
        module_of(instruction, before=".global .u32 v;")
    (fault,) = caught.value.diagnostics
    assert fault.code == "ptx-unsupported"
    assert fault.message == f"{what} is not supported"
    assert fault.hint is not None
    assert hint in fault.hint
    assert fault.span is not None
    assert (fault.span.file, fault.span.line) == ("k.ptx", 8)


def test_generic_accesses_are_global_where_the_kernel_makes_no_other_generic_address() -> None:
    body = "cvta.global.u32 %r3, %r2; st.u32 [%r3], 5; cvta.to.global.u32 %r4, %r3; ld.global.u32 %r9, [%r4];"
    assert result(body) == [5, 5, 5, 5]

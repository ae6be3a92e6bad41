"""The interpreter against plain Python: operations, serial blocks, divergence, groups, faults, stores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.ir.machine.config import PRESETS, preset
from qgc.ir.machine.interpreter import Access, Machine, run
from qgc.ir.machine.isa import MASK, OPS, Unit
from qgc.ir.machine.tokens import Token, Vocabulary
from qgc.ir.machine.verify import load
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import link
from tests.helpers.programs import WORDS, Case, multi_block_programs, single_block_programs

SIMT4 = preset("simt4")
U = np.uint32
I = np.int32

EXPECTED: dict[str, Callable[[int, int, int], int]] = {
    "nop": lambda a, b, g: 0,
    "add": lambda a, b, g: (a + b) % 2**32,
    "addx": lambda a, b, g: (a * 4 + b) % 2**32,
    "sub": lambda a, b, g: (a - b) % 2**32,
    "popc": lambda a, b, g: f"{a:b}".count("1"),
    "clz": lambda a, b, g: 32 - len(f"{a:b}".lstrip("0")),
    "and": lambda a, b, g: int(U(a) & U(b)),
    "or": lambda a, b, g: int(U(a) | U(b)),
    "xor": lambda a, b, g: int(U(a) ^ U(b)),
    "shl": lambda a, b, g: a * 2 ** min(b, 40) % 2**32,
    "shr": lambda a, b, g: a // 2 ** min(b, 40),
    "sar": lambda a, b, g: int(U(a).view(I)) // 2 ** min(b, 40) % 2**32,
    "sel": lambda a, b, g: [b, a][g],
    "seteq": lambda a, b, g: int(a == b),
    "setne": lambda a, b, g: int(a != b),
    "setlt": lambda a, b, g: int(U(a).view(I) < U(b).view(I)),
    "setge": lambda a, b, g: int(U(a).view(I) >= U(b).view(I)),
    "setltu": lambda a, b, g: int(a < b),
    "setgeu": lambda a, b, g: int(a >= b),
    "mul": lambda a, b, g: a * b % 2**32,
}
"""Operations on numpy words and Python numbers, written apart from the table."""


def machine_after(
    text: str, memory: dict[int, int] | None = None, threads: int = 4
) -> tuple[Machine, list[Token]]:
    """Load a program of `simt4` without parameters, fill memory words, run all threads to the end."""
    program = load("machine simt4\nkernel k\n" + text)
    launch = link(program, (1, 1, 1), (threads, 1, 1), ())
    *setup, warp = launch.prompts[0]
    data = [t for word, value in (memory or {}).items() for t in (Token("adr", word), *_scalar(value))]
    machine, generated, ended = run(SIMT4, [*data, *setup, warp], 2000)
    assert ended
    return machine, generated


def _scalar(value: int) -> list[Token]:
    kinds = ["mem_s", "more", "more"]
    return [Token(kind, value >> (12 * i) & 0xFFF) for i, kind in enumerate(kinds)]


def names(tokens: list[Token]) -> str:
    """Token names in one line."""
    vocabulary = Vocabulary(SIMT4)
    return " ".join(vocabulary.name(token)[1:-1] for token in tokens)


ONE_OPERATION = """\
const k0 = 0
const k1 = 4
const k2 = 8
block 0:
  0: ld k2, r0
  out r3 = f0
  branch 1
block 1:
  0: ld k0, r0
  1: ld k1, r0
  2: OP f0, f1
  3: or r0, r0
  out r1 = f2
  branch exit
"""


@pytest.mark.parametrize("op", EXPECTED)
@given(a=WORDS, b=st.one_of(WORDS, st.integers(0, 33)), g=st.integers(0, 1))
def test_operation(op: str, a: int, b: int, g: int) -> None:
    text = ONE_OPERATION.replace("OP f0, f1", f"{op} f0, f1{' if r3' if op == 'sel' else ''}")
    machine, _ = machine_after(text, {0: a, 1: b, 2: g}, threads=1)
    assert machine.registers[0][1][0] == EXPECTED[op](a, b, g)


def test_every_operation_without_memory_is_tested() -> None:
    own = [n for n, s in OPS.items() if s.unit in (Unit.ALU, Unit.MULTIPLY) and not s.combine]
    assert sorted(EXPECTED) == sorted(own)


@given(a=WORDS)
def test_a_reversal_stands_in_the_first_stage(a: int) -> None:
    machine, _ = machine_after(
        "const k0 = 0\nblock 0:\n  0: ld k0, r0\n  out r1 = f0\n  branch 1\n"
        "block 1:\n  0: brev r1, r0\n  out r1 = f0\n  branch exit\n",
        {0: a},
        threads=1,
    )
    assert f"{machine.registers[0][1][0]:032b}" == f"{a:032b}"[::-1]


def test_a_vote_has_a_bit_of_every_lane_that_runs() -> None:
    """Lane 2 does not take part; of the others, the odd ones vote yes."""
    machine, _ = machine_after(
        "const k0 = 2\nblock 0:\n  0: setne tid, k0\n  branch f0 ? 1 : exit\n"
        "block 1:\n  0: vote tid, r0\n  out r1 = f0\n  branch exit\n"
    )
    assert machine.registers[0][1] == [0b1010, 0b1010, 0, 0b1010]


def test_a_sum_is_over_the_lanes_that_run() -> None:
    """Lane 2 does not take part; the sum wraps."""
    program = load(
        "machine simt4\nkernel k\nparam out ptr\nconst k0 = param out\nconst k1 = 2147483645\nconst k2 = 2\nblock 0:\n"
        "  0: setne tid, k2\n  branch f0 ? 1 : exit\n"
        "block 1:\n  0: add tid, k1\n  branch 2\n  out r1 = f0\n"
        "block 2:\n  0: lsum r1, r0\n  2: or f0, r0\n  3: stx tid, k0 <- f2\n  branch exit\n".replace(
            "  2: or", "  1: nop\n  2: or"
        ).replace("  branch 2\n  out r1 = f0\n", "  out r1 = f0\n  branch 2\n")
    )
    out = np.zeros(4, dtype=np.uint32)
    arrays = run_isa(link(program, (1, 1, 1), (4, 1, 1), [out])).arrays
    total = sum(2147483645 + lane for lane in (0, 1, 3)) & MASK
    assert arrays["out"].tolist() == [total, total, 0, total]


@pytest.mark.parametrize("op", ["stl", "stlx"])
def test_the_lowest_lane_that_runs_stores_alone(op: str) -> None:
    program = load(
        "machine simt4\nkernel k\nparam out ptr\nconst k0 = param out\nblock 0:\n  0: setne tid, r0\n"
        "  branch f0 ? 1 : exit\nblock 1:\n  0: nop\n  1: nop\n  2: nop\n"
        f"  3: {op} r0, k0 <- tid\n  branch exit\n"
    )
    run = run_isa(link(program, (1, 1, 1), (4, 1, 1), [np.zeros(2, dtype=np.uint32)]))
    assert run.arrays["out"].tolist() == [1, 0]
    assert [t.kind for t in run.answers].count("adr") == 1


def test_loads_take_both_address_forms_and_their_guards() -> None:
    machine, _ = machine_after(
        "const k0 = 8\nblock 0:\n  0: ldx tid, k0\n  1: ld k0, r0\n  2: ldx tid, k0 if r0\n"
        "  out r1 = f0\n  out r2 = f1\n  out r3 = f2\n  branch exit\n",
        {2: 20, 3: 30, 4: 40, 5: 50},
    )
    assert machine.registers[0][1:4] == [[20, 30, 40, 50], [20] * 4, [0] * 4]


def test_operands_are_read_before_anything_is_written() -> None:
    machine, _ = machine_after(
        "const k0 = 7\nblock 0:\n  0: or tid, r0\n  1: or k0, r0\n  out r1 = f0\n  out r2 = f1\n  branch 1\n"
        "block 1:\n  0: or r1, r0\n  1: or r2, r0\n  out r1 = f1\n  out r2 = f0\n  branch exit\n"
    )
    assert machine.registers[0][1:3] == [[7] * 4, [0, 1, 2, 3]]


def test_a_result_of_an_empty_stage_is_zero() -> None:
    machine, generated = machine_after("block 0:\n  out r1 = f3\n  branch exit\n")
    assert names(generated) == "exec:m1111:b0 val_u:0 halt"
    assert machine.registers[0][1] == [0] * 4


def test_a_contiguous_store_is_one_vector() -> None:
    machine, generated = machine_after(
        "const k0 = 20\nblock 0:\n  0: addx tid, tid\n  1: nop\n  2: nop\n"
        "  3: stx tid, k0 <- f0\n  branch exit\n"
    )
    assert names(generated) == "exec:m1111:b0 adr_v:5 mem_v:0,-3,2,-1 more:240 halt"
    assert machine.memory[4:10] == [0, 0, 5, 10, 15, 0]


@pytest.mark.parametrize(
    ("threads", "index", "guard", "written"),
    [
        (4, "add tid, k1", "r0", [1, 2, 3, 4]),
        (1, "add tid, k1", "r0", [1]),
        (4, "xor tid, k1", "r0", [1, 0, 3, 2]),
        (4, "add tid, k1", "f1", [2, 4]),
        (4, "or k1, r0", "r0", [1]),
    ],
)
def test_stores_of_every_shape(threads: int, index: str, guard: str, written: list[int]) -> None:
    is_guarded = guard != "r0"
    machine, generated = machine_after(
        "const k0 = 0\nconst k1 = 1\nblock 0:\n"
        f"  0: {index}\n  1: and tid, k1\n  2: nop\n  3: stx f0, k0 <- tid{' if ' + guard if is_guarded else ''}\n"
        "  branch exit\n",
        {word: 99 for word in range(8)},
        threads,
    )
    assert [w for w in range(8) if machine.memory[w] != 99] == sorted(written)
    is_vector = written == list(range(written[0], written[0] + threads)) and threads > 1
    assert any(t.kind == "adr_v" for t in generated) == is_vector


def test_lanes_that_store_one_word_end_with_the_highest() -> None:
    machine, generated = machine_after(
        "const k0 = 12\nblock 0:\n  0: nop\n  1: nop\n  2: nop\n  3: st k0, r0 <- tid\n  branch exit\n"
    )
    assert names(generated).count("adr:3") == 4
    assert machine.memory[3] == 3


def test_a_vector_store_needs_lane_zero() -> None:
    """Lanes 1 to 3 store to words 0 to 2: no vector, whose first word would be -1."""
    machine, generated = machine_after(
        "const k0 = 1\nconst k1 = -4\nblock 0:\n  0: setlt tid, k0\n  branch f0 ? exit : 1\n"
        "block 1:\n  0: nop\n  1: nop\n  2: nop\n  3: stx tid, k1 <- tid\n  branch exit\n"
    )
    assert not any(t.kind == "adr_v" for t in generated)
    assert machine.memory[:4] == [1, 2, 3, 0]


def test_a_serial_block_runs_lane_by_lane() -> None:
    machine, generated = machine_after(
        "const k0 = 8\nblock 0 serial:\n  0: ld k0, r0\n  1: add f0, tid\n  2: nop\n  3: st k0, r0 <- f1\n"
        "  out r1 = f0\n  branch exit\n",
        {2: 100},
        6,
    )
    assert machine.memory[2] == 100 + 15
    assert machine.registers[0][1] == [100, 100, 101, 103]
    assert machine.registers[1][1][:2] == [106, 110]
    assert [t for t in names(generated).split() if t.startswith("exec")] == [
        "exec:m1111:b0", "exec:m1110:b0", "exec:m1100:b0", "exec:m1000:b0", "exec:m0011:b0", "exec:m0010:b0",
    ]  # fmt: skip


def test_lanes_part_and_meet_at_the_smallest_block() -> None:
    machine, generated = machine_after(
        "const k0 = 2\nblock 0:\n  0: setlt tid, k0\n  branch f0 ? 1 : 2\n"
        "block 1:\n  0: or k0, r0\n  out r1 = f0\n  branch 3\n"
        "block 2:\n  0: or tid, r0\n  out r1 = f0\n  branch 3\n"
        "block 3:\n  0: add r1, r1\n  out r2 = f0\n  branch exit\n"
    )
    assert names([t for t in generated if t.kind == "exec"]) == (
        "exec:m1111:b0 exec:m0011:b1 exec:m1100:b2 exec:m1111:b3"
    )
    assert machine.registers[0][1:3] == [[2, 2, 2, 3], [4, 4, 4, 6]]


def test_lanes_leave_a_loop_at_different_times() -> None:
    machine, _ = machine_after(
        "const k0 = 1\nblock 0:\n  0: add r1, k0\n  1: setlt f0, tid\n  out r1 = f0\n  branch f1 ? 0 : exit\n"
    )
    assert machine.registers[0][1] == [1, 1, 2, 3]


def test_groups_run_one_after_another() -> None:
    machine, generated = machine_after("block 0:\n  0: or tid, r0\n  out r1 = f0\n  branch exit\n", threads=6)
    assert names(generated) == (
        "exec:m1111:b0 val_v:0,1,2,3 warp:w1:none:b0 exec:m0011:b0 val_v:-4,-3,0,0 more:000 halt"
    )
    assert [group[1] for group in machine.registers[:2]] == [[0, 1, 2, 3], [4, 5, 0, 0]]


BARRIER = (
    "const k0 = 4\n"
    "block 0:\n  0: setltu tid, k0\n  out r1 = tid\n  branch f0 ? cta 2 : 1\n"
    "block 1:\n  0: or tid, r0\n  out r2 = f0\n  branch cta 2\n"
    "block 2:\n  0: add tid, tid\n  out r3 = f0\n  branch exit\n"
).replace("  out r1 = tid\n", "")


def test_lanes_wait_for_the_whole_block() -> None:
    """Group 0 waits at once, group 1 comes later; then both go on, and the launch ends."""
    _, generated = machine_after(BARRIER, threads=6)
    assert names(generated) == (
        "exec:m1111:b0 warp:w1:cta:b2 exec:m0011:b0 exec:m0011:b1 val_v:-4,-3,0,0 more:000 warp:w0:cta:b2 "
        "exec:m1111:b2 val_v:0,2,-4,-2 more:000 warp:w1:none:b0 exec:m0011:b2 val_v:0,2,0,0 more:009 halt"
    )


def test_a_lane_that_has_ended_holds_nobody_up() -> None:
    _, generated = machine_after(
        "const k0 = 4\nblock 0:\n  0: setltu tid, k0\n  branch f0 ? exit : cta 1\nblock 1:\n  branch exit\n",
        threads=6,
    )
    assert names(generated) == (
        "exec:m1111:b0 warp:w1:none:b0 exec:m0011:b0 warp:w0:cta:b1 warp:w1:none:b0 exec:m0011:b1 halt"
    )


def test_warps_go_on_before_thread_blocks() -> None:
    """Lane 0 waits for the thread block, lane 1 for its warp, at a higher block."""
    _, generated = machine_after(
        "block 0:\n  branch !r0 ? 1 : exit\nblock 1:\n  0: and tid, k0\n  branch f0 ? warp 3 : cta 2\n"
        "block 2:\n  branch exit\nblock 3:\n  branch exit\n".replace("block 0:", "const k0 = 1\nblock 0:", 1),
        threads=2,
    )
    assert names(generated).split()[2:] == [
        "warp:w0:warp:b3",
        "exec:m0010:b3",
        "warp:w0:cta:b2",
        "exec:m0001:b2",
        "halt",
    ]


def test_a_loop_waits_anew_in_every_round() -> None:
    """The lanes that have gone on wait at the same block again; they do not run through it."""
    _, generated = machine_after(
        "const k0 = 2\nblock 0:\n  branch cta 1\nblock 1:\n  0: add r1, k1\n  1: setltu f0, k0\n  out r1 = f0\n"
        "  branch f1 ? cta 1 : exit\n".replace("const k0 = 2\n", "const k0 = 2\nconst k1 = 1\n"),
        threads=6,
    )
    kinds = [name for name in names(generated).split() if name[:3] in ("exe", "war", "hal")]
    assert kinds == [
        "exec:m1111:b0", "warp:w1:cta:b1", "exec:m0011:b0", "warp:w0:cta:b1",
        "exec:m1111:b1", "warp:w1:cta:b1", "exec:m0011:b1", "warp:w0:cta:b1",
        "exec:m1111:b1", "warp:w1:none:b0", "exec:m0011:b1", "halt",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "access"),
    [
        ("  0: ldx tid, k0\n", Access(0, 0, 2, 512)),
        ("  0: nop\n  1: ld tid, k1\n", Access(0, 1, 1, 5)),
        ("  0: nop\n  1: nop\n  2: nop\n  3: stx tid, k0 <- tid\n", Access(0, 3, 2, 512)),
    ],
)
def test_a_fault_ends_the_run(code: str, access: Access) -> None:
    machine, generated = machine_after(f"const k0 = 504\nconst k1 = 4\nblock 0:\n{code}  branch exit\n")
    assert names(generated) == "exec:m1111:b0 fault"
    assert machine.fault == access


def test_a_guard_keeps_a_lane_from_a_fault() -> None:
    machine, generated = machine_after(
        "const k0 = 508\nconst k1 = 1\nblock 0:\n  0: setlt tid, k1\n  1: ldx tid, k0 if f0\n  branch exit\n"
    )
    assert names(generated) == "exec:m1111:b0 halt"
    assert machine.fault is None


def test_a_run_without_end_stops_at_its_budget() -> None:
    program = load("machine simt4\nkernel k\nblock 0:\n  branch 0\n")
    prompt = link(program, (1, 1, 1), (1, 1, 1), ()).prompts[0]
    _, generated, ended = run(SIMT4, prompt, 50)
    assert (len(generated), ended) == (50, False)


def test_code_can_be_written_over() -> None:
    """A ROM word that comes after its block has run counts from then on."""
    first = load("machine simt4\nkernel k\nblock 0:\n  0: or tid, r0\n  out r1 = f0\n  branch exit\n")
    second = load("machine simt4\nkernel k\nblock 0:\n  0: add tid, tid\n  out r1 = f0\n  branch exit\n")
    machine = Machine(SIMT4)
    for program in (first, second):
        answer = Token("halt")
        for token in link(program, (1, 1, 1), (4, 1, 1), ()).prompts[0]:
            answer = machine.feed(token)
        while answer.kind != "halt":
            answer = machine.feed(answer)
    assert machine.registers[0][1] == [0, 2, 4, 6]


@given(st.data())
def test_random_programs_end_and_repeat(data: st.DataObject) -> None:
    """Every answer is a token of the vocabulary, every program ends, and feeding the stream again predicts it."""
    config = preset(data.draw(st.sampled_from(list(PRESETS))))
    strategy = data.draw(st.sampled_from([single_block_programs, multi_block_programs]))
    case: Case = data.draw(strategy(config))
    prompt = case.launch().prompts[0]
    _, generated, ended = run(config, prompt, 5000)
    assert ended
    vocabulary = Vocabulary(config)
    assert [vocabulary.token(vocabulary.id(t)) for t in generated] == generated
    machine = Machine(config)
    predicted = [machine.feed(token) for token in [*prompt, *generated]]
    assert predicted[len(prompt) - 1 : -1] == generated

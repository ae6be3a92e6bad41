"""Linking: what is checked, what the prompts hold, what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qgc.diagnostics import QgcError
from qgc.ir.machine.config import preset
from qgc.ir.machine.interpreter import Machine
from qgc.ir.machine.program import Program
from qgc.ir.machine.rom import encode_block
from qgc.ir.machine.tokens import Token, Vocabulary
from qgc.ir.machine.verify import load
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import Launch, link, start_tokens

SCALE = load(
    "machine simt4\nkernel scale\nparam a ptr\nparam n int\nparam unused int\n"
    "const k0 = param a\nconst k1 = param n\n"
    "block 0:\n  0: ldx tid, k0\n  1: mul f0, k1\n  2: nop\n  3: stx tid, k0 <- f1\n  branch exit\n"
)
"""a[tid] *= n"""

PLACES = load(
    "machine simt4\nkernel places\nparam out ptr\n"
    + "".join(
        f"const k{i} = {symbol}\n"
        for i, symbol in enumerate(
            [
                "param out",
                "ctaid.x",
                "ctaid.y",
                "ntid.x",
                "nctaid.x",
                "ctaid.x*ntid.x",
                "nctaid.x*ntid.x",
                "4",
            ]
        )
    )
    + "block 0:\n  0: or k1, r0\n  1: or k2, r0\n  2: nop\n  out r1 = f0\n  out r2 = f1\n  branch 1\n".replace(
        "  2: nop\n", ""
    )
    + "block 1:\n  0: mul r2, k4\n  1: nop\n  2: add f0, r1\n  3: stx f2, k0 <- r1\n  branch exit\n"
)
"""out[ctaid.y * nctaid.x + ctaid.x] = ctaid.x"""


def ints(*values: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)


def launch(
    program: Program, block: tuple[int, int, int], *args: Any, grid: tuple[int, int, int] = (1, 1, 1)
) -> Launch:
    return link(program, grid, block, args)


def refused(code: str, program: Program, block: tuple[int, int, int], *args: Any, **more: Any) -> str:
    """The message and hint of a refused launch."""
    with pytest.raises(QgcError) as caught:
        launch(program, block, *args, **more)
    fault = caught.value.diagnostics[0]
    assert fault.code == code
    return f"{fault.message} {fault.hint or ''}"


def test_arrays_come_back_with_their_types_and_shapes() -> None:
    a = np.array([[1, -2], [3, 4]], dtype=np.int32)
    run = run_isa(launch(SCALE, (4, 1, 1), a, -3, 0))
    assert run.arrays["a"].tolist() == [[-3, 6], [-9, -12]]
    assert run.arrays["a"].dtype == np.int32
    assert a.tolist() == [[1, -2], [3, 4]]
    unsigned = run_isa(launch(SCALE, (1, 1, 1), np.array([2], np.uint32), np.int64(-1), 0)).arrays["a"]
    assert unsigned.tolist() == [0xFFFFFFFE]


def test_the_prompt_is_program_constants_memory_threads() -> None:
    tokens = launch(SCALE, (6, 1, 1), ints(0, 0, 0, 0, 0, 9), 3, 0).prompts[0]
    kinds = [t.kind for t in tokens if t.kind not in ("mem_s", "mem_v", "more")]
    assert kinds == ["rom"] * 5 + ["const", "adr", "start", "start", "warp"]
    machine = Machine(SCALE.config)
    for token in tokens:
        answer = machine.feed(token)
    assert machine.rom[0] == encode_block(SCALE.config, SCALE.blocks[0])
    assert machine.consts[:2] == [0, 3]
    assert answer == Token("exec", 0b1111)


def test_a_program_in_the_weights_is_left_out_of_the_prompt() -> None:
    whole = link(SCALE, (1, 1, 1), (1, 1, 1), (ints(1), 2, 0)).prompts[0]
    baked = link(SCALE, (1, 1, 1), (1, 1, 1), (ints(1), 2, 0), include_program=False).prompts[0]
    assert not any(t.kind == "rom" for t in baked)
    assert whole[-len(baked) :] == baked


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        (1, ["<start:w0:m0001>", "<warp:w0:none:b0>"]),
        (4, ["<start:w0:m1111>", "<warp:w0:none:b0>"]),
        (7, ["<start:w0:m1111>", "<start:w1:m0111>", "<warp:w0:none:b0>"]),
    ],
)
def test_threads(threads: int, expected: list[str]) -> None:
    config = preset("simt4")
    assert [Vocabulary(config).name(t) for t in start_tokens(config, threads)] == expected


def test_blocks_of_a_grid_follow_each_other_and_keep_memory() -> None:
    linked = launch(PLACES, (1, 1, 1), ints(*[9] * 7), grid=(3, 2, 1))
    assert len(linked.prompts) == 6
    assert run_isa(linked).arrays["out"].tolist() == [0, 1, 2, 0, 1, 2, 9]
    names = [[Vocabulary(linked.program.config).name(t) for t in prompt] for prompt in linked.prompts]
    assert names[1] == [
        "<const:1>",
        "<mem_s:1>",
        "<const:5>",
        "<mem_s:1>",
        "<start:w0:m0001>",
        "<warp:w0:none:b0>",
    ]
    assert "<mem_s:0>" in names[3]


def test_grid_stream_marks_what_was_generated() -> None:
    run = run_isa(launch(PLACES, (1, 1, 1), ints(0, 0), grid=(2, 1, 1)))
    kinds = [(t.kind, own) for t, own in zip(run.tokens, run.generated, strict=True)]
    assert kinds.count(("halt", True)) == 2
    assert kinds.count(("start", False)) == 2
    assert [t.kind for t in run.answers if t.kind == "exec"] == ["exec"] * 4


def test_launch_constants() -> None:
    bank = launch(PLACES, (3, 1, 1), ints(0), grid=(5, 2, 1)).prompts[0]
    machine = Machine(PLACES.config)
    for token in bank:
        machine.feed(token)
    assert machine.consts[:8] == [0, 0, 0, 3, 5, 0, 15, 4]


def test_wrong_number_of_arguments() -> None:
    assert "takes 3 arguments, got 1" in refused("launch-arguments", SCALE, (1, 1, 1), ints(1))
    assert "a, n, unused" in refused("launch-arguments", SCALE, (1, 1, 1))


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ((5, 1, 0), "argument a: the kernel takes an array"),
        ((ints(1), ints(1), 0), "argument n: the kernel takes a number"),
        ((np.zeros(2, np.float32), 1, 0), "an array of float32"),
        ((np.zeros(2, np.int64), 1, 0), "an array of int64"),
        ((np.zeros((2, 2), np.int32)[:, :1], 1, 0), "not contiguous"),
        ((ints(1), 1.5, 0), "float is neither"),
        ((ints(1), True, 0), "bool is neither"),
        ((ints(1), 1 << 32, 0), "does not fit"),
        ((ints(1), -(1 << 31) - 1, 0), "does not fit"),
    ],
)
def test_arguments_of_the_wrong_type(args: tuple[Any, ...], part: str) -> None:
    assert part in refused("launch-type", SCALE, (1, 1, 1), *args)


def test_all_wrong_arguments_are_reported() -> None:
    with pytest.raises(QgcError) as caught:
        launch(SCALE, (1, 1, 1), 1, ints(1), 0)
    assert len(caught.value.diagnostics) == 2


def test_a_parameter_that_is_never_read_takes_anything() -> None:
    assert run_isa(launch(SCALE, (1, 1, 1), ints(3), 2, ints(7, 7))).arrays["a"].tolist() == [6]


def test_too_many_threads_give_the_numbers() -> None:
    message = refused("launch-threads", SCALE, (33, 1, 1), ints(1), 1, 0)
    assert "33x1x1 = 33 threads; machine simt4 runs 32 (8 groups of 4 lanes)" in message


@pytest.mark.parametrize("dims", [(0, 1, 1), (1, -1, 1)])
def test_sizes_are_positive(dims: tuple[int, int, int]) -> None:
    assert "at least 1" in refused("launch-threads", SCALE, dims, ints(1), 1, 0)
    assert "at least 1" in refused("launch-threads", SCALE, (1, 1, 1), ints(1), 1, 0, grid=dims)


def test_a_kernel_of_one_axis_refuses_a_block_of_two() -> None:
    message = refused("launch-dimensions", SCALE, (2, 2, 1), ints(1, 2, 3, 4), 1, 0)
    assert "reads threadIdx.x alone" in message
    assert "block of 4 threads" in message


def test_a_kernel_that_never_asks_runs_in_any_shape() -> None:
    assert run_isa(launch(PLACES, (2, 2, 1), ints(5))).arrays["out"].tolist() == [0]


def test_arrays_too_big() -> None:
    assert "200 words" in refused("launch-memory", SCALE, (1, 1, 1), np.zeros(200, np.int32), 1, 0)

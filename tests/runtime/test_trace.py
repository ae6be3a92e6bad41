"""A launch in words."""

from __future__ import annotations

from dataclasses import replace

from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.tokens import Token
from qgc.ir.machine.verify import load
from qgc.runtime.faults import loaded
from qgc.runtime.isa import Run
from qgc.runtime.launch import link
from qgc.runtime.trace import trace

ARRAYS = {"a": range(4)}
PROGRAM = load(
    """machine simt4
kernel k
const k0 = 2
block 0:
  0: add tid, r1
  1: shl tid, k0
  2: nop
  3: st f1, r0 <- f0 @ k.ptx:3:1-9
  out r1 = f0
  branch exit
"""
)


def words(run: Run) -> list[str]:
    return list(trace(PROGRAM, run, ARRAYS))


def test_vector_stores_groups_and_listings() -> None:
    lines = words(run_isa_of(6))
    assert lines[0].split(maxsplit=2) == ["0", "<exec:m1111:b0>", "block 0, threads 0 1 2 3"]
    assert lines[1].strip() == "| 0: add tid, r1"
    assert lines[4].strip() == "| 3: st f1, r0 <- f0"
    assert [line.split(maxsplit=2)[2] for line in lines[7:]] == [
        "r1 = 0 1 2 3",
        "to a[0]",
        "a[0] a[1] a[2] a[3] = 0 1 2 3",
        "group 1 next",
        "block 0, threads 4 5",
        "r1 = -4 -3",
        "r1 = 4 5",
        "to word 4",
        "word 4 word 5 = -4 -3",
        "word 4 word 5 = 4 5",
        "all threads have ended",
    ]


def run_isa_of(threads: int) -> Run:
    """The program's stream; its stores hit no array, so that it is not launched but fed by hand."""
    prompt = link(PROGRAM, (1, 1, 1), (threads, 1, 1), []).prompts[0]
    machine = loaded(PROGRAM)
    answer = [machine.feed(token) for token in prompt][-1]
    tokens = [*prompt, answer]
    while answer.kind != "halt":
        answer = machine.feed(answer)
        tokens.append(answer)
    generated = [False] * len(prompt) + [True] * (len(tokens) - len(prompt))
    return Run({}, tokens, generated, machine.memory)


def test_a_stream_that_goes_astray_is_told_as_far_as_it_makes_sense() -> None:
    run = run_isa_of(1)
    start = run.generated.index(True)
    stray = [*run.tokens[: start + 2], Token("val_u", 1), Token("fault")]
    lines = words(replace(run, tokens=stray, generated=[i >= start for i in range(len(stray))]))
    assert lines[-2].endswith("a value that the block does not have")
    assert lines[-1].endswith("<fault>                out of range")
    assert PRESETS["simt4"] == PROGRAM.config

"""Random SSA functions: the SSA interpreter and the ISA interpreter leave the same memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from qgc.backends.simt.lower import lower
from qgc.ir.launch import Launch, Memory
from qgc.ir.machine.config import MachineConfig, preset
from qgc.ir.machine.interpreter import run as run_machine
from qgc.ir.machine.text import parse, to_text
from qgc.ir.ssa.function import Function
from qgc.ir.ssa.interpret import run as run_ssa
from qgc.passes.manager import PassManager
from qgc.passes.pipelines import FORMS, PIPELINE
from qgc.runtime.launch import link
from tests.helpers.ssa_programs import INPUTS, OWN_WORDS, SUM, THREADS, Input, functions

LARGE = replace(preset("simt4"), name="large", blocks=1024, words=4096, registers=64, consts=512)
"""Room for whatever is generated; the cells of the atomics are at byte address SUM."""


def compiled(function: Function) -> Function:
    """The function at stage `ir-div`; the arrays are marked, since it may do anything with their addresses."""
    PassManager(PIPELINE, FORMS, "ir").run(function)
    function.params = tuple(replace(p, is_pointer=p.name in ("source", "target")) for p in function.params)
    return function


def memory_of_machine(function: Function, given: Input, config: MachineConfig) -> list[int]:
    """What the ISA interpreter leaves in the target array and the cells."""
    program = lower(function, config)
    assert parse(to_text(program)) == program
    source, target = np.array(given.words, np.uint32), np.zeros(OWN_WORDS * THREADS, np.uint32)
    launch = link(program, (1, 1, 1), (THREADS, 1, 1), (source, target, given.n, 0))
    machine, answers, ended = run_machine(config, launch.prompts[0], 300_000)
    assert ended
    assert answers[-1].kind == "halt"
    words = launch.image["target"].words
    return machine.memory[words.start : words.stop] + machine.memory[SUM // 4 : SUM // 4 + 4]


def memory_of_ssa(function: Function, given: Input) -> list[int]:
    """The same from the SSA interpreter, with the arrays where `link` puts them."""
    source, target = 0, 4 * (len(given.words) + 1)
    memory = Memory()
    memory.map("source", source, b"".join(w.to_bytes(4, "little") for w in given.words))
    memory.map("target", target, bytes(4 * OWN_WORDS * THREADS))
    memory.map("sum", SUM, bytes(16))
    params = b"".join(w.to_bytes(4, "little") for w in (source, target, given.n, 0, 0, 0))
    run_ssa(function, Launch(block=(THREADS, 1, 1)), params, memory, budget=2_000_000)
    data = bytes(memory["target"].data) + bytes(memory["sum"].data)
    return [int(word) for word in np.frombuffer(data, "<u4")]


@given(functions(wide=False), INPUTS)
def test_both_interpreters_leave_the_same_memory(function: Function, given: Input) -> None:
    compiled(function)
    assert memory_of_machine(function, given, LARGE) == memory_of_ssa(function, given)


@pytest.mark.parametrize("registers", [16, 8])
@settings(max_examples=15)
@given(function=functions(wide=False), given=INPUTS)
def test_the_same_on_few_registers(registers: int, function: Function, given: Input) -> None:
    """What finds no register is spilled."""
    compiled(function)
    config = replace(LARGE, name="narrow", registers=registers)
    assert memory_of_machine(function, given, config) == memory_of_ssa(function, given)


@pytest.mark.parametrize(
    "change", [{"stages": 3, "multiply_stages": (0,)}, {"lanes": 8, "payload": 16}, {"stages": 6}]
)
@settings(max_examples=10)
@given(function=functions(wide=False), given=INPUTS)
def test_the_same_on_other_machines(change: dict[str, int], function: Function, given: Input) -> None:
    config = replace(LARGE, **change)  # type: ignore[arg-type]
    compiled(function)
    assert memory_of_machine(function, given, config) == memory_of_ssa(function, given)

"""The interpreter as a netlist against the interpreter: token for token, on generated programs."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qgc.backends.circuits.machine import interpreter_netlist
from qgc.backends.circuits.machine.run import CircuitMachine
from qgc.ir.machine.config import PRESETS, MachineConfig
from qgc.ir.machine.interpreter import FAULT, HALT, Machine
from qgc.ir.machine.isa import OPS, Unit
from qgc.ir.machine.tokens import Token
from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.verify import verify
from qgc.passes.netlist.dead_wires import DeadWires
from tests.helpers.machines import assert_follows, contexts
from tests.helpers.programs import Case, multi_block_programs, single_block_programs

NANO, SIMT4 = PRESETS["nano"], PRESETS["simt4"]


@cache
def _evaluator(config: MachineConfig) -> Evaluator:
    netlist = interpreter_netlist(config)
    DeadWires().run(netlist)
    return Evaluator(netlist)


def machine(config: MachineConfig) -> CircuitMachine:
    """A machine that has forgotten everything."""
    _evaluator(config).reset()
    return CircuitMachine(config, _evaluator(config))


def launches(config: MachineConfig) -> st.SearchStrategy[list[Case]]:
    """One to three launches in one context."""
    return st.lists(single_block_programs(config) | multi_block_programs(config), min_size=1, max_size=3)


def check(config: MachineConfig, cases: list[Case]) -> None:
    for context in contexts(config, cases):
        assert_follows(machine(config), context)


@given(launches(NANO))
def test_nano(cases: list[Case]) -> None:
    check(NANO, cases)


@given(launches(SIMT4))
@settings(max_examples=6)
def test_simt4(cases: list[Case]) -> None:
    check(SIMT4, cases)


ODD = (
    MachineConfig("deep", lanes=2, registers=4, stages=5, blocks=8, words=16, payload=6, groups=1, consts=16),
    MachineConfig(
        "wide",
        lanes=8,
        registers=8,
        stages=3,
        blocks=16,
        words=64,
        payload=16,
        groups=4,
        consts=32,
        multiply_stages=(1,),
        multiply_latency=1,
    ),
    MachineConfig(
        "flat",
        lanes=2,
        registers=2,
        stages=1,
        blocks=2,
        words=4,
        payload=4,
        groups=2,
        consts=4,
        multiply_stages=(),
    ),
)
"""Machines that are no preset."""


@pytest.mark.parametrize("config", ODD, ids=lambda config: config.name)
def test_other_machines(config: MachineConfig) -> None:
    verify(interpreter_netlist(config))

    @given(launches(config))
    @settings(max_examples=3)
    def run(cases: list[Case]) -> None:
        check(config, cases)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("config", (NANO, SIMT4, *ODD), ids=lambda config: config.name)
def test_at_length(config: MachineConfig) -> None:
    @given(launches(config))
    @settings(max_examples=100)
    def run(cases: list[Case]) -> None:
        check(config, cases)

    run()


@pytest.mark.parametrize("config", [NANO, SIMT4], ids=["nano", "simt4"])
def test_verifies(config: MachineConfig) -> None:
    verify(_evaluator(config).netlist, is_pruned=True)


def test_a_launch_of_no_threads_halts() -> None:
    m, reference = machine(NANO), Machine(NANO)
    assert m.feed(Token("start", 0)) == reference.feed(Token("start", 0)) == HALT


# The programs cover what they should ------------------------------------------------------------------------------


def _features(config: MachineConfig, case: Case, seen: Counter[str]) -> None:
    """Count what happens while a case runs on the interpreter."""
    reference = Machine(config)
    for block in case.program.blocks:
        seen["serial"] += block.serial
        seen["conditional branch"] += block.branch.is_conditional
        for instr in block.instrs:
            seen[f"op {instr.op}"] += 1
            seen[f"guarded {instr.op}"] += instr.guard.source != "r0"
    kind = ""
    for prompt in case.launch().prompts:
        answer = HALT
        for token in prompt:
            answer = reference.feed(token)
        while answer not in (HALT, FAULT):
            seen["partial mask"] += answer.kind == "exec" and answer.payload % (1 << config.lanes) not in (
                1,
                15,
            )
            kind = answer.kind if answer.kind not in ("more", "rest") else kind
            seen[f"{answer.kind} of {kind}"] += 1
            answer = reference.feed(answer)
        seen[answer.kind] += 1


def test_generated_programs_do_everything() -> None:
    """All operations, guards, forms of emission, faults, warps, serial blocks: on the interpreter alone."""
    seen: Counter[str] = Counter()

    @settings(max_examples=300)
    @given(single_block_programs(SIMT4) | multi_block_programs(SIMT4))
    def collect(case: Case) -> None:
        _features(SIMT4, case, seen)

    collect()
    wanted = [f"op {name}" for name in OPS if name != "nop"]
    wanted += [f"guarded {name}" for name, spec in OPS.items() if spec.guarded or spec.unit is Unit.STORE]
    wanted += [f"more of {kind}" for kind in ("val_v", "val_u", "mem_s", "mem_v")]
    wanted += ["rest of val_v", "rest of mem_v", "adr of adr", "adr_v of adr_v", "warp of warp"]
    wanted += ["serial", "conditional branch", "partial mask", "halt", "fault"]
    assert [what for what in wanted if not seen[what]] == []

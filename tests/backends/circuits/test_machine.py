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
from tests.helpers.programs import (
    Case,
    Make,
    bare_block,
    multi_block,
    multi_block_programs,
    sample,
    single_block,
    single_block_programs,
)

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
@settings(max_examples=15)
def test_nano(cases: list[Case]) -> None:
    check(NANO, cases)


@given(launches(SIMT4))
@settings(max_examples=3)
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
    MachineConfig(
        "paged",
        lanes=2,
        registers=16,
        predicates=3,
        stages=3,
        blocks=256,
        words=512,
        payload=10,
        groups=16,
        consts=256,
        load_stages=(1,),
        multiply_stages=(),
    ),
)
"""Machines that are no preset."""


@pytest.mark.parametrize("config", ODD, ids=lambda config: config.name)
def test_other_machines(config: MachineConfig) -> None:
    verify(interpreter_netlist(config))

    @given(launches(config))
    @settings(max_examples=2)
    def run(cases: list[Case]) -> None:
        check(config, cases)

    run()


@pytest.mark.parametrize("kind", [bare_block, single_block, multi_block], ids=lambda kind: kind.__name__)
def test_samples(kind: Make) -> None:
    """Programs that are all different, where hypothesis often repeats itself."""
    check(NANO, sample(kind, NANO, 12))
    check(SIMT4, sample(kind, SIMT4, 3))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [bare_block, single_block, multi_block], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("config", (NANO, SIMT4, *ODD), ids=lambda config: config.name)
def test_many_samples(config: MachineConfig, kind: Make) -> None:
    check(config, sample(kind, config, 60, seed=1000))


@pytest.mark.parametrize("config", [NANO, SIMT4], ids=["nano", "simt4"])
def test_verifies(config: MachineConfig) -> None:
    verify(_evaluator(config).netlist, is_pruned=True)


def test_a_launch_of_no_threads_halts() -> None:
    m, reference = machine(NANO), Machine(NANO)
    assert m.feed(Token("start", 0)) == reference.feed(Token("start", 0)) == HALT


@pytest.mark.parametrize("kind", [single_block, multi_block], ids=lambda kind: kind.__name__)
def test_a_baked_program_needs_no_rom_tokens(kind: Make) -> None:
    """Nor the integers of its constant bank; a launch that sends them all the same changes nothing."""
    for case in sample(kind, NANO, 3):
        netlist = interpreter_netlist(NANO, case.program)
        DeadWires().run(netlist)
        verify(netlist, is_pruned=True)
        for sends_integers in (True, False):
            baked = CircuitMachine(NANO, Evaluator(netlist))
            reference = Machine(NANO)
            for token in case.launch().prompts[0]:
                want = reference.feed(token)
            prompt = case.launch(include_program=False).prompts[0]
            if not sends_integers:
                prompt = without_integers(case, prompt)
            for token in prompt:
                got = baked.feed(token)
            while want not in (HALT, FAULT):
                assert got == want
                got, want = baked.feed(want), reference.feed(want)
            assert got == want


def without_integers(case: Case, prompt: list[Token]) -> list[Token]:
    """The prompt without the rows of the constant bank that are integers."""
    kept, is_kept = [], True
    for token in prompt:
        if token.kind in ("const", "adr", "adr_v", "start"):
            is_kept = token.kind != "const" or isinstance(case.program.consts[token.payload], str)
        kept += [token] * is_kept
    return kept


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
            products = [f"f{i}" for i, other in enumerate(block.instrs) if other.op == "mul"]
            seen["forwarded product"] += instr.a in products or instr.b in products
            seen["stored product"] += instr.data in products
            seen["live product"] += any(f"f{out.stage}" in products for out in block.live_outs)
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

    for kind in (bare_block, single_block, multi_block):
        for case in sample(kind, SIMT4, 60):
            _features(SIMT4, case, seen)
    wanted = [f"op {name}" for name in OPS if name != "nop"]
    wanted += [f"guarded {name}" for name, spec in OPS.items() if spec.guarded or spec.unit is Unit.STORE]
    wanted += [f"more of {kind}" for kind in ("val_v", "val_u", "mem_s", "mem_v")]
    wanted += ["rest of val_v", "rest of mem_v", "adr of adr", "adr_v of adr_v", "warp of warp"]
    wanted += [
        "forwarded product",
        "stored product",
        "live product",
        "serial",
        "conditional branch",
        "partial mask",
        "halt",
        "fault",
    ]
    assert [what for what in wanted if not seen[what]] == []

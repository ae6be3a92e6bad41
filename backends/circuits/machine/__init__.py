"""The ISA interpreter as one netlist, in the order in which a token passes through it."""

from __future__ import annotations

from qgc.backends.circuits.machine.context import build_context
from qgc.backends.circuits.machine.control import build_next
from qgc.backends.circuits.machine.emission import build_emission
from qgc.backends.circuits.machine.fetch import build_fetch
from qgc.backends.circuits.machine.operands import Sources, build_register_write
from qgc.backends.circuits.machine.stage import StageResult, build_stage
from qgc.backends.circuits.machine.values import build_values
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.program import Program
from qgc.ir.netlist.netlist import Builder, Netlist


def interpreter_netlist(config: MachineConfig, bake: Program | None = None) -> Netlist:
    """The netlist whose outputs are the token that `ir.machine.interpreter.Machine.feed` would return.

    Inputs are the token's fields `kind.*` (one-hot) and `payload[*]`; outputs `next.kind[*]` (the kind's number in
    binary) and `next.payload[*]`. With `bake` the program and its integer constants are wired in: no rom tokens are
    needed, and none have an effect.
    """
    b = Builder()
    c = build_context(b, config)
    v = build_values(b, c)
    f = build_fetch(b, c, v, bake)
    w = build_register_write(b, c, f)
    stages: list[StageResult] = []
    for stage in range(config.stages):
        stages.append(build_stage(b, c, v, f, w, stage, stages))
    results = [s.value for s in stages]
    n = build_next(b, c, f, Sources(c, v, w, [], []), results)
    build_emission(b, c, f, stages, n)
    return b.netlist

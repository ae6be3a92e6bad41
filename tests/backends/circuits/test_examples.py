"""Every example on the netlist of `simt4`: at every generated position the token that the interpreter gives."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from qgc.backends.circuits.machine import interpreter_netlist
from qgc.backends.circuits.machine.run import CircuitMachine
from qgc.driver import Kernel, Settings, source
from qgc.ir.machine.config import PRESETS
from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.netlist import Netlist
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import link
from qgc.runtime.manifest import Case, KernelCase, load_manifest

ROOT = Path(__file__).parent.parent.parent.parent
CASES = [
    pytest.param(kernel, case, id=f"{kernel.name}-{number}")
    for kernel in load_manifest(ROOT / "examples/manifest.toml")
    for number, case in enumerate(kernel.cases)
]


@cache
def netlist() -> Netlist:
    return interpreter_netlist(PRESETS["simt4"])


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "case"), CASES)
def test_the_netlist_answers_as_the_interpreter(kernel: KernelCase, case: Case) -> None:
    path = ROOT / f"golden/ptx/{kernel.name}.clang32.ptx"
    program = Kernel(source(path.read_text(), path.name), Settings(kernel=kernel.kernel)).program
    run = run_isa(link(program, case.grid, case.block, list(case.args.values())))
    machine = CircuitMachine(PRESETS["simt4"], Evaluator(netlist()))
    for token, following, is_generated in zip(run.tokens, run.tokens[1:], run.generated[1:], strict=False):
        answer = machine.feed(token)
        assert not is_generated or answer == following

"""The passes between the SSA stages, in order: `ir` -> `ir-opt` -> `ir-pred` -> `ir-div`.

ir-opt    folded, merged, stripped; nothing in it has more than 32 bits
ir-pred   only operations of the machine, short forks turned into guards and selects
ir-div    blocks in the order in which lanes run them, every value marked uniform or varying
"""

from __future__ import annotations

from dataclasses import replace

from qgc.backends.ssa import lower_module
from qgc.ir.ptx import ast
from qgc.ir.ssa.function import Function, Module
from qgc.ir.ssa.text import function_text
from qgc.ir.ssa.verify import STAGES as SSA_STAGES
from qgc.ir.ssa.verify import verify_function
from qgc.passes.manager import Form, Options, Outcome, Pass, PassManager
from qgc.passes.ssa.block_order import BlockOrder
from qgc.passes.ssa.dce import DeadCode
from qgc.passes.ssa.expand_division import ExpandDivision
from qgc.passes.ssa.gvn import ValueNumbering
from qgc.passes.ssa.if_conversion import IfConversion
from qgc.passes.ssa.legalize import Legalize
from qgc.passes.ssa.loop_form import LoopForm
from qgc.passes.ssa.narrow import Narrow
from qgc.passes.ssa.simplify import Simplify
from qgc.passes.ssa.simplify_cfg import SimplifyControlFlow
from qgc.passes.ssa.split_edges import SplitEdges
from qgc.passes.ssa.strength import StrengthReduction
from qgc.passes.ssa.uniformity import Uniformity
from qgc.passes.ssa.word_memory import WordMemory

_CLEAN: tuple[Pass, ...] = (Simplify(), ValueNumbering(), DeadCode(), SimplifyControlFlow())

STEPS: dict[str, tuple[Pass, ...]] = {
    "ir-opt": (
        *_CLEAN,
        StrengthReduction(),
        ExpandDivision(wide=True),
        Legalize(wide=True),
        Simplify(),
        Narrow(),
        *_CLEAN,
        StrengthReduction(),
        *_CLEAN,
    ),
    "ir-pred": (WordMemory(), ExpandDivision(), Legalize(), *_CLEAN, IfConversion(), *_CLEAN),
    "ir-div": (LoopForm(), SplitEdges(), BlockOrder(), Uniformity()),
}
"""The passes that lead to each stage from the one before it."""

PIPELINE: tuple[Pass, ...] = tuple(step for steps in STEPS.values() for step in steps)
"""All of them; a dump numbers them as they stand here."""


def _form(stage: str) -> Form:
    def verify(function: Function) -> None:
        verify_function(function, stage)

    suffix = stage.removeprefix("ir").replace("-", ".") + ".ir"
    return Form(stage, suffix, function_text, verify)


FORMS: tuple[Form, ...] = tuple(_form(stage) for stage in SSA_STAGES)


def _index(stage: str) -> int:
    """How many passes lead to a stage from `ir`."""
    count = 0
    for name, steps in STEPS.items():
        if SSA_STAGES.index(name) <= SSA_STAGES.index(stage):
            count += len(steps)
    return count


def run_passes(module: Module, start: str, end: str, options: Options | None = None) -> tuple[str, bool]:
    """Take every kernel of a module, in place, from one SSA stage to a later one.

    Options may name any pass of `PIPELINE`. With several kernels each has its own folder in `dump_dir`.

    Returns:
        The stage that was reached, and whether `stop_after` ended the way before `end`.

    Raises:
        UnknownPass: an option names no pass.
        QgcError: a pass cannot do what the kernel needs (`ptx-unsupported`, `ptx-irreducible`).
        PassFault: a pass broke the kernel.
    """
    outcome = Outcome(None, start)
    for function in module.functions:
        own = options or Options()
        if own.dump_dir is not None and len(module.functions) > 1:
            own = replace(own, dump_dir=own.dump_dir / function.name)
        manager = PassManager(PIPELINE, FORMS, "ir", own)
        outcome = manager.run(function, _index(start), _index(end))
    return outcome.stage, outcome.stopped


def compile_ptx_to(
    stage: str, module: ast.Module, kernel: str | None = None, options: Options | None = None
) -> Module:
    """Lower a verified PTX module, or one kernel of it, and run the passes up to an SSA stage.

    Raises:
        QgcError: as `lower_module` and `run_passes`.
    """
    lowered = lower_module(module, kernel)
    run_passes(lowered, "ir", stage, options)
    return lowered

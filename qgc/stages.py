"""The stage registry: every form that a program or a machine takes on its way, in order.

A row names the functions of its stage; they are imported when they are used. `python -m qgc dump --stage NAME` prints any of
them, and ARCHITECTURE.md describes the same stages under the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from qgc.diagnostics import fail

Side = Literal["program", "machine"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage.

    Attributes:
        name: as in `--stage`; golden files lie in `golden/<name>`.
        side: whether programs or machines pass through it.
        doc: one line.
        suffix: ends the names of its files.
        parser, printer, verifier, evaluator: `module:function`, below `qgc`.
        loader: parses and verifies, where that gives faults better places than one after the other.
        takes_stage: whether the verifier wants the stage's name (one data type serves several stages).
    """

    name: str
    side: Side
    doc: str
    suffix: str
    parser: str
    printer: str
    verifier: str
    evaluator: str
    loader: str | None = None
    takes_stage: bool = False

    def parse(self, text: str, file: str) -> Any:
        """Read a unit of this stage; it is not verified. Raises QgcError."""
        return _function(self.parser)(text, file)

    def to_text(self, unit: Any) -> str:
        """Print a unit; `parse` gives it back, and printing that gives the same bytes."""
        return str(_function(self.printer)(unit))

    def verify(self, unit: Any) -> None:
        """Check every invariant of the stage. Raises VerifyError with all faults."""
        check = _function(self.verifier)
        check(unit, self.name) if self.takes_stage else check(unit)

    def load(self, text: str, file: str) -> Any:
        """Read and verify a unit. Raises QgcError."""
        if self.loader is not None:
            return _function(self.loader)(text, file)
        unit = self.parse(text, file)
        self.verify(unit)
        return unit

    @property
    def evaluate(self) -> Callable[..., Any]:
        """The stage's exact reference evaluator."""
        return _function(self.evaluator)


def _function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"qgc.{module}"), attribute)
    return found


def _ssa(name: str, doc: str, suffix: str) -> Stage:
    return Stage(
        name,
        "program",
        doc,
        suffix,
        parser="ir.ssa.text:parse",
        printer="ir.ssa.text:to_text",
        verifier="ir.ssa.verify:verify",
        evaluator="ir.ssa.interpret:run",
        takes_stage=True,
    )


_TABLE = (
    Stage(
        "ptx",
        "program",
        "PTX as the CUDA compiler wrote it",
        ".ptx",
        parser="ir.ptx.source:parse",
        printer="ir.ptx.source:to_text",
        verifier="ir.ptx.source:verify",
        evaluator="ir.ptx.source:evaluate",
    ),
    Stage(
        "ast",
        "program",
        "the PTX syntax tree, printed as canonical PTX",
        ".ast",
        parser="ir.ptx.parse:parse",
        printer="ir.ptx.text:to_text",
        verifier="ir.ptx.verify:verify",
        evaluator="ir.ptx.interpret:run",
    ),
    _ssa("ir", "typed SSA, as lowered from PTX", ".ir"),
    _ssa("ir-opt", "SSA, optimised and narrowed to 32 bits", ".opt.ir"),
    _ssa("ir-pred", "SSA with short branches turned into predicates", ".pred.ir"),
    _ssa("ir-div", "SSA with divergence settled and blocks in the machine's order", ".div.ir"),
    Stage(
        "blocks",
        "program",
        "machine blocks and the constant bank",
        ".blocks",
        parser="ir.machine.text:parse",
        printer="ir.machine.text:to_text",
        verifier="ir.machine.verify:verify",
        evaluator="ir.machine.interpreter:run",
        loader="ir.machine.verify:load",
    ),
    Stage(
        "tokens",
        "program",
        "what the model is fed: program, constants, arrays and threads",
        ".tokens",
        parser="ir.machine.stream:parse",
        printer="ir.machine.stream:to_text",
        verifier="ir.machine.stream:verify",
        evaluator="ir.machine.stream:evaluate",
    ),
    Stage(
        "netlist",
        "machine",
        "wires, SwiGLU units and memory heads",
        ".netlist",
        parser="ir.netlist.text:parse",
        printer="ir.netlist.text:to_text",
        verifier="ir.netlist.verify:verify",
        evaluator="ir.netlist.evaluate:Evaluator",
        loader="ir.netlist.verify:load",
    ),
    Stage(
        "schedule",
        "machine",
        "the netlist, with the layer of every unit and head",
        ".schedule",
        parser="ir.layout.schedule_text:parse",
        printer="ir.layout.schedule_text:to_text",
        verifier="ir.layout.schedule_verify:verify",
        evaluator="ir.layout.schedule_evaluate:evaluator",
        loader="ir.layout.schedule_verify:load",
    ),
    Stage(
        "layout",
        "machine",
        "the schedule, with the coordinate of every wire and the slot of every head",
        ".layout",
        parser="ir.layout.layout_text:parse",
        printer="ir.layout.layout_text:to_text",
        verifier="ir.layout.layout_verify:verify",
        evaluator="ir.layout.layout_evaluate:evaluator",
        loader="ir.layout.layout_verify:load",
    ),
    Stage(
        "weights",
        "machine",
        "the non-zero entries of every tensor of the compiled layers",
        ".weights",
        parser="ir.layout.weights_text:parse",
        printer="ir.layout.weights_text:to_text",
        verifier="ir.layout.weights_verify:verify",
        evaluator="ir.layout.weights_evaluate:evaluator",
        loader="ir.layout.weights_verify:load",
    ),
)

STAGES: dict[str, Stage] = {stage.name: stage for stage in _TABLE}
"""Every stage by name, programs first, each side in order."""


def side(name: Side) -> tuple[Stage, ...]:
    """The stages of one side, in order."""
    return tuple(stage for stage in STAGES.values() if stage.side == name)


def stage_of(file: str) -> Stage:
    """The stage whose suffix ends a file name; the longest suffix wins.

    Raises:
        QgcError: `stage-suffix` when there is none.
    """
    fitting = [s for s in STAGES.values() if file.endswith(s.suffix)]
    if not fitting:
        suffixes = ", ".join(s.suffix for s in STAGES.values())
        raise fail(
            "stage-suffix",
            f"no stage has files like {file}",
            hint=f"suffixes: .cu, {suffixes}",
        )
    return max(fitting, key=lambda s: len(s.suffix))

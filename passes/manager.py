"""Runs passes in order over the data of any stage: verifies after each, dumps, stops, and reports times.

A pass is an object with a `name`, the stages that it accepts (`requires`), the stage that its result has (`produces`,
None for the stage it found) and `run(unit)`. `run` changes the unit in place and says whether anything changed, or
returns a new unit. What a stage's data looks like and what must hold of it is a `Form`; the manager knows no more
about units, which may be SSA functions, machine programs or netlists.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

from qgc.diagnostics import Diagnostic, QgcError, VerifyError
from qgc.files import write_text
from qgc.names import unknown

Unit = Any
"""The data of some stage."""


class Pass(Protocol):
    """One pass; a frozen dataclass whose fields are its options."""

    @property
    def name(self) -> str:
        """The file name with dashes."""

    @property
    def requires(self) -> tuple[str, ...]:
        """The stages that it accepts."""

    @property
    def produces(self) -> str | None:
        """The stage of its result; None keeps the stage."""

    def run(self, unit: Unit) -> Unit:
        """Change the unit and return whether it changed, or return a new unit."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the data of one stage is printed and checked. `suffix` ends the names of its files."""

    stage: str
    suffix: str
    to_text: Callable[[Unit], str]
    verify: Callable[[Unit], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What to show and check on the way.

    Attributes:
        verify: check the unit after every pass.
        check_changed: compare the text before and after every pass with what the pass says (for tests).
        print_after: names of passes after which the unit is printed to `log`.
        stop_after: the name of the pass after whose first run the pipeline ends.
        dump_dir: a folder that gets one numbered file for each pass.
        timings: write the seconds of each pass to `log`.
        log: where all of that goes; stdout belongs to results.
    """

    verify: bool = True
    check_changed: bool = False
    print_after: tuple[str, ...] = ()
    stop_after: str | None = None
    dump_dir: Path | None = None
    timings: bool = False
    log: TextIO | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gives: the unit, its stage, and whether `stop_after` ended it early."""

    unit: Unit
    stage: str
    stopped: bool = False


class UnknownPass(QgcError):
    """An option names a pass that the pipeline does not have: wrong usage."""

    exit_code = 2


class PassFault(VerifyError):
    """A pass broke an invariant, or lied about what it did: a bug in qgc."""

    exit_code = 70


class PassManager:
    """A checked pipeline.

    Raises:
        UnknownPass: an option names no pass of the pipeline.
        ValueError: a pass does not accept the stage that it would find.
    """

    def __init__(
        self,
        passes: Sequence[Pass],
        forms: Iterable[Form],
        start: str,
        options: Options | None = None,
    ) -> None:
        self.passes = tuple(passes)
        self.forms: Mapping[str, Form] = {form.stage: form for form in forms}
        self.options = options or Options()
        self.stages = _chain(self.passes, start)
        names = dict.fromkeys(p.name for p in self.passes)
        for name in (*self.options.print_after, *filter(None, [self.options.stop_after])):
            if name not in names:
                raise UnknownPass(Diagnostic("pass-unknown", unknown("pass", name, names)))

    def run(self, unit: Unit, begin: int = 0, end: int | None = None) -> Outcome:
        """Run the passes `begin` to `end` (all of them by default) on a unit of the stage that pass `begin` finds.

        Raises:
            PassFault: the unit was not valid after a pass; the messages name it.
        """
        stage = self.stages[begin]
        self._verify(unit, stage)
        if begin == 0:
            self._dump(unit, stage, f"{0:02}-start")
        for number, step in list(enumerate(self.passes, start=1))[begin:end]:
            unit, changed = self._step(step, number, unit, stage)
            stage = self.stages[number]
            self._show(step, number, unit, stage, changed)
            if step.name == self.options.stop_after:
                return Outcome(unit, stage, stopped=True)
        return Outcome(unit, stage)

    def _step(self, step: Pass, number: int, unit: Unit, stage: str) -> tuple[Unit, bool]:
        before = self.forms[stage].to_text(unit) if self.options.check_changed else ""
        began = time.perf_counter()
        result = step.run(unit)
        seconds = time.perf_counter() - began
        changed = result if isinstance(result, bool) else True
        unit = unit if isinstance(result, bool) else result
        after = self.stages[number]
        if self.options.timings:
            mark = "changed" if changed else "-"
            print(f"{number:3} {step.name:24} {seconds * 1000:8.2f} ms  {mark}", file=self._log())
        if self.options.verify:
            try:
                self.forms[after].verify(unit)
            except VerifyError as fault:
                raise _named(fault, step, number) from fault
        if self.options.check_changed and isinstance(result, bool):
            really = self.forms[stage].to_text(unit) != before
            if really != changed:
                message = f"says changed={changed}, and the text {'changed' if really else 'is the same'}"
                raise PassFault(Diagnostic("pass-changed", f"pass {step.name!r} (#{number}) {message}"))
        return unit, changed

    def _show(self, step: Pass, number: int, unit: Unit, stage: str, changed: bool) -> None:
        if step.name in self.options.print_after:
            print(f"; ---- after {step.name} (#{number})", file=self._log())
            print(self.forms[stage].to_text(unit), file=self._log())
        mark = ".changed" if changed else ""
        self._dump(unit, stage, f"{number:02}-after-{step.name}{mark}")

    def _dump(self, unit: Unit, stage: str, name: str) -> None:
        folder = self.options.dump_dir
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / f"{name}{self.forms[stage].suffix}", self.forms[stage].to_text(unit))

    def _verify(self, unit: Unit, stage: str) -> None:
        if self.options.verify:
            self.forms[stage].verify(unit)

    def _log(self) -> TextIO:
        return self.options.log or sys.stderr


def _chain(passes: Sequence[Pass], start: str) -> list[str]:
    """The stage before the first pass and after each one."""
    stages = [start]
    for step in passes:
        if stages[-1] not in step.requires:
            wanted = " or ".join(step.requires)
            raise ValueError(f"pass {step.name!r} needs stage {wanted}, and would find {stages[-1]}")
        stages.append(step.produces or stages[-1])
    return stages


def _named(fault: VerifyError, step: Pass, number: int) -> PassFault:
    place = f"after pass {step.name!r} (#{number}): "
    return PassFault(*(Diagnostic(d.code, place + d.message, d.span, d.hint) for d in fault.diagnostics))

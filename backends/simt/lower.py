"""The SIMT back end from end to end."""

from __future__ import annotations

from qgc.backends.simt.allocate import TooManyValues, allocate
from qgc.backends.simt.coalesce import coalesce
from qgc.backends.simt.emit import emit
from qgc.backends.simt.form import form
from qgc.backends.simt.hoist import hoist_copies
from qgc.backends.simt.select import select
from qgc.backends.simt.spill import spill, victims
from qgc.diagnostics import QgcError
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.program import Program
from qgc.ir.machine.verify import verify
from qgc.ir.ssa.function import Function
from qgc.passes.blocks.jump_threading import thread_jumps


def lower(function: Function, config: MachineConfig) -> Program:
    """Compile one kernel of stage `ir-div` to blocks.

    Values that find no register are spilled, one after another, until the rest fits.

    Raises:
        QgcError: `simt-*` from the steps (what the machine cannot do), `blocks-rom` and `blocks-bank` when the program
            does not fit the machine, `simt-registers` when spilling does not help.
    """
    spilled: list[list[int]] = []
    first: TooManyValues | None = None
    while True:
        code = select(function, config)
        known = code.regs
        for slot, numbers in enumerate(spilled):
            spill(code, numbers, slot)
        classes = coalesce(code)
        hoist_copies(code, classes)
        drafts = form(code, classes, config)
        try:
            allocation = allocate(drafts, classes, config)
        except TooManyValues as err:
            first = first or err
            numbers = victims(err, code, classes, known)
            if not numbers:
                raise QgcError(*first.diagnostics) from None
            spilled.append(numbers)
            continue
        program = thread_jumps(emit(code, drafts, classes, allocation, config))
        verify(program)
        return program

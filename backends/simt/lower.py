"""The SIMT back end from end to end."""

from __future__ import annotations

from qgc.backends.simt.allocate import allocate
from qgc.backends.simt.coalesce import coalesce
from qgc.backends.simt.emit import emit
from qgc.backends.simt.form import form
from qgc.backends.simt.hoist import hoist_copies
from qgc.backends.simt.select import select
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.program import Program
from qgc.ir.machine.verify import verify
from qgc.ir.ssa.function import Function
from qgc.passes.blocks.jump_threading import thread_jumps


def lower(function: Function, config: MachineConfig) -> Program:
    """Compile one kernel of stage `ir-div` to blocks.

    Raises:
        QgcError: `simt-*` from the steps (what the machine cannot do, too many live values), `blocks-rom` and
            `blocks-bank` when the program does not fit the machine.
    """
    code = select(function, config)
    classes = coalesce(code)
    hoist_copies(code, classes)
    drafts = form(code, classes, config)
    program = thread_jumps(emit(code, drafts, classes, allocate(drafts, classes, config), config))
    verify(program)
    return program

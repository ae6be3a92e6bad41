"""The `hf` engine: stock transformers run the machine that a checkpoint is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qgc.diagnostics import fail
from qgc.ir.layout.shape import shape
from qgc.runtime.cache import CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.engines.base import ModelChoice, Request, Result, numbered
from qgc.runtime.isa import BUDGET
from qgc.runtime.launch import link
from qgc.runtime.progress import Progress

if TYPE_CHECKING:
    from qgc.driver import Kernel
    from qgc.ir.machine.program import Program


class HfEngine:
    """Builds or finds the checkpoint, feeds it the launch, and reads its recurrent state."""

    name = "hf"

    def run(self, kernel: Kernel, request: Request) -> Result:
        """Link and run.

        Raises:
            QgcError: what building, linking and running raise; `checkpoint-machine` when the folder is another machine.
        """
        program = kernel.program
        checkpoint = open_checkpoint(program, request.model, request.progress)
        include = checkpoint.baked is None
        launch = link(program, request.grid, request.block, request.args, include_program=include)
        run = checkpoint.run(launch, request.budget or BUDGET, request.progress)
        return Result(numbered(launch, run), launch, run, checkpoint)


def open_checkpoint(program: Program, choice: ModelChoice, progress: Progress) -> Checkpoint:
    """The checkpoint that runs a program: the given folder, or one out of the cache, which is built when need be.

    Raises:
        QgcError: `checkpoint-machine` or `checkpoint-kernel` when the folder holds another machine or kernel, and what
            building raises.
    """
    if choice.folder is None:
        baked = program if choice.bake else None
        return Checkpoint(
            cached(CheckpointSpec(program.config, shape(choice.shape), choice.dtype, baked), progress)
        )
    checkpoint = Checkpoint(choice.folder)
    if checkpoint.machine != program.config:
        raise fail(
            "checkpoint-machine",
            f"{choice.folder} is machine {checkpoint.machine.name}, the program is for {program.config.name}",
            hint=f"compile with --machine {checkpoint.machine.name}, or build a checkpoint for {program.config.name}",
        )
    if checkpoint.baked not in (None, program.kernel):
        raise fail(
            "checkpoint-kernel",
            f"{choice.folder} has kernel {checkpoint.baked} in its weights, not {program.kernel}",
            hint="leave --checkpoint out, or build it without --bake",
        )
    return checkpoint

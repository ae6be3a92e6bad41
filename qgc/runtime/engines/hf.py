"""The engines that run the machine that a checkpoint is: `hf` in stock transformers, `fast` as sparse lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from qgc.diagnostics import fail
from qgc.ir.layout.shape import ModelShape, parse_shape
from qgc.runtime.cache import STORED_DTYPE, CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.device import pick
from qgc.runtime.engines.base import ModelChoice, Request, Result, numbered
from qgc.runtime.isa import BUDGET
from qgc.runtime.launch import link
from qgc.runtime.progress import Progress

if TYPE_CHECKING:
    from qgc.driver import Kernel
    from qgc.ir.machine.program import Program
    from qgc.runtime.sparse.layers import LayerCost


class HfEngine:
    """Builds or finds the checkpoint, feeds it the launch, and reads its recurrent state.

    The model of the last launch stays loaded for the next one.
    """

    name = "hf"
    is_sparse = False

    def __init__(self) -> None:
        self._loaded: Checkpoint | None = None
        self._loaded_as: tuple[Path, str, str] | None = None

    def run(self, kernel: Kernel, request: Request) -> Result:
        """Link and run.

        Raises:
            QgcError: what building, linking and running raise; `checkpoint-machine` or `checkpoint-kernel` when the
                given folder is another machine or has another kernel in it.
        """
        choice = request.model
        if not self.is_sparse:
            pick(choice.device)  # before a checkpoint is built for a device that is not there
        program = kernel.program
        given = None if choice.folder is None else self._open(choice.folder, choice, program)
        include = not choice.bake if given is None else given.baked is None
        launch = link(
            program, request.grid, request.block, request.args, include_program=include, shared=request.shared
        )  # before a checkpoint is built for a launch that is refused
        checkpoint = given or self._open(
            checkpoint_folder(program, choice, request.progress), choice, program
        )
        run = checkpoint.run(launch, request.budget or BUDGET, request.progress, self.is_sparse)
        return Result(numbered(launch, run), launch, run, checkpoint, self.facts(checkpoint))

    def _open(self, folder: Path, choice: ModelChoice, program: Program) -> Checkpoint:
        """The checkpoint of a folder, which may be loaded already, and fits the program."""
        wanted = (folder, choice.dtype, choice.device)
        if self._loaded is None or self._loaded_as != wanted:
            self._loaded, self._loaded_as = Checkpoint(*wanted), wanted
        check_fit(self._loaded, program)
        return self._loaded

    def facts(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        """What ran, in words."""
        import transformers

        model, made = checkpoint.model, checkpoint.manifest["shape"]["name"]
        layers = f"{model.layers} layers of shape {made} in {model.dtype} on {model.device}"
        return f"stock transformers {transformers.__version__}", layers


class FastEngine(HfEngine):
    """The same launch, fed to the checkpoint's weights as sparse lists."""

    name = "fast"
    is_sparse = True

    def run(self, kernel: Kernel, request: Request) -> Result:
        """As `HfEngine.run`; the layers can be measured afterwards."""
        result = super().run(kernel, request)
        return replace(result, layer_costs=lambda: _layer_costs(result))

    def facts(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        """What ran, in words."""
        weights, made = checkpoint.sparse.weights, checkpoint.manifest["shape"]["name"]
        return (f"{weights.layers} layers of shape {made} as {weights.nonzeros:,} non-zero weights",)


def _layer_costs(result: Result) -> tuple[LayerCost, ...]:
    from qgc.runtime.sparse.layers import layer_costs

    if result.checkpoint is None or result.run is None:
        raise TypeError("the engine gave no tokens")
    return layer_costs(result.checkpoint.sparse, result.checkpoint.ids(result.run.tokens))


def checkpoint_folder(program: Program, choice: ModelChoice, progress: Progress) -> Path:
    """The given folder, or that of a checkpoint out of the cache, which is built when need be.

    Raises:
        QgcError: what building raises.
    """
    if choice.folder is not None:
        return choice.folder
    baked = program if choice.bake else None
    shape = choice.shape if isinstance(choice.shape, ModelShape) else parse_shape(choice.shape)
    return cached(CheckpointSpec(program.config, shape, STORED_DTYPE, baked), progress)


def check_fit(checkpoint: Checkpoint, program: Program) -> None:
    """Refuse to run a program on another machine than it was compiled for, or another one than is baked in.

    Raises:
        QgcError: `checkpoint-machine` or `checkpoint-kernel`.
    """
    if checkpoint.machine != program.config:
        raise fail(
            "checkpoint-machine",
            f"{checkpoint.folder} is machine {checkpoint.machine.name}, the program is for {program.config.name}",
            hint=f"compile with --machine {checkpoint.machine.name}, or build a checkpoint for {program.config.name}",
        )
    if checkpoint.baked not in (None, program.kernel):
        raise fail(
            "checkpoint-kernel",
            f"{checkpoint.folder} has kernel {checkpoint.baked} in its weights, not {program.kernel}",
            hint="leave --checkpoint out, or build it without --bake",
        )

"""What an engine takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from qgc.ir.launch import Dim3
from qgc.runtime.progress import Progress, silent

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from qgc.driver import Kernel
    from qgc.ir.layout.shape import ModelShape
    from qgc.runtime.checkpoint import Checkpoint
    from qgc.runtime.isa import Run
    from qgc.runtime.launch import Argument, Launch
    from qgc.runtime.sparse.layers import LayerCost


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which checkpoint an engine runs: a folder, or what to build (and cache) when there is none.

    `shape` is a `ModelShape`, or what `parse_shape` reads. `dtype` is what transformers computes in, and `device` where (see `runtime.device`); the weights are exact in every
    dtype, and stored in the smallest.
    """

    shape: ModelShape | str = "small"
    dtype: str = "auto"
    folder: Path | None = None
    bake: bool = False
    device: str = "auto"


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One launch.

    Attributes:
        grid, block: sizes in x, y and z.
        args: one for each parameter of the kernel: a number, or an array of int32 or uint32, which is not changed.
        budget: after how many generated tokens (`hf`, `isa`) or operations (`ssa`, `ptx`) to give up; None for the
            engine's own limit.
        model: for engines that run a checkpoint.
        progress: is told how far it is.
        shared: bytes of the `extern __shared__` arrays.
    """

    grid: Dim3
    block: Dim3
    args: Sequence[Argument]
    budget: int | None = None
    model: ModelChoice = ModelChoice()
    progress: Progress = silent
    shared: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A finished launch.

    Attributes:
        arrays: by the parameter's number, as they are at the end.
        launch, run: of engines that speak in tokens: what was linked, and the whole stream.
        checkpoint: the model that ran it, of engines that have one.
        facts: what is worth knowing about the run, for people.
        layer_costs: measures what each layer costs, of the engine that can.
    """

    arrays: dict[int, NDArray[Any]]
    launch: Launch | None = None
    run: Run | None = None
    checkpoint: Checkpoint | None = None
    facts: tuple[str, ...] = ()
    layer_costs: Callable[[], tuple[LayerCost, ...]] | None = None


def numbered(launch: Launch, run: Run) -> dict[int, NDArray[Any]]:
    """The arrays of a run by the number of their parameter."""
    names = [param.name for param in launch.program.params]
    return {names.index(name): array for name, array in run.arrays.items()}


class Engine(Protocol):
    """Runs one launch of a compiled kernel."""

    name: str

    def run(self, kernel: Kernel, request: Request) -> Result:
        """Run to the end. Raises QgcError for what the kernel or the launch does wrong."""
        ...

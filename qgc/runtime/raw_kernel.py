"""`qgc.RawKernel`: a kernel as a Python function on numpy arrays, called as CuPy calls its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qgc.diagnostics import fail
from qgc.driver import Kernel, Settings, Source
from qgc.ir.machine.config import MachineConfig, machine_of
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.engines import Request
from qgc.runtime.engines import engine as make_engine
from qgc.runtime.engines.base import ModelChoice
from qgc.runtime.engines.hf import check_fit, checkpoint_folder
from qgc.runtime.isa import BUDGET, run_chain_isa
from qgc.runtime.progress import on_stderr
from qgc.sources import Sources

if TYPE_CHECKING:
    from qgc.ir.launch import Dim3
    from qgc.ir.machine.program import Program
    from qgc.runtime.engines import Result
    from qgc.runtime.isa import Run
    from qgc.runtime.launch import Launch
    from qgc.runtime.progress import Progress
    from qgc.runtime.stream import Stream


class RawKernel:
    """A CUDA kernel.

        kernel = qgc.RawKernel(source, "dot")
        kernel((1,), (3,), (a, b, out))  # grid, block, arguments; `out` holds the result

    The source is compiled when the kernel is first called. Arguments are numpy arrays of int32 or uint32, which are
    updated in place, and whole numbers.

    Attributes:
        last: the `Result` of the last call, with its token stream where the engine has one.
    """

    def __init__(
        self,
        code: str,
        name: str,
        *,
        machine: str | MachineConfig = "simt4",
        engine: str = "fast",
        frontend: str = "auto",
        shape: str = "small",
        dtype: str = "auto",
        device: str = "auto",
        checkpoint: str | Path | None = None,
        bake: bool = False,
        budget: int | None = None,
    ) -> None:
        """Remember what to compile and how to run it; the options are those of `qgc run`."""
        config = machine_of(machine) if isinstance(machine, str) else machine
        self.name = name
        self.engine = make_engine(engine)
        self.last: Result | None = None
        self._model = ModelChoice(
            shape, dtype, None if checkpoint is None else Path(checkpoint), bake, device
        )
        self._budget = budget
        self._sources = Sources()
        settings = Settings(frontend, name, config)
        self._kernel = Kernel(Source(code, f"<{name}.cu>", "cuda"), settings, self._sources)

    def __call__(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Launch and wait; arrays among `args` are updated in place.

        `shared_mem` is the size of the `extern __shared__` arrays in bytes, as in CuPy. With a `stream`
        the launch waits for `Stream.synchronize`.

        Raises:
            QgcError: the compiler's faults, arguments that do not fit, and faults of the launch.
        """
        if stream is not None:
            stream.add(self, _sizes("grid", grid), _sizes("block", block), tuple(args), shared_mem)
            return
        with on_stderr() as progress:
            request = Request(
                _sizes("grid", grid),
                _sizes("block", block),
                tuple(args),
                self._budget,
                self._model,
                progress,
                shared_mem,
            )
            self.last = self.engine.run(self._kernel, request)
        for number, array in self.last.arrays.items():
            if not np.array_equal(args[number], array):
                np.copyto(args[number], array)

    @property
    def program(self) -> Program:
        """The kernel as machine blocks."""
        return self._kernel.program

    def is_like(self, other: RawKernel) -> bool:
        """Whether both can run in one context."""
        return (self.engine.name, self._model, self.program.config) == (
            other.engine.name,
            other._model,
            other.program.config,
        )

    def run_chain(self, launches: Sequence[Launch], progress: Progress) -> list[Run]:
        """Run linked launches in one context of this kernel's engine.

        Raises:
            QgcError: `stream-engine` for an engine without tokens, `stream-bake` for a program in the weights.
        """
        budget = self._budget or BUDGET
        if self._model.bake:
            raise fail("stream-bake", "a checkpoint with one program in its weights runs no other one")
        if self.engine.name == "isa":
            return run_chain_isa(launches, budget)
        if self.engine.name not in ("hf", "fast"):
            raise fail("stream-engine", f"engine {self.engine.name} has no streams; use fast, hf or isa")
        folder = checkpoint_folder(self.program, self._model, progress)
        checkpoint = Checkpoint(folder, self._model.dtype, self._model.device)
        check_fit(checkpoint, self.program)
        return checkpoint.run_chain(launches, budget, progress, is_sparse=self.engine.name == "fast")


def _sizes(what: str, given: Sequence[int]) -> Dim3:
    if not 1 <= len(given) <= 3:
        raise fail(
            "launch-threads",
            f"the {what} has {len(given)} sizes; give 1 to 3",
            hint=f"write ({given[0] if given else 1},)",
        )
    x, y, z = (*(int(size) for size in given), 1, 1)[:3]
    return x, y, z

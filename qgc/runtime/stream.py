"""`qgc.Stream`: kernels that run one after another in one context of one model, as in a CUDA stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qgc.diagnostics import fail
from qgc.runtime.launch import Step, link_chain
from qgc.runtime.progress import on_stderr

if TYPE_CHECKING:
    from qgc.ir.launch import Dim3
    from qgc.runtime.isa import Run
    from qgc.runtime.raw_kernel import RawKernel


class Stream:
    """Launches that wait for `synchronize`, and then share memory, in the order in which they were made.

        stream = qgc.Stream()
        scale((1,), (4,), (a, 3), stream=stream)
        total((1,), (4,), (a, out), stream=stream)
        stream.synchronize()  # `a` and `out` hold the results

    An array that several launches take is one array on the machine: it is sent once, and read back once, at the end.

    Attributes:
        runs: the runs of the last `synchronize`, one for each launch.
    """

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._launches: list[tuple[RawKernel, Step]] = []

    def add(self, kernel: RawKernel, grid: Dim3, block: Dim3, args: tuple[Any, ...], shared: int) -> None:
        """Queue a launch; kernels call this when they are given a stream.

        Raises:
            QgcError: `stream-kernels` when the kernel is for another machine, engine or model than those before it.
        """
        if self._launches and not self._launches[0][0].is_like(kernel):
            raise fail(
                "stream-kernels",
                f"kernel {kernel.name} is for another machine, engine or model than {self._launches[0][0].name}",
                hint="make all kernels of a stream with the same options",
            )
        self._launches.append((kernel, Step(kernel.program, grid, block, args, shared)))

    def synchronize(self) -> None:
        """Run what was queued, and update its arrays in place; then the stream is empty.

        Raises:
            QgcError: what linking and running raise; the queue is empty then, too.
        """
        launches, self._launches = self._launches, []
        if not launches:
            return
        linked = link_chain([step for _, step in launches])
        with on_stderr() as progress:
            self.runs = launches[0][0].run_chain(linked, progress)
        memory = self.runs[-1].memory
        for launch in linked:
            arrays = launch.read(memory)
            for param, argument in zip(launch.program.params, launch.arguments, strict=True):
                if isinstance(argument, np.ndarray) and not np.array_equal(argument, arrays[param.name]):
                    np.copyto(argument, arrays[param.name])

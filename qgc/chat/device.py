"""The GPU of a chat: a checkpoint, an engine, and the kernels that were compiled for its machine.

Every launch has a context of its own: a machine token never enters the conversation's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import fail
from qgc.driver import Kernel, Settings, source
from qgc.files import read_text
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.tokens import Vocabulary
from qgc.runtime.engines import Request
from qgc.runtime.engines import engine as make_engine
from qgc.runtime.engines.base import ModelChoice
from qgc.runtime.progress import Progress, silent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qgc.ir.launch import Dim3
    from qgc.runtime.engines import Result
    from qgc.runtime.launch import Argument

BUDGET = 1_000_000
"""Generated tokens after which a launch of a chat is given up."""

Shown = Callable[[], AbstractContextManager[Progress]]
"""Opens what shows the progress of one launch, such as `runtime.progress.on_stderr`."""


@contextmanager
def hidden() -> Iterator[Progress]:
    """Show nothing."""
    yield silent


@dataclass(frozen=True, slots=True, eq=False)
class Launched:
    """A launch that is over.

    Attributes:
        name: of the kernel.
        prompt_tokens, generated_tokens: what the model was fed, and what it wrote.
        execs: how many of the tokens that it wrote run a block.
        seconds: how long it took, the compilation not included.
        kernel, result: everything else; `trace` prints it.
    """

    name: str
    prompt_tokens: int
    generated_tokens: int
    execs: int
    seconds: float
    kernel: Kernel
    result: Result

    def line(self) -> str:
        """The launch in one line."""
        return (
            f"{self.name}: {self.prompt_tokens} + {self.generated_tokens} tokens, {self.execs} EXEC,"
            f" {self.seconds:.2f} s"
        )

    def trace(self) -> str:
        """All tokens in words."""
        from qgc.runtime.trace import trace

        launch, run = self.result.launch, self.result.run
        if launch is None or run is None:
            raise TypeError("the engine gave no tokens")
        arrays = {region.name: region.words for region in launch.image.regions}
        vocabulary = Vocabulary(self.kernel.program.config)
        fed = " ".join(
            vocabulary.name(t) for t, own in zip(run.tokens, run.generated, strict=True) if not own
        )
        return "\n".join([f"fed {fed}", *trace(self.kernel.program, run, arrays)])


class Device:
    """Launches kernels on a checkpoint.

    Attributes:
        machine: which machine it is.
        engine: the name of what runs it.
        shown: shows how far a launch is.
    """

    def __init__(
        self,
        folder: Path | None,
        engine: str = "fast",
        machine: MachineConfig | None = None,
        budget: int = BUDGET,
        shown: Shown = hidden,
    ) -> None:
        """Use the checkpoint in `folder`; without one, `engine` has to be an interpreter, and `machine` is given.

        Raises:
            QgcError: `checkpoint-manifest` when the folder holds no machine; `engine-unknown`; `chat-baked` when the machine
                has one program in its weights.
        """
        from qgc.runtime.checkpoint import Checkpoint

        self.folder = folder
        if folder is not None:
            checkpoint = Checkpoint(folder)
            if checkpoint.baked is not None:
                raise fail(
                    "chat-baked", f"{folder} has kernel {checkpoint.baked} in its weights and runs no other"
                )
            machine = checkpoint.machine
        if machine is None:
            raise TypeError("give a folder or a machine")
        self.machine = machine
        self.engine = engine
        self.shown = shown
        self._engine = make_engine(engine)
        self._budget = budget
        self._model = ModelChoice(folder=folder)
        self._kernels: dict[Path, Kernel] = {}

    def compiled(self, path: Path) -> Kernel:
        """The kernel of a file, compiled once.

        Raises:
            QgcError: what the compiler raises.
        """
        if path not in self._kernels:
            self._kernels[path] = self.compile(read_text(path), path.name)
        return self._kernels[path]

    def compile(self, text: str, name: str, kernel: str | None = None) -> Kernel:
        """Compile CUDA for the machine; `name` is what diagnostics call the text.

        Raises:
            QgcError: what the compiler raises.
        """
        made = Kernel(source(text, name, "cuda"), Settings(kernel=kernel, machine=self.machine))
        made.program  # noqa: B018 (the place where it is compiled)
        return made

    def launch(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Argument]
    ) -> tuple[dict[int, NDArray[Any]], Launched]:
        """Run a kernel and wait; returns the arrays by the number of their parameter.

        Raises:
            QgcError: what linking and running raise.
        """
        began = time.perf_counter()
        with self.shown() as progress:
            request = Request(grid, block, args, self._budget, self._model, progress)
            result = self._engine.run(kernel, request)
        seconds = time.perf_counter() - began
        run = result.run
        if run is None:
            raise TypeError(f"engine {self.engine} has no tokens")
        generated = [token for token, is_own in zip(run.tokens, run.generated, strict=True) if is_own]
        execs = sum(token.kind == "exec" for token in generated)
        name = kernel.program.kernel.removesuffix("_kernel")
        done = Launched(
            name, len(run.tokens) - len(generated), len(generated), execs, seconds, kernel, result
        )
        return result.arrays, done

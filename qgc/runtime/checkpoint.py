"""A checkpoint folder as a machine: its manifest, its model, and the launches that it runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import fail
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.interpreter import Machine
from qgc.ir.machine.tokens import Token, Vocabulary
from qgc.runtime.faults import Guard, SomethingWrongError, Watch
from qgc.runtime.isa import BUDGET, Run
from qgc.runtime.launch import Launch
from qgc.runtime.model import Model, Session
from qgc.runtime.progress import Progress, silent

if TYPE_CHECKING:
    from qgc.runtime.sparse.files import Merged
    from qgc.runtime.sparse.model import SparseModel

MANIFEST = "qgc.json"

Sink = Callable[[Sequence[Token], bool], None]
"""`sink(tokens, is_generated)`: is shown each part of a stream, in order."""


def _nowhere(_tokens: Sequence[Token], _is_generated: bool) -> None:
    """A sink for a stream that was handed on before."""


class Checkpoint:
    """A model that is a machine.

    Attributes:
        folder: where it lies.
        dtype, device: what transformers is asked to compute in, and where; `auto` is settled when the model is loaded.
        manifest: the content of its `qgc.json`.
        machine: which machine it is.
        baked: the kernel in its weights; None when programs come in as tokens.
    """

    def __init__(self, folder: Path, dtype: str = "auto", device: str = "auto") -> None:
        """Read the manifest; the model itself is loaded when it is first needed.

        Raises:
            QgcError: `checkpoint-manifest` when the folder holds no machine.
        """
        self.folder = folder
        self.dtype = dtype
        self.device = device
        try:
            self.manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            fields = self.manifest["machine"]
            fields = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            self.machine = MachineConfig(**fields)
            self._first = int(self.manifest["first_token"])
            self.baked: str | None = self.manifest["baked"]
        except (OSError, ValueError, KeyError, TypeError) as err:
            raise fail(
                "checkpoint-manifest",
                f"{folder} holds no machine: {MANIFEST}: {err}",
                hint="build a checkpoint with `qgc blocks2weights`",
            ) from err
        self.vocabulary = Vocabulary(self.machine)
        self._tokens: dict[int, Token] = {}

    @cached_property
    def model(self) -> Model:
        """The model, in stock transformers."""
        return Model(self.folder, self.dtype, self.device)

    @cached_property
    def sparse(self) -> SparseModel:
        """The model, as sparse lists."""
        from qgc.runtime.sparse.model import SparseModel

        return SparseModel(self.folder, merged=self.merged)

    @property
    def merged(self) -> Merged | None:
        """Which part of a merged checkpoint is the machine; None when all of it is."""
        from qgc.runtime.sparse.files import Merged

        base = self.manifest.get("base")
        return base and Merged(base["layers"], base["vocab"], tuple(base["coordinates"]))

    def ids(self, tokens: Sequence[Token]) -> list[int]:
        """The model's token numbers."""
        return [self._first + self.vocabulary.id(token) for token in tokens]

    def token(self, number: int) -> Token:
        """The machine token of a model's token number; one object for each number, so that a long stream is small.

        Raises:
            QgcError: `checkpoint-token` when the model said something that is no machine token.
        """
        if number in self._tokens:
            return self._tokens[number]
        own = number - self._first
        if not 0 <= own < self.vocabulary.size:
            raise fail(
                "checkpoint-token", f"{self.folder} answered {number}, which is no token of the machine"
            )
        return self._tokens.setdefault(number, self.vocabulary.token(own))

    def run(
        self, launch: Launch, budget: int = BUDGET, progress: Progress = silent, is_sparse: bool = False
    ) -> Run:
        """Run a launch step by step, in transformers' `generate` or in the sparse step, and keep its stream.

        Raises:
            QgcError: as `stream`.
        """
        tokens: list[Token] = []
        generated: list[bool] = []

        def keep(part: Sequence[Token], is_own: bool) -> None:
            tokens.extend(part)
            generated.extend([is_own] * len(part))

        memory = self.stream(launch, keep, budget, progress, is_sparse)
        return Run(launch.read(memory), tokens, generated, memory)

    def run_many(self, launches: Sequence[Launch], threads: int = 1, budget: int = BUDGET) -> list[Run]:
        """Run independent launches in the sparse step, each in a context of its own, on several threads.

        Raises:
            QgcError: as `stream`, of the first launch that fails, when all have ended.
        """
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda launch: self.run(launch, budget, is_sparse=True), launches))

    def run_chain(
        self,
        launches: Sequence[Launch],
        budget: int = BUDGET,
        progress: Progress = silent,
        is_sparse: bool = False,
    ) -> list[Run]:
        """Run launches of one context (`launch.link_chain`) one after another; each run has its own launch's tokens.

        The reference interpreter follows, to say what went wrong if something does.

        Raises:
            QgcError: as `stream`.
        """
        model = self.sparse if is_sparse else self.model
        room = sum(budget + sum(map(len, launch.prompts)) for launch in launches)
        session = self.sparse.new_session() if is_sparse else self.model.new_session(room)
        machine: Machine | None = None
        runs = []
        for launch in launches:
            tokens: list[Token] = []
            generated: list[bool] = []

            def keep(
                part: Sequence[Token],
                is_own: bool,
                tokens: list[Token] = tokens,
                generated: list[bool] = generated,
            ) -> None:
                tokens.extend(part)
                generated.extend([is_own] * len(part))

            watch = Watch(launch, machine)
            memory = self._stream(launch, watch, keep, budget, progress, model, session)
            machine = watch.machine
            runs.append(Run(launch.read(memory), tokens, generated, memory))
        return runs

    def stream(
        self,
        launch: Launch,
        sink: Sink,
        budget: int = BUDGET,
        progress: Progress = silent,
        is_sparse: bool = False,
    ) -> list[int]:
        """Run a launch, hand its stream to `sink` part by part, and return the memory as the recurrent state has it.

        The sparse step keeps no token: memory does not grow with the stream. A launch that goes wrong there runs once more,
        followed by the reference interpreter, which explains.

        Raises:
            QgcError: `run-fault`, `run-store` or `run-budget`.
        """
        if not is_sparse:
            room = budget + sum(map(len, launch.prompts))
            return self._stream(
                launch, Watch(launch), sink, budget, progress, self.model, self.model.new_session(room)
            )
        try:
            return self._stream(
                launch, Guard(launch), sink, budget, progress, self.sparse, self.sparse.new_session()
            )
        except SomethingWrongError:
            self._stream(
                launch, Watch(launch), _nowhere, budget, progress, self.sparse, self.sparse.new_session()
            )
            raise

    def _stream(
        self,
        launch: Launch,
        follower: Watch | Guard,
        sink: Sink,
        budget: int,
        progress: Progress,
        model: Model | SparseModel,
        session: Any,
    ) -> list[int]:
        from qgc.backends.weights import read_memory

        stop = self.ids([Token("halt"), Token("fault")])
        left = budget
        for number, prompt in enumerate(launch.prompts):
            follower.ctaid = number
            follower.prompt(prompt)
            sink(prompt, False)
            last = Token("exec")
            for part in model.parts(session, self.ids(prompt), stop, left, progress) if left else ():
                answers = [self.token(n) for n in part]
                sink(answers, True)
                follower.follow(answers)
                left -= len(answers)
                last = answers[-1]
            if last.kind != "halt":
                raise follower.exhausted(budget)
        return read_memory(session.state, self.manifest)

    def replay(self, run: Run) -> Replay:
        """Feed a whole stream again in one teacher-forced prefill, and compare every generated token and all memory."""
        from qgc.backends.weights import read_memory

        numbers, cache = self.model.replay(self.ids(run.tokens[:-1]))
        answers = [self.token(n) for n in numbers]
        positions = [i for i, is_own in enumerate(run.generated) if is_own]
        wrong = [i for i in positions if answers[i - 1] != run.tokens[i]]
        name = self.vocabulary.name
        first = (name(answers[wrong[0] - 1]), name(run.tokens[wrong[0]])) if wrong else None
        memory = read_memory(Session(cache=cache).state, self.manifest)
        words = [i for i, (a, b) in enumerate(zip(memory, run.memory, strict=True)) if a != b]
        return Replay(len(positions), tuple(wrong), first, tuple(words))


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found.

    Attributes:
        positions: generated tokens that were compared.
        mismatches: positions in the stream where the answers differ.
        first: what the replay answered at the first of them, and what the stream has.
        words: words of memory that differ at the end.
    """

    positions: int
    mismatches: tuple[int, ...] = ()
    first: tuple[str, str] | None = None
    words: tuple[int, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return not self.mismatches and not self.words

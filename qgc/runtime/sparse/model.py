"""A checkpoint behind the same calls as `runtime.model.Model`, run by the sparse step instead of by transformers."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import QgcError
from qgc.files import atomic_write
from qgc.runtime.progress import Progress, silent
from qgc.runtime.sparse import step
from qgc.runtime.sparse.files import Merged
from qgc.runtime.sparse.load import load
from qgc.runtime.sparse.plan import Plan, make_plan, run_in_full
from qgc.runtime.sparse.state import Profile, State, head_state, new_profile, new_state
from qgc.runtime.sparse.store import assemble, flatten
from qgc.runtime.sparse.weights import Weights

FORMAT = 7
"""Of the stored lists and plan; a change makes old ones stale."""
PROFILE_TOKENS = 1024
"""Tokens that run in full, and are watched, before a plan is made or made anew."""
BROKEN_SHARE = 0.02
"""Share of layers that may run in full under a plan before tokens are watched again."""
CHUNK = 4096
"""Tokens between two reports of progress."""


class Learned(NamedTuple):
    """What is stored of a model that has run: what was seen of it, and the plan made from that."""

    profile: Profile
    plan: Plan


@dataclass(slots=True)
class SparseSession:
    """A context: the state after all tokens so far but `unread`, the last one, which no step has read yet."""

    weights: Weights
    machine_state: State
    unread: list[int] = field(default_factory=list)

    def state(self, layer: int, head: int) -> NDArray[np.float32]:
        """The recurrent state of one head, `[key dimension, value dimension]`."""
        return head_state(self.weights, self.machine_state, layer, head)


class SparseModel:
    """One checkpoint, as sparse lists."""

    def __init__(self, folder: Path, progress: Progress = silent, merged: Merged | None = None) -> None:
        """Read the lists stored beside the weights, or make and store them.

        Raises:
            QgcError: what `load.load` raises.
        """
        self._folder = folder
        self._lock = Lock()
        self._key = _key(folder)
        stored = self._load("lists")
        if stored is None:
            self.weights = load(folder, progress, merged)
            self._store("lists", dict(flatten(self.weights)))
        else:
            self.weights = assemble(Weights, stored)
        self._profile = new_profile(self.weights)
        self._plan: Plan | None = None
        self._since = self._broken = (
            0  # tokens since watching or the plan began; layers that ran in full under the plan
        )
        if (stored := self._load("plan")) is not None:
            self._profile, self._plan = assemble(Learned, stored)

    def new_session(self) -> SparseSession:
        """An empty context."""
        return SparseSession(self.weights, new_state(self.weights))

    def extend(
        self,
        session: SparseSession,
        prompt: Sequence[int],
        stop: Sequence[int],
        budget: int,
        progress: Progress = silent,
    ) -> list[int]:
        """Append a prompt, generate greedily, and return what was generated; as `Model.extend`."""
        parts = self.parts(session, prompt, stop, budget, progress)
        return [number for part in parts for number in part]

    def parts(
        self,
        session: SparseSession,
        prompt: Sequence[int],
        stop: Sequence[int],
        budget: int,
        progress: Progress = silent,
    ) -> Iterator[list[int]]:
        """What `extend` generates, in parts of at most `CHUNK` tokens, none of which is kept."""
        answer = self._feed(session, [*session.unread, *prompt])
        ends = np.array(stop, dtype=np.int64)
        count = 0
        while True:
            size = PROFILE_TOKENS if self._plan is None else CHUNK
            out = np.zeros(min(budget - count, size), dtype=np.int64)
            made = step.generate(self.weights, session.machine_state, *self._mode(), answer, ends, out)
            part: list[int] = out[:made].tolist()
            session.unread = part[-1:]
            count += made
            progress("generate", count, budget)
            self._learn(session.machine_state, made)
            yield part
            if part[-1] in stop or count >= budget:
                return
            answer = self._feed(session, session.unread)

    def answers(self, session: SparseSession, tokens: Sequence[int]) -> list[int]:
        """The greedy answer after each of some tokens, fed one after another."""
        return [self._feed(session, [token]) for token in tokens]

    def _feed(self, session: SparseSession, tokens: Sequence[int]) -> int:
        answer = step.feed_all(
            self.weights, session.machine_state, *self._mode(), np.array(tokens, dtype=np.int64)
        )
        self._learn(session.machine_state, len(tokens))
        return int(answer)

    @property
    def has_plan(self) -> bool:
        """Whether enough tokens were watched to make a plan."""
        return self._plan is not None

    @property
    def plan(self) -> Plan:
        """What the step goes by: the plan, or running in full while there is none."""
        return self._full if self._plan is None else self._plan

    def _mode(self) -> tuple[Plan, Profile, bool]:
        """In full and watched while there is no plan; then by the plan."""
        plan = self._plan
        return (self._full, self._profile, True) if plan is None else (plan, self._profile, False)

    @cached_property
    def _full(self) -> Plan:
        return run_in_full(self.weights)

    def _learn(self, state: State, tokens: int) -> None:
        """Make a plan when enough tokens were watched; watch again when the plan's bounds are broken often.

        What was seen adds up, and is stored with the plan. Sessions on several threads share it.
        """
        with self._lock:
            self._learn_alone(state, tokens)

    def _learn_alone(self, state: State, tokens: int) -> None:
        self._since += tokens
        self._broken += int(state.number[3])
        state.number[3] = 0
        if self._plan is None:
            if self._since >= PROFILE_TOKENS:
                self._plan = self._make_plan()
                self._since = self._broken = 0
        elif self._broken > BROKEN_SHARE * self.weights.layers * max(self._since, PROFILE_TOKENS):
            self._plan = None
            self._since = self._broken = 0

    def _make_plan(self) -> Plan:
        """A plan from all that was seen so far, stored."""
        p = self._profile
        plan = make_plan(self.weights, p.on, p.low, p.high, int(p.tokens[0]))
        self._store("plan", dict(flatten(Learned(p, plan))))
        return plan

    def _path(self, name: str) -> Path:
        return self._folder / f"sparse-{name}-{self._key}.npz"

    def _load(self, name: str) -> dict[str, Any] | None:
        """Stored arrays; None when there are none, or when they cannot be read and have to be made again."""
        try:
            with np.load(self._path(name)) as file:
                return {key: file[key] for key in file.files}
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None

    def _store(self, name: str, arrays: dict[str, Any]) -> None:
        """Store arrays beside the weights; a folder that cannot be written only makes the next start slower."""
        try:
            with atomic_write(self._path(name)) as new, new.open("wb") as file:
                np.savez(file, **arrays)
        except QgcError:
            return


def _key(folder: Path) -> str:
    """A hash of what the lists depend on: the files' names, sizes and times, and the format."""
    digest = hashlib.sha256(str(FORMAT).encode())
    for path in sorted(folder.glob("*.safetensors")):
        stat = path.stat()
        digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    config = folder / "config.json"
    digest.update(config.read_bytes() if config.is_file() else b"")
    return digest.hexdigest()[:16]

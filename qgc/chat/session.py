"""A turn of a conversation: the model writes, its calls are launched, their results go back into its text, and it writes on.

The text of a turn in the conversation has the calls and the results in it; people see the rest. The machine's tokens are in neither:
a launch has a context of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from qgc.chat.evaluate import error_text, evaluate
from qgc.chat.kernel_call import fault_text, run_kernel
from qgc.chat.protocol import Call, Protocol, Visible, choose
from qgc.chat.talker import Message, Sampling, Talker
from qgc.diagnostics import QgcError

if TYPE_CHECKING:
    from qgc.chat.device import Device, Launched

MAX_CALLS = 8
"""Calls in one turn."""
REPAIRS = 3
"""How often a model may correct a call in one turn."""


@dataclass(frozen=True, slots=True)
class Said:
    """Text for people."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A call that has a result, and its launches."""

    call: Call
    result: str
    launches: tuple[Launched, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that has none. `is_final`: the model does not get another try, and `fault` is the answer."""

    call: Call
    fault: str
    is_final: bool


Event: TypeAlias = "Said | Computed | Failed"


@dataclass(slots=True)
class Turn:
    """What the assistant has said so far.

    Attributes:
        content: for the conversation, calls and results included.
        text: for people.
        results: of the calls, in order.
        launches: all of them.
        repairs: calls that failed and were fed back.
        end: `stop`, `length` (out of tokens or calls) or `error`; empty while it goes on.
    """

    content: str = ""
    text: str = ""
    results: list[str] = field(default_factory=list)
    launches: list[Launched] = field(default_factory=list)
    repairs: int = 0
    end: str = ""


class Session:
    """A talker, a device, and the protocol between them.

    Attributes:
        protocol: how calls are marked.
        sampling: how text is chosen.
        system: what the user tells the model first, beside the protocol's own instructions.
    """

    def __init__(
        self,
        talker: Talker,
        device: Device,
        mode: str = "normal",
        sampling: Sampling | None = None,
        system: str = "",
    ) -> None:
        self.talker = talker
        self.device = device
        self.protocol: Protocol = choose(talker, mode)
        self.sampling = sampling or Sampling()
        self.system = system

    def reply(
        self, messages: Sequence[Message], turn: Turn, sampling: Sampling | None = None
    ) -> Iterator[Event]:
        """Answer the last message; `turn` grows as the events come, so that an interrupted turn is not lost."""
        chosen = sampling or self.sampling
        start = self.prompt(messages)
        visible = Visible(self.protocol.opening)
        for _ in range(MAX_CALLS):
            begun = len(turn.content)
            call = None
            left = chosen.max_new_tokens - (self.talker.count(turn.content) if turn.content else 0)
            for piece in self._pieces(start + turn.content, replace(chosen, max_new_tokens=max(left, 0))):
                turn.content += piece
                call = self.protocol.find(turn.content, begun)
                if call is not None:
                    piece = piece[: len(piece) - (len(turn.content) - call.end)]
                    turn.content = turn.content[: call.end]
                yield from self._say(visible.feed(piece), turn)
                if call is not None:
                    break
            is_cut = left <= 0 or self.talker.is_cut
            if call is None:  # the end of a turn ends a line, too
                call = self.protocol.find(turn.content + "\n", begun)
                turn.content += "\n" if call is not None else ""
            held = visible.take()
            if call is None:
                yield from self._say([held], turn)
                turn.end = "length" if is_cut else "stop"
                return
            yield from self._called(call, turn)
            if turn.end:
                return
        turn.end = "length"

    def _pieces(self, text: str, sampling: Sampling) -> Iterator[str]:
        if sampling.max_new_tokens > 0:
            yield from self.talker.pieces(text, sampling)

    def _say(self, texts: Iterator[str] | list[str], turn: Turn) -> Iterator[Event]:
        for text in texts:
            if text:
                turn.text += text
                yield Said(text)

    def _called(self, call: Call, turn: Turn) -> Iterator[Event]:
        """Run a call and put its result, or its fault, into the turn."""
        try:
            result, launches = self._run(call)
        except QgcError as err:
            fault = error_text(err) if call.launch is None else fault_text(err, call.source)
            is_final = not self.protocol.feeds_errors or turn.repairs >= REPAIRS
            turn.content += self.protocol.result.format(f"error: {fault}")
            turn.repairs += 1
            if is_final:
                turn.end = "error"
                turn.text += f"error: {fault}"
            yield Failed(call, fault, is_final)
            return
        turn.results.append(result)
        turn.launches += launches
        turn.content += self.protocol.result.format(result)
        yield Computed(call, result, launches)

    def _run(self, call: Call) -> tuple[str, tuple[Launched, ...]]:
        if call.launch is not None:
            text, launched = run_kernel(call.source, call.launch, self.device)
            return text, (launched,)
        found = evaluate(call.source, self.device)
        return found.text, found.launches

    def prompt(self, messages: Sequence[Message]) -> str:
        """The text of a conversation: the instructions, and as many of the last turns as the protocol shows."""
        told = [part for part in (self.protocol.instructions(self.device.machine), self.system) if part]
        told += [message.content for message in messages if message.role == "system"]
        system = [Message("system", "\n\n".join(told))] if told else []
        rest = [message for message in messages if message.role != "system"]
        starts = [i for i, message in enumerate(rest) if message.role == "user"] or [0]
        for start in starts:
            text = self.talker.prompt([*system, *rest[start:]])
            if not self.protocol.context or self.talker.count(text) <= self.protocol.context:
                return text
        return text

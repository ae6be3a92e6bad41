"""The `tokens` stage: what one machine is fed, or what it answered, as text and with its invariants.

    machine simt4
    <rom:b0:s0>
    <mem_s:17>
    ...

Invariants of a stream. Each line is one stable code.

    token-range    the token exists: its kind is known and its payload fits the kind
    token-slice    a `more` or `rest` continues a value: `more` is slice 1 to 7 of it, `rest` a later one
    token-target   a `mem_s` or `mem_v` comes right after the token that says where it goes
    token-slot     a `rom` token names a slot that blocks have
    token-end      nothing but a new launch follows `halt`, and nothing follows `fault`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from qgc.diagnostics import Diagnostic, Span, VerifyError, fail
from qgc.ir.machine import tokens
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.interpreter import Machine
from qgc.ir.machine.text import machine_text, parse_machine
from qgc.ir.machine.tokens import MORE_SLICES, ROM_SLOTS, Token, Vocabulary

TARGETS = {"mem_s": ("adr", "rom", "const"), "mem_v": ("adr_v",)}
"""Which tokens say where a memory token goes."""

LAUNCH_STARTS = ("adr", "adr_v", "rom", "const", "start")
"""What may follow `halt`."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Tokens of one machine, in order; `lines` holds the place of each one's line in the text that it came from."""

    config: MachineConfig
    tokens: tuple[Token, ...]
    lines: tuple[Span, ...] = field(default=(), compare=False, repr=False)


def to_text(stream: Stream) -> str:
    """The machine, then one token name a line."""
    return machine_text(stream.config) + "\n" + tokens.to_text(Vocabulary(stream.config), stream.tokens)


def parse(text: str, file: str = "<tokens>") -> Stream:
    """Read a stream; it is not verified.

    Raises:
        QgcError: `token-machine` when the first line names no machine, `token-unknown` for every unknown name, and
            what `parse_machine` raises.
    """
    rows = text.splitlines()
    first = next((i for i, row in enumerate(rows) if row.split("#")[0].strip()), 0)
    header = rows[first].split("#")[0].strip() if rows else ""
    span = Span(file, first + 1, 1, len(header) + 1)
    if header.split(" ")[0] != "machine":
        raise fail("token-machine", "the stream does not say its machine", span, "begin with: machine simt4")
    config = parse_machine(header, span)
    body = "\n" * (first + 1) + "\n".join(rows[first + 1 :])
    found = tokens.parse(Vocabulary(config), body, file)
    places = [
        Span(file, number, 1, len(row) + 1)
        for number, row in enumerate(body.splitlines(), 1)
        for _ in row.split("#")[0].split()
    ]
    return Stream(config, tuple(found), tuple(places))


def verify(stream: Stream) -> None:
    """Check every invariant of this module.

    Raises:
        VerifyError: all faults, in stream order.
    """
    faults = list(_faults(stream))
    if faults:
        raise VerifyError(*faults)


def evaluate(stream: Stream) -> list[Token]:
    """The exact answer after each token: what the model must predict at that position."""
    machine = Machine(stream.config)
    return [machine.feed(token) for token in stream.tokens]


def _faults(stream: Stream) -> Iterator[Diagnostic]:
    vocabulary = Vocabulary(stream.config)
    slices = 0  # of the value that may still be continued
    for position, token in enumerate(stream.tokens):
        before = stream.tokens[position - 1].kind if position else ""
        span = stream.lines[position] if position < len(stream.lines) else None
        if token.kind not in vocabulary.widths or token.payload >> vocabulary.widths[token.kind]:
            yield Diagnostic(
                "token-range", f"token {position}: there is no {token.kind} {token.payload}", span
            )
            slices = 0
            continue
        name = f"token {position} {vocabulary.name(token)}"
        for code, message in _misplaced(stream.config, token, before, slices):
            yield Diagnostic(f"token-{code}", f"{name}: {message}", span)
        slices = slices + 1 if token.kind in ("more", "rest") else int(token.kind[:3] in ("val", "mem"))


def _misplaced(config: MachineConfig, token: Token, before: str, slices: int) -> Sequence[tuple[str, str]]:
    """Codes and messages of what is wrong with a token at its place."""
    kind, wrong = token.kind, []
    if kind in ("more", "rest") and tokens.slice_kind("", slices) != kind:
        expected = f"slice {slices} of a value" if slices else "no value to continue"
        wrong.append(("slice", f"here is {expected}; more is slice 1 to {MORE_SLICES - 1}, rest a later one"))
    if kind in TARGETS and before not in TARGETS[kind]:
        wrong.append(("target", f"comes after {before or 'nothing'}, not after {' or '.join(TARGETS[kind])}"))
    if kind == "rom" and token.payload % ROM_SLOTS >= config.stages + 2:
        wrong.append(("slot", f"a block of {config.name} has {config.stages + 2} slots"))
    if before == "fault" or (before == "halt" and kind not in LAUNCH_STARTS):
        wrong.append(("end", f"follows {before}"))
    return wrong

"""The text form of the `netlist` stage, one line for each wire, unit and output.

    netlist
    token kind.exec
    wire s0.faults 0..4
    wire s0.a.lane0[3]
    unit relu(2*kind.exec + 2*s0.op.and - 3) * (s0.b.lane0[3]) -> s0.a.lane0[3], -2*s0.faults
    head ctx.count rows 1 scale 16
      data kind.exec
      write kind.exec + 0.5*kind.val_v
      read 1
      to 0: ctx.count.value
    output next.kind[0] = s0.a.lane0[3]

A `token` wire is set by the embedding. A wire without a range is a bit. A signal is a sum of `COEFFICIENT*WIRE` and a
constant. A head has lines for its data, `write` and `read` signals, `write-key` and `read-key` bits (low first; none for
a memory of one row), and for each bit the wires that it is read into. Wires, units and heads are numbered in order, and
names stand for numbers. Later stages write what they add after ` @ `. Lines that start with `#` are comments.

Printing is canonical: a wire's terms come in order of units, then heads, and equal terms are one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from qgc.diagnostics import Span
from qgc.ir.lines import LineReader, number_text
from qgc.ir.netlist.netlist import (
    ONE,
    FromHead,
    FromUnit,
    Head,
    Key,
    Netlist,
    Number,
    Signal,
    Unit,
    Wire,
    WireInfo,
    total,
)

NAME = re.compile(r"[A-Za-z_][\w.\[\]=-]*", re.ASCII)
"""Names of wires, heads and outputs."""

Places = dict[str, Span]
"""Where each part stands in a text: `wire 3`, `unit 5`, `head 0`, `output next.kind[0]`."""


@dataclass(slots=True)
class Notes:
    """What stands after ` @ ` on the lines of wires, units, heads and outputs, in order; empty texts where nothing does."""

    wires: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def to_text(netlist: Netlist) -> str:
    """The netlist as text; `parse` gives a netlist back that prints the same and evaluates the same."""
    return "".join(line + "\n" for line in ("netlist", *body_lines(netlist, Notes())))


def parse(text: str, file: str = "<netlist>") -> Netlist:
    """Read a netlist; it is not verified.

    Raises:
        QgcError: `netlist-syntax` for each line that is not understood, `netlist-name` for each name that is unknown or
            given twice.
    """
    return parse_with_places(text, file)[0]


def parse_with_places(text: str, file: str = "<netlist>") -> tuple[Netlist, Places]:
    """Read a netlist and where its parts stand, so that the verifier can point at them. Raises as `parse` does."""
    reader = NetlistReader(file, "netlist")
    reader.read(text)
    return reader.netlist, reader.places


# Printing ----------------------------------------------------------------------------------------------------------


def signal_text(signal: Signal, names: Sequence[str]) -> str:
    """`2*a - b + 1`; `names` are those of the wires."""
    parts = [
        f"{'-' if c < 0 else '+'} {'' if abs(c) == 1 else number_text(abs(c)) + '*'}{names[w]}"
        for w, c in signal.terms
    ]
    if signal.const or not parts:
        parts.append(f"{'-' if signal.const < 0 else '+'} {number_text(abs(signal.const))}")
    text = " ".join(parts)
    return text[2:] if text[0] == "+" else "-" + text[2:]


def body_lines(netlist: Netlist, notes: Notes) -> Iterator[str]:
    """The lines after the header, with notes."""
    names = [info.name for info in netlist.wires]
    for number, info in enumerate(netlist.wires):
        kind = "wire" if info.token_field is None else "token"
        bounds = "" if (info.low, info.high) == (0, 1) else f" {info.low}..{info.high}"
        yield f"{kind} {info.name}{bounds}{_note(notes.wires, number)}"
    from_unit, from_head = _targets(netlist)
    for number, unit in enumerate(netlist.units):
        up = "" if unit.up == ONE else f" * ({signal_text(unit.up, names)})"
        to = ", ".join(_term_text(names[w], c) for w, c in from_unit[number].items())
        line = f"unit relu({signal_text(unit.gate, names)}){up}{' -> ' if to else ''}{to}"
        yield line + _note(notes.units, number)
    for number, head in enumerate(netlist.heads):
        scale = "" if head.scale is None else f" scale {head.scale}"
        yield f"head {head.name} rows {head.rows}{scale}{_note(notes.heads, number)}"
        yield from _head_lines(head, names)
        for bit, wires in sorted(from_head[number].items()):
            yield f"  to {bit}: {', '.join(names[w] for w in wires)}"
    for number, (name, signal) in enumerate(netlist.outputs.items()):
        yield f"output {name} = {signal_text(signal, names)}{_note(notes.outputs, number)}"


def _note(notes: Sequence[str], number: int) -> str:
    return f" @ {notes[number]}" if notes and notes[number] else ""


def _term_text(name: str, coefficient: Number) -> str:
    if abs(coefficient) == 1:
        return name if coefficient > 0 else f"-{name}"
    return f"{number_text(coefficient)}*{name}"


def _head_lines(head: Head, names: Sequence[str]) -> Iterator[str]:
    for word, signals in (
        ("data", head.data),
        ("write-key", head.write_key.bits),
        ("read-key", head.read_key.bits),
    ):
        if signals:
            yield f"  {word} {', '.join(signal_text(s, names) for s in signals)}"
    yield f"  write {signal_text(head.write, names)}"
    yield f"  read {signal_text(head.read, names)}"


def _targets(netlist: Netlist) -> tuple[dict[int, dict[int, Number]], dict[int, dict[int, list[int]]]]:
    """For each unit its wires with coefficients; for each head and bit its wires."""
    from_unit: dict[int, dict[int, Number]] = defaultdict(dict)
    from_head: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for wire, info in enumerate(netlist.wires):
        for term in info.terms:
            if isinstance(term, FromUnit):
                to = from_unit[term.unit]
                to[wire] = to.get(wire, 0) + term.coefficient
            else:
                from_head[term.head][term.bit].append(wire)
    return from_unit, from_head


# Parsing -----------------------------------------------------------------------------------------------------------

_NOTE = r"(?: @ (?P<note>.*))?"
_WIRE = re.compile(rf"(?P<name>\S+)(?: (?P<low>-?[0-9]{{1,9}})\.\.(?P<high>-?[0-9]{{1,9}}))?{_NOTE}")
_UNIT = re.compile(rf"relu\((?P<gate>[^()]*)\)(?: \* \((?P<up>[^()]*)\))?(?: -> (?P<to>[^@]*?))?{_NOTE}")
_HEAD = re.compile(rf"(?P<name>\S+) rows (?P<rows>[0-9]{{1,9}})(?: scale (?P<scale>[0-9]{{1,9}}))?{_NOTE}")
_TO = re.compile(r"(?P<bit>[0-9]{1,9}): (?P<to>.*)")
_OUTPUT = re.compile(rf"(?P<name>\S+) = (?P<signal>[^@]*?){_NOTE}")


@dataclass(slots=True)
class _Draft:
    """A head while its lines are read."""

    name: str
    rows: int
    scale: int | None
    signals: dict[str, list[Signal]] = field(default_factory=dict)

    def build(self) -> Head:
        """The finished head."""
        bits = {word: tuple(signals) for word, signals in self.signals.items()}
        return Head(
            self.name,
            self.rows,
            bits.get("data", ()),
            bits.get("write", (Signal(),))[0],
            Key(bits.get("write-key", ())),
            Key(bits.get("read-key", ())),
            bits.get("read", (Signal(),))[0],
            self.scale,
        )


class NetlistReader:
    """Reads a netlist's lines; later stages add lines of their own.

    Attributes:
        lines: the reader of lines, for diagnostics.
        netlist, notes, places: what was read; complete after `read`.
    """

    def __init__(
        self,
        file: str,
        header: str,
        more: Mapping[str, Callable[[str], None]] | None = None,
        notes: Mapping[str, re.Pattern[str]] | None = None,
    ) -> None:
        """Prepare to read `file`, whose first line is `header`.

        Args:
            file: its name, for diagnostics.
            header: the stage.
            more: handlers of further lines by first word.
            notes: what stands after ` @ ` on each `wire`, `unit`, `head` and `output` line.
        """
        self.netlist = Netlist()
        self.notes = Notes()
        self.places: Places = {}
        self.numbers: dict[str, int] = {}
        self._note_forms = notes or {}
        self._header = header
        self._has_header = False
        self._heads: list[_Draft] = []
        self._words: dict[str, Signal] = {}
        handlers: dict[str, Callable[[str], None]] = {header: self._begin, **(more or {})}
        handlers |= {"token": self._token, "wire": self._wire, "unit": self._unit, "head": self._head}
        for word in ("data", "write-key", "read-key", "write", "read"):
            handlers[word] = lambda body, word=word: self._signals(word, body)  # type: ignore[misc]
        handlers |= {"to": self._to, "output": self._output}
        self.lines = LineReader(file, f"{header}-syntax", handlers)

    def read(self, text: str) -> None:
        """Read all lines. Raises QgcError with every fault."""
        self.lines.read(text)
        if not self._has_header:
            raise self.lines.missing(self._header)
        self.netlist.heads = [draft.build() for draft in self._heads]

    def wire(self, name: str) -> int:
        """The number of the wire called `name`."""
        if (number := self.numbers.get(name)) is None:
            hint = "a wire is named by a `wire` or `token` line above"
            raise self.lines.error(f"no wire {name!r}", name, hint, "netlist-name")
        return number

    def signal(self, text: str) -> Signal:
        """Read a signal as `signal_text` prints it."""
        words = text.split(" ")
        if len(words) == 1:
            return self._term(words[0])
        signs = words[1::2]
        if len(words) % 2 == 0 or any(sign not in ("+", "-") for sign in signs):
            raise self.lines.error(f"{text!r} is not a sum of COEFFICIENT*WIRE and a constant", text)
        parts = [self._term(words[0])]
        for sign, word in zip(signs, words[2::2], strict=True):
            part = self._term(word)
            parts.append(part if sign == "+" else -part)
        return total(parts)

    def _term(self, word: str) -> Signal:
        """`a`, `-a`, `2*a` or `3` as a signal; equal words are read once."""
        if (known := self._words.get(word)) is not None:
            return known
        factor, star, name = word.rpartition("*")
        if star:
            signal = Signal(0, ((Wire(self.wire(name)), 1),)) * self.lines.number(factor)
        elif (bare := word.removeprefix("-"))[:1].isdigit():
            signal = Signal(self.lines.number(word))
        else:
            signal = Signal(0, ((Wire(self.wire(bare)), -1 if bare != word else 1),))
        self._words[word] = signal
        return signal

    def _begin(self, body: str) -> None:
        if body or self._has_header:
            raise self.lines.error(f"the line is not of the form `{self._header}`, or stands there twice")
        self._has_header = True

    def _note(self, kind: str, match: re.Match[str]) -> str:
        note, form = match["note"] or "", self._note_forms.get(kind)
        if form is None and note:
            raise self.lines.error(f"a {kind} line of a {self._header} has no note", note)
        if form is not None and not form.fullmatch(note):
            raise self.lines.error(f"a {kind} line ends with ` @ ` and {form.pattern}", note)
        return note

    def _name(self, name: str, known: Mapping[str, object]) -> str:
        if not NAME.fullmatch(name):
            raise self.lines.error(f"{name!r} is not a name", name, code="netlist-name")
        if name in known:
            raise self.lines.error(f"{name!r} is there already", name, code="netlist-name")
        return name

    def _token(self, body: str) -> None:
        self._wire(body, is_token=True)

    def _wire(self, body: str, is_token: bool = False) -> None:
        match = self.lines.match(_WIRE, body, "wire NAME [LOW..HIGH]")
        name, number = self._name(match["name"], self.numbers), len(self.numbers)
        self.numbers[name] = number
        low, high = (0, 1) if match["low"] is None else (int(match["low"]), int(match["high"]))
        self.netlist.wires.append(WireInfo(name, name if is_token else None, low, high))
        self.notes.wires.append(self._note("wire", match))
        self.places[f"wire {number}"] = self.lines.span

    def _unit(self, body: str) -> None:
        match = self.lines.match(_UNIT, body, "unit relu(SIGNAL) [* (SIGNAL)] [-> TERM, ...]")
        number = len(self.netlist.units)
        self.netlist.units.append(Unit(self.signal(match["gate"]), self.signal(match["up"] or "1")))
        for word in match["to"].split(", ") if match["to"] else ():
            term = self._term(word)
            if len(term.terms) != 1:
                raise self.lines.error(f"{word!r} is not COEFFICIENT*WIRE", word)
            wire, coefficient = term.terms[0]
            self.netlist.wires[wire].terms.append(FromUnit(number, coefficient))
        self.notes.units.append(self._note("unit", match))
        self.places[f"unit {number}"] = self.lines.span

    def _head(self, body: str) -> None:
        match = self.lines.match(_HEAD, body, "head NAME rows COUNT [scale COUNT]")
        scale = int(match["scale"]) if match["scale"] else None
        self.places[f"head {len(self._heads)}"] = self.lines.span
        self._heads.append(_Draft(self._name(match["name"], {}), int(match["rows"]), scale))
        self.notes.heads.append(self._note("head", match))

    def _open_head(self) -> _Draft:
        if not self._heads:
            raise self.lines.error("the line stands before the first head")
        return self._heads[-1]

    def _signals(self, word: str, body: str) -> None:
        signals = [self.signal(text) for text in body.split(", ")]
        if len(signals) > 1 and word in ("write", "read"):
            raise self.lines.error(f"a head has one {word} signal")
        self._open_head().signals[word] = signals

    def _to(self, body: str) -> None:
        self._open_head()
        match = self.lines.match(_TO, body, "to BIT: WIRE, ...")
        for name in match["to"].split(", "):
            info = self.netlist.wires[self.wire(name)]
            info.terms.append(FromHead(len(self._heads) - 1, int(match["bit"])))

    def _output(self, body: str) -> None:
        match = self.lines.match(_OUTPUT, body, "output NAME = SIGNAL")
        name = self._name(match["name"], self.netlist.outputs)
        self.netlist.outputs[name] = self.signal(match["signal"])
        self.notes.outputs.append(self._note("output", match))
        self.places[f"output {name}"] = self.lines.span

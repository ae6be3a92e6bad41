"""The text form of the `layout` stage: a schedule whose wires, heads and outputs are marked with their places.

    layout
    shape tiny hidden=1024 intermediate=2048 ...
    layers 3
    constants 0 1
    token kind.exec @ 3
    wire sum @ 4
    wire next @ -
    unit relu(2*kind.exec - 1) -> sum @ 0
    head memory rows 4 @ 1 slot 0
    output next = next @ 2
    clear sum @ 1

A wire has a residual coordinate, an output's wire none of its own (`-`); an output has the coordinate of its code. A
unit has a layer, a head a layer and a slot. `clear` names a wire whose coordinate a layer's units set back to 0.
Everything else is as in the netlist's text (`ir.netlist.text`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from qgc.ir.layout.layout import Clear, Layout
from qgc.ir.layout.schedule_text import LAYER, ScheduleReader, header_lines
from qgc.ir.netlist.text import Notes, Places, body_lines

_PLACE = re.compile("-|[0-9]{1,9}")
_SLOT = re.compile("(?P<layer>[0-9]{1,9}) slot (?P<slot>[0-9]{1,9})")
_COORDINATE = re.compile("[0-9]{1,9}")
_CLEAR = re.compile(r"(?P<wire>\S+) @ (?P<layer>[0-9]{1,9})")


def to_text(layout: Layout) -> str:
    """The layout as text."""
    return "".join(line + "\n" for line in _lines(layout))


def _lines(layout: Layout) -> Iterator[str]:
    schedule, netlist = layout.schedule, layout.netlist
    yield "layout"
    yield from header_lines(schedule)
    yield " ".join(["constants", *map(str, layout.constants)])
    notes = Notes(
        ["-" if place < 0 else str(place) for place in layout.coordinate],
        [str(layer) for layer in schedule.unit_layer],
        [f"{n} slot {slot}" for n, slot in zip(schedule.head_layer, layout.head_slot, strict=True)],
        [str(layout.code[name]) for name in netlist.outputs],
    )
    yield from body_lines(netlist, notes)
    for clear in layout.clears:
        yield f"clear {netlist.wires[clear.wire].name} @ {clear.layer}"


def parse(text: str, file: str = "<layout>") -> Layout:
    """Read a layout; it is not verified.

    Raises:
        QgcError: `layout-syntax` for each line that is not understood, `netlist-name` for each unknown name.
    """
    return parse_with_places(text, file)[0]


def parse_with_places(text: str, file: str = "<layout>") -> tuple[Layout, Places]:
    """Read a layout and where its parts stand (a clear is `clear NUMBER`). Raises as `parse` does."""
    reader = _Reader(file)
    return reader.read(text), reader.common.netlist.places


class _Reader:
    def __init__(self, file: str) -> None:
        self.common = ScheduleReader(
            file,
            "layout",
            {"constants": self._constants, "clear": self._clear},
            {"wire": _PLACE, "unit": LAYER, "head": _SLOT, "output": _COORDINATE},
        )
        self._found_constants: tuple[int, ...] | None = None
        self._clears: list[Clear] = []

    def read(self, text: str) -> Layout:
        """Read all lines. Raises QgcError with every fault."""
        schedule = self.common.read(text)
        reader = self.common.netlist
        if self._found_constants is None:
            raise reader.lines.missing("constants COORDINATE ...")
        notes = reader.notes
        return Layout(
            schedule,
            tuple(-1 if note == "-" else int(note) for note in notes.wires),
            tuple(int(note.rpartition(" ")[2]) for note in notes.heads),
            self._found_constants,
            {name: int(note) for name, note in zip(schedule.netlist.outputs, notes.outputs, strict=True)},
            tuple(self._clears),
        )

    def _constants(self, body: str) -> None:
        self._found_constants = tuple(self.common.netlist.lines.count(word) for word in body.split(" "))

    def _clear(self, body: str) -> None:
        reader = self.common.netlist
        match = reader.lines.match(_CLEAR, body, "clear WIRE @ LAYER")
        reader.places[f"clear {len(self._clears)}"] = reader.lines.span
        self._clears.append(Clear(reader.wire(match["wire"]), int(match["layer"])))

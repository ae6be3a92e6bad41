"""The text form of the `schedule` stage: a netlist whose units and heads are marked with their layers.

    schedule
    shape tiny hidden=1024 intermediate=2048 ...
    layers 3
    token kind.exec
    wire sum
    unit relu(2*kind.exec - 1) -> sum @ 2
    output next = sum

Everything else is as in the netlist's text (`ir.netlist.text`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from qgc.ir.layout.schedule import Schedule
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.shape_text import read_shape, shape_text
from qgc.ir.netlist.text import NetlistReader, Notes, Places, body_lines

LAYER = re.compile("(?P<layer>[0-9]{1,9})")


def to_text(schedule: Schedule) -> str:
    """The schedule as text."""
    notes = Notes(units=[str(n) for n in schedule.unit_layer], heads=[str(n) for n in schedule.head_layer])
    lines = ("schedule", *header_lines(schedule), *body_lines(schedule.netlist, notes))
    return "".join(line + "\n" for line in lines)


def header_lines(schedule: Schedule) -> Iterator[str]:
    """The lines that a schedule and a layout begin with."""
    yield shape_text(schedule.shape)
    yield f"layers {schedule.layers}"


def parse(text: str, file: str = "<schedule>") -> Schedule:
    """Read a schedule; it is not verified.

    Raises:
        QgcError: `schedule-syntax` for each line that is not understood, `netlist-name` for each unknown name.
    """
    return parse_with_places(text, file)[0]


def parse_with_places(text: str, file: str = "<schedule>") -> tuple[Schedule, Places]:
    """Read a schedule and where its parts stand. Raises as `parse` does."""
    reader = ScheduleReader(file, "schedule", {}, {"unit": LAYER, "head": LAYER})
    return reader.read(text), reader.netlist.places


class ScheduleReader:
    """Reads what a schedule and a layout have in common; `netlist` reads the rest."""

    def __init__(
        self,
        file: str,
        header: str,
        more: Mapping[str, Callable[[str], None]],
        notes: Mapping[str, re.Pattern[str]],
    ) -> None:
        """Prepare to read; the arguments are those of `NetlistReader`."""
        self.netlist = NetlistReader(
            file, header, {"shape": self._shape, "layers": self._layers, **more}, notes
        )
        self._found_shape: ModelShape | None = None
        self._found_layers: int | None = None

    def read(self, text: str) -> Schedule:
        """Read all lines. Raises QgcError with every fault."""
        reader = self.netlist
        reader.read(text)
        if self._found_shape is None:
            raise reader.lines.missing("shape NAME FIELD=NUMBER ...")
        if self._found_layers is None:
            raise reader.lines.missing("layers COUNT")
        unit_layer, head_layer = (
            tuple(int(note.split(" ")[0]) for note in notes)
            for notes in (reader.notes.units, reader.notes.heads)
        )
        return Schedule(reader.netlist, self._found_shape, self._found_layers, unit_layer, head_layer)

    def _shape(self, body: str) -> None:
        self._found_shape = read_shape(self.netlist.lines, body)

    def _layers(self, body: str) -> None:
        self._found_layers = self.netlist.lines.count(body)

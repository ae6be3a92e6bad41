"""The text form of the `weights` stage: the entries of every tensor, row by row.

    weights
    shape tiny hidden=1024 intermediate=2048 ...
    constants 0 1
    field kind.exec 17
    code next.kind[0] 2
    layer 0
    tensor mlp.gate_proj.weight
    row 0: 5=65536 17=-32768

Layers and rows are numbered in order, tensors are named as in the checkpoint. What is not written is 0. Norms, the
convolution and the decay are the same in every compiled layer and are not written either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from qgc.diagnostics import Span
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.shape_text import read_shape, shape_text
from qgc.ir.layout.weights import Entries, LayerWeights, Weights
from qgc.ir.lines import LineReader, number_text

Places = dict[str, Span]
"""Where each part stands in a text: `layer 0 tensor mlp.gate_proj.weight`, its rows below it, `field x`, `code y`."""

_PORT = re.compile(r"(?P<name>\S+) (?P<coordinate>[0-9]{1,9})")


def to_text(weights: Weights) -> str:
    """The weights as text; equal places are added."""
    return "".join(line + "\n" for line in _lines(weights))


def _lines(weights: Weights) -> Iterator[str]:
    yield "weights"
    yield shape_text(weights.shape)
    yield " ".join(["constants", *map(str, weights.constants)])
    for word, ports in (("field", weights.fields), ("code", weights.code)):
        for name, coordinate in ports.items():
            yield f"{word} {name} {coordinate}"
    for number, layer in enumerate(weights.layers):
        yield f"layer {number}"
        for name, entries in layer.items():
            yield f"tensor {name}"
            yield from _rows(entries)


def _rows(entries: Entries) -> Iterator[str]:
    if not entries.values:
        return
    columns = max(entries.columns) + 1
    place, value = entries.merged(columns)
    place, value = place[value != 0], value[value != 0]
    row, column = np.divmod(place, columns)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    texts = [f"{c}={number_text(v)}" for c, v in zip(column.tolist(), value.tolist(), strict=True)]
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(texts)], strict=True):
        yield f"row {row[start]}: {' '.join(texts[start:end])}"


def parse(text: str, file: str = "<weights>") -> Weights:
    """Read weights; they are not verified.

    Raises:
        QgcError: `weights-syntax` for each line that is not understood.
    """
    return parse_with_places(text, file)[0]


def parse_with_places(text: str, file: str = "<weights>") -> tuple[Weights, Places]:
    """Read weights and where their parts stand. Raises as `parse` does."""
    reader = _Reader(file)
    return reader.read(text), reader.places


class _Reader:
    def __init__(self, file: str) -> None:
        handlers = {
            "weights": self._begin,
            "shape": self._shape,
            "constants": self._constants,
            "field": lambda body: self._port("field", self._fields, body),
            "code": lambda body: self._port("code", self._code, body),
            "layer": self._layer,
            "tensor": self._tensor,
            "row": self._row,
        }
        self.lines = LineReader(file, "weights-syntax", handlers)
        self.places: Places = {}
        self._has_header = False
        self._found_shape: ModelShape | None = None
        self._found_constants: tuple[int, ...] = ()
        self._fields: dict[str, int] = {}
        self._code: dict[str, int] = {}
        self._layers: list[LayerWeights] = []
        self._entries: Entries | None = None
        self._name = ""

    def read(self, text: str) -> Weights:
        """Read all lines. Raises QgcError with every fault."""
        self.lines.read(text)
        if not self._has_header:
            raise self.lines.missing("weights")
        if self._found_shape is None:
            raise self.lines.missing("shape NAME FIELD=NUMBER ...")
        return Weights(
            self._found_shape, self._found_constants, self._fields, self._code, tuple(self._layers)
        )

    def _begin(self, body: str) -> None:
        if body or self._has_header:
            raise self.lines.error("the line is not of the form `weights`, or stands there twice")
        self._has_header = True

    def _shape(self, body: str) -> None:
        self._found_shape = read_shape(self.lines, body)

    def _constants(self, body: str) -> None:
        self._found_constants = tuple(self.lines.count(word) for word in body.split(" "))

    def _port(self, kind: str, ports: dict[str, int], body: str) -> None:
        match = self.lines.match(_PORT, body, f"{kind} NAME COORDINATE")
        if match["name"] in ports:
            raise self.lines.error(f"{match['name']!r} is there already", match["name"])
        ports[match["name"]] = int(match["coordinate"])
        self.places[f"{kind} {match['name']}"] = self.lines.span

    def _layer(self, body: str) -> None:
        if self.lines.count(body) != len(self._layers):
            raise self.lines.error(f"layer {body} is out of order; the next one is {len(self._layers)}", body)
        self._layers.append({})
        self._entries = None

    def _tensor(self, body: str) -> None:
        if not self._layers or body in self._layers[-1]:
            raise self.lines.error(f"{body!r} stands before the first layer, or twice in one", body)
        self._entries = self._layers[-1][body] = Entries()
        self._name = f"layer {len(self._layers) - 1} tensor {body}"
        self.places[self._name] = self.lines.span

    def _row(self, body: str) -> None:
        number, colon, rest = body.partition(": ")
        entries = self._entries
        if not colon or entries is None:
            raise self.lines.error(
                "the line is not of the form `row NUMBER: COLUMN=VALUE ...` below a tensor"
            )
        row = self.lines.count(number)
        if entries.rows and row <= entries.rows[-1]:
            raise self.lines.error(f"row {row} is out of order", number)
        self.places[f"{self._name} row {row}"] = self.lines.span
        for word in rest.split(" "):
            column, equals, value = word.partition("=")
            if not equals:
                raise self.lines.error(f"{word!r} is not COLUMN=VALUE", word)
            entries.add(row, self.lines.count(column), self.lines.number(value))

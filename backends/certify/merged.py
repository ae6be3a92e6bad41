"""What is different about a merged checkpoint: columns that shut gates on text, the closing layer, and the base behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.backends.certify.compare import Fault, differences
from qgc.backends.certify.logits import LogitMargin
from qgc.backends.certify.places import Places
from qgc.backends.merge.base import Base
from qgc.backends.merge.checkpoint import output_rows, silent_layer
from qgc.backends.merge.closing import closing_layer, deciding_units
from qgc.backends.merge.margin import ROUNDING, Margin, leftovers, margin
from qgc.backends.merge.silence import Silence
from qgc.backends.weights.embedding import embedding
from qgc.backends.weights.plan import Plan
from qgc.diagnostics import QgcError, fail
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.weights import LayerWeights
from qgc.ir.machine.tokens import Vocabulary

if TYPE_CHECKING:
    import torch


class BaseBehind:
    """The base's layers within a merged checkpoint, with the numbers that they had; its attributes are those of a `Base`."""

    def __init__(self, whole: Base, skip: int, rows: int) -> None:
        self._whole, self._rows, self._skip = whole, rows, skip
        self.name, self.prefix, self.shape, self.norm = whole.name, whole.prefix, whole.shape, whole.norm
        self.layers = whole.layers - skip
        self._start = f"{self.prefix}layers."
        self.names = {
            f"{self._start}{int(number) - skip}.{rest}"
            for name in whole.names
            if name.startswith(self._start)
            for number, _, rest in [name.removeprefix(self._start).partition(".")]
            if int(number) >= skip
        }

    @property
    def head(self) -> torch.Tensor:
        """The text rows of the output table."""
        return self._whole.tensor("lm_head.weight")[: self._rows]

    def tensor(self, name: str) -> torch.Tensor:
        """A tensor of a layer."""
        number, _, rest = name.removeprefix(self._start).partition(".")
        return self._whole.tensor(f"{self._start}{int(number) + self._skip}.{rest}")


class MergedPart:
    """A merged checkpoint: what its compiled layers must be, and its logits after all layers of the base.

    Attributes:
        prefix: of its tensors.
        coordinates: those of the functional that tells text apart. They are exactly 0 on machine tokens.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        """Open a folder.

        Raises:
            QgcError: `checkpoint-manifest` when the manifest does not say how it was merged; what `Base` raises.
        """
        try:
            facts = manifest["base"]
            self.silence = Silence(
                str(facts["silence"]),
                tuple(map(int, facts["coordinates"])),
                tuple(map(float, facts["weights"])),
                float(facts["constant"]),
                float(facts["least"]),
            )
            self.first, self.layers = int(manifest["first_token"]), int(manifest["layers"])
            self.margin = Margin(**facts["margin"])
            self.dtype = str(manifest["dtype"])
        except (KeyError, TypeError, ValueError) as err:
            raise fail(
                "checkpoint-manifest", f"{folder}: qgc.json does not say how it was merged: {err}"
            ) from err
        self.whole = Base(str(folder), is_merged=True)
        self.prefix, self.coordinates = self.whole.prefix, self.silence.coordinates

    def layer(self, shape: ModelShape, weights: LayerWeights) -> dict[str, torch.Tensor]:
        """What a layer of the machine must be."""
        return silent_layer(shape, self.silence, weights)

    def ends(self, plan: Plan) -> Iterator[Fault]:
        """Differences of the closing layer and of the machine's rows."""
        import torch

        layout, vocabulary, places = plan.layout, Vocabulary(plan.machine), Places(plan.layout)
        code = list(layout.code.values())
        number = layout.schedule.layers
        if self.layers != number + 1:
            yield Fault(-1, "qgc.json layers", f"is {self.layers}, must be {number + 1}")
            return
        closing = silent_layer(
            layout.shape, self.silence, closing_layer(layout.shape, code, self.silence), deciding_units(code)
        )
        prefix = f"{self.prefix}layers.{number}."
        yield from differences(
            number, lambda key: self.whole.tensor(prefix + key), closing, lambda *_: "the closing layer"
        )
        table = embedding(vocabulary, layout)[: vocabulary.size]
        rows = {
            f"{self.prefix}embed_tokens.weight": torch.from_numpy(table),
            "lm_head.weight": output_rows(table, code, self.whole.norm, self.margin.scale),
        }

        def stored(key: str) -> torch.Tensor:
            return self.whole.tensor(key)[self.first : self.first + vocabulary.size]

        def name(_tensor: str, row: int, column: int) -> str:
            return f"token {vocabulary.name(vocabulary.token(row))}, {places.coordinate(-1, column)}"

        yield from differences(-1, stored, rows, name)

    def logits(self, plan: Plan, dtype: str) -> tuple[LogitMargin, list[Fault]]:
        """The right row against every row of the machine and of the text, after the base's layers at their worst."""
        layout = plan.layout
        behind = BaseBehind(self.whole, self.layers, self.first)
        try:
            found = margin(behind, list(layout.code.values()), leftovers(layout), dtype)
        except QgcError as err:
            return LogitMargin(0.0, 0.0, 0.0), [Fault(-1, "logits", err.diagnostics[0].message)]
        faults = []
        if found.scale > self.margin.scale:
            what = f"the machine's rows are scaled by {self.margin.scale:g}, and need {found.scale:g}"
            faults.append(Fault(-1, "logits", what))
        return LogitMargin(found.right, min(found.machine, found.text), ROUNDING[dtype] * found.right), faults

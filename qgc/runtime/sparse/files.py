"""The tensors of a checkpoint folder, read one at a time, as sparse rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail

if TYPE_CHECKING:
    import torch

MAX_DENSITY = 0.05
"""Share of non-zero weights in the layers above which a checkpoint is refused: it would be slower than dense."""

Row: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Columns in order, and values, none of which is 0."""
NOTHING: Row = (np.zeros(0, dtype=np.int64), np.zeros(0))


class Files:
    """The tensors of a folder by name, memory-mapped, and counts of what was read.

    Attributes:
        config: of the language model.
        prefix: of its tensors; a multimodal checkpoint has it one level down.
    """

    def __init__(self, folder: Path) -> None:
        self.entries = self.nonzeros = 0
        try:
            self.config: dict[str, Any] = json.loads((folder / "config.json").read_text())
            index = folder / "model.safetensors.index.json"
            names = json.loads(index.read_text())["weight_map"] if index.exists() else None
        except (OSError, ValueError, KeyError) as err:
            raise fail("fast-checkpoint", f"{folder} is no checkpoint: {err}") from err
        self.prefix = "model."
        if self.config.get("model_type") == "qwen3_5":
            self.config, self.prefix = self.config["text_config"], "model.language_model."
        if self.config.get("model_type") != "qwen3_5_text":
            raise fail(
                "fast-checkpoint", f"{folder} is a {self.config.get('model_type')!r}, not a 'qwen3_5_text'"
            )
        self._folder, self._names = folder, names
        self._open: dict[str, Any] = {}

    @property
    def names(self) -> list[str]:
        """Every tensor of the folder, as the index or the one file lists them.

        Raises:
            QgcError: `fast-checkpoint`.
        """
        if self._names:
            return list(self._names)
        return list(self._opened("model.safetensors", "the list of tensors").keys())

    def count(self, name: str, tensor: torch.Tensor) -> None:
        """Count a matrix's entries; a dense one is refused before it is listed.

        Raises:
            QgcError: `fast-dense`.
        """
        nonzeros, entries = int(tensor.count_nonzero()), tensor.numel()
        if nonzeros > entries / 2:
            self._refuse(nonzeros / entries, f"{name} has")
        self.nonzeros += nonzeros
        self.entries += entries

    def check_density(self, what: str) -> None:
        """Refuse when too many of the weights counted so far are not 0.

        Raises:
            QgcError: `fast-dense`.
        """
        if self.nonzeros > MAX_DENSITY * self.entries:
            self._refuse(self.nonzeros / self.entries, what)

    def _refuse(self, density: float, what: str) -> None:
        raise fail(
            "fast-dense",
            f"{what} {density:.1%} non-zero weights, the fast engine takes at most {MAX_DENSITY:.0%}",
            hint="run it with --engine hf",
        )

    def tensor(self, name: str) -> torch.Tensor:
        """One tensor, as stored."""
        from safetensors import SafetensorError

        try:
            file = self._names[name] if self._names else "model.safetensors"
            tensor: torch.Tensor = self._opened(file, f"tensor {name}").get_tensor(name)
        except (OSError, KeyError, RuntimeError, SafetensorError) as err:
            raise fail("fast-checkpoint", f"{self._folder}: tensor {name} cannot be read: {err}") from err
        return tensor

    def close(self) -> None:
        """Unmap every file that no tensor is left of."""
        self._open.clear()

    def _opened(self, file: str, what: str) -> Any:
        """A file, mapped once; `what` is wanted of it."""
        from safetensors import SafetensorError, safe_open

        try:
            if file not in self._open:
                self._open[file] = safe_open(self._folder / file, framework="pt")
        except (OSError, RuntimeError, SafetensorError) as err:
            raise fail("fast-checkpoint", f"{self._folder}: {what} cannot be read: {err}") from err
        return self._open[file]


@dataclass(frozen=True, slots=True)
class Merged:
    """What part of a merged checkpoint is the machine.

    Attributes:
        layers: how many layers from the first on are compiled.
        first_token: the row of the machine's first token.
        idle: coordinates that are 0 on every machine token and that no machine row reads; they are for text.
    """

    layers: int
    first_token: int
    idle: tuple[int, ...]


class Layer:
    """One layer's tensors, without what reads or writes the coordinates `idle`."""

    def __init__(self, files: Files, prefix: str, idle: Sequence[int] = ()) -> None:
        self._files, self._prefix, self._idle = files, prefix, list(idle)

    def dense(self, name: str) -> NDArray[np.float64]:
        """A small tensor, dense."""
        return self._files.tensor(self._prefix + name).double().numpy()

    def any(self, name: str) -> bool:
        """Whether a tensor has a non-zero entry."""
        return bool(self._files.tensor(self._prefix + name).any())

    def rows(self, name: str, fold: NDArray[np.float64] | None = None, transpose: bool = False) -> list[Row]:
        """A matrix as rows (or columns, when transposed), scaled by `fold` along the entries of a row."""
        tensor = self._files.tensor(self._prefix + name)
        if self._idle:
            tensor = tensor.clone()
            if transpose:
                tensor[self._idle] = 0
            else:
                tensor[:, self._idle] = 0
        self._files.count(self._prefix + name, tensor)
        rows = sparse_rows(tensor.T if transpose else tensor)
        return rows if fold is None else [(c, v * fold[c]) for c, v in rows]


def sparse_rows(tensor: torch.Tensor) -> list[Row]:
    """The rows of a matrix."""
    place = tensor.nonzero()
    if not len(place):
        return [NOTHING] * tensor.shape[0]
    values = tensor[place[:, 0], place[:, 1]].double().numpy()
    row, col = place[:, 0].numpy(), place[:, 1].numpy()
    ends = np.searchsorted(row, np.arange(tensor.shape[0] + 1))
    return [(col[a:b], values[a:b]) for a, b in pairwise(ends)]

"""Stored tensors against what the layout lowers to: every number must be the same, zeros included."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

SHOWN = 3
"""Differences of one tensor that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a checkpoint is not certified: in which tensor or part, and what is wrong. `layer` is -1 outside of layers."""

    layer: int
    where: str
    what: str


Name = Callable[[str, int, int], str]
"""`name(tensor, row, column)`: what an entry belongs to."""


def differences(
    layer: int,
    stored: Callable[[str], torch.Tensor],
    expected: Mapping[str, torch.Tensor],
    name: Name,
) -> Iterator[Fault]:
    """Every tensor that is not what it must be, with the first few entries that differ."""
    for key, wanted in expected.items():
        found = stored(key)
        if found.shape != wanted.shape:
            yield Fault(layer, key, f"its shape is {list(found.shape)}, not {list(wanted.shape)}")
            continue
        found = found.float()
        different = (found != wanted).nonzero()
        for place in different[:SHOWN].tolist():
            is_, must = found[tuple(place)].item(), wanted[tuple(place)].item()
            row, column = (*place, 0)[:2]
            at = ", ".join(map(str, place))
            yield Fault(layer, key, f"[{at}] is {is_:g}, must be {must:g}: {name(key, row, column)}")
        if len(different) > SHOWN:
            yield Fault(layer, key, f"and {len(different) - SHOWN} more")

"""Where a launch's arrays lie in machine memory, and the fewest tokens that write them there.

Arrays stand one after another from word 0, in the order of the parameters; what a program needs besides, such as shared
memory, comes after them. One word stays free after each while there is room, so that a store just past an array hits no
other one and is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.tokens import Token, scalar_tokens, vector_tokens

DTYPES = ("int32", "uint32")
"""Element types of arrays, by numpy's names."""


@dataclass(frozen=True, slots=True)
class Region:
    """An array in memory: the parameter that it is given for, and its words. A name with a dot is the program's own."""

    name: str
    words: range

    @property
    def address(self) -> int:
        """Its byte address."""
        return 4 * self.words.start

    def __str__(self) -> str:
        name = f"{self.name[1:]} memory" if self.name.startswith(".") else self.name
        return f"{name} ({len(self.words)} words at byte address {self.address})"


@dataclass(frozen=True, slots=True, eq=False)
class MemoryImage:
    """The arrays of a launch and the first words of memory, up to the end of the last array."""

    regions: tuple[Region, ...]
    words: tuple[int, ...]

    def __getitem__(self, name: str) -> Region:
        return next(region for region in self.regions if region.name == name)

    def region_of(self, word: int) -> Region | None:
        """The array that a word belongs to."""
        return next((region for region in self.regions if word in region.words), None)

    def near(self, byte_address: int) -> str:
        """Where a byte address is, seen from the arrays."""
        before = [region for region in self.regions if region.address <= byte_address]
        if not before:
            return "before all arrays" if self.regions else "there is no array"
        region = max(before, key=lambda r: r.address)
        past = byte_address - 4 * region.words.stop
        return f"{past} bytes past the end of {region}" if past >= 0 else f"in {region}"


def place_arrays(
    config: MachineConfig,
    arrays: Sequence[tuple[str, NDArray[np.generic]]],
    own: Mapping[str, Sequence[int]] | None = None,
) -> MemoryImage:
    """Lay arrays out in memory; one that is given twice has one place.

    Args:
        config: the machine.
        arrays: parameter names and arrays of `DTYPES`, in the order of the parameters.
        own: what the program needs besides: region names, and the words that they start with.

    Raises:
        QgcError: `launch-memory` when they do not fit, `launch-overlap` when two share a part of their data.
    """
    distinct: list[NDArray[np.generic]] = []
    for name, array in arrays:
        if any(same_array(array, other) for other in distinct):
            continue
        if any(np.shares_memory(array, other) for other in distinct):
            raise fail(
                "launch-overlap",
                f"the array for {name} shares a part of its data with another argument",
                hint="pass one array twice, or two arrays that have nothing in common",
            )
        distinct.append(array)
    own = own or {}
    total = sum(array.size for array in distinct) + sum(map(len, own.values()))
    if total > config.words:
        sizes = ", ".join(
            [
                *(f"{name} {array.size}" for name, array in arrays),
                *(f"{n[1:]} {len(w)}" for n, w in own.items()),
            ]
        )
        raise fail(
            "launch-memory",
            f"the arrays need {total} words ({sizes}); machine {config.name} has {config.words}",
            hint="pass shorter arrays, or choose a machine with more memory",
        )
    gap = 1 if total + len(distinct) + len(own) <= config.words else 0
    starts: list[int] = []
    words: list[int] = []
    for array in distinct:
        starts.append(len(words))
        words += array.astype(np.uint32).ravel().tolist() + [0] * gap
    regions = []
    for name, array in arrays:
        at = next(start for start, other in zip(starts, distinct, strict=True) if same_array(array, other))
        regions.append(Region(name, range(at, at + array.size)))
    for name, values in own.items():
        regions.append(Region(name, range(len(words), len(words) + len(values))))
        words += [*values, *[0] * gap]
    return MemoryImage(tuple(regions), tuple(words))


def same_array(a: NDArray[np.generic], b: NDArray[np.generic]) -> bool:
    """Whether two arrays are views of exactly the same elements; all empty arrays are alike."""
    return a is b or (a.__array_interface__["data"] == b.__array_interface__["data"] and a.size == b.size > 0)


def memory_tokens(config: MachineConfig, words: Sequence[int]) -> list[Token]:
    """The fewest tokens that write `words` from address 0 into memory that is zero.

    A word that is not zero comes alone (an address and its slices) or with the words after it, one a lane; which is
    cheaper is found from the end: `best[i]` is the cost of everything from word i on.
    """
    lanes = config.lanes
    padded = [*words, *[0] * lanes]
    best = [0] * (len(padded) + 1)
    choice: list[str] = [""] * len(padded)
    for i in range(len(words) - 1, -1, -1):
        costs = {"vector": best[min(i + lanes, len(words))] + len(_vector(config, padded, i))}
        costs["scalar"] = best[i + 1] + len(_scalar(config, padded, i))
        if padded[i] == 0:
            costs["skip"] = best[i + 1]
        choice[i] = min(reversed(costs), key=lambda kind: costs[kind])
        best[i] = costs[choice[i]]
    tokens: list[Token] = []
    i = 0
    while i < len(words):
        if choice[i] == "vector":
            tokens += _vector(config, padded, i)
            i += lanes
            continue
        if choice[i] == "scalar":
            tokens += _scalar(config, padded, i)
        i += 1
    return tokens


def _scalar(config: MachineConfig, words: Sequence[int], i: int) -> list[Token]:
    return [Token("adr", i), *scalar_tokens(config, "mem_s", words[i])]


def _vector(config: MachineConfig, words: Sequence[int], i: int) -> list[Token]:
    return [Token("adr_v", i), *vector_tokens(config, "mem_v", words[i : i + config.lanes])]

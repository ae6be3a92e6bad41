"""Memory as a group of threads sees it: loads and stores of many addresses at once, bounds-checked.

Addresses fall into regions. A region has one set of bytes, or one for each thread (local memory).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qgc.ir.launch import Memory

Array: TypeAlias = NDArray[Any]
Addresses: TypeAlias = NDArray[np.uint64]
Threads: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes from `start` on. `data` has a row of bytes for each thread, or one row that all threads share."""

    name: str
    start: int
    data: NDArray[np.uint8]

    @property
    def size(self) -> int:
        """Bytes of one row."""
        return int(self.data.shape[1])


class Space:
    """The regions of one state space, in the order of their addresses."""

    def __init__(self, name: str, regions: list[Region]) -> None:
        self.name = name
        self.regions = sorted((r for r in regions if r.size), key=lambda region: region.start)
        self._starts = np.array([region.start for region in self.regions], dtype=np.uint64)
        self._sizes = np.array([region.size for region in self.regions], dtype=np.uint64)

    @classmethod
    def over(cls, name: str, memory: Memory) -> Space:
        """Make a space on the bytes of `memory` itself: stores show there."""
        return cls(name, [Region(r.name, r.start, _row(r.data)) for r in memory.regions if r.data])

    def locate(self, addresses: Addresses, size: int) -> Array:
        """Return for each address the number of the region that holds `size` bytes from it, -1 where none does."""
        if not self.regions:
            return np.full(addresses.shape, -1)
        at = np.searchsorted(self._starts, addresses, side="right") - 1
        known = np.maximum(at, 0)
        inside = (at >= 0) & (addresses - self._starts[known] <= self._sizes[known] - np.uint64(size))
        return np.where(inside & (self._sizes[known] >= np.uint64(size)), at, -1)

    def load(self, threads: Threads, addresses: Addresses, size: int) -> Array:
        """Load a value of `size` bytes (1, 2, 4, 8) for each thread; every address must be located."""
        values = np.zeros(len(addresses), dtype=f"<u{size}")
        for region, chosen in self._split(addresses, size):
            rows, columns = _cells(region, threads[chosen], addresses[chosen], size)
            values[chosen] = np.ascontiguousarray(region.data[rows, columns]).view(f"<u{size}")[:, 0]
        return values

    def store(self, threads: Threads, addresses: Addresses, values: Array) -> None:
        """Store unsigned values, one for each thread; where addresses meet, the last thread wins."""
        size = values.dtype.itemsize
        for region, chosen in self._split(addresses, size):
            rows, columns = _cells(region, threads[chosen], addresses[chosen], size)
            region.data[rows, columns] = np.ascontiguousarray(values[chosen])[:, None].view(np.uint8)

    def _split(self, addresses: Addresses, size: int) -> list[tuple[Region, Any]]:
        """List the regions that are touched, each with the threads that touch it."""
        at = self.locate(addresses, size)
        return [(self.regions[number], at == number) for number in np.unique(at).tolist() if number >= 0]

    def describe(self, address: int, size: int) -> str:
        """Say where an address is that no region holds."""
        before = [region for region in self.regions if region.start <= address]
        if not before:
            return f"{address:#x}, before everything in .{self.name} memory"
        near = before[-1]
        past = address - near.start - near.size
        place = f"{past} bytes past the end of" if past >= 0 else "across the end of"
        return f"{address:#x}, {place} {near.name} ({near.size} bytes)"


def _row(data: bytearray) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)[None, :]


def _cells(region: Region, threads: Threads, addresses: Addresses, size: int) -> tuple[Array, Array]:
    rows = threads if len(region.data) > 1 else np.zeros_like(threads)
    first = (addresses - np.uint64(region.start)).astype(np.int64)
    return rows[:, None], first[:, None] + np.arange(size)

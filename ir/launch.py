"""A launch as the reference interpreters see it: the grid, each thread's place in it, and the memory they share.

Little endian, byte addressed, 32-bit addresses. Memory consists of regions; whatever lies between them is out of bounds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Dim3: TypeAlias = tuple[int, int, int]
"""x, y, z."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one thread stands: its index in the block, the block's size and index, the grid's size."""

    tid: Dim3
    ntid: Dim3
    ctaid: Dim3
    nctaid: Dim3

    @property
    def linear(self) -> int:
        """The thread's number in its block, x fastest."""
        return self.tid[0] + self.ntid[0] * (self.tid[1] + self.ntid[1] * self.tid[2])


@dataclass(frozen=True, slots=True)
class Launch:
    """`grid` blocks of `block` threads."""

    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (1, 1, 1)

    @property
    def block_threads(self) -> int:
        """Threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    def blocks(self) -> Iterator[Dim3]:
        """The block indices in launch order, x fastest."""
        return _points(self.grid)

    def threads(self, ctaid: Dim3) -> Iterator[Place]:
        """The threads of one block in linear order."""
        return (Place(tid, self.block, ctaid, self.grid) for tid in _points(self.block))


def exchange_words(threads: int) -> int:
    """Words in which the threads of a block meet (SSA's space `exchange`): one for all, and one a lane of each warp."""
    return 1 + -(-threads // 32) * 32


def _points(size: Dim3) -> Iterator[Dim3]:
    return ((x, y, z) for z in range(size[2]) for y in range(size[1]) for x in range(size[0]))


class AccessFault(Exception):
    """A load or store that memory refuses; an interpreter reports it with the place in its program.

    `code` is `memory-bounds` or `memory-align`.
    """

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


@dataclass(slots=True)
class Region:
    """Bytes `start` to `start + len(data)` of the address space, called `name` in messages."""

    name: str
    start: int
    data: bytearray

    @property
    def end(self) -> int:
        """The first address after the region."""
        return self.start + len(self.data)


@dataclass(slots=True)
class Memory:
    """Regions that do not overlap. Accesses must be aligned to their size and stay inside one region."""

    regions: list[Region] = field(default_factory=list)

    def map(self, name: str, start: int, data: bytes | bytearray) -> Region:
        """Place a copy of `data` at an address.

        Raises:
            ValueError: it would overlap another region.
        """
        region = Region(name, start, bytearray(data))
        for other in self.regions:
            if region.start < other.end and other.start < region.end:
                raise ValueError(f"{name} at {start:#x} overlaps {other.name} at {other.start:#x}")
        self.regions.insert(bisect_right([r.start for r in self.regions], start), region)
        return region

    def append(self, name: str, data: bytes | bytearray, align: int = 256, gap: int = 0) -> Region:
        """Place a copy of `data` after all regions and a gap, aligned."""
        end = max((region.end for region in self.regions), default=0) + gap
        return self.map(name, -(-end // align) * align, data)

    def __getitem__(self, name: str) -> Region:
        for region in self.regions:
            if region.name == name:
                return region
        raise KeyError(name)

    def load(self, address: int, size: int) -> int:
        """Read `size` bytes as an unsigned integer.

        Raises:
            AccessFault: out of bounds or misaligned.
        """
        region = self._find(address, size)
        at = address - region.start
        return int.from_bytes(region.data[at : at + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        """Write the low `size` bytes of an unsigned integer.

        Raises:
            AccessFault: out of bounds or misaligned.
        """
        region = self._find(address, size)
        at = address - region.start
        region.data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def _find(self, address: int, size: int) -> Region:
        if address % size:
            raise AccessFault(
                "memory-align",
                f"address {address:#x} is not a multiple of the access's {size} bytes",
                "an array of T starts at a multiple of sizeof(T), and so must every access",
            )
        for region in self.regions:
            if region.start <= address and address + size <= region.end:
                return region
        raise AccessFault(
            "memory-bounds", self._place(address, size), "check the index against the array's length"
        )

    def _place(self, address: int, size: int) -> str:
        """Say where an address is that no region holds."""
        before = [region for region in self.regions if region.start <= address]
        if not before:
            return f"{size} bytes at address {address:#x} are before all arrays"
        near = before[-1]
        past = address - near.end
        where = f"{past} bytes past the end of" if past >= 0 else "across the end of"
        return f"{size} bytes at address {address:#x} are {where} {near.name} ({len(near.data)} bytes)"

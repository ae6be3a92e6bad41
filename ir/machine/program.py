"""What the `blocks` stage is: a kernel as machine blocks and a constant bank."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from qgc.diagnostics import Span
from qgc.ir.machine.config import MachineConfig

EXIT = -1
"""A branch target: the lanes end."""


class Wait(IntEnum):
    """What a lane waits for before it runs the block that it branches to.

    Lanes that wait stand behind all that can run. When no lane of any group can run, those at the smallest of the waited-for
    blocks go on together: first those that wait for their `WARP` (`__syncwarp`, shuffles), then those that wait for their
    `CTA` (`__syncthreads`). Lanes that have ended hold nobody up.
    """

    NONE = 0
    WARP = 1
    CTA = 2


@dataclass(frozen=True, slots=True)
class Guard:
    """One bit that decides: bit 0 of `source`, inverted when `negated`."""

    source: str
    negated: bool = False

    def __str__(self) -> str:
        return ("!" if self.negated else "") + self.source


ALWAYS = Guard("r0", negated=True)
"""The guard that is always true: register 0 reads zero."""


@dataclass(frozen=True, slots=True)
class Instr:
    """One operation in one stage of a block.

    `a`, `b` and (for stores) `data` are source names of the machine's `SourceTable`; `const` is the index that the
    source `k` reads, for all operands of this instruction.
    """

    op: str
    a: str = "r0"
    b: str = "r0"
    data: str | None = None
    const: int | None = None
    guard: Guard = ALWAYS
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LiveOut:
    """The result of `stage` is written to `register` when the block ends."""

    register: int
    stage: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a lane goes next: `taken` when the guard holds, else `other`. Block numbers, or EXIT.

    `taken_wait` and `other_wait` say what the lane waits for first.
    """

    taken: int
    other: int = 0
    guard: Guard = ALWAYS
    taken_wait: Wait = Wait.NONE
    other_wait: Wait = Wait.NONE

    @property
    def is_conditional(self) -> bool:
        """Whether the guard is looked at."""
        return self.guard != ALWAYS


@dataclass(frozen=True, slots=True)
class Block:
    """Up to `stages` chained operations that one EXEC token runs for the lanes of its mask.

    All operands are read before any live-out is written. A `serial` block runs only the lowest lane of its mask; the
    others stay where they are and run it later, so that a load and a store in one serial block form an atomic
    operation.
    """

    instrs: tuple[Instr, ...]
    live_outs: tuple[LiveOut, ...]
    branch: Branch
    serial: bool = False


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter: its name, whether it is a pointer, and its size in bytes as the caller passes it."""

    name: str
    is_pointer: bool


@dataclass(frozen=True, slots=True)
class Program:
    """One kernel for one machine.

    `consts[i]` is what row i of the constant bank holds: an integer (unsigned 32-bit), or a string that the launch
    resolves: `param NAME`, or a launch constant such as `ntid.x`, `nctaid.x`, `ctaid.x`.
    Block 0 is the entry. `shared` is how many bytes of shared memory a thread block has, besides what a launch adds;
    `frame` how many bytes of local memory a thread has; `tables` are the words of the constant tables.
    """

    config: MachineConfig
    kernel: str
    params: tuple[Param, ...]
    consts: tuple[int | str, ...]
    blocks: tuple[Block, ...]
    shared: int = 0
    frame: int = 0
    tables: tuple[int, ...] = ()

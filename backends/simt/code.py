"""Machine code before it has registers and blocks: what `select` makes of SSA and the later steps refine.

A `Unit` is one SSA block (or a part of one) as machine operations on virtual registers. Phis are still there; `coalesce`
turns them into shared registers, `form` cuts units into machine blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from qgc.backends.simt.address import Address
from qgc.diagnostics import Span
from qgc.ir.machine.program import Param, Wait


@dataclass(eq=False, slots=True)
class Reg:
    """A virtual register, written by one node or phi. `tokens` is what writing it is expected to cost."""

    number: int
    name: str
    tokens: float
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A source that needs no register: `r0` (zero) or `tid`."""

    name: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the constant bank, by what it holds."""

    value: int | str


ZERO, TID = Fixed("r0"), Fixed("tid")

Operand: TypeAlias = Reg | Fixed | Row

COPY = "copy"
"""The one operation that is not the machine's: in the block that computes its operand it needs no stage."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Bit 0 of a register, inverted when `negated`."""

    reg: Reg
    negated: bool = False


@dataclass(eq=False, slots=True)
class Node:
    """One machine operation. Nodes of the same non-zero `atom` must run in one block, alone with their inputs.

    The block is serial, unless the nodes are `combined`: then they do the work of all lanes at once. `place` is the address
    of a memory operation.
    """

    op: str
    a: Operand = ZERO
    b: Operand = ZERO
    data: Operand | None = None
    guard: Condition | None = None
    result: Reg | None = None
    span: Span | None = None
    atom: int = 0
    combined: bool = False
    place: Address | None = None

    def reads(self) -> Iterator[Reg]:
        """The registers that it reads, operands first; one may come twice."""
        for operand in (self.a, self.b, self.data):
            if isinstance(operand, Reg):
                yield operand
        if self.guard is not None:
            yield self.guard.reg


@dataclass(eq=False, slots=True)
class Phi:
    """`result` is the argument of the unit that control came from."""

    result: Reg
    args: dict[Unit, Operand]


@dataclass(eq=False, slots=True)
class Unit:
    """A straight line of nodes. `targets` are the successors, None for exit: one, or two when there is a condition.

    Lanes that come to the unit `wait` before they run it.
    """

    name: str
    phis: list[Phi] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    condition: Condition | None = None
    targets: list[Unit | None] = field(default_factory=list)
    wait: Wait = Wait.NONE
    span: Span | None = None

    @property
    def successors(self) -> list[Unit]:
        """The units that may follow, each once."""
        return [unit for unit in dict.fromkeys(self.targets) if unit is not None]


@dataclass(eq=False, slots=True)
class Code:
    """One kernel; units in the order in which their blocks will be numbered."""

    kernel: str
    params: tuple[Param, ...]
    units: list[Unit] = field(default_factory=list)
    regs: int = 0
    shared: int = 0
    frame: int = 0
    tables: tuple[int, ...] = ()

    def reg(self, name: str, tokens: float, span: Span | None = None) -> Reg:
        """A new virtual register."""
        self.regs += 1
        return Reg(self.regs, name, tokens, span)

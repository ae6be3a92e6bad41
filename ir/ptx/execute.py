"""Instructions as actions on a block's threads: computing, loading, storing, atomics.

An action is made once for each instruction; it takes the mask of the threads that execute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import Span, fail
from qgc.ir.ptx.ast import (
    Address,
    Element,
    Imm,
    Instruction,
    Not,
    Operand,
    Pair,
    Reg,
    Special,
    Symbol,
    Vector,
)
from qgc.ir.ptx.decode import Form
from qgc.ir.ptx.lanes import CARRY, Lanes, Mask, Reader
from qgc.ir.ptx.ops import OperandSpec
from qgc.ir.ptx.semantics import SEMANTICS, numpy_type
from qgc.ir.ptx.space import Addresses, Space, Threads
from qgc.ir.ptx.types import TYPES
from qgc.ir.ptx.variables import WINDOW_SIZE, WINDOWS, Variables

Array: TypeAlias = NDArray[Any]
Action: TypeAlias = Callable[[Mask], None]
Target: TypeAlias = tuple[str | None, str]
"""A destination: the register, None for a sink, and the type of the value."""

_IDLE = frozenset(["prefetch", "prefetchu", "membar", "fence", "nanosleep"])


@dataclass(frozen=True, slots=True)
class _Access:
    """Which bytes an instruction touches: `count` elements of `size` bytes; `verb` and `span` for messages."""

    space: str
    addresses: Reader
    size: int
    count: int
    verb: str
    span: Span | None


class Executor:
    """Makes actions for the threads of `lanes` and the memory of `variables`."""

    def __init__(self, lanes: Lanes, variables: Variables) -> None:
        self.lanes, self.variables = lanes, variables

    def action(self, item: Instruction, form: Form) -> Action:
        """Return the action of an instruction that is neither a branch nor a collective."""
        opcode = form.spec.opcode
        if opcode in _IDLE:
            return lambda _mask: None
        makers = {
            "ld": self._load,
            "ldu": self._load,
            "st": self._store,
            "atom": self._atomic,
            "red": self._atomic,
            "cvta": self._cvta,
            "isspacep": self._isspacep,
            "activemask": self._activemask,
        }
        return makers.get(opcode, self._compute)(item, form)

    # Operands

    def operands(self, item: Instruction, form: Form) -> Iterator[tuple[OperandSpec, Operand]]:
        """Pair the row's operands with the instruction's; the carry flag stands in as a register."""
        written = iter(item.operands)
        for spec in form.spec.operands:
            if spec.kind == "flag":
                yield spec, Reg(CARRY)
            elif (op := next(written, None)) is not None:
                yield spec, op

    def sources(self, item: Instruction, form: Form) -> list[Reader]:
        """Return the readers of the register and literal sources, in the row's order."""
        readers: list[Reader] = []
        for spec, op in self.operands(item, form):
            if not spec.is_dest and spec.kind != "mem":
                readers += self._readers(form, spec, op)
        return readers

    def _readers(self, form: Form, spec: OperandSpec, op: Operand) -> list[Reader]:
        type_name = "pred" if spec.kind == "flag" else form.type_of(spec)
        count = int((form.choice("VEC") or "v1")[1:])
        if isinstance(op, Vector):
            return self._vector(op, type_name, count)
        if isinstance(op, Special) and count > 1:
            parts = [Special(f"{op.name}.{axis}", op.span) for axis in "xyzw"[:count]]
            return [self.reader(part, type_name) for part in parts]
        return [self.reader(op, type_name)]

    def _vector(self, op: Vector, type_name: str, count: int) -> list[Reader]:
        """Read `{a, b}`: one reader an element with .v2 or .v4, else one that packs the elements."""
        if count > 1:
            return [self.reader(part, type_name) for part in op.items]
        bits = TYPES[type_name].bits // len(op.items)
        parts = [self.reader(part, f"b{bits}") for part in op.items]
        dtype = numpy_type(type_name)

        def pack() -> Array:
            total = np.zeros(self.lanes.count, dtype=dtype)
            for place, part in enumerate(parts):
                total |= part().astype(dtype) << np.array(place * bits, dtype=dtype)
            return total

        return [pack]

    def reader(self, op: Operand, type_name: str) -> Reader:
        """Return the reader of a scalar source."""
        if isinstance(op, Element):
            return self._address(op)[1]
        if isinstance(op, Not):
            positive = self.lanes.reader(op.reg, "pred", self.variables.address)
            return lambda: ~positive()
        return self.lanes.reader(op, type_name, self.variables.address)

    def targets(self, item: Instruction, form: Form) -> list[Target]:
        """Return the destinations, with the second of a pair always present."""
        targets: list[Target] = []
        for spec, op in self.operands(item, form):
            if not spec.is_dest:
                continue
            type_name = "pred" if spec.kind == "flag" else form.type_of(spec)
            if spec.kind == "pair":
                second = op.second if isinstance(op, Pair) else None
                targets += [
                    (_register(op.first if isinstance(op, Pair) else op), type_name),
                    (_register(second), "pred"),
                ]
            elif isinstance(op, Vector):
                targets += [(_register(part), type_name) for part in op.items]
            else:
                targets.append((_register(op), type_name))
        return targets

    def assign(self, targets: list[Target], values: tuple[Array, ...], mask: Mask) -> None:
        """Write results: truncated to the destination's type, then extended to the register by its sign."""
        for (name, type_name), value in zip(targets, values, strict=False):
            if name is not None:
                self.lanes.write(name, value.astype(numpy_type(type_name), copy=False), mask)

    # Computing

    def _compute(self, item: Instruction, form: Form) -> Action:
        function, sources = SEMANTICS[form.spec.name], self.sources(item, form)
        targets = self.targets(item, form)
        if item.opcode == "mov" and len(targets) != len(sources):
            return self._unpack(sources[0], targets)
        if item.opcode == "mov":
            return lambda mask: self.assign(targets, tuple(read() for read in sources), mask)

        def compute(mask: Mask) -> None:
            result = function(form, *(read() for read in sources))
            self.assign(targets, result if isinstance(result, tuple) else (result,), mask)

        return compute

    def _unpack(self, source: Reader, targets: list[Target]) -> Action:
        """`mov.b64 {low, high}, a`: the first element is the least significant."""

        def unpack(mask: Mask) -> None:
            value = source()
            bits = 8 * value.dtype.itemsize // len(targets)
            parts = [value >> np.array(place * bits, dtype=value.dtype) for place in range(len(targets))]
            narrow = [(name, f"b{bits}") for name, _type in targets]
            self.assign(narrow, tuple(parts), mask)

        return unpack

    def _activemask(self, item: Instruction, form: Form) -> Action:
        targets = self.targets(item, form)

        def activemask(mask: Mask) -> None:
            together = np.zeros(self.lanes.count // 32 + 1, dtype=np.int64)
            np.add.at(together, self.lanes.warp[mask], 1 << self.lanes.lane[mask])
            self.assign(targets, (together[self.lanes.warp],), mask)

        return activemask

    # Addresses

    def _address(self, op: Operand) -> tuple[str, Reader]:
        """Return the space that a symbolic address lies in (`""` when it is in a register) and the addresses."""
        if isinstance(op, Element):
            place = self.variables.find(op.base)
            index = self.lanes.reader(op.index, "any", self.variables.address)
            scale = np.uint64(place.element)
            start = np.uint64(self.variables.address(op.base))
            return place.space, lambda: index().astype(np.uint64) * scale + start
        if not isinstance(op, Address):
            raise TypeError(f"{op} is no address")
        if isinstance(op.base, Symbol):
            where = Symbol(op.base.name, op.offset, span=op.span)
            return self.variables.find(where).space, self.lanes.reader(where, "u64", self.variables.address)
        if isinstance(op.base, Imm):
            return "", self.lanes.reader(op.base, "u64", self.variables.address)
        base = self.lanes.reader(op.base, "any", self.variables.address)
        offset = np.array(op.offset % 2**64, dtype=np.uint64)
        return "", lambda: (base() + offset.astype(base().dtype)).astype(np.uint64)

    def _access(self, item: Instruction, form: Form, op: Operand, verb: str) -> _Access:
        space, addresses = self._address(op)
        count = int((form.choice("VEC") or "v1")[1:])
        written = form.choice("SPACE")
        if written == "param" and space:
            written = space  # an argument of a call is .param, but lies in local memory
        return _Access(written or space, addresses, TYPES[form.types[0]].size, count, verb, item.span)

    def _split(self, access: _Access, threads: Threads) -> Iterator[tuple[Space, Array, Threads, Addresses]]:
        """Yield the spaces that are touched: the space, the places in `threads`, those threads, their addresses.

        Raises:
            QgcError: `memory-align` or `memory-bounds` for the first thread that is at fault.
        """
        addresses = access.addresses()[threads]
        for name, places, local in _by_space(access.space, addresses):
            space = self.variables.spaces[name]
            self._check(access, space, threads[places], local)
            yield space, places, threads[places], local

    def _check(self, access: _Access, space: Space, threads: Threads, addresses: Addresses) -> None:
        size = access.size * access.count
        crooked = addresses % np.uint64(size) != 0
        outside = space.locate(addresses, size) < 0
        if not (crooked | outside).any():
            return
        first = int(np.argmax(crooked | outside))
        who, address = self.lanes.thread_name(int(threads[first])), int(addresses[first])
        what = f"{who} {access.verb} {size} bytes at"
        if outside[first]:
            hint = "check the index, and the array's length against what the kernel touches"
            where = space.describe(address, size)
            raise fail("memory-bounds", f"{what} .{space.name} address {where}", access.span, hint)
        hint = "an access must be aligned to its size"
        raise fail("memory-align", f"{what} address {address:#x}, no multiple of {size}", access.span, hint)

    # Memory

    def _load(self, item: Instruction, form: Form) -> Action:
        access = self._access(item, form, item.operands[1], "loads")
        targets, dtype = self.targets(item, form), numpy_type(form.types[0])

        def load(mask: Mask) -> None:
            threads = np.flatnonzero(mask)
            values = np.zeros((len(targets), self.lanes.count), dtype=dtype)
            for space, _places, own, addresses in self._split(access, threads):
                for number in range(len(targets)):
                    at = addresses + np.uint64(number * access.size)
                    values[number, own] = space.load(own, at, access.size).view(dtype)
            self.assign(targets, tuple(values), mask)

        return load

    def _store(self, item: Instruction, form: Form) -> Action:
        access = self._access(item, form, item.operands[0], "stores")
        sources = self.sources(item, form)

        def store(mask: Mask) -> None:
            values = [read() for read in sources]
            for space, _places, own, addresses in self._split(access, np.flatnonzero(mask)):
                for number, value in enumerate(values):
                    bits = value[own].view(f"u{access.size}")
                    space.store(own, addresses + np.uint64(number * access.size), bits)

        return store

    def _atomic(self, item: Instruction, form: Form) -> Action:
        place = next(i for i, op in enumerate(item.operands) if isinstance(op, Address | Element))
        access = self._access(item, form, item.operands[place], "updates")
        sources, targets = self.sources(item, form), self.targets(item, form)
        function, dtype = SEMANTICS[form.spec.name], numpy_type(form.types[0])

        def update(space: Space, threads: Threads, addresses: Addresses, old: Array) -> None:
            """Let each thread read, change and write in turn; those at different addresses share a turn."""
            waiting = np.arange(len(threads))
            while waiting.size:
                _unique, first = np.unique(addresses[waiting], return_index=True)
                turn = waiting[first]
                own, at = threads[turn], addresses[turn]
                before = space.load(own, at, access.size).view(dtype)
                after = function(form, before, *(read()[own] for read in sources))
                space.store(own, at, np.asarray(after).astype(dtype).view(f"u{access.size}"))
                old[own] = before
                waiting = np.delete(waiting, first)

        def atomic(mask: Mask) -> None:
            old = np.zeros(self.lanes.count, dtype=dtype)
            for space, _places, own, addresses in self._split(access, np.flatnonzero(mask)):
                update(space, own, addresses, old)
            self.assign(targets, (old,), mask)

        return atomic

    # Generic addresses

    def _cvta(self, item: Instruction, form: Form) -> Action:
        source, targets = self.reader(item.operands[1], form.types[0]), self.targets(item, form)
        window = WINDOWS.get(form.choice("SPACE"), 0)
        offset = -window if form.spec.name.startswith("cvta.to") else window
        dtype = numpy_type(form.types[0])
        change = np.array(offset % 2 ** (8 * dtype.itemsize), dtype=dtype)
        return lambda mask: self.assign(targets, (source() + change,), mask)

    def _isspacep(self, item: Instruction, form: Form) -> Action:
        source, targets = self.reader(item.operands[1], "any"), self.targets(item, form)
        wanted = form.choice("SPACE")

        def isspacep(mask: Mask) -> None:
            inside = np.zeros(self.lanes.count, dtype=bool)
            for name, places, _local in _by_space("", source().astype(np.uint64)):
                inside[places] = name == wanted
            self.assign(targets, (inside,), mask)

        return isspacep


def _register(op: Operand | None) -> str | None:
    return op.name if isinstance(op, Reg) else None


def _by_space(space: str, addresses: Addresses) -> Iterator[tuple[str, Array, Addresses]]:
    """Yield (space, places, addresses in that space): one group, or for generic addresses one a window."""
    if space:
        yield space, np.arange(len(addresses)), addresses
        return
    rest = np.ones(len(addresses), dtype=bool)
    for name, start in WINDOWS.items():
        inside = (addresses >= np.uint64(start)) & (addresses < np.uint64(start + WINDOW_SIZE))
        if inside.any():
            yield name, np.flatnonzero(inside), addresses[inside] - np.uint64(start)
        rest &= ~inside
    if rest.any():
        yield "global", np.flatnonzero(rest), addresses[rest]

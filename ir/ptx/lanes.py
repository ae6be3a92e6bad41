"""The threads of a block side by side: their registers and indices, as arrays with one element a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import fail
from qgc.ir.launch import Dim3, Launch
from qgc.ir.ptx.ast import Imm, Operand, Reg, Special, Symbol
from qgc.ir.ptx.constants import literal_bits
from qgc.ir.ptx.semantics import numpy_type
from qgc.ir.ptx.types import TYPES

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
Reader: TypeAlias = Callable[[], Array]

WARP = 32
CARRY = "%cc"
"""The condition-code register of the carry chains, kept beside the declared registers."""

_CLOCKS = ("%clock", "%clock64", "%globaltimer", "%globaltimer_lo")


class Lanes:
    """Registers of every thread of one block; threads are numbered with x fastest.

    `ctaid` is the index of the block that runs now, `clock` the number of instructions that were issued.
    """

    def __init__(self, launch: Launch, registers: Mapping[str, str], shared_bytes: tuple[int, int]) -> None:
        self.launch = launch
        self.count = launch.block_threads
        self.number = np.arange(self.count, dtype=np.int64)
        self.warp, self.lane = self.number // WARP, self.number % WARP
        self.ctaid: Dim3 = (0, 0, 0)
        self.clock = 0
        self.total_shared, self.dynamic_shared = shared_bytes
        self.registers = {name: self._zeros(type_name) for name, type_name in registers.items()}
        self.registers[CARRY] = self._zeros("pred")

    def _zeros(self, type_name: str) -> Array:
        scalar = TYPES[type_name]
        dtype = np.dtype(bool) if scalar.kind == "p" else np.dtype(f"u{scalar.size}")
        return np.zeros(self.count, dtype=dtype)

    def start_block(self, ctaid: Dim3) -> None:
        """Begin a block of the grid with zeros in all registers."""
        self.ctaid = ctaid
        for register in self.registers.values():
            register.fill(0)

    def thread_name(self, thread: int) -> str:
        """Name a thread for a message: `thread (1, 0, 0) of block (0, 0, 0)`."""
        x, y, z = (int(axis[thread]) for axis in self._tid())
        return f"thread ({x}, {y}, {z}) of block {self.ctaid}"

    def _tid(self) -> tuple[Array, Array, Array]:
        x, y, _z = self.launch.block
        return self.number % x, self.number // x % y, self.number // (x * y)

    # Reading

    def reader(self, op: Operand, type_name: str, address_of: Callable[[Symbol], int]) -> Reader:
        """Return a function that fetches a source as an array of the numpy type of `type_name`.

        A register that is wider gives its low bits. `any` reads a register unsigned in its own width.
        """
        if isinstance(op, Reg):
            return self._register_reader(op.name, type_name)
        if isinstance(op, Imm):
            return self._constant(literal_bits(op, type_name), type_name)
        if isinstance(op, Symbol):
            return self._constant(address_of(op), type_name)
        if isinstance(op, Special):
            return self._special_reader(op, type_name)
        raise TypeError(f"{op} is no scalar source")

    def _register_reader(self, name: str, type_name: str) -> Reader:
        register = self.registers[name]
        if type_name == "any" or register.dtype == bool:
            return lambda: register
        dtype = numpy_type(type_name)
        if dtype.itemsize == register.dtype.itemsize:
            view = register.view(dtype)  # shares the bytes: always current
            return lambda: view
        narrow = np.dtype(f"u{dtype.itemsize}")
        return lambda: register.astype(narrow).view(dtype)

    def _constant(self, bits: int, type_name: str) -> Reader:
        dtype = np.dtype(np.uint64) if type_name == "any" else numpy_type(type_name)
        if dtype == bool:
            array = np.full(self.count, bits != 0)
        else:
            width = np.dtype(f"u{dtype.itemsize}")
            array = np.full(self.count, bits & (2 ** (8 * dtype.itemsize) - 1), dtype=width).view(dtype)
        array.flags.writeable = False
        return lambda: array

    def _special_reader(self, op: Special, type_name: str) -> Reader:
        dtype = np.dtype(np.uint64) if type_name == "any" else numpy_type(type_name)
        base, _dot, axis = op.name.partition(".")
        number = "xyz".find(axis or "x")
        if base == "%ctaid" and number >= 0:
            return lambda: np.full(self.count, self.ctaid[number], dtype=dtype)
        if op.name in _CLOCKS:
            return lambda: np.full(self.count, self.clock, dtype=np.uint64).astype(dtype)
        values = np.broadcast_to(np.asarray(self._special(op, base, number)), self.count).astype(dtype)
        return lambda: values

    def _special(self, op: Special, base: str, axis: int) -> Array | int:
        """Return a special register that never changes (PTX ISA 10): one value, or one for each thread."""
        triples: dict[str, tuple[Array | int, ...]] = {
            "%tid": self._tid(),
            "%ntid": self.launch.block,
            "%nctaid": self.launch.grid,
            "%ctaid": (0, 0, 0),
        }
        if base in triples:
            return (*triples[base], 0)[axis]  # w, the last, is 0
        one = np.uint64(1)
        own = one << self.lane.astype(np.uint64)
        words: dict[str, Array | int] = {
            "%laneid": self.lane,
            "%warpid": self.warp,
            "%nwarpid": -(-self.count // WARP),
            "%lanemask_eq": own,
            "%lanemask_lt": own - one,
            "%lanemask_le": own + own - one,
            "%lanemask_gt": ~(own + own - one),
            "%lanemask_ge": ~(own - one),
            "%smid": 0,
            "%nsmid": 1,
            "%gridid": 0,
            "%clock_hi": 0,
            "%globaltimer_hi": 0,
            "%total_smem_size": self.total_shared,
            "%dynamic_smem_size": self.dynamic_shared,
        }
        if op.name not in words:
            raise fail("ptx-unsupported", f"{op.name} is not supported", op.span)
        return words[op.name]

    # Writing

    def write(self, name: str, values: Array, mask: Mask) -> None:
        """Set a register in the threads of `mask`, extending or truncating by the sign of the array's type."""
        register = self.registers[name]
        if values.dtype == bool and register.dtype != bool:
            values = values.astype(register.dtype)
        np.copyto(register, values.astype(register.dtype, copy=False), where=mask)

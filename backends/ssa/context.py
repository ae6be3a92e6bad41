"""What the lowering of an instruction works with: the block it appends to, registers, operands, its guard."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from qgc.diagnostics import QgcError, fail
from qgc.ir.ptx.ast import Imm, ImmKind, Instruction, Not, Operand, Pair, Reg, Sink, Special, Symbol
from qgc.ir.ptx.flat import FlatFunction
from qgc.ir.ptx.types import TYPES, ScalarType
from qgc.ir.ssa import function as ssa
from qgc.ir.ssa.function import Builder, Value, const
from qgc.ir.ssa.ops import SREGS
from qgc.ir.ssa.types import I1, I32, I64, Ty

CARRY = "%cc"
"""The pseudo register of the carry flag (PTX ISA 9.7.2)."""


def type_of(scalar: ScalarType) -> Ty:
    """The SSA type of a register; 8- and 16-bit registers are i32 whose upper bits mean nothing."""
    if scalar.kind == "p":
        return I1
    return I64 if scalar.bits == 64 else I32


@dataclass(eq=False)
class Context:
    """The state of lowering one kernel.

    A register that a block reads before it writes it is read as a `pending` value, which stands for what the register
    holds at the block's entry. `written` is what each register holds at the end of a block. `open(block)`
    makes a lowering go on in a new block.
    """

    flat: FlatFunction
    symbols: Mapping[str, ssa.Symbol]
    params: Mapping[str, ssa.Param]
    generic_is_global: bool
    instruction: Instruction = field(default_factory=lambda: Instruction("ret"))
    builder: Builder = field(default_factory=lambda: Builder([]))
    block: ssa.Block = field(default_factory=ssa.Block)
    guard: Value | None = None
    open: Callable[[ssa.Block], None] = field(default=lambda _block: None)
    pending: dict[ssa.Block, dict[str, Value]] = field(default_factory=dict)
    written: dict[ssa.Block, dict[str, Value]] = field(default_factory=dict)

    # Faults

    def unsupported(self, hint: str, what: str | None = None) -> QgcError:
        """The error for an instruction, or an operand of it, that has no lowering."""
        message = f"{what or self.instruction.name} is not supported"
        return fail("ptx-unsupported", message, self.instruction.span, hint)

    # Types

    @property
    def types(self) -> list[ScalarType]:
        """The types among the modifiers, in order."""
        return [TYPES[m] for m in self.instruction.modifiers if m in TYPES]

    @property
    def type(self) -> ScalarType:
        """The last type among the modifiers: the one that the operands have."""
        types = self.types
        if not types:
            raise self.unsupported(
                "write the type of its operands", f"{self.instruction.name} without a type"
            )
        return types[-1]

    def integer_type(self) -> ScalarType:
        """The type of the operands, which must be an integer of at most 64 bits or a predicate."""
        scalar = self.type
        if scalar.kind == "f" or scalar.bits > 64:
            raise self.unsupported("the machine computes on integers of at most 64 bits")
        return scalar

    def has(self, modifier: str) -> bool:
        """Whether the instruction has a modifier."""
        return modifier in self.instruction.modifiers

    # Registers

    def register_type(self, name: str) -> ScalarType:
        """The declared type of a register."""
        if name == CARRY:
            return TYPES["pred"]
        declared = TYPES.get(self.flat.registers.get(name, ""))
        if declared is None or declared.bits > 64:
            raise self.unsupported("registers have at most 64 bits", f"register {name}")
        return declared

    def read_register(self, name: str) -> Value:
        """What a register holds here."""
        written = self.written.setdefault(self.block, {})
        if name in written:
            return written[name]
        pending = self.pending.setdefault(self.block, {})
        if name not in pending:
            pending[name] = Value(type_of(self.register_type(name)), name.lstrip("%"))
        return pending[name]

    def write_register(self, name: str, value: Value) -> None:
        """Assign a register; under a guard it keeps its old value where the guard is 0."""
        if self.guard is not None:
            value = self.emit("select", self.guard, value, self.read_register(name))
        self.written.setdefault(self.block, {})[name] = value

    # Emission

    def emit(
        self, name: str, *operands: Value | int, ty: Ty | None = None, attrs: tuple[ssa.Attr, ...] = ()
    ) -> Value:
        """Append an op of the instruction and return its result."""
        return self.builder.emit(name, *operands, ty=ty, attrs=attrs)

    def extend(self, value: Value, scalar: ScalarType, to: Ty = I32) -> Value:
        """The number that the low bits of a register hold when read as `scalar`, in a type at least as wide."""
        signed = scalar.kind == "s"
        if scalar.bits < 32 and signed:
            value = self.emit("shr.s", self.emit("shl", value, 32 - scalar.bits), 32 - scalar.bits)
        elif scalar.bits < 32 and scalar.kind != "p":
            value = self.emit("and", value, (1 << scalar.bits) - 1)
        if to.bits > value.ty.bits:
            value = self.emit("sext" if signed else "zext", value, ty=to)
        return value

    # Operands

    def source(self, operand: Operand, scalar: ScalarType | None = None) -> Value:
        """The value of a source operand of type `scalar` (the instruction's own when it is not given).

        Of an 8- or 16-bit operand only the low bits mean something; `number` extends it.
        """
        scalar = scalar or self.type
        ty = type_of(scalar)
        if isinstance(operand, Reg) and operand.part is None:
            value = self.read_register(operand.name)
            return self.emit("trunc", value, ty=ty) if value.ty.bits > ty.bits > 1 else value
        if isinstance(operand, Not):
            return self.builder.negate(self.read_register(operand.reg.name))
        if isinstance(operand, Imm):
            return const(ty, self._immediate(operand, scalar))
        if isinstance(operand, Special):
            return self._special(operand, ty)
        if isinstance(operand, Symbol):
            return const(ty, self.address_of(operand))
        raise self.unsupported("use a register, a constant or a variable", "this kind of operand")

    def number(self, operand: Operand, scalar: ScalarType | None = None) -> Value:
        """A source operand, extended by its type to at least 32 bits."""
        scalar = scalar or self.type
        return self.extend(self.source(operand, scalar), scalar, type_of(scalar))

    def _immediate(self, operand: Imm, scalar: ScalarType) -> int:
        if operand.kind is ImmKind.F64 and scalar.bits == 32:
            number = struct.unpack("<d", struct.pack("<Q", operand.value))[0]
            return int.from_bytes(struct.pack("<f", number), "little")
        return int(operand.value != 0) if scalar.kind == "p" else operand.value

    def _special(self, operand: Special, ty: Ty) -> Value:
        name = operand.name.lstrip("%")
        name = f"{name}.x" if f"{name}.x" in SREGS else name
        if name not in SREGS:
            raise self.unsupported(f"the machine has {', '.join(SREGS)}", f"special register {operand.name}")
        value = self.emit("sreg", attrs=(name,))
        return self.emit("zext", value, ty=ty) if ty.bits > 32 else value

    def address_of(self, symbol: Symbol) -> int:
        """The address of a variable in its own state space."""
        found = self.symbols.get(symbol.name)
        if found is None:
            hint = "shared, local and constant variables of this file have addresses"
            raise self.unsupported(hint, f"the address of {symbol.name}")
        if symbol.generic:
            raise self.unsupported(
                "use the variable's own state space", f"the generic address of {symbol.name}"
            )
        return found.address + symbol.offset

    # Destinations

    def write(self, operand: Operand, value: Value, scalar: ScalarType | None = None) -> None:
        """Assign a result of type `scalar`; a wider register gets it extended by that type."""
        if isinstance(operand, Sink):
            return
        if isinstance(operand, Pair):
            self.write(operand.first, value, scalar)
            return
        if not isinstance(operand, Reg) or operand.part is not None:
            raise self.unsupported("results go to registers", "this kind of destination")
        scalar = scalar or self.type
        wanted = type_of(self.register_type(operand.name))
        if wanted.bits > value.ty.bits or (scalar.bits < 32 and wanted is I32):
            value = self.extend(value, scalar, wanted)
        elif wanted.bits < value.ty.bits:
            value = self.emit("trunc", value, ty=wanted)
        self.write_register(operand.name, value)

"""What a PTX module must satisfy beyond its grammar.

Invariants, each with its code:
  ptx-duplicate    no name is declared twice in one scope; no two module-scope items share a name
  ptx-opcode       every opcode is one of PTX
  ptx-modifier     its modifiers form an instruction
  ptx-unsupported  the instruction is in the table of `ops.py`
  ptx-type         its types are among those of the row
  ptx-arity        it has as many operands as the row
  ptx-operand      each operand is of the row's kind: register, literal, address, label, ...
  ptx-register     every register is declared
  ptx-width        every register, literal kind and vector fits the operand's type
  ptx-guard        a guard is a predicate register
  ptx-label        every branch target is a label of the function
  ptx-symbol       every other symbol is a variable, parameter or function
  ptx-space        a write does not go to read-only memory; a variable fits its state space, and has a length
                   unless it is extern shared
  ptx-end          control does not run off the end of a function
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qgc.diagnostics import Diagnostic, Span, VerifyError
from qgc.ir.ptx.ast import (
    Address,
    Element,
    Function,
    Imm,
    ImmKind,
    Instruction,
    Module,
    Not,
    Operand,
    Pair,
    Reg,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)
from qgc.ir.ptx.data import leaves, variable_size
from qgc.ir.ptx.decode import Form, Unknown, decode
from qgc.ir.ptx.flat import FlatFunction, flatten
from qgc.ir.ptx.kernels import ptx_params
from qgc.ir.ptx.ops import OperandSpec
from qgc.ir.ptx.special import SPECIAL_TYPES
from qgc.ir.ptx.types import TYPES

SPACE_SIZES = {"global": 1 << 28, "shared": 232448, "local": 512 << 10, "const": 64 << 10, "param": 32764}
"""Bytes of each state space, of the largest GPU; global memory is what the interpreter is ready to hold."""

_FLOATS = ("f32", "f64", "b32", "b64")
_READ_ONLY = ("const", "param")
_SPECIAL_READERS = ("mov", "cvt")  # PTX ISA 10: special registers are read by mov or cvt
_ENDS = ("ret", "exit", "trap", "bra", "brx")


def verify(module: Module) -> None:
    """Check a whole module. Raises VerifyError with every fault in file order."""
    faults = list(_module_faults(module))
    for function in module.functions:
        faults += function_faults(module, function)
    if faults:
        raise VerifyError(*faults)


def verify_function(module: Module, function: Function) -> None:
    """Check one function of a module, so that a kernel can be used beside others that are not supported."""
    faults = [*_module_faults(module), *function_faults(module, function)]
    if faults:
        raise VerifyError(*faults)


def _module_faults(module: Module) -> Iterator[Diagnostic]:
    seen: dict[str, bool] = {}  # name -> a definition was seen
    for item in module.items:
        is_definition = not isinstance(item, Function) or item.body is not None
        if is_definition and seen.get(item.name):
            yield Diagnostic("ptx-duplicate", f"{item.name} is defined twice", item.span)
        seen[item.name] = seen.get(item.name, False) or is_definition
    for variable in module.variables:
        yield from _variable_faults(variable)


def _variable_faults(variable: Variable) -> Iterator[Diagnostic]:
    size, most = variable_size(variable), SPACE_SIZES.get(variable.space, 0)
    if size > most:
        message = f"{variable.name} has {size} bytes; .{variable.space} memory has {most}"
        yield Diagnostic("ptx-space", message, variable.span)
    is_open = None in variable.dims and variable.init is None
    if is_open and not (variable.space == "shared" and "extern" in variable.linkage):
        hint = "give it a length, an initialiser, or make it .extern .shared"
        yield Diagnostic("ptx-space", f"{variable.name} has no length", variable.span, hint)
    if variable.init is not None and variable.space not in ("global", "const"):
        message = f"{variable.name} is .{variable.space}, which takes no initial value"
        yield Diagnostic("ptx-space", message, variable.span)
    for leaf in leaves(variable.init) if variable.init is not None else ():
        if isinstance(leaf, Imm) and leaf.kind is not ImmKind.INT and variable.type not in _FLOATS:
            message = f"a float literal, expected .{variable.type}"
            yield Diagnostic("ptx-width", message, leaf.span, "write the value's bits as an integer")


def function_faults(module: Module, function: Function) -> list[Diagnostic]:
    """List the faults of one function, in code order; a declaration has none."""
    if function.body is None:
        return []
    flat = flatten(function)
    symbols = {item.name: "module" for item in module.items}
    symbols |= {
        param.name: "param" for param in (*function.params, *function.results) if param.space == "param"
    }
    symbols |= {name: variable.space for name, variable in flat.variables.items()}
    odd = [(name, t) for name, t in flat.registers.items() if t not in TYPES or TYPES[t].bits > 64]
    if odd:
        message = "register {} is .{}, which no supported instruction takes"
        return [Diagnostic("ptx-unsupported", message.format(*row), function.span) for row in odd]
    checker = _Checker(flat, symbols, module)
    faults = list(flat.faults)
    size = max((param.offset + param.size for param in ptx_params(function)), default=0)
    if size > SPACE_SIZES["param"]:
        message = f"the parameters have {size} bytes; .param memory has {SPACE_SIZES['param']}"
        faults.append(Diagnostic("ptx-space", message, function.span))
    for variable in flat.variables.values():
        faults += _variable_faults(variable)
    for instruction in flat.code:
        faults += checker.instruction(instruction)
    if not _ends(flat):
        hint = "end every path with ret or exit"
        faults.append(Diagnostic("ptx-end", f"{function.name} runs off its end", function.body.end, hint))
    return faults


def _ends(flat: FlatFunction) -> bool:
    """Whether the last instruction leaves, and no label stands behind it."""
    if not flat.code or len(flat.code) in flat.labels.values():
        return False
    last = flat.code[-1]
    return last.guard is None and last.opcode in _ENDS


@dataclass(frozen=True, slots=True)
class _Checker:
    flat: FlatFunction
    symbols: Mapping[str, str]
    module: Module

    def instruction(self, item: Instruction) -> Iterator[Diagnostic]:
        if item.guard is not None:
            yield from self.guard(item.guard.reg)
        form = decode(item.opcode, item.modifiers)
        if isinstance(form, Unknown):
            yield Diagnostic(form.code, form.message, item.span, form.hint)
            return
        specs = [spec for spec in form.spec.operands if spec.kind != "flag"]
        least = sum(not spec.is_optional for spec in specs)
        if not least <= len(item.operands) <= len(specs):
            wanted = str(least) if least == len(specs) else f"{least} to {len(specs)}"
            message = f"{item.name} takes {wanted} operands, got {len(item.operands)}"
            yield Diagnostic("ptx-arity", message, item.span, f"meaning: {form.spec.doc}")
            return
        for spec, op in zip(specs, item.operands, strict=False):
            yield from self.operand(item, form, spec, op)

    def guard(self, reg: Reg) -> Iterator[Diagnostic]:
        declared = self.flat.registers.get(reg.name)
        if declared is None:
            yield _undeclared(reg)
        elif declared != "pred":
            yield Diagnostic("ptx-guard", f"the guard {reg.name} is .{declared}, expected .pred", reg.span)

    def operand(self, item: Instruction, form: Form, spec: OperandSpec, op: Operand) -> Iterator[Diagnostic]:
        if spec.kind == "mem":
            yield from self.memory(item, form, op)
        elif spec.kind in ("label", "table"):
            yield from self.target(spec, op)
        elif spec.kind == "imm":
            if not isinstance(op, Imm):
                yield _wrong_kind(op, "an integer literal")
        elif spec.kind == "pair" and isinstance(op, Pair):
            yield from self.value(item, form, spec, op.first)
            yield from self.register(op.second, "pred", False)
        elif spec.kind == "vec" and isinstance(op, Vector):
            yield from self.vector(item, form, spec, op)
        elif spec.kind == "vec" and form.choice("VEC") and not isinstance(op, Sink | Special):
            yield _wrong_kind(op, f"{form.choice('VEC')[1]} elements in braces")
        elif spec.kind == "pred" and isinstance(op, Not):
            yield from self.register(op.reg, "pred", False)
        else:
            yield from self.value(item, form, spec, op)

    def value(self, item: Instruction, form: Form, spec: OperandSpec, op: Operand) -> Iterator[Diagnostic]:
        """Check a scalar: a register, or for sources a literal, a symbol or a special register."""
        type_name = form.type_of(spec)
        if isinstance(op, Reg):
            yield from self.register(op, type_name, spec.may_widen)
        elif spec.is_dest:
            if not isinstance(op, Sink):
                yield _wrong_kind(op, "a register")
        elif isinstance(op, Imm):
            yield from _literal_faults(op, type_name)
        elif isinstance(op, Special):
            if item.opcode not in _SPECIAL_READERS:
                yield Diagnostic(
                    "ptx-operand",
                    f"{item.opcode} cannot read {op.name}",
                    op.span,
                    "mov it to a register first",
                )
        elif isinstance(op, Symbol | Element):
            yield from self.symbol(op if isinstance(op, Symbol) else op.base)
        else:
            yield _wrong_kind(op, "a register or a literal")

    def register(self, op: Reg | Sink, type_name: str, may_widen: bool) -> Iterator[Diagnostic]:
        if isinstance(op, Sink):
            return
        declared = self.flat.registers.get(op.name)
        if declared is None:
            yield _undeclared(op)
        elif type_name != "any" and not fits(declared, type_name, may_widen):
            yield Diagnostic("ptx-width", f"{op.name} is .{declared}, expected .{type_name}", op.span)

    def vector(self, item: Instruction, form: Form, spec: OperandSpec, op: Vector) -> Iterator[Diagnostic]:
        """Check `{a, b}`: as many elements as .v2 or .v4 says, or in mov as many as share the type's bits."""
        width = form.choice("VEC")
        type_name = form.type_of(spec)
        if width:
            if len(op.items) != int(width[1:]):
                yield Diagnostic("ptx-width", f"{len(op.items)} elements, expected {width[1:]}", op.span)
        elif item.opcode == "mov" and TYPES[type_name].bits % len(op.items) == 0:
            type_name = f"b{TYPES[type_name].bits // len(op.items)}"
        else:
            yield _wrong_kind(op, "one value")
            return
        element = OperandSpec(spec.name, "reg", type_name, spec.is_dest, may_widen=spec.may_widen)
        for part in op.items:
            yield from self.value(item, form, element, part)

    def memory(self, item: Instruction, form: Form, op: Operand) -> Iterator[Diagnostic]:
        if not isinstance(op, Address | Element):
            yield _wrong_kind(op, "an address in brackets")
            return
        space = form.choice("SPACE")
        if (
            item.opcode in ("st", "atom", "red")
            and space in _READ_ONLY
            and not self.is_writable_param(space, op)
        ):
            yield Diagnostic("ptx-space", f"{item.name} writes to read-only memory", item.span)
        base = op.base
        if isinstance(base, Symbol):
            yield from self.symbol(base)
        elif isinstance(base, Reg):
            declared = self.flat.registers.get(base.name)
            if declared is None:
                yield _undeclared(base)
            elif not self.is_address(declared, space):
                bits = self.module.address_size
                yield Diagnostic(
                    "ptx-width", f"the address {base.name} is .{declared}, expected .b{bits}", base.span
                )

    def is_writable_param(self, space: str, op: Address | Element) -> bool:
        """Whether this is an argument or a result of a call: `.param` of a block or of a device function."""
        if space != "param" or not isinstance(op.base, Symbol):
            return False
        results = [param.name for param in self.flat.function.results]
        return op.base.name in self.flat.variables or op.base.name in results

    def is_address(self, declared: str, space: str) -> bool:
        """Whether a register may hold an address: 32 bits suffice outside global memory (PTX ISA 6.4.1.1)."""
        scalar = TYPES[declared]
        least = self.module.address_size if space in ("", "global") else 32
        return scalar.is_integer and scalar.bits in (32, 64) and scalar.bits >= least

    def target(self, spec: OperandSpec, op: Operand) -> Iterator[Diagnostic]:
        known: Mapping[str, object] = self.flat.labels if spec.kind == "label" else self.flat.tables
        what = "label" if spec.kind == "label" else "list of branch targets"
        if not isinstance(op, Symbol):
            yield _wrong_kind(op, f"a {what}")
        elif op.name not in known:
            yield Diagnostic("ptx-label", f"{op.name} is no {what} of {self.flat.name}", op.span)
        elif spec.kind == "table":
            for name in self.flat.tables[op.name]:
                if name not in self.flat.labels:
                    yield Diagnostic("ptx-label", f"{name} is no label of {self.flat.name}", op.span)

    def symbol(self, op: Symbol) -> Iterator[Diagnostic]:
        if op.name not in self.symbols:
            yield Diagnostic("ptx-symbol", f"{op.name} is not declared", op.span)


def fits(declared: str, wanted: str, may_widen: bool) -> bool:
    """Whether a register of type `declared` may stand where an instruction says `wanted` (PTX ISA 9.4.1).

    Sizes must agree, or the register may be wider; signs do not matter; .f goes with .f and .b, .pred with itself.
    """
    have, want = TYPES[declared], TYPES[wanted]
    if "p" in (have.kind, want.kind):
        return have.kind == want.kind
    if "f" in (have.kind, want.kind) and not {have.kind, want.kind} <= {"f", "b"}:
        return False
    return have.bits == want.bits or (may_widen and have.bits > want.bits)


def _literal_faults(op: Imm, type_name: str) -> Iterator[Diagnostic]:
    if type_name == "any":
        return
    kind = TYPES[type_name].kind
    if op.kind is ImmKind.INT and kind == "f":
        yield Diagnostic(
            "ptx-width", "an integer literal, expected a float", op.span, "write 1.0 or 0f3F800000"
        )
    if op.kind is not ImmKind.INT and kind in "usp":
        yield Diagnostic("ptx-width", f"a float literal, expected .{type_name}", op.span)


def _undeclared(reg: Reg) -> Diagnostic:
    hint = f"{reg.name} is read-only and unknown" if reg.name in SPECIAL_TYPES else "declare it with .reg"
    return Diagnostic("ptx-register", f"register {reg.name} is not declared", reg.span, hint)


def _wrong_kind(op: Operand, wanted: str) -> Diagnostic:
    span: Span | None = op.span
    found = _KINDS.get(type(op), "an operand of another kind")
    return Diagnostic("ptx-operand", f"found {found}, expected {wanted}", span)


_KINDS: dict[type, str] = {
    Reg: "a register",
    Special: "a special register",
    Imm: "a literal",
    Symbol: "a symbol",
    Sink: "_",
    Not: "a negated predicate",
    Pair: "two destinations",
    Address: "an address",
    Element: "an array element",
    Vector: "a vector",
}

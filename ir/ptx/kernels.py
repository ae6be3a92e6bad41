"""Kernels by name, and the layout of their parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from qgc.diagnostics import Span, fail
from qgc.ir.ptx.ast import Function, Module, Param, Variable
from qgc.ir.ptx.types import size_of


@dataclass(frozen=True, slots=True)
class ParamLayout:
    """Where one kernel parameter lies in the parameter buffer. `offset`, `size` and `align` are in bytes.

    `type` is the element type (`u64`, or `b8` of a struct passed by value); `points_to` the state space that a
    `.ptr` names (`""`: not said), None when the file does not mark the parameter as a pointer. Only recent
    compilers mark them, so None proves nothing.
    """

    name: str
    type: str
    offset: int
    size: int
    align: int
    points_to: str | None = None


def ptx_params(kernel: Function) -> tuple[ParamLayout, ...]:
    """Lay out the parameters: each at the next multiple of its alignment (PTX ISA 5.1.6)."""
    layouts: list[ParamLayout] = []
    end = 0
    for param in kernel.params:
        align, size = alignment(param), byte_size(param)
        offset = -(-end // align) * align
        points_to = None if param.pointer is None else param.pointer.space or ""
        layouts.append(ParamLayout(param.name, param.type, offset, size, align, points_to))
        end = offset + size
    return tuple(layouts)


def byte_size(declared: Param | Variable) -> int:
    """Return the bytes of a declaration; an unsized dimension counts as zero."""
    return size_of(declared.type) * declared.vector * prod(n or 0 for n in declared.dims)


def alignment(declared: Param | Variable) -> int:
    """Return the alignment in bytes: as declared, else the natural one of the (vector) type."""
    return declared.align or size_of(declared.type) * declared.vector


def source_name(symbol: str) -> str:
    """Return the C++ name behind an Itanium-mangled symbol, without types: `_ZN2ns3dotEPKi` -> `ns::dot`.

    A symbol that is not mangled, or not understood, comes back unchanged.
    """
    if not symbol.startswith("_Z"):
        return symbol
    rest, parts = symbol[2:].removeprefix("N").lstrip("KL"), []
    while match := re.match(r"(\d+)", rest):
        start, length = match.end(), int(match.group())
        parts.append(rest[start : start + length])
        rest = rest[start + length :]
    names = [part for part in parts if part and not part.startswith("_GLOBAL__N")]
    if not symbol.startswith("_ZN"):
        names = names[:1]
    return "::".join(names) or symbol


def find_kernel(module: Module, name: str | None = None) -> Function:
    """Find a kernel by its symbol or by its C++ name; None asks for the only one there is.

    Raises:
        QgcError: `kernel-missing`, `kernel-unnamed` (there are several) or `kernel-ambiguous` (overloads); each
            lists the kernels of the file.
    """
    kernels = module.kernels
    place = Span(module.file, 1, 1) if module.file else None
    listing = ", ".join(_describe(k) for k in kernels) or "none"
    if not kernels:
        hint = "mark a function __global__ in CUDA, .entry in PTX, and use it or make it extern"
        raise fail("kernel-missing", "the module has no kernel", place, hint)
    if name is None:
        if len(kernels) > 1:
            raise fail(
                "kernel-unnamed", f"the module has {len(kernels)} kernels: {listing}", place, "name one"
            )
        return kernels[0]
    exact = [k for k in kernels if k.name == name]
    found = exact or [
        k for k in kernels if name in (source_name(k.name), source_name(k.name).split("::")[-1])
    ]
    if not found:
        raise fail("kernel-missing", f"no kernel is named {name}", place, f"kernels here: {listing}")
    if len(found) > 1:
        symbols = ", ".join(k.name for k in found)
        raise fail(
            "kernel-ambiguous", f"{name} names {len(found)} kernels", place, f"name the symbol: {symbols}"
        )
    return found[0]


def _describe(kernel: Function) -> str:
    source = source_name(kernel.name)
    return kernel.name if source == kernel.name else f"{source} ({kernel.name})"


def pack_params(kernel: Function, values: Sequence[int | bytes]) -> bytes:
    """Make the parameter buffer of a launch: integers and addresses in little-endian bytes, structs as they are.

    Raises:
        QgcError: `launch-params` for a wrong number of values, or bytes of the wrong length.
    """
    layouts = ptx_params(kernel)
    if len(layouts) != len(values):
        raise fail(
            "launch-params", f"{kernel.name} takes {len(layouts)} arguments, got {len(values)}", kernel.span
        )
    buffer = bytearray(max((p.offset + p.size for p in layouts), default=0))
    for layout, value in zip(layouts, values, strict=True):
        if isinstance(value, int):
            value = (value % 2 ** (8 * layout.size)).to_bytes(layout.size, "little")
        if len(value) != layout.size:
            message = f"{layout.name} has {layout.size} bytes, got {len(value)}"
            raise fail("launch-params", message, kernel.span)
        buffer[layout.offset : layout.offset + layout.size] = value
    return bytes(buffer)

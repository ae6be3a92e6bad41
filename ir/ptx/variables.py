"""Where the variables and parameters of a launch lie, and the memory that they lie in.

Every state space but global has addresses of its own, from 0. Generic addresses (PTX ISA, `cvta`)
are global addresses, or lie in one of four windows at the top of the 32-bit range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qgc.diagnostics import fail
from qgc.ir.launch import Memory
from qgc.ir.ptx.ast import Module, Symbol, Variable
from qgc.ir.ptx.data import initial_bytes, variable_size
from qgc.ir.ptx.flat import FlatFunction
from qgc.ir.ptx.kernels import alignment, ptx_params
from qgc.ir.ptx.space import Region, Space

WINDOWS = {"shared": 0xE000_0000, "local": 0xE800_0000, "const": 0xF000_0000, "param": 0xF800_0000}
"""Space -> first generic address of its window."""

WINDOW_SIZE = 0x0800_0000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a variable lies in its state space; `element` is the bytes of one element, for `a[i]`."""

    space: str
    address: int
    element: int


class Variables:
    """The symbols of one kernel and the spaces of the block that runs.

    Global variables are put into `memory` under their names, unless an earlier launch did: they keep their values.
    """

    def __init__(
        self, module: Module, flat: FlatFunction, memory: Memory, params: bytes, dynamic_shared: int
    ) -> None:
        self.places: dict[str, Place] = {}
        self._sizes = dict.fromkeys(WINDOWS, 0)
        self._declared = {v.name: v for v in module.variables} | flat.variables
        self._kept = {region.name for region in memory.regions}  # globals of an earlier launch
        self._place_all(memory, dynamic_shared)
        for layout in ptx_params(flat.function):
            self.places[layout.name] = Place("param", layout.offset, 1)
        self._constants = bytearray(self._sizes["const"])
        self._set_initial(memory)
        self.dynamic_shared, self.total_shared = dynamic_shared, self._sizes["shared"]
        self._memory, self._params = memory, params
        self.spaces: dict[str, Space] = {}

    def _place_all(self, memory: Memory, dynamic_shared: int) -> None:
        dynamic = []
        for name, variable in self._declared.items():
            if variable.space == "global":
                self.places[name] = Place("global", _global_address(variable, memory), _element(variable))
            elif variable.space == "shared" and None in variable.dims:
                dynamic.append((name, variable))
            elif variable.space in WINDOWS:
                self._append(name, variable, variable_size(variable))
        if dynamic:  # every .extern .shared array starts at the same place, after the others
            align = max(alignment(variable) for _name, variable in dynamic)
            base = -(-self._sizes["shared"] // align) * align
            self.places |= {name: Place("shared", base, _element(variable)) for name, variable in dynamic}
            self._sizes["shared"] = base + dynamic_shared

    def _append(self, name: str, variable: Variable, size: int) -> None:
        align, space = alignment(variable), variable.space
        space = "local" if space == "param" else space  # an argument of a call: each thread has its own
        address = -(-self._sizes[space] // align) * align
        self.places[name] = Place(space, address, _element(variable))
        self._sizes[space] = address + size

    def _set_initial(self, memory: Memory) -> None:
        """Write the initial values, now that every symbol has an address."""
        for name, variable in self._declared.items():
            if variable.init is None:
                continue
            raw, place = initial_bytes(variable, self.address), self.places[name]
            if place.space == "const":
                self._constants[place.address : place.address + len(raw)] = raw
            elif name not in self._kept:
                memory[name].data[:] = raw

    def start_block(self, threads: int) -> None:
        """Make the spaces of a block: shared and local memory full of zeros."""
        shared = np.zeros((1, self._sizes["shared"]), dtype=np.uint8)
        local = np.zeros((threads, self._sizes["local"]), dtype=np.uint8)
        constants = np.frombuffer(bytes(self._constants), dtype=np.uint8)[None, :]
        params = np.frombuffer(self._params, dtype=np.uint8)[None, :]
        self.spaces = {
            "global": Space.over("global", self._memory),
            "shared": Space("shared", [Region("the block's shared memory", 0, shared)]),
            "local": Space("local", [Region("the thread's local memory", 0, local)]),
            "const": Space("const", [Region("constant memory", 0, constants)]),
            "param": Space("param", [Region("the parameters", 0, params)]),
        }

    def find(self, symbol: Symbol) -> Place:
        """Return where a variable lies. Raises QgcError `ptx-symbol`."""
        if symbol.name not in self.places:
            raise fail("ptx-symbol", f"{symbol.name} has no address", symbol.span)
        return self.places[symbol.name]

    def address(self, symbol: Symbol) -> int:
        """Return the address of `symbol+offset` in its own space, or in the generic one for `generic(symbol)`."""
        place = self.find(symbol)
        window = WINDOWS.get(place.space, 0) if symbol.generic else 0
        return window + place.address + symbol.offset


def _element(variable: Variable) -> int:
    return alignment(Variable(variable.space, variable.type, variable.name, vector=variable.vector))


def _global_address(variable: Variable, memory: Memory) -> int:
    if any(region.name == variable.name for region in memory.regions):
        return memory[variable.name].start
    size = variable_size(variable)
    return memory.append(variable.name, bytes(size), align=max(alignment(variable), 4)).start

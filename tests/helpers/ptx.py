"""Small launches of PTX: a kernel around a few instructions, and one from the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgc.ir.launch import Dim3, Launch, Memory
from qgc.ir.ptx.ast import Module
from qgc.ir.ptx.interpret import run
from qgc.ir.ptx.kernels import find_kernel, pack_params
from qgc.ir.ptx.parse import parse

HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"
REGISTERS = ".reg .pred p<8>; .reg .b16 h<8>; .reg .b32 r<32>; .reg .f32 f<4>; .reg .b64 d<32>;"
WIDTHS = {"p": 32, "h": 16, "r": 32, "f": 32, "d": 64}
"""First letter of a register of `REGISTERS` -> the bits in which `results` stores it."""


def kernel_text(body: str, before: str = "") -> str:
    """A kernel `k` whose only parameter is the address of its results, in d31; `before` stands in front of it."""
    head = (
        f"{HEADER}{before}\n.visible .entry k(.param .u64 out)\n{{\n{REGISTERS}\nld.param.u64 d31, [out];\n"
    )
    return f"{head}{body}\nret;\n}}\n"


def launch(
    module: Module,
    args: Mapping[str, NDArray[Any] | int],
    *,
    block: Dim3 = (1, 1, 1),
    grid: Dim3 = (1, 1, 1),
    kernel: str | None = None,
    **options: Any,
) -> dict[str, NDArray[Any]]:
    """Run a kernel on arrays and numbers; return every array as it is afterwards."""
    memory, values = Memory(), []
    for name, value in args.items():
        if isinstance(value, np.ndarray):
            value = memory.append(name, value.tobytes(), gap=256).start
        values.append(int(value))
    params = pack_params(find_kernel(module, kernel), values)
    run(module, Launch(grid, block), params, memory, kernel=kernel, **options)
    arrays = {name: value for name, value in args.items() if isinstance(value, np.ndarray)}
    return {name: np.frombuffer(bytes(memory[name].data), value.dtype) for name, value in arrays.items()}


def run_text(text: str, threads: int = 1, words: int = 1, **options: Any) -> list[int]:
    """Run the kernel `k` of `kernel_text` and return its 64-bit results."""
    out = launch(parse(text, "k.ptx"), {"out": np.zeros(words, np.uint64)}, block=(threads, 1, 1), **options)
    return [int(word) for word in out["out"]]


def results(body: str, *registers: str) -> list[int]:
    """Run instructions in one thread and return the bits of some registers."""
    return run_text(kernel_text(body + "\n" + store(*registers)), words=len(registers))


def store(*registers: str) -> str:
    """Store registers to consecutive 64-bit words from d31 on."""
    lines = []
    for number, register in enumerate(registers):
        kind = register[0]
        if kind == "p":
            lines.append(f"selp.b32 r31, 1, 0, {register};")
            register = "r31"
        lines.append(f"st.global.b{WIDTHS[kind]} [d31+{8 * number}], {register};")
    return "\n".join(lines)

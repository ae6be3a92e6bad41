"""Where the machine's memory is in a checkpoint, and how it is read back from a recurrent state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgc.backends.weights.deltanet import bit_dim
from qgc.ir.layout.layout import Layout
from qgc.ir.layout.weights import STATE_LEVEL
from qgc.ir.machine.config import WORD_BITS, MachineConfig
from qgc.ir.netlist.netlist import HEAD_ROWS, Netlist


@dataclass(frozen=True, slots=True)
class Bank:
    """A page of a bank of global memory: rows from `HEAD_ROWS * page` on of the words whose address is `number` modulo lanes."""

    number: int
    page: int
    layer: int
    head: int


def memory_banks(machine: MachineConfig, netlist: Netlist, layout: Layout) -> list[Bank]:
    """The heads of stage 0, lane 0, which hold a copy of all of memory like every other lane's."""
    names = {head.name: number for number, head in enumerate(netlist.heads)}
    pages = -(-machine.words // (machine.lanes * HEAD_ROWS))
    return [
        Bank(m, page, layout.schedule.head_layer[h], layout.head_slot[h])
        for m in range(machine.lanes)
        for page in range(pages)
        for h in [names[f"s0.lane0.bank{m}" + (f".p{page}" if pages > 1 else "")]]
    ]


StateOf = Callable[[int, int], NDArray[np.float32]]
"""`state(layer, head)`: the recurrent state of a head, `[key dimension, value dimension]`."""


def read_memory(state: StateOf, manifest: dict[str, Any]) -> list[int]:
    """The words of global memory, unsigned, as they stand in a model's recurrent state.

    `manifest` is the content of the checkpoint's `qgc.json`. A word that was never written is 0.
    """
    lanes = int(manifest["machine"]["lanes"])
    words = np.zeros(int(manifest["machine"]["words"]), dtype=np.int64)
    table = words.reshape(-1, lanes)
    dims = [bit_dim(i) for i in range(WORD_BITS)]
    powers = 1 << np.arange(WORD_BITS, dtype=np.int64)
    for bank in manifest["memory"]:
        part = table[bank["page"] * HEAD_ROWS :][:HEAD_ROWS]
        rows = state(bank["layer"], bank["head"])[: len(part)]
        part[:, bank["number"]] = (rows[:, dims] > STATE_LEVEL / 2) @ powers
    return [int(word) for word in words]

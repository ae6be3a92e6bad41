"""What a machine costs in a model shape, before anything is written: layers, units, parameters, bytes, and what limits it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil

import numpy as np

from qgc.backends.weights.embedding import embedding, vocabulary_rows
from qgc.backends.weights.plan import Plan, plan
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.statistics import layer_uses
from qgc.ir.layout.weights import tensor_shapes
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.tokens import Vocabulary
from qgc.ir.netlist.graph import Graph

_SMALL_TENSORS = 4
"""Values of the depthwise convolution a channel, besides the matrices of a layer."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A machine laid out in a shape, in numbers.

    Attributes:
        layers: compiled layers; the checkpoint has one idle attention layer more.
        critical_path: layers that the longest chain of units and heads takes: no schedule is shorter.
        unit_layers, head_layers: layers that all units, or all heads, fill alone.
        wires, gates, heads, clears: of the circuit; clears are units too.
        live: the most wires alive at once, of `hidden` coordinates.
        vocabulary: the machine's tokens.
        parameters, non_zeros: of the whole checkpoint.
        bytes_float32, bytes_bfloat16: of its tensors.
        tokens_per_operation: generated tokens for each operation of a group of lanes, in a loop of shifts and xors.
    """

    machine: str
    shape: str
    layers: int
    critical_path: int
    unit_layers: int
    head_layers: int
    wires: int
    gates: int
    heads: int
    clears: int
    live: int
    vocabulary: int
    parameters: int
    non_zeros: int
    bytes_float32: int
    bytes_bfloat16: int
    tokens_per_operation: float


def estimate(machine: MachineConfig, shape: ModelShape) -> Estimate:
    """Lay the machine out and count.

    Raises:
        QgcError: what `plan` raises when the machine does not fit the shape, with the limit that it breaks.
    """
    p = plan(machine, shape)
    netlist, uses = p.netlist, layer_uses(p.layout)
    parameters = _parameters(p)
    return Estimate(
        machine.name,
        shape.name,
        len(uses),
        critical_path(p),
        ceil(len(netlist.units) / shape.intermediate),
        ceil(len(netlist.heads) / shape.heads),
        len(netlist.wires),
        len(netlist.units),
        len(netlist.heads),
        sum(use.clears for use in uses),
        max(use.live for use in uses),
        Vocabulary(machine).size,
        parameters,
        _non_zeros(p),
        4 * parameters,
        2 * parameters,
        _tokens_per_operation(machine),
    )


def critical_path(p: Plan) -> int:
    """Layers that the longest chain takes: heads come before units in a layer, so from a unit on to a unit is a layer."""
    graph = Graph(p.netlist)
    time = [0] * len(graph.parity)
    for node in graph.order():
        ready = max((time[w] for wire in graph.reads[node] for w in graph.writers[wire]), default=-1) + 1
        time[node] = ready if ready % 2 == graph.parity[node] else ready + 1
    return max(time, default=0) // 2 + 1


def _parameters(p: Plan) -> int:
    """Every number of the checkpoint, the idle layer and the tied embedding included."""
    shape = p.layout.shape
    channels = (2 * shape.heads + shape.value_heads) * shape.head_dim
    layer = sum(rows * columns for rows, columns in tensor_shapes(shape).values())
    layer += _SMALL_TENSORS * channels + 2 * shape.value_heads + shape.head_dim + 2 * shape.hidden
    queries, keys = shape.attention_heads * shape.attention_dim, shape.kv_heads * shape.attention_dim
    idle = shape.hidden * (3 * queries + 2 * keys + 3 * shape.intermediate + 2) + 2 * shape.attention_dim
    rows = vocabulary_rows(Vocabulary(p.machine))
    return p.layout.schedule.layers * layer + idle + (rows + 1) * shape.hidden


def _non_zeros(p: Plan) -> int:
    """Numbers of the checkpoint that are not 0."""
    shape = p.layout.shape
    channels = (2 * shape.heads + shape.value_heads) * shape.head_dim
    fixed = channels + shape.value_heads + shape.head_dim  # newest tap, dt_bias, norm
    found: Counter[str] = Counter()
    for layer in p.layers():
        found["layers"] += fixed
        for name, entries in layer.items():
            if entries.values:
                found[name] += int(np.count_nonzero(entries.merged(tensor_shapes(shape)[name][1])[1]))
    return sum(found.values()) + int(np.count_nonzero(embedding(Vocabulary(p.machine), p.layout)))


_LOOP = """\
kernel loop
param out ptr
const k0 = param out
const k1 = 13
const k2 = 17
const k3 = 8
const k4 = 1
block 0:
  0: add tid, k4
  out r1 = f0
  branch 1
block 1:
  0: shl r1, k1
  1: xor f0, r1
  2: shr f1, k2
  3: xor f2, f1
  out r1 = f3
  branch 2
block 2:
  0: add r2, k4
  1: setltu f0, k3
  out r2 = f0
  branch f1 ? 1 : 3
block 3:
  0: nop
  1: nop
  2: nop
  3: stx tid, k0 <- r1
  branch exit
"""


def _tokens_per_operation(machine: MachineConfig) -> float:
    """What a small loop takes on the reference interpreter; 0 for a machine that it does not fit."""
    from dataclasses import replace

    from qgc.ir.machine.text import parse
    from qgc.runtime.isa import run_isa
    from qgc.runtime.launch import link
    from qgc.runtime.stats import stats

    if machine.stages < 4 or machine.blocks < 4 or machine.registers < 3 or machine.consts < 5:
        return 0.0
    program = replace(parse("machine simt4\n" + _LOOP), config=machine)
    threads = 2 * machine.lanes
    out: np.ndarray = np.zeros(threads, dtype=np.uint32)
    run = run_isa(link(program, (1, 1, 1), (threads, 1, 1), [out]))
    return round(stats(program, run).tokens_per_issue, 2)

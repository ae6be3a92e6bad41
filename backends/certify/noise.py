"""The induction over the layers: from what is known of the residual before a sublayer to what is known after it.

Everything is taken from stored tensors; the layout says which wire a coordinate holds when, and the netlist in which range.
docs/certify.md has the argument for each line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qgc.backends.certify.arithmetic import (
    BITS,
    SINGLE_BITS,
    SPREAD,
    Matrix,
    Residual,
    Rows,
    Vector,
    absorbed,
    grid_of,
    product,
)
from qgc.backends.certify.compare import Fault
from qgc.backends.certify.places import Places
from qgc.backends.weights.deltanet import READ_LEVEL
from qgc.backends.weights.swiglu import GATE
from qgc.ir.layout.layout import Layout
from qgc.ir.layout.schedule import lives
from qgc.ir.layout.weights import CODE_LEVEL, CONSTANT, STATE_LEVEL, norm_factor
from qgc.ir.layout.weights_evaluate import EPS

if TYPE_CHECKING:
    import torch

SATURATED = 110.0
"""exp of minus this is 800 times below float32's smallest number, so silu and sigmoid of it are exactly 0, however exp is rounded."""
ROUNDED = 15 / 16
"""What is left of a wire at least when bfloat16 has rounded it in every layer that adds to it."""
TOKENS = 1 << 20
"""Of a context at most (`max_position_embeddings`)."""
Tensor = Callable[[str], "torch.Tensor"]


@dataclass(slots=True)
class LayerProof:
    """What is proved of one layer.

    Attributes:
        heads, units: how many were checked; units with the clears and the output stage.
        promised: units whose numbers fit the dtype by the circuit's promise, not by the ranges of wires alone.
        noise: the largest deviation of a wire after the layer, and `wire` which it is.
        share: the largest share of its margin that a sum of the layer uses, and `where` which sum it is.
    """

    layer: int
    heads: int = 0
    units: int = 0
    promised: int = 0
    noise: float = 0.0
    wire: str = ""
    share: float = 0.0
    where: str = ""
    faults: list[Fault] = field(default_factory=list)


def tail(size: Vector) -> Vector:
    """How much silu of minus this can be, in size, for sizes above 2; exactly 0 where float32 has no such number."""
    return np.where(size >= SATURATED, 0.0, size * np.exp(-np.minimum(size, SATURATED)))


class Analysis:
    """Walks through the layers in order; `residual` holds what is known so far."""

    def __init__(self, layout: Layout, dtype: str) -> None:
        self.layout, self.dtype = layout, dtype
        self.places = Places(layout)
        self.factor = norm_factor(layout.shape)
        self.whole = 2.0 ** BITS[dtype]
        hidden = layout.shape.hidden
        constant = np.zeros(hidden)
        constant[list(layout.constants)] = CONSTANT
        self.residual = Residual(constant, np.zeros(hidden), np.zeros(hidden), np.zeros(hidden))
        self._lives = lives(layout.schedule)
        self._gone = {clear.wire: 2 * clear.layer + 1 for clear in layout.clears}

    def layer(self, number: int, tensor: Tensor) -> LayerProof:
        """Prove one layer and move on; `tensor` gives its stored tensors by name."""
        proof = LayerProof(number)
        self._at(2 * number)
        self._norm(proof)
        self._heads(proof, tensor)
        self._at(2 * number + 1)
        self._norm(proof)
        self._mlp(proof, tensor)
        noise = self.residual.noise
        worst = int(noise.argmax())
        proof.noise, proof.wire = float(noise[worst]), self.places.coordinate(number, worst)
        self._share(proof, noise / absorbed(), lambda c: self.places.coordinate(number, c))
        return proof

    # What the residual holds --------------------------------------------------------------------------------------

    def _at(self, time: int) -> None:
        """Ranges of what each coordinate holds when half step `time` reads it."""
        low, high = np.zeros_like(self.residual.low), np.zeros_like(self.residual.high)
        end = 2 * self.layout.schedule.layers
        for wire, (born, _) in enumerate(self._lives):
            place = self.layout.coordinate[wire]
            if place >= 0 and born < time <= self._gone.get(wire, end):
                low[place], high[place] = (
                    self.layout.netlist.wires[wire].low,
                    self.layout.netlist.wires[wire].high,
                )
        code = list(self.layout.code.values())
        low[code], high[code] = -1.0, 2 * CODE_LEVEL + 1
        self.residual.low, self.residual.high = low, high

    def _norm(self, proof: LayerProof) -> None:
        """The squares of wires and code vanish beside one constant's, whatever is added to what first."""
        x = self.residual
        size = np.maximum(np.abs(x.low), np.abs(x.high)) + x.noise
        share = float(size @ size) * 2.0**SINGLE_BITS / CONSTANT**2
        self._share(proof, np.array([share]), lambda _: "the sum of squares of RMSNorm")

    # Sublayers ----------------------------------------------------------------------------------------------------

    def _heads(self, proof: LayerProof, tensor: Tensor) -> None:
        """Keys, values, beta and the output gate are decided, so every memory is exact; then the output projection."""
        layer, dim = proof.layer, self.layout.shape.head_dim
        for name in ("in_proj_qkv", "in_proj_z", "in_proj_b"):
            matrix = Matrix.of(tensor(f"linear_attn.{name}.weight"))
            rows = product(matrix, self.residual, self.factor)
            label = self._row_label(layer, name)
            self._decided(proof, matrix, rows, label)
            if name == "in_proj_b":
                proof.heads = int(matrix.used.sum())
                half = rows.may_be_zero & matrix.used
                self._refuse(proof, half & (rows.noise > 0), label, "beta is not exactly one half")
                self._refuse(
                    proof, matrix.used & (rows.least < SATURATED), label, "beta is not exactly 0 or 1"
                )
            else:
                self._refuse(proof, matrix.used & rows.may_be_zero, label, "silu may be given 0")
                exact = tail(rows.least) < rows.least * absorbed()
                self._refuse(proof, matrix.used & ~exact, label, "silu is not exact")
            if name == "in_proj_z":
                opened = matrix.used
            elif name == "in_proj_qkv":
                keys = matrix.used
        out = Matrix.of(tensor("linear_attn.out_proj.weight"))
        noise = np.where(opened, np.repeat(self._read_noise(keys), dim), 0.0)
        self._add(proof, out, noise, np.where(opened, READ_LEVEL * GATE, 0.0), np.ones(len(opened)), dim)

    def _read_noise(self, used: NDArray[np.bool_]) -> Vector:
        """What each head's memory gives in place of a 0: tails of the other rows' keys and queries, times RMSNorm's largest factor."""
        shape = self.layout.shape
        rows = used[: 2 * shape.heads * shape.head_dim].reshape(2, shape.heads, shape.head_dim).any(0).sum(1)
        others = np.repeat(np.maximum(rows - 1, 0), shape.value_heads // shape.heads)
        key = float(tail(np.array([GATE]))[0]) / GATE
        state = 4 * key * STATE_LEVEL * (1 + TOKENS * 2.0**-SINGLE_BITS)
        return np.asarray(GATE * EPS**-0.5 * state * others, dtype=np.float64)

    def _mlp(self, proof: LayerProof, tensor: Tensor) -> None:
        """Each unit is exact where it is open, a tail where it is shut, noise where its gate or its factor is 0."""
        layer, x = proof.layer, self.residual
        gate_m, up_m = (Matrix.of(tensor(f"mlp.{name}.weight")) for name in ("gate_proj", "up_proj"))
        gate, up = product(gate_m, x, self.factor), product(up_m, x, self.factor)
        proof.units = int(gate_m.used.sum())

        def label(unit: int) -> str:
            return self.places.unit(layer, unit)

        self._decided(proof, gate_m, gate, lambda unit: f"gate of {label(unit)}")
        self._decided(proof, up_m, up, lambda unit: f"factor of {label(unit)}")
        used = gate_m.used & up_m.used
        least = np.where(used, gate.least, np.inf)
        with np.errstate(invalid="ignore"):
            exact = ~np.isfinite(least) | (tail(least) < least * absorbed())
        self._refuse(proof, used & ~exact, label, "silu is not exact")
        opened = np.where(used, np.maximum(gate.high, 0.0), 0.0)
        size = np.where(used, np.maximum(np.abs(up.low), np.abs(up.high)), 0.0)
        grid = np.where(used, gate.grid, 1.0) * np.where(used, up.grid, 1.0)
        promised = np.zeros(len(used), dtype=bool)
        for what, value, unit in (
            ("gate", opened, gate.grid),
            ("factor", size, up.grid),
            ("product", opened * size, grid),
        ):
            with np.errstate(invalid="ignore"):
                wide = used & (value > self.whole * unit)
            if self.dtype == "float32":
                self._refuse(proof, wide, label, f"its {what} has more bits than {self.dtype}")
            promised |= wide
        proof.promised = int(promised.sum())
        shut = np.where(used & (gate.low < 0), tail(np.minimum(least, GATE * 1e6)) * (size + up.noise), 0.0)
        zero = np.where(gate.may_be_zero, gate.noise * (size + up.noise), 0.0)
        noise = np.where(used, np.maximum.reduce([shut, zero, opened * up.noise]), 0.0)
        self._add(proof, Matrix.of(tensor("mlp.down_proj.weight")), noise, opened * size, grid, 1)

    def _add(
        self, proof: LayerProof, out: Matrix, noise: Vector, size: Vector, grid: Vector, _dim: int
    ) -> None:
        """Add a projection's result to the residual, where the sum is exact but for noise."""
        layer = proof.layer
        term_grid = out.least(grid_of(out.value) * grid[out.column])
        total = out.sums(np.abs(out.value) * size[out.column])
        share = np.where(out.used, total / np.where(out.used, term_grid, 1.0) / 2.0**SINGLE_BITS, 0.0)
        self._share(proof, share, lambda c: f"sum of {self.places.coordinate(layer, c)}")
        added = SPREAD * out.sums(np.abs(out.value) * noise[out.column])
        self.residual.noise = SPREAD * (self.residual.noise + added)
        self._share(proof, self.residual.noise / absorbed(), lambda c: self.places.coordinate(layer, c))

    # Margins ------------------------------------------------------------------------------------------------------

    def _decided(self, proof: LayerProof, matrix: Matrix, rows: Rows, label: Callable[[int], str]) -> None:
        used = matrix.used
        self._refuse(proof, self._feels_wide(matrix, rows), label, f"a wire has more bits than {self.dtype}")
        self._share(proof, np.where(used, rows.share, 0.0), label)
        self._share(proof, np.where(used, rows.size, 0.0), label)

    def _feels_wide(self, matrix: Matrix, rows: Rows) -> NDArray[np.bool_]:
        """Rows that a rounded wire could change. A wire above 2**8 is rounded in bfloat16: it may only shut what it shuts anyway."""
        x = self.residual
        size = np.maximum(x.high, -x.low)
        size[list(self.layout.code.values())] = 0.0
        entry = (size > self.whole)[matrix.column]
        a = matrix.value * self.factor
        rising = entry & ((a > 0) | (x.low[matrix.column] < 0))
        drop = matrix.sums(np.where(entry, -a, 0.0)) * self.whole * ROUNDED
        touched = matrix.sums(entry.astype(np.float64)) > 0
        stays_open: NDArray[np.bool_] = touched & (rows.high - drop > -GATE)
        return stays_open | (matrix.sums(rising.astype(np.float64)) > 0)

    def _share(self, proof: LayerProof, share: Vector, label: Callable[[int], str]) -> None:
        """Keep the largest share of a margin; one of 1 or more is a fault."""
        share = np.nan_to_num(share, nan=math.inf)
        worst = int(share.argmax())
        if share[worst] > proof.share:
            proof.share, proof.where = float(share[worst]), label(worst)
        self._refuse(proof, share >= 1, label, "its margin is used up")

    def _refuse(self, proof: LayerProof, bad: np.ndarray, label: Callable[[int], str], what: str) -> None:
        places = np.flatnonzero(bad)
        proof.faults += [Fault(proof.layer, label(int(i)), what) for i in places[:3]]
        if len(places) > 3:
            proof.faults.append(Fault(proof.layer, f"{len(places) - 3} more", what))

    def _row_label(self, layer: int, name: str) -> Callable[[int], str]:
        def label(row: int) -> str:
            return f"{name} row {row} of {self.places.entry(layer, f'linear_attn.{name}.weight', row, 0).split(',')[0]}"

        return label


def proofs(layout: Layout, dtype: str, tensor: Callable[[int, str], torch.Tensor]) -> Iterator[LayerProof]:
    """Every layer's proof, in order."""
    analysis = Analysis(layout, dtype)
    for layer in range(layout.schedule.layers):
        yield analysis.layer(layer, lambda name, at=layer: tensor(at, name))  # type: ignore[misc]

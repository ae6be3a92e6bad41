"""What the base's own layers can do to a launch at most, from their actual weights.

After the closing layer a machine token's residual is the next token's code, each bit of one size L, and leftovers beside it. A
layer of the base reads it normalised, `|x| <= sqrt(hidden)`, so what it adds is bounded by its weights alone; norms are
Frobenius norms and row norms, which are upper bounds of everything used here:

    MLP         `|silu(g) u| <= |g| |u|`, each of them at most its row's norm times `sqrt(hidden)`
    attention   a convex mixture of values, gated by a sigmoid
    DeltaNet    RMSNorm's output, `sqrt(dim)` times its weights, gated by `|silu(z)| <= |z|`

The final norm and the output table follow: the right row against every other row of the machine and of the text.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch

from qgc.backends.merge.base import row_chunks
from qgc.backends.merge.closing import STRONG
from qgc.diagnostics import fail
from qgc.ir.layout.layout import Layout
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.weights import CODE_LEVEL

ROUNDING = {"float32": 2.0**-14, "bfloat16": 2.0**-6}
"""Share of the right logit that a gap must exceed: the roundings of the last norm, of the output product and of logits."""

MOST_SCALE = 2.0**20
"""Of the machine's output rows. Where a base asks for more, no scale helps: it overcomes the code."""
_OWN = 2
"""What is left on a code coordinate: the token's own +-1, and noise."""


class Behind(Protocol):
    """A base's layers, last norm and output table: a `Base`, or that part of a merged checkpoint."""

    @property
    def name(self) -> str:
        """As the user calls it."""

    @property
    def prefix(self) -> str:
        """Of its tensors."""

    @property
    def names(self) -> Container[str]:
        """Of its tensors."""

    @property
    def layers(self) -> int:
        """Its own layers."""

    @property
    def shape(self) -> ModelShape:
        """Its widths."""

    @property
    def norm(self) -> torch.Tensor:
        """The factors of its last norm."""

    @property
    def head(self) -> torch.Tensor:
        """Its rows of the output table."""

    def tensor(self, name: str) -> torch.Tensor:
        """One tensor."""


@dataclass(frozen=True, slots=True)
class Margin:
    """Of the machine tokens' logits.

    Attributes:
        scale: what the machine's output rows hold in place of +-1.
        added: the 2-norm that all layers of the base add to the residual at most.
        level: the least size of a code bit in the residual.
        right: the least logit of the right row.
        machine: the least gap to every other row of the machine.
        text: the least gap to every row of the base's vocabulary.
    """

    scale: float
    added: float
    level: float
    right: float
    machine: float
    text: float

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


def base_adds(base: Behind) -> float:
    """The 2-norm of all that the base's layers add to any residual, at most."""
    return sum(_layer_adds(base, f"{base.prefix}layers.{i}.") for i in range(base.layers))


def _layer_adds(base: Behind, prefix: str) -> float:
    hidden = math.sqrt(base.shape.hidden)

    def get(name: str) -> torch.Tensor:
        return base.tensor(prefix + name).float()

    def row_norms(name: str, fold: torch.Tensor) -> torch.Tensor:
        norms: torch.Tensor = (get(name) * fold).norm(dim=1)
        return norms * hidden

    fold = 1 + get("post_attention_layernorm.weight")
    inner = row_norms("mlp.gate_proj.weight", fold) * row_norms("mlp.up_proj.weight", fold)
    added = float(inner.norm() * get("mlp.down_proj.weight").norm())
    fold = 1 + get("input_layernorm.weight")
    if f"{prefix}self_attn.o_proj.weight" in base.names:
        values = row_norms("self_attn.v_proj.weight", fold)
        share = base.shape.attention_heads // base.shape.kv_heads
        return added + float(values.norm()) * math.sqrt(share) * float(get("self_attn.o_proj.weight").norm())
    gates = row_norms("linear_attn.in_proj_z.weight", fold)
    weight = float(get("linear_attn.norm.weight").abs().max()) * math.sqrt(base.shape.head_dim)
    return added + float(gates.norm()) * weight * float(get("linear_attn.out_proj.weight").norm())


def leftovers(layout: Layout) -> float:
    """The most that the squares of what the compiled layers leave beside the code sum to."""
    gone = {clear.wire for clear in layout.clears}
    wires = enumerate(layout.netlist.wires)
    left = [info for w, info in wires if layout.coordinate[w] != -1 and w not in gone]
    return float(sum(max(-info.low, info.high) ** 2 for info in left))


def margin(base: Behind, code: list[int], left: float, dtype: str) -> Margin:
    """Bound a launch's logits; `left` is the energy that `leftovers` says.

    Chooses the scale of the machine's output rows: the smallest power of two that puts the right row at twice the best text row; small, because on text the
    machine's rows should be unlikely.

    Raises:
        QgcError: `merge-margin` when the base's layers could change a token that the machine writes.
    """
    hidden, n = base.shape.hidden, len(code)
    added = base_adds(base) + math.sqrt(left)
    low, high = (CODE_LEVEL - _OWN) ** 2, (CODE_LEVEL + _OWN) ** 2
    level = STRONG * hidden * low / (n * high + left)
    share = added / level
    factor = base.norm[code].abs()
    size = math.sqrt(hidden / n)
    least, most = size * (low / high - 2 * share), size * (high / low + 2 * share)
    rest = math.sqrt(hidden) * share
    text = _best_text(base, code, most, rest)
    right = least * float(factor.sum())
    wanted = 2 * text / right if right > 0 else math.inf
    scale = 2.0 ** math.ceil(math.log2(min(max(wanted, 2.0**-20), MOST_SCALE)))
    gap = 2 * scale * least * float(factor.min())
    found = Margin(scale, added, level, scale * right, gap, scale * right - text)
    if share > 2.0**-8 or min(found.machine, found.text) <= ROUNDING[dtype] * found.right:
        raise fail(
            "merge-margin",
            f"{base.name}: its layers add up to {added:g} to a code of {level:g}; the right token leads by "
            f"{found.machine:g} of {found.right:g} over the machine's, by {found.text:g} over text",
        )
    return found


def _best_text(base: Behind, code: list[int], most: float, rest: float) -> float:
    """The largest logit that a text row may have on a machine token."""
    best = 0.0
    for _, rows in row_chunks(base.head):
        folded = rows.float() * base.norm
        bound = folded[:, code].abs().sum(1) * most + folded.norm(dim=1) * rest
        best = max(best, float(bound.max()))
    return best

"""The last step: the right token's logit against every other row of the output table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qgc.backends.certify.arithmetic import BITS
from qgc.backends.certify.compare import Fault
from qgc.ir.layout.layout import Layout
from qgc.ir.layout.weights import CODE_LEVEL

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class LogitMargin:
    """In units of the residual, before the last norm, whose factor is common to all rows.

    Attributes:
        right: the least logit of the right row.
        gap: the least lead of the right row over any other, leftovers taken off.
        rounding: the most that the roundings of norm, product and logits take off the lead.
    """

    right: float
    gap: float
    rounding: float

    @property
    def is_enough(self) -> bool:
        """Whether the right token wins, whatever is rounded."""
        return self.gap > self.rounding


def logit_margin(
    layout: Layout, table: torch.Tensor, tokens: int, dtype: str
) -> tuple[LogitMargin, list[Fault]]:
    """Bound the logits from the stored table, `[rows, hidden]`, whose first `tokens` rows are the machine's.

    On a code coordinate is the next token's bit, +-CODE_LEVEL, the token's own +-1, and what bfloat16 rounds. On others is what
    wires have left. The constant's coordinates are exactly 0: the output stage alone adds to them.
    """
    code, constants = list(layout.code.values()), list(layout.constants)
    signs = table[:tokens, code].double().numpy()
    faults = []
    if (np.abs(signs) != 1).any() or len(np.unique(signs, axis=0)) != tokens:
        faults.append(Fault(-1, "embed_tokens.weight", "codes are not +-1, or two tokens have the same"))
    gone = {clear.wire for clear in layout.clears}
    left = np.zeros(layout.shape.hidden)
    for wire, info in enumerate(layout.netlist.wires):
        if (place := layout.coordinate[wire]) >= 0 and wire not in gone:
            left[place] = max(left[place], info.high, -info.low)
    rows = table[:tokens].float().numpy().copy()
    rows[:, constants] = 0
    rows[:, code] = 0
    strayed = float((np.abs(rows) @ left).max())
    own = 1 + 2 * CODE_LEVEL * 2.0 ** -BITS[dtype]
    most = len(code) * (CODE_LEVEL + own) + strayed
    right = len(code) * (CODE_LEVEL - own) - strayed
    gap = 2 * (CODE_LEVEL - own) - 2 * strayed
    sums = most * layout.shape.hidden * 2.0**-24
    rounding = 2 * (sums + 3 * most * 2.0 ** -BITS[dtype])
    found = LogitMargin(right, gap, rounding)
    if not (found.is_enough and math.isfinite(gap)):
        faults.append(
            Fault(-1, "logits", f"the right token leads by {gap:g}, rounding takes up to {rounding:g}")
        )
    return found, faults

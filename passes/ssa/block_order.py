"""The order of blocks, which is the order in which lanes run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.cfg import Cfg, Loop, reverse_postorder_of
from qgc.ir.ssa.function import Block, Function


@dataclass(frozen=True, slots=True)
class BlockOrder:
    """Reverse postorder with the blocks of each loop together, its latch last (O1 and O2 of ir/ssa/verify.py).

    The machine runs the lanes at the smallest number; with this order lanes that part meet again where they can.
    """

    name: ClassVar[str] = "block-order"
    requires: ClassVar[tuple[str, ...]] = ("ir-pred",)
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Order inner loops first, then each as one node of what is around it."""
        cfg = Cfg(function)
        ordered: dict[Loop | None, list[Block]] = {}
        for region in [*reversed(cfg.loops), None]:
            ordered[region] = _order(cfg, region, ordered)
        changed = ordered[None] != function.blocks
        function.blocks = ordered[None]
        return changed


def _order(cfg: Cfg, region: Loop | None, ordered: dict[Loop | None, list[Block]]) -> list[Block]:
    """The blocks of a loop (None: of the function), those of the loops right inside it already in order."""
    inside = region.blocks if region is not None else cfg.order
    head = region.header if region is not None else cfg.entry
    inner = {block: loop for loop in cfg.loops if loop.parent is region for block in loop.blocks}
    edges: dict[Block, list[Block]] = {}
    for block in inside:
        node = inner[block].header if block in inner else block
        targets = edges.setdefault(node, [])
        for successor in block.successors:
            target = inner[successor].header if successor in inner else successor
            if successor in inside and target is not node and target is not head and target not in targets:
                targets.append(target)
    nodes = reverse_postorder_of(head, edges)
    if region is not None:
        latch = region.latches[0]
        nodes = [*(n for n in nodes if n is not latch), latch]
    return [block for node in nodes for block in (ordered[inner[node]] if node in inner else [node])]

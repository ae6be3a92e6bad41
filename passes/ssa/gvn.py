"""Global value numbering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from qgc.ir.ssa.cfg import Cfg
from qgc.ir.ssa.function import Block, Const, Function, Op, Value
from qgc.ir.ssa.rewrite import resolve

Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ValueNumbering:
    """Use one op for all that compute the same from the same operands, when it stands on every path to them.

    Walks the dominator tree, so that operands are numbered before their uses. Phis are merged within their block.
    Keeps: effects; loads are never merged (memory may change between them).
    """

    name: ClassVar[str] = "gvn"
    requires: ClassVar[tuple[str, ...]] = ("ir", "ir-opt", "ir-pred")
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Number every pure op."""
        cfg = Cfg(function)
        numbers: dict[Value, int] = {}
        known: dict[Key, list[tuple[Block, Value]]] = {}
        new: dict[Value, Value] = {}
        for block in cfg.dominator_preorder:
            kept: list[Op] = []
            for op in block.ops:
                op.replace_uses({v: resolve(v, new) for v in op.uses if v in new})
                if op.result is None or not op.spec.pure:
                    kept.append(op)
                    continue
                entries = known.setdefault(_key(op, block, numbers), [])
                earlier = next((v for home, v in entries if cfg.dominates(home, block)), None)
                if earlier is None:
                    entries.append((block, op.result))
                    kept.append(op)
                else:
                    new[op.result] = earlier
            block.ops = kept
        function.replace_uses(new)
        return bool(new)


def _key(op: Op, block: Block, numbers: dict[Value, int]) -> Key:
    """What decides the value of a pure op."""
    operands = [_operand_key(v, numbers) for v in op.operands]
    if op.spec.commutative:
        operands.sort()
    if op.name == "phi":
        place: Key = (id(block), *(id(b) for b in op.blocks))
    else:
        place = ()
    return (op.name, op.attrs, op.result.ty if op.result is not None else None, tuple(operands), place)


def _operand_key(value: Value, numbers: dict[Value, int]) -> tuple[int, str, int]:
    if isinstance(value, Const):
        return (0, value.ty.name, value.value)
    return (1, "", numbers.setdefault(value, len(numbers)))

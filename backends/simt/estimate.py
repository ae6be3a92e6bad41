"""How many tokens writing a value is expected to cost: what `form` minimises where it has a choice."""

from __future__ import annotations

from qgc.ir.machine.config import MachineConfig, bits_for
from qgc.ir.ssa.function import Const, Function, Op, Value
from qgc.ir.ssa.types import I1

_TYPICAL_BITS = 12
"""Significant bits that a value has when nothing is known of it; kernels compute with small numbers mostly."""


def expected_tokens(function: Function, config: MachineConfig) -> dict[Value, int]:
    """Tokens for each value: a vector slice carries `lane_bits` of it, a uniform one `payload` bits."""
    widths: dict[Value, int] = {}
    tokens: dict[Value, int] = {}
    for op in function.ops():
        if op.result is None:
            continue
        widths[op.result] = width = _width(op, widths, config)
        slice_bits = config.payload if op.result.uniform else config.lane_bits
        tokens[op.result] = -(-min(width, _TYPICAL_BITS) // slice_bits)
    return tokens


def _width(op: Op, widths: dict[Value, int], config: MachineConfig) -> int:
    """Bits of a result in two's complement, from above."""
    if op.result is not None and op.result.ty is I1:
        return 2
    operands = [_signed_width(v) if isinstance(v, Const) else widths.get(v, 32) for v in op.operands]
    if op.name == "sreg":
        return bits_for(config.threads) + 1
    if op.name == "zext":
        return 2
    if op.name == "and":
        return min(operands)
    if op.name in ("or", "xor"):
        return max(operands)
    if op.name == "add":
        return min(32, max(operands) + 1)
    if op.name == "select":
        return max(operands[1:])
    return 32


def _signed_width(value: Const) -> int:
    return value.value.bit_length() + 1

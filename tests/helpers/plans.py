"""Machines laid out in shapes, once for all tests of a process."""

from __future__ import annotations

from functools import cache

from qgc.backends.weights.plan import Plan, plan
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS

FITS = (("nano", "tiny"), ("simt4", "small"), ("simt4", "qwen3.5-2b"))
"""The presets, and the shapes that they are built for."""


@cache
def planned(machine: str, shape: str) -> Plan:
    """A preset in a shape; not to be changed."""
    return plan(PRESETS[machine], SHAPES[shape])

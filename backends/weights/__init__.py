"""From netlists to checkpoints: scheduling, allocation, lowering to Qwen3.5 layers, and the files."""

from __future__ import annotations

from qgc.backends.weights.checkpoint import build
from qgc.backends.weights.memory import read_memory

__all__ = ["build", "read_memory"]

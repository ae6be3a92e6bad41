"""From netlists to checkpoints: scheduling, allocation, lowering to Qwen3.5 layers, and the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qgc.backends.weights.memory import read_memory

if TYPE_CHECKING:
    from qgc.backends.weights.checkpoint import build

__all__ = ["build", "read_memory"]


def __getattr__(name: str) -> Any:
    """Import the builder when it is first used: a run on a cached checkpoint only reads memory."""
    if name == "build":
        from qgc.backends.weights.checkpoint import build

        return build
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

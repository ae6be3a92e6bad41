"""qgc: a SIMT GPU in the weights of a language model, and a CUDA compiler for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qgc.runtime.raw_kernel import RawKernel
    from qgc.runtime.stream import Stream

__version__ = "0.1.0"
__all__ = ["RawKernel", "Stream", "__version__"]


def __getattr__(name: str) -> Any:
    """Import what is heavy when it is first used."""
    if name == "RawKernel":
        from qgc.runtime.raw_kernel import RawKernel

        return RawKernel
    if name == "Stream":
        from qgc.runtime.stream import Stream

        return Stream
    raise AttributeError(f"module 'qgc' has no attribute {name!r}")

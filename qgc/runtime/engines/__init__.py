"""The engines that can run a kernel, from PTX semantics to stock transformers, behind one protocol.

A row of `ENGINES` is a name, what it is, and `module:Class`; a module is imported when its engine is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from qgc.diagnostics import fail
from qgc.names import unknown
from qgc.runtime.engines.base import Engine, Request, Result

__all__ = ["ENGINES", "Engine", "Request", "Result", "engine"]


@dataclass(frozen=True, slots=True)
class EngineRow:
    """An engine of the registry: one line about it, where its class is, and whether it speaks in tokens."""

    doc: str
    place: str
    has_tokens: bool


ENGINES: Mapping[str, EngineRow] = {
    "fast": EngineRow("the checkpoint's weights as sparse lists", "hf:FastEngine", True),
    "hf": EngineRow("stock transformers generate from the checkpoint", "hf:HfEngine", True),
    "isa": EngineRow("the machine's reference interpreter", "isa:IsaEngine", True),
    "ssa": EngineRow("the SSA interpreter, after all passes", "ssa:SsaEngine", False),
    "ptx": EngineRow("the PTX interpreter, on the PTX as it was compiled", "ptx:PtxEngine", False),
}


def engine(name: str) -> Engine:
    """Make the engine called `name`.

    Raises:
        QgcError: `engine-unknown`.
    """
    if name not in ENGINES:
        raise fail("engine-unknown", unknown("engine", name, ENGINES))
    module, _, attribute = ENGINES[name].place.partition(":")
    made: Engine = getattr(import_module(f"qgc.runtime.engines.{module}"), attribute)()
    return made

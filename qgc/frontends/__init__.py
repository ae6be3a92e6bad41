"""CUDA C++ -> PTX: the registry of front ends."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from qgc.diagnostics import fail
from qgc.frontends.clang import Clang
from qgc.frontends.nvrtc import Nvrtc
from qgc.frontends.source import CudaSource, Frontend

FRONTENDS: dict[str, Frontend] = {"clang": Clang(), "nvrtc": Nvrtc()}
"""Name -> front end; `auto` takes the first that is installed."""


def compile_cuda(
    source: str,
    *,
    file: str,
    frontend: Literal["auto", "clang", "nvrtc"] = "auto",
    pointer_bits: Literal[32, 64] | None = None,
) -> str:
    """Compile CUDA C++ text to PTX text.

    `file` names the source in messages; where such a file exists, its folder is searched for `#include "..."`.
    `pointer_bits` None leaves the choice to the front end: clang 32, NVRTC 64.

    Raises:
        QgcError: `cuda-error` with the compiler's own messages and places; `frontend-missing` when the wanted
            front end (for `auto`: any) is not installed; `cuda-option` for what it cannot do.
    """
    path = Path(file)
    folder = path.resolve().parent if path.exists() else None
    return _select(frontend).compile(CudaSource(source, file, folder, pointer_bits))


def _select(name: str) -> Frontend:
    if name != "auto":
        if name not in FRONTENDS:
            raise fail(
                "frontend-unknown", f"no front end is named {name}", None, f"known: {', '.join(FRONTENDS)}"
            )
        return FRONTENDS[name]
    for frontend in FRONTENDS.values():
        if frontend.is_available():
            return frontend
    hints = "; or ".join(frontend.install_hint for frontend in FRONTENDS.values())
    raise fail("frontend-missing", "no CUDA compiler is installed", None, hints)

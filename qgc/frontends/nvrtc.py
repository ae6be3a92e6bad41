"""CUDA through NVRTC, NVIDIA's own compiler as a library: the `nvidia-cuda-nvrtc` wheel, no driver, no toolkit.

Its PTX has 64-bit pointers always.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from qgc.diagnostics import Diagnostic, Span, fail
from qgc.frontends.source import CudaSource, rejected, word_end

_PATTERNS = (
    "cu*/lib/libnvrtc.so.*",
    "cuda_nvrtc/lib/libnvrtc.so.*",
    "cu*/bin/**/nvrtc64_*.dll",
    "cuda_nvrtc/bin/nvrtc64_*.dll",
)
_ARCHITECTURE = 80  # the oldest with reductions over a warp
_MESSAGE = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (catastrophic )?error: (?P<text>.*)\n(?P<excerpt>  .*\n *\t*[ \t]*\^)?",
    re.MULTILINE,
)


class Nvrtc:
    """The NVRTC front end."""

    name = "nvrtc"
    install_hint = "pip install nvidia-cuda-nvrtc (Linux and Windows)"

    def is_available(self) -> bool:
        """Whether the library is installed as a wheel or on the system."""
        return next(_candidates(), None) is not None

    def compile(self, source: CudaSource) -> str:
        """Compile in memory.

        Raises:
            QgcError: `cuda-error` with NVRTC's messages, `cuda-option` for 32-bit pointers, `frontend-missing`.
        """
        if source.pointer_bits == 32:
            place, hint = Span(source.file, 1, 1), "use the clang front end, or 64-bit pointers"
            raise fail("cuda-option", "NVRTC has 64-bit pointers only", place, hint)
        if not self.is_available():
            raise fail("frontend-missing", "NVRTC is not installed", None, self.install_hint)
        library = _library()
        options = [
            f"--gpu-architecture=compute_{_architecture(library)}",
            "--std=c++17",
            "--disable-warnings",
        ]
        if source.folder is not None:
            options.append(f"--include-path={source.folder}")
        return _compile(library, source, options)


def _candidates() -> Iterator[str]:
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for pattern in _PATTERNS:
            for path in sorted(Path(root).glob(pattern)):
                if "builtins" not in path.name and ".alt" not in path.name:
                    yield str(path)
    if system := ctypes.util.find_library("nvrtc"):
        yield system


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(next(_candidates()))
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _architecture(library: ctypes.CDLL) -> int:
    """Return the target architecture, or the lowest that this version still has."""
    count = ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    supported = (ctypes.c_int * count.value)()
    library.nvrtcGetSupportedArchs(supported)
    return _ARCHITECTURE if _ARCHITECTURE in supported else min(supported)


def _compile(library: ctypes.CDLL, source: CudaSource, options: list[str]) -> str:
    program = ctypes.c_void_p()
    text, name = source.text.encode(), source.file.encode()
    status = library.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None)
    _expect_success(library, status)
    try:
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), array)
        log = _read(library, program, "ProgramLog")
        if status != 0:
            raise rejected(_diagnostics(log, source), log or _error_text(library, status), source)
        return _read(library, program, "PTX")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    """Fetch one of NVRTC's zero-terminated texts: `nvrtcGet<what>Size`, then `nvrtcGet<what>`."""
    size = ctypes.c_size_t()
    _expect_success(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _expect_success(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.value.decode()


def _expect_success(library: ctypes.CDLL, status: int) -> None:
    if status != 0:
        raise RuntimeError(f"NVRTC: {_error_text(library, status)}")


def _error_text(library: ctypes.CDLL, status: int) -> str:
    text: bytes = library.nvrtcGetErrorString(status)
    return text.decode()


def _diagnostics(log: str, source: CudaSource) -> list[Diagnostic]:
    """Read NVRTC's messages. It gives no column, but prints the line, indented by two, and a caret under it."""
    found = []
    for match in _MESSAGE.finditer(log):
        line = int(match["line"])
        caret = (match["excerpt"] or "").rpartition("\n")[2]
        column = max(1, len(caret) - 2)
        end = word_end(source.text, line, column) if match["file"] == source.file else 0
        found.append(Diagnostic("cuda-error", match["text"], Span(match["file"], line, column, end)))
    return found

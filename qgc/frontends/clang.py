"""CUDA through clang's NVPTX target, version 16 or later; 32-bit pointers unless asked otherwise.

No CUDA toolkit takes part: `qgc_cuda.h` beside this file declares CUDA. A 32-bit module has no 64-bit address
arithmetic at all, which saves registers on a 32-bit machine.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

from qgc.diagnostics import Diagnostic, Span, fail
from qgc.frontends.source import CudaSource, rejected, word_end

_HERE = Path(__file__).parent
_NAMES = (*(f"clang-{version}" for version in range(22, 15, -1)), "clang")
_TIMEOUT_SECONDS = 120

# The host triple is fixed, so that every host compiles the same PTX. -malign-double gives 64-bit members the
# alignment that CUDA gives them, which -m32 alone does not. The missing toolkit is on purpose: an installed one
# would change the PTX version, which is the first with reductions over a warp. No unrolling and no vectorising: code size is what counts. No loop strength reduction:
# it makes several pointers of one counter, and every register that a loop writes costs the machine a token a round.
_FLAGS = (
    "-x",
    "cuda",
    "--target=x86_64-unknown-linux-gnu",
    "--cuda-device-only",
    "-nocudainc",
    "-nocudalib",
    "--cuda-path=/nonexistent",
    "--cuda-gpu-arch=sm_80",
    "--cuda-feature=+ptx70",
    "-fdeclspec",
    "-std=c++17",
    "-Os",
    "-mllvm",
    "-disable-lsr",
    "-w",
    "-nostdinc",
    "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
    "-S",
)
_POINTER_FLAGS = {32: ("-m32", "-malign-double"), 64: ("-m64",)}
_MESSAGE = re.compile(
    r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (fatal )?error: (?P<text>.*)$", re.MULTILINE
)


class Clang:
    """The clang front end: `clang-22` .. `clang-16` or `clang` on PATH, else the one inside the ziglang wheel."""

    name = "clang"
    install_hint = "install clang 16 or later (apt install clang-19), or: pip install ziglang"

    def is_available(self) -> bool:
        """Whether a clang was found."""
        return self._command() is not None

    def compile(self, source: CudaSource) -> str:
        """Compile in memory: the text goes in at stdin, the PTX comes out at stdout.

        Raises:
            QgcError: `cuda-error` with clang's messages, `cuda-timeout`, or `frontend-missing`.
        """
        command = self._command()
        if command is None:
            raise fail("frontend-missing", "clang is not installed", None, self.install_hint)
        flags = [*_FLAGS, *_POINTER_FLAGS[source.pointer_bits or 32], "-isystem", str(_HERE / "include")]
        if source.folder is not None:
            flags += ["-iquote", str(source.folder), "-I", str(source.folder)]
        flags += ["-include", str(_HERE / "qgc_cuda.h"), "-", "-o", "-"]
        named = f"#line 1 {_c_string(source.file)}\n{source.text}"
        return _run([*command, *flags], named, source)

    def _command(self) -> list[str] | None:
        for name in _NAMES:
            if path := shutil.which(name):
                return [path]
        if importlib.util.find_spec("ziglang") is not None:
            return [sys.executable, "-m", "ziglang", "clang"]
        return None


def _run(command: list[str], text: str, source: CudaSource) -> str:
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, encoding="utf-8", timeout=_TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as err:
        place = Span(source.file, 1, 1)
        raise fail("cuda-timeout", f"clang took longer than {_TIMEOUT_SECONDS} s", place) from err
    if done.returncode != 0:
        raise rejected(_diagnostics(done.stderr, source), done.stderr, source)
    return done.stdout


def _diagnostics(log: str, source: CudaSource) -> list[Diagnostic]:
    found = []
    for match in _MESSAGE.finditer(log):
        line, column = int(match["line"]), int(match["column"])
        end = word_end(source.text, line, column) if match["file"] == source.file else 0
        found.append(Diagnostic("cuda-error", match["text"], Span(match["file"], line, column, end)))
    return found


def _c_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

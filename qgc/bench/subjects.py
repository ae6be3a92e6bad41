"""What is measured: the kernels of a manifest, and what compiling each of them costs."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from qgc.driver import Kernel, Settings, source
from qgc.frontends import compile_cuda
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.manifest import KernelCase, load_manifest
from qgc.runtime.stats import Stats, stats

T = TypeVar("T")
REPEATS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A kernel and its first case, linked; seconds to compile it; what it costs in tokens."""

    name: str
    launch: Launch
    compile: dict[str, float | None]
    cost: Stats


def timed(work: Callable[[], T], repeats: int = 1) -> tuple[T, float]:
    """A result, and the wall seconds of the fastest of some runs."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
    return result, best


def subjects(manifest: Path, frontend: str = "auto") -> list[Subject]:
    """Every kernel of a manifest, compiled.

    Raises:
        QgcError: what the manifest, the front end and the compiler raise.
    """
    folder = manifest.parent.name
    prefix = "" if folder == "examples" else f"{folder}/"
    found = []
    for kernel in load_manifest(manifest):
        text = kernel.source.read_text(encoding="utf-8")
        ptx, cuda_s = timed(lambda: compile_cuda(text, file=str(kernel.source), frontend=frontend))  # type: ignore[arg-type] # noqa: B023
        settings = Settings(kernel=kernel.kernel)
        program, blocks_s = timed(lambda: Kernel(source(ptx, "k.ptx"), settings).program, REPEATS)  # noqa: B023
        case = kernel.cases[0]
        launch = link(program, case.grid, case.block, list(case.args.values()))
        times = {
            "cuda_to_ptx_s": cuda_s,
            "ptx_to_blocks_s": blocks_s,
            **_against_ptxas(text, kernel, frontend),
        }
        found.append(Subject(prefix + kernel.name, launch, times, stats(program, run_isa(launch))))
    return found


def _against_ptxas(text: str, kernel: KernelCase, frontend: str) -> dict[str, float | None]:
    """Seconds of both compilers on the same PTX, which has 64-bit addresses because NVIDIA's assembler takes no others."""
    ptx = compile_cuda(text, file=str(kernel.source), frontend=frontend, pointer_bits=64)  # type: ignore[arg-type]
    settings = Settings(kernel=kernel.kernel)
    _, seconds = timed(lambda: Kernel(source(ptx, "k.ptx"), settings).program, REPEATS)
    return {"ptx64_to_blocks_s": seconds, "ptxas_s": ptxas_seconds(ptx)}


def ptxas_seconds(ptx: str) -> float | None:
    """Seconds that NVIDIA's assembler takes for the same text; None where it is not installed or refuses the text."""
    program = shutil.which("ptxas")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.ptx"
        path.write_text(ptx, encoding="utf-8")
        command = [program, "-arch=sm_90", str(path), "-o", str(path.with_suffix(".cubin"))]
        done, seconds = timed(lambda: subprocess.run(command, capture_output=True, check=False), REPEATS)
    return seconds if done.returncode == 0 else None


def row(subject: Subject) -> dict[str, Any]:
    """What compiling and a launch cost, without a model."""
    cost = subject.cost
    return {
        "kernel": subject.name,
        **{name: None if s is None else round(s, 4) for name, s in subject.compile.items()},
        "blocks": len(subject.launch.program.blocks),
        "prompt_tokens": cost.prompt,
        "generated_tokens": cost.answers,
        "operations": cost.issued,
        "tokens_per_operation": round(cost.tokens_per_issue, 2),
    }

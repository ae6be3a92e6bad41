"""`make bench`: what compiling and launching cost, in one run, as a table and as benchmarks/latest.json.

For every example: seconds from PTX to blocks, blocks, prompt and generated tokens, and operations issued to groups. For
a model (the one that `make run` uses, or those of the shapes given): building it, and its engines, see `engines`.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.engines import measure_engines
from qgc.driver import Kernel, Settings, source
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.runtime.cache import STORED_DTYPE, CheckpointSpec
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.manifest import KernelCase, load_manifest
from qgc.runtime.stats import stats

ROOT = Path(__file__).parent.parent
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """A result, and the seconds that it took."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def launch_example(example: KernelCase) -> tuple[Launch, float]:
    """The first case of an example, linked, and the seconds from PTX to blocks."""
    path = ROOT / f"golden/ptx/{example.name}.clang32.ptx"
    kernel = Kernel(source(path.read_text(), path.name), Settings(kernel=example.kernel))
    case = example.cases[0]
    program, seconds = timed(lambda: kernel.program)
    return link(program, case.grid, case.block, list(case.args.values())), seconds


def measure_kernel(example: KernelCase) -> dict[str, Any]:
    """One row of the table of kernels."""
    launch, compiled = launch_example(example)
    run, interpreted = timed(lambda: run_isa(launch))
    cost = stats(launch.program, run)
    return {
        "kernel": example.name,
        "compile_s": round(compiled, 4),
        "blocks": len(launch.program.blocks),
        "prompt_tokens": cost.prompt,
        "generated_tokens": cost.answers,
        "operations": cost.issued,
        "tokens_per_operation": round(cost.tokens_per_issue, 2),
        "isa_s": round(interpreted, 4),
    }


def measure_build(shape: str) -> dict[str, Any]:
    """Building the checkpoint of a shape anew: seconds, bytes, peak memory."""
    spec = CheckpointSpec(PRESETS["simt4"], SHAPES[shape], STORED_DTYPE)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        script = (
            "import sys, resource; from pathlib import Path; from qgc.backends.weights import build; "
            "from qgc.ir.layout.shape import SHAPES; from qgc.ir.machine.config import PRESETS; "
            f"build(PRESETS['simt4'], SHAPES[{shape!r}], {STORED_DTYPE!r}, Path(sys.argv[1])); "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done, seconds = timed(
            lambda: subprocess.run(
                [sys.executable, "-c", script, str(out)], check=True, capture_output=True, text=True
            )
        )
        size = sum(path.stat().st_size for path in out.iterdir())
    return {
        "checkpoint": spec.key,
        "build_s": round(seconds, 1),
        "bytes": size,
        "peak_memory_bytes": int(done.stdout) * 1024,
    }


def main() -> None:
    """Measure, print and write. Arguments are shapes; default: the one that `make run` uses."""
    examples = load_manifest(ROOT / "examples/manifest.toml")
    kernels = [measure_kernel(example) for example in examples]
    columns = list(kernels[0])
    rows = [columns, *([str(row[c]) for c in columns] for row in kernels)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    launches = [(example, launch_example(example)[0]) for example in examples]
    report: dict[str, Any] = {
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "kernels": kernels,
    }
    for shape in sys.argv[1:] or ["small"]:
        report[shape] = measure_build(shape) | measure_engines(shape, launches)
        print(json.dumps(report[shape], indent=2))
        (ROOT / "benchmarks/latest.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""`make bench`: what compiling and launching cost, in one run, as a table and as benchmarks/latest.json.

For every example: seconds from PTX to blocks, blocks, prompt and generated tokens, and operations executed by groups. For
the model that `make run` uses: seconds to build it (unless it is cached), bytes, and seconds a token step by step and
by prefill.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from qgc.driver import Kernel, Settings, source
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.runtime.cache import CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import Run, run_isa
from qgc.runtime.launch import Launch, link
from qgc.runtime.manifest import KernelCase, load_manifest

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
    generated = sum(run.generated)
    operations = executed(launch, run)
    return {
        "kernel": example.name,
        "compile_s": round(compiled, 4),
        "blocks": len(launch.program.blocks),
        "prompt_tokens": len(run.tokens) - generated,
        "generated_tokens": generated,
        "operations": operations,
        "tokens_per_operation": round(generated / max(operations, 1), 2),
        "isa_s": round(interpreted, 4),
    }


def executed(launch: Launch, run: Run) -> int:
    """Machine operations that groups of lanes executed."""
    lanes, blocks = launch.program.config.lanes, launch.program.blocks
    answers = [token for token in run.answers if token.kind == "exec"]
    return sum(len(blocks[token.payload >> lanes].instrs) for token in answers)


def measure_model(example: KernelCase) -> dict[str, Any]:
    """The model, on one example."""
    spec = CheckpointSpec(PRESETS["simt4"], SHAPES["small"], "float32")
    folder, built = timed(lambda: cached(spec))
    checkpoint = Checkpoint(folder)
    layers, loaded = timed(lambda: checkpoint.model.layers)
    launch, _ = launch_example(example)
    run, stepped = timed(lambda: checkpoint.run(launch))
    replay, prefilled = timed(lambda: checkpoint.replay(run))
    return {
        "checkpoint": spec.key,
        "build_or_find_s": round(built, 2),
        "bytes": sum(path.stat().st_size for path in folder.iterdir()),
        "layers": layers,
        "load_s": round(loaded, 2),
        "kernel": example.name,
        "generate_s": round(stepped, 3),
        "tokens": len(run.tokens),
        "generated_tokens": sum(run.generated),
        "replay_s": round(prefilled, 3),
        "replay_equal": replay.is_equal,
    }


def main() -> None:
    """Measure, print and write."""
    examples = load_manifest(ROOT / "examples/manifest.toml")
    kernels = [measure_kernel(example) for example in examples]
    columns = list(kernels[0])
    rows = [columns, *([str(row[c]) for c in columns] for row in kernels)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    model = measure_model(examples[0])
    for name, value in model.items():
        print(f"{name:<18} {value}")
    report = {
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "kernels": kernels,
        "model": model,
    }
    (ROOT / "benchmarks/latest.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()

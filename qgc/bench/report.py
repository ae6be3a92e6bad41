"""One run of everything, as one dictionary, and its tables."""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from qgc import __version__
from qgc.bench.engines import measure_engines
from qgc.bench.subjects import Subject, row, timed
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS
from qgc.runtime.cache import STORED_DTYPE, CheckpointSpec, cached
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.progress import Progress, silent

STARTS = 3


def report(
    subjects: Sequence[Subject], shapes: Sequence[str], peers: Path | None, progress: Progress = silent
) -> dict[str, Any]:
    """Measure: the kernels without a model, then every shape of `simt4`.

    `peers` is a table of CPU seconds of another system, by kernel.
    """
    found: dict[str, Any] = {
        "qgc": __version__,
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "compile": [row(subject) for subject in subjects],
    }
    for number, shape in enumerate(shapes):
        progress("bench", number, len(shapes))
        checkpoint = Checkpoint(
            cached(CheckpointSpec(PRESETS["simt4"], SHAPES[shape], STORED_DTYPE), progress)
        )
        found[shape] = build(shape) | measure_engines(checkpoint, subjects) | start(shape)
        if peers is not None:
            found[shape]["peers"] = list(_against(peers, found[shape]["kernels"]))
    progress("bench", len(shapes), len(shapes))
    return found


def build(shape: str) -> dict[str, Any]:
    """Building the checkpoint of a shape anew, in a process of its own: seconds, bytes, peak memory."""
    script = (
        "import sys, resource; from pathlib import Path; from qgc.backends.weights import build; "
        "from qgc.ir.layout.shape import SHAPES; from qgc.ir.machine.config import PRESETS; "
        f"build(PRESETS['simt4'], SHAPES[{shape!r}], {STORED_DTYPE!r}, Path(sys.argv[1])); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        command = [sys.executable, "-c", script, str(out)]
        done, seconds = timed(lambda: subprocess.run(command, check=True, capture_output=True, text=True))
        size = sum(path.stat().st_size for path in out.iterdir())
    return {"build_s": round(seconds, 1), "bytes": size, "build_peak_bytes": int(done.stdout) * 1024}


def start(shape: str) -> dict[str, Any]:
    """Wall seconds of a whole `qgc run` whose checkpoint and lists are cached."""
    text = 'extern "C" __global__ void one(int *a) { a[0] = 1; }'
    command = [
        sys.executable,
        "-c",
        "from qgc.cli.main import main; main()",
        "run",
        "-",
        "a=0",
        "--shape",
        shape,
    ]
    _, seconds = timed(
        lambda: subprocess.run(command, input=text, check=True, capture_output=True, text=True), STARTS
    )
    return {"cached_run_s": round(seconds, 2)}


def _against(peers: Path, kernels: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    table = tomllib.loads(peers.read_text(encoding="utf-8"))
    for kernel in kernels:
        name = kernel["kernel"].rpartition("/")[2].removesuffix("_lanes")
        if "/" in kernel["kernel"] and name in table["cpu_s"]:
            theirs = float(table["cpu_s"][name])
            mine = kernel["cpu_ms"] / 1e3
            yield {
                "kernel": kernel["kernel"],
                "cpu_s": round(mine, 5),
                "peer_cpu_s": theirs,
                "times_faster": round(theirs / mine, 1),
            }


def show(found: dict[str, Any], console: Console) -> None:
    """Print a report as tables."""
    _table(console, "Compiling", found["compile"])
    for shape, part in found.items():
        if not isinstance(part, dict):
            continue
        _table(console, f"Kernels, engine fast, shape {shape}", part["kernels"])
        for name in ("curves", "batches", "peers"):
            if part.get(name):
                _table(console, f"{name.capitalize()}, shape {shape}", part[name])
        facts = {k: v for k, v in part.items() if not isinstance(v, list)}
        _table(console, f"Shape {shape}", [{"what": k, "value": v} for k, v in _flat(facts)])


def _flat(facts: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _table(console: Console, title: str, rows: Sequence[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(name for entry in rows for name in entry))
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name.replace("_", " "), justify="left" if name in ("kernel", "what") else "right")
    for entry in rows:
        table.add_row(*("" if entry.get(name) is None else str(entry[name]) for name in columns))
    console.print(table)
    console.print()

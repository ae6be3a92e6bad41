"""`python -m benchmarks.merge --dtype bfloat16|float32`: a machine merged into a base of the full 2B shape, measured.

Makes a base with random weights (24 layers, 248,320 rows), builds, launches a dot product in all layers of stock transformers
and replays it, and measures the drift of text beside the noise floor. Prints JSON. Takes 20 to 40 minutes on two cores, up to
16 GB of memory and 25 GB of disk.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

ROWS, LAYERS = 248_320, 24
DOT = ("examples/dot.cu", "--block", "3", "a=1,2,3", "b=4,5,6", "out=0", "--engine", "fast", "--check")
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command: what it printed, its seconds, and the most anonymous memory that it had, in bytes."""

    stdout: str
    stderr: str
    seconds: float
    anonymous: int


def qgc(*arguments: str) -> Ran:
    """Run a qgc command; it must succeed."""
    command = [sys.executable, "-m", "qgc", *arguments]
    began, most = time.perf_counter(), 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as child:
        parts: list[str] = []
        reader = threading.Thread(target=lambda: parts.append(child.stderr.read() if child.stderr else ""))
        reader.start()
        watcher = _Watcher(child.pid)
        watcher.start()
        stdout = child.stdout.read() if child.stdout else ""
        child.wait()
        reader.join()
        watcher.done = True
        watcher.join()
        most = watcher.most
    if child.returncode:
        raise click.ClickException(f"{' '.join(arguments)}: {parts[0]}")
    return Ran(stdout, parts[0], time.perf_counter() - began, most)


class _Watcher(threading.Thread):
    """Looks at a process's anonymous memory every fifth of a second: mapped files are the page cache's."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.path, self.most, self.done = Path(f"/proc/{pid}/status"), 0, False

    def run(self) -> None:
        while not self.done and self.path.exists():
            try:
                found = re.search(r"RssAnon:\s+(\d+) kB", self.path.read_text())
            except OSError:
                return
            self.most = max(self.most, int(found[1]) * 1024 if found else 0)
            time.sleep(0.2)


def make_base(folder: Path, dtype: str) -> None:
    """The base, in a process of its own, so that its memory goes back."""
    code = (
        "import torch, sys; from pathlib import Path; from tests.helpers.bases import random_base; "
        f"random_base(Path(sys.argv[1]), 'qwen3.5-2b', {ROWS}, {LAYERS}, torch.{dtype})"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def measure(folder: Path, dtype: str, limit: int) -> dict[str, Any]:
    """All figures, by name."""
    base, merged = folder / "base", folder / "merged"
    click.echo("base ...", err=True)
    make_base(base, dtype)
    click.echo("build ...", err=True)
    built = qgc("build", "--base", str(base), "-o", str(merged))
    click.echo("launch ...", err=True)
    ran = qgc("run", *DOT, "--checkpoint", str(merged))
    if ran.stdout.strip().splitlines()[-1] != "out=32":
        raise click.ClickException(f"the dot product is {ran.stdout!r}")
    click.echo("drift ...", err=True)
    drift = qgc("drift", "--base", str(base), "--merged", str(merged), "--limit", str(limit), "--json")
    size = sum(file.stat().st_size for file in merged.iterdir())
    return {
        "dtype": dtype,
        "build_seconds": round(built.seconds),
        "build_anonymous_gb": round(built.anonymous / 1e9, 2),
        "merged_gb": round(size / 1e9, 2),
        "summary": [
            line for line in built.stderr.splitlines() if re.match(r"(silence|margin|machine) ", line)
        ],
        "check": next(line for line in ran.stderr.splitlines() if line.startswith("check:")),
        "drift": json.loads(drift.stdout),
    }


@click.command()
@click.option("--dtype", type=click.Choice(["bfloat16", "float32"]), default="bfloat16", show_default=True)
@click.option("--limit", type=click.IntRange(8), default=256, show_default=True, help="Tokens of text.")
@click.option("--keep", type=click.Path(path_type=Path), help="A folder to work in and to keep.")
def main(dtype: str, limit: int, keep: Path | None) -> None:
    """Measure a merge at full size."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        click.echo(json.dumps(measure(keep, dtype, limit), indent=2))
        return
    with TemporaryDirectory() as folder:
        click.echo(json.dumps(measure(Path(folder), dtype, limit), indent=2))


if __name__ == "__main__":
    main()

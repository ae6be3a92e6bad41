"""`qgc bench`: measure compilers, engines and kernels in one run."""

from __future__ import annotations

import json
from pathlib import Path

import click

from qgc.cli.options import FRONTEND, Name
from qgc.diagnostics import fail
from qgc.ir.layout.shape import SHAPES

DEFAULT = (Path("examples/manifest.toml"), Path("examples/peer/manifest.toml"))


@click.command()
@click.argument(
    "manifests",
    nargs=-1,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="[MANIFEST]...",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=Name("shape", SHAPES),
    help="Measure this shape; may be repeated (default: qwen3.5-2b).",
)
@FRONTEND
@click.option(
    "--peers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML table of another system's CPU seconds, by kernel (default: peers.toml beside the last manifest).",
)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the figures as JSON.")
def command(
    manifests: tuple[Path, ...], shapes: tuple[str, ...], frontend: str, peers: Path | None, out: Path | None
) -> None:
    """Measure compilers, engines and kernels in one run.

    The kernels are those of the MANIFESTs; without any, those of examples/ and examples/peer/ in the current folder.
    """
    from rich.console import Console

    from qgc.bench.report import report, show
    from qgc.bench.subjects import subjects
    from qgc.files import atomic_write
    from qgc.runtime.progress import on_stderr

    chosen = manifests or tuple(path for path in DEFAULT if path.exists())
    if not chosen:
        raise fail("bench-manifest", "there is no examples/ here", hint="name a manifest of kernels")
    beside = next((p for path in chosen if (p := path.with_name("peers.toml")).exists()), None)
    with on_stderr() as progress:
        measured = [subject for path in chosen for subject in subjects(path, frontend)]
        found = report(measured, shapes or ("qwen3.5-2b",), peers or beside, progress)
    show(found, Console(width=200))
    if out is not None:
        with atomic_write(out) as new:
            new.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")

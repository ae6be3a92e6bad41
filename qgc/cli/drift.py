"""`qgc drift`: what a merge changed in a model's text."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qgc.cli.options import SOURCE, Name, read_source
from qgc.sources import Sources

if TYPE_CHECKING:
    from qgc.runtime.drift import Divergence, Drift


@click.command()
@click.option("--base", required=True, metavar="MODEL", help="The base: a checkpoint folder or a hub id.")
@click.option(
    "--merged",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="What was built of it.",
)
@click.option("--text", type=SOURCE, help="A text to read; default: one in several languages and code.")
@click.option(
    "--limit", type=click.IntRange(1), default=512, show_default=True, help="Tokens to read at most."
)
@click.option(
    "--dtype",
    type=Name("dtype", ("auto", "float32", "bfloat16")),
    default="auto",
    show_default=True,
    help="What both models compute in; auto is what each is stored in.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(
    sources: Sources, base: str, merged: Path, text: str | None, limit: int, dtype: str, as_json: bool
) -> None:
    """Measure what a merge changed in a model's text.

    Compares both models in stock transformers, beside the noise floor of their dtype. The floor is the base against itself with one coordinate of every input changed by one unit in the last place.
    """
    from qgc.backends.merge.base import locate
    from qgc.runtime import drift
    from qgc.runtime.progress import on_stderr

    content = drift.text() if text is None else read_source(text, sources)[0]
    with on_stderr() as progress:
        found = drift.measure(locate(base), merged, content, dtype, limit, progress)
    click.echo(json.dumps(asdict(found), indent=2) if as_json else "\n".join(report(found)))


def report(found: Drift) -> list[str]:
    """The measurement in lines."""
    return [
        f"{found.positions} positions in {found.dtype}",
        f"drift        {_line(found.drift)}",
        f"noise floor  {_line(found.floor)}",
        f"machine tokens have at most {found.machine_mass:.3g} of the probability at a text position",
    ]


def _line(d: Divergence) -> str:
    same = "bit-identical" if d.is_identical else "not bit-identical"
    return f"KL mean {d.mean:.3g}, max {d.largest:.3g}; top-1 agrees at {d.agreement:.2%}; logits {same}"

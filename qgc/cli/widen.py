"""`qgc widen`: a checkpoint in a bigger shape, its function unchanged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click

from qgc.diagnostics import fail
from qgc.ir.layout.shape import SHAPES, ModelShape

_KEPT = ("generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


@click.command()
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o", "--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to write."
)
@click.option(
    "--hidden", type=click.IntRange(min=1), help="Width of the residual stream; heads stay as they are."
)
@click.option("--shape", type=click.Choice(list(SHAPES)), help="Take everything from this model shape.")
def command(checkpoint: Path, out: Path, hidden: int | None, shape: str | None) -> None:
    """Write a small model in a bigger shape, its function unchanged.

    CHECKPOINT is the folder of a qwen3_5_text model. New weights are zero and every factor is a power of two, so that no weight is rounded. Both models are then run on
    the same tokens, and the greatest difference of their logits is printed.
    """
    from qgc.files import atomic_write
    from qgc.host.compare import compare
    from qgc.host.widen import shape_of

    if (hidden is None) is (shape is None):
        raise click.UsageError("give --hidden or --shape")
    config = _config(checkpoint)
    target = SHAPES[shape] if shape is not None else shape_of(config, "wide", hidden or 0)
    with atomic_write(out) as new:
        rounded = _write(checkpoint, config, target, new)
        found = compare(checkpoint, new)
        if not found.is_close:
            raise fail("widen-differs", f"logits differ by {found.difference:.3g}; nothing was written")
    click.echo(out)
    how = (
        "to the bit"
        if found.is_identical
        else f"up to {found.difference:.2g} (greatest: {found.largest:.3g})"
    )
    click.echo(
        f"{rounded} weights rounded; logits equal {how}, likeliest token equal at {found.same} of {found.positions}"
        " positions, in float32",
        err=True,
    )


def _config(checkpoint: Path) -> dict[str, Any]:
    path = checkpoint / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        kind = config["model_type"]
    except (OSError, ValueError, KeyError) as err:
        raise fail("widen-base", f"{checkpoint} holds no model: config.json: {err}") from err
    if kind != "qwen3_5_text":
        raise fail("widen-base", f"{checkpoint} is a {kind} model", hint="only qwen3_5_text can be widened")
    return config


def _write(checkpoint: Path, config: dict[str, Any], target: ModelShape, new: Path) -> int:
    """Write the widened checkpoint; returns how many weights were rounded."""
    from safetensors.torch import load_file, save_file

    from qgc.host.widen import widen

    source = checkpoint / "model.safetensors"
    if not source.exists():
        raise fail(
            "widen-base", f"{checkpoint} has no model.safetensors", hint="sharded checkpoints are not widened"
        )
    wide = widen(config, load_file(source), target)
    new.mkdir()
    save_file(wide.tensors, new / "model.safetensors", metadata={"format": "pt"})
    (new / "config.json").write_text(json.dumps(wide.config, indent=2) + "\n")
    for name in _KEPT:
        if (checkpoint / name).exists():
            shutil.copyfile(checkpoint / name, new / name)
    return wide.rounded

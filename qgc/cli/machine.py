"""`qgc machine`: the presets and their numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from qgc.cli.options import SHAPE, Machine
from qgc.ir.machine.config import PRESETS, MachineConfig

if TYPE_CHECKING:
    from qgc.ir.layout.shape import ModelShape

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def command() -> None:
    """List the machine presets, or show one.

    `estimate` lays a machine out in a model shape and says what it costs.
    """


@command.command("list")
@JSON
def list_presets(as_json: bool) -> None:
    """List the presets."""
    if as_json:
        click.echo(json.dumps([asdict(machine) for machine in PRESETS.values()], indent=2))
        return
    columns = ("name", "lanes", "registers", "stages", "blocks", "words", "payload", "threads")
    rows = [columns, *(tuple(str(getattr(m, c)) for c in columns) for m in PRESETS.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@command.command("show")
@click.argument("machine", type=Machine())
@JSON
def show_preset(machine: MachineConfig, as_json: bool) -> None:
    """Show one MACHINE, a preset or a TOML file: its parameters, and what follows from them."""
    facts = {**asdict(machine), **derived(machine)}
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        shown = " ".join(map(str, value)) if isinstance(value, tuple) else value
        click.echo(f"{name:<18} {shown}".rstrip())


def derived(machine: MachineConfig) -> dict[str, int]:
    """What the parameters lead to."""
    from qgc.ir.machine.tokens import Vocabulary, rom_word_bits

    return {
        "threads": machine.threads,
        "lane_bits": machine.lane_bits,
        "vector_slices": machine.vector_slices,
        "scalar_slices": machine.scalar_slices,
        "rom_word_bits": rom_word_bits(machine),
        "vocabulary": Vocabulary(machine).size,
    }


@command.command("estimate")
@click.argument("machine", type=Machine(), default="simt4")
@SHAPE
@JSON
def estimate_machine(machine: MachineConfig, shape: ModelShape, as_json: bool) -> None:
    """Lay MACHINE out in a model shape and count layers, gates, parameters and bytes; nothing is written."""
    from qgc.backends.weights.estimate import estimate

    found = asdict(estimate(machine, shape))
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        click.echo(f"{name:<20} {value:,}" if isinstance(value, int) else f"{name:<20} {value}")

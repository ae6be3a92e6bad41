"""`qgc machine`: the presets and their numbers."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from qgc.cli.options import Name
from qgc.ir.machine.config import PRESETS, MachineConfig

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def command() -> None:
    """List the machine presets, or show one."""


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
@click.argument("preset", type=Name("machine", PRESETS))
@JSON
def show_preset(preset: str, as_json: bool) -> None:
    """Show one PRESET: its parameters, and what follows from them."""
    machine = PRESETS[preset]
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

"""`qgc certify`: a proof that a checkpoint computes exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qgc.cli.options import SOURCE, Name, read_source
from qgc.sources import Sources

if TYPE_CHECKING:
    from qgc.backends.certify.certificate import Certificate, Proof
    from qgc.backends.certify.compare import Fault


@click.command()
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--dtype",
    type=Name("dtype", ("float32", "bfloat16", "both")),
    default="both",
    show_default=True,
    help="The arithmetic to prove it for: float32, bfloat16 or both.",
)
@click.option(
    "--bake", metavar="PROGRAM", type=SOURCE, help="The program that is in the weights: a .blocks file."
)
@click.option(
    "--worst", type=click.IntRange(1), default=20, show_default=True, help="Faults to print at most."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(
    sources: Sources, checkpoint: Path, dtype: str, bake: str | None, worst: int, as_json: bool
) -> None:
    """Prove that a checkpoint computes exactly, or say where not.

    Compares every stored number with what the machine's layout lowers to, and bounds rounding in every layer for all inputs, token by token. Exit code 1 when it is not certified.
    """
    from qgc.ir.machine.verify import load
    from qgc.runtime.certify import certify_folder
    from qgc.runtime.progress import on_stderr

    dtypes = ("float32", "bfloat16") if dtype == "both" else (dtype,)
    program = None if bake is None else load(*read_source(bake, sources))
    with on_stderr() as progress:
        found = certify_folder(checkpoint, dtypes, program, progress)
    click.echo(json.dumps(found.facts(), indent=2) if as_json else "\n".join(report(found, worst)))
    if not found.passes:
        raise click.exceptions.Exit(1)


def report(found: Certificate, worst: int) -> Iterator[str]:
    """The certificate in lines."""
    yield f"machine {found.machine} in shape {found.shape}"
    if found.differences:
        yield "stored weights are not those of the layout:"
        yield from _faults(found.differences, worst)
    else:
        yield f"stored weights: {found.tensors} tensors, every number that of the layout, zeros included"
    for proof in found.proofs:
        yield ""
        yield from _proof(proof, worst)
    yield ""
    yield "PASS" if found.passes else "FAIL"


def _proof(proof: Proof, worst: int) -> Iterator[str]:
    yield f"{proof.dtype}, token by token, every input, every order of sums"
    yield "layer  heads  units  by promise  deviation  margin used  where"
    for layer in proof.layers:
        yield (
            f"{layer.layer:5}  {layer.heads:5}  {layer.units:5}  {layer.promised:10}  {layer.noise:9.3g}  "
            f"{layer.share:11.2%}  {layer.where}"
        )
    logits = proof.logits
    yield f"logits: the right token leads by at least {logits.gap:.4g} of {logits.right:.5g}; rounding takes at most {logits.rounding:.3g}"
    if proof.all_faults:
        yield from _faults(proof.all_faults, worst)


def _faults(faults: list[Fault], worst: int) -> Iterator[str]:
    for fault in faults[:worst]:
        yield f"  {f'layer {fault.layer} ' if fault.layer >= 0 else ''}{fault.where}: {fault.what}"
    if len(faults) > worst:
        yield f"  and {len(faults) - worst} more"

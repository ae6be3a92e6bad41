"""Broken input gets one clear diagnostic with place and remedy, and exit 1; wrong usage exits with 2.

What is printed lies in golden/cli, a session for each name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from qgc.cli.main import cli

ROOT = Path(__file__).parent.parent.parent
INPUTS = "tests/cli/inputs"

REJECTED = {
    "unknown-opcode": f"ptx2blocks {INPUTS}/unknown_opcode.ptx",
    "undeclared-register": f"ptx2blocks {INPUTS}/undeclared_register.ptx",
    "wrong-arity": f"ptx2blocks {INPUTS}/wrong_arity.ptx",
    "syntax": f"ptx2blocks {INPUTS}/syntax.ptx",
    "missing-kernel": f"ptx2blocks {INPUTS}/two_kernels.ptx --kernel three",
    "unnamed-kernel": f"ptx2blocks {INPUTS}/two_kernels.ptx",
    "program-too-large": f"ptx2blocks {INPUTS}/large.ptx",
    "array-too-short-isa": f"run {INPUTS}/fill.ptx --engine isa --block 4 out=0,0 stride=1",
    "array-too-short-ssa": f"run {INPUTS}/fill.ptx --engine ssa --block 4 out=0,0 stride=1",
    "array-too-short-ptx": f"run {INPUTS}/fill.ptx --engine ptx --block 4 out=0,0 stride=1",
    "out-of-range": f"run {INPUTS}/fill.ptx --engine isa --block 4 out=0,0 stride=100",
    "never-halts-isa": f"run {INPUTS}/forever.ptx --engine isa --budget 100 5",
    "never-halts-ssa": f"run {INPUTS}/forever.ptx --engine ssa --budget 100 5",
    "never-halts-ptx": f"run {INPUTS}/forever.ptx --engine ptx --budget 100 5",
    "block-too-large": f"run {INPUTS}/fill.ptx --engine isa --block 64 out=0:64 stride=1",
    "memory-too-small": f"run {INPUTS}/fill.ptx --engine isa out=0:200 stride=1",
    "stage-order": f"dump {INPUTS}/nothing.blocks --stage ir",
    "engine-needs-ptx": f"run {INPUTS}/nothing.blocks --engine ptx",
    "blocks-faults": f"check {INPUTS}/faults.blocks",
    "no-such-suffix": "run constraints.txt --engine isa",
}
WRONG_USAGE = {
    "unknown-command": "rnu",
    "unknown-stage": f"dump {INPUTS}/fill.ptx --stage bloks",
    "unknown-engine": f"run {INPUTS}/fill.ptx --engine hff",
    "unknown-pass": f"ptx2blocks {INPUTS}/fill.ptx --print-after dec",
    "unknown-machine": f"ptx2blocks {INPUTS}/fill.ptx --machine simt5",
    "unknown-shape": "blocks2weights --shape smal",
    "unknown-parameter": f"run {INPUTS}/fill.ptx --engine isa out=0 stide=1",
    "malformed-argument": f"run {INPUTS}/fill.ptx --engine isa out=0,x stride=1",
    "list-for-number": f"run {INPUTS}/fill.ptx --engine isa out=0,1 stride=1,2",
    "missing-file": "run nowhere.cu",
    "bad-size": f"run {INPUTS}/fill.ptx --engine isa --block 0 out=0 stride=1",
    "trace-without-tokens": f"run {INPUTS}/fill.ptx --engine ssa --trace out=0 stride=1",
    "check-without-tokens": f"run {INPUTS}/fill.ptx --engine ptx --check out=0 stride=1",
    "bake-without-weights": f"run {INPUTS}/fill.ptx --engine isa --bake out=0 stride=1",
    "device-without-transformers": f"run {INPUTS}/fill.ptx --engine isa --device cuda out=0 stride=1",
    "unknown-device": f"run {INPUTS}/fill.ptx --engine hf --device gpu out=0 stride=1",
    "stage-without-file": "dump --stage ir",
    "stdin-without-stage": "check -",
}


def session(line: str) -> tuple[str, int]:
    """What a person sees: the command, stdout, stderr and exit code."""
    result = CliRunner().invoke(cli, line.split())
    stderr = re.sub(r"\d+\.\d s$", "T s", result.stderr, flags=re.MULTILINE)
    return f"$ qgc {line}\n{result.stdout}{stderr}[exit {result.exit_code}]\n", result.exit_code


@pytest.mark.parametrize("name", REJECTED)
def test_broken_input(name: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text, code = session(REJECTED[name])
    assert code == 1
    assert ": error[" in text or "\nerror[" in text
    assert "hint: " in text or name == "syntax"
    golden(f"cli/rejected/{name}.txt", text)


@pytest.mark.parametrize("name", WRONG_USAGE)
def test_wrong_usage(name: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text, code = session(WRONG_USAGE[name])
    assert code == 2
    golden(f"cli/usage/{name}.txt", text)

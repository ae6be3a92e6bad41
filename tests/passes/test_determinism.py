"""The passes give the same bytes whatever the order of hashes."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.helpers.ssa import ROOT

SCRIPT = """
from pathlib import Path
from qgc.ir.ptx.parse import parse
from qgc.ir.ssa.text import to_text
from qgc.passes.pipelines import compile_ptx_to
for file in ("ssa-kernels/kernels.nvrtc.ptx", "ptx/nested.nvrtc.ptx"):
    print(to_text(compile_ptx_to("ir-div", parse((Path("golden") / file).read_text(), file), None if "ptx/" in file else "wide")))
"""


def test_two_hash_seeds_give_the_same_text() -> None:
    texts = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert "kernel wide" in texts[0]
    assert texts[0] == texts[1]

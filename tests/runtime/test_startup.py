"""A run of the fast engine on a checkpoint whose lists are stored imports nothing that is slow to import and not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from qgc.runtime.checkpoint import Checkpoint

ROOT = Path(__file__).parent.parent.parent
NOT_NEEDED = ("torch", "transformers", "networkx", "safetensors", "rich", "matplotlib")


def test_what_a_run_imports(nano: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text((ROOT / "golden/ptx/vadd.nvrtc.ptx").read_text())
    assert nano.sparse.weights.layers > 0  # makes and stores the lists
    code = (
        "import sys\n"
        "from qgc.cli.main import cli\n"
        "try:\n"
        "    cli(sys.argv[1:])\n"
        "except SystemExit as end:\n"
        "    print(end.code)\n"
        f"print([name for name in {NOT_NEEDED} if name in sys.modules])\n"
    )
    args = ["run", str(tmp_path / "k.ptx"), "--machine", "nano", "--checkpoint", str(nano.folder)]
    done = subprocess.run(
        [sys.executable, "-c", code, *args, "--block", "2", "1,2", "3,4", "0,0", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-3:] == ["vadd_param_2=4,6", "0", "[]"], done.stderr

"""A build that is interrupted or killed leaves nothing that looks finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HEED = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
"""A shell starts background commands with SIGINT ignored, and that is inherited; this undoes it."""
BUILD = [sys.executable, "-c", HEED, "-m", "qgc", "blocks2weights", "--machine", "nano", "--shape", "tiny"]


def interrupt(folder: Path, number: signal.Signals, *args: str) -> tuple[int, str]:
    """Start a build, send it a signal once it writes into `folder`; return its exit code and stderr."""
    environment = {**os.environ, "QGC_CACHE": str(folder)}
    process = subprocess.Popen(
        [*BUILD, *args],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(folder.rglob("*.safetensors")):
        assert process.poll() is None, "the build ended before it could be interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_build_leaves_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    returned, stderr = interrupt(tmp_path, number, "-o", str(tmp_path / "model"))
    assert returned == code
    assert "Traceback" not in stderr
    assert os.listdir(tmp_path) == []


def test_a_killed_build_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    returned, _ = interrupt(tmp_path, signal.SIGKILL)
    assert returned == -signal.SIGKILL
    assert [
        name for name in os.listdir(tmp_path) if not name.startswith(".") and not name.endswith(".lock")
    ] == []

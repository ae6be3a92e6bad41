"""Devices and models of the chat's tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qgc.backends.merge.base import Base
from qgc.backends.merge.checkpoint import build, prepare
from qgc.chat.device import Device
from qgc.chat.talker import ModelTalker
from qgc.cli.widen import _write
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS

HOST = Path(__file__).parent.parent.parent / "host"


@pytest.fixture(scope="session")
def simt4() -> Device:
    """The reference interpreter of simt4: quick, and the kernels are compiled once for all tests."""
    return Device(None, "isa", PRESETS["simt4"])


@pytest.fixture(scope="session")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host behind the smallest machine."""
    root = tmp_path_factory.mktemp("chat")
    config = json.loads((HOST / "config.json").read_text())
    _write(HOST, config, SHAPES["tiny"], root / "wide")
    build(prepare(Base(str(root / "wide")), PRESETS["nano"]), root / "merged")
    return root / "merged"


@pytest.fixture(scope="session")
def talker(merged: Path) -> ModelTalker:
    return ModelTalker(merged)

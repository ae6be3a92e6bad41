"""Reading the manifest of example kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from qgc.diagnostics import QgcError
from qgc.runtime.manifest import KernelParam, load_manifest

ROOT = Path(__file__).parents[2]

GOOD = """
[[kernel]]
name = "k"
source = "k.cu"
block = [4]
params = { a = "uint32[]", n = "int32" }
[[kernel.case]]
args = { a = [1, 4294967295], n = -1 }
expected = { a = [2, 3] }
[[kernel.case]]
grid = [2, 3]
block = [1, 2, 4]
args = { a = [], n = 0 }
expected = { a = [] }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "manifest.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_fields(tmp_path: Path) -> None:
    (kernel,) = load_manifest(write(tmp_path, GOOD))
    assert kernel.params == (KernelParam("a", "uint32", True), KernelParam("n", "int32", False))
    assert (kernel.kernel, kernel.source, kernel.outputs) == ("k", tmp_path / "k.cu", ("a",))
    first, second = kernel.cases
    assert (first.grid, first.block) == ((1, 1, 1), (4, 1, 1))
    assert (second.grid, second.block) == ((2, 3, 1), (1, 2, 4))
    assert first.args["n"] == -1
    assert first.args["a"].tolist() == [1, 2**32 - 1]  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="read-only"):
        first.expected["a"][0] = 1


def test_optional_fields(tmp_path: Path) -> None:
    (plain,) = load_manifest(write(tmp_path, GOOD))
    assert (plain.machine, plain.work) == ("simt4", ())
    assert [(case.shared, case.is_slow) for case in plain.cases] == [(0, False)] * 2
    text = GOOD.replace('name = "k"', 'name = "k"\nmachine = "nano"\nwork = ["a"]')
    (kernel,) = load_manifest(write(tmp_path, text.replace("grid =", "shared = 64\nslow = true\ngrid =")))
    assert (kernel.machine, kernel.work) == ("nano", ("a",))
    assert [(case.shared, case.is_slow) for case in kernel.cases] == [(0, False), (64, True)]


def test_the_examples_stay_small_enough_for_the_machine() -> None:
    """At most 100 words of global memory, 32-bit arrays, one block."""
    kernels = load_manifest(ROOT / "examples" / "manifest.toml")
    assert len({kernel.name for kernel in kernels}) == len(kernels) >= 12
    for kernel in kernels:
        assert kernel.source.is_file()
        for case in kernel.cases:
            assert list(case.args) == [param.name for param in kernel.params]
            sizes = [len(value) for value in case.args.values() if not isinstance(value, int)]
            assert sum(sizes) <= 100
            assert case.grid == (1, 1, 1)


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        (("[[kernel]]", "[[kernel"), "manifest-syntax", "line 2"),
        (('source = "k.cu"', ""), "manifest-entry", "kernel k: has no 'source'"),
        ((", n = -1 }", " }"), "manifest-entry", "kernel k: has no 'n'"),
        (("block = [4]", 'work = ["a", "b"]'), "manifest-entry", "work names no parameter: b"),
        (("4294967295", "4294967296"), "manifest-entry", "kernel k: "),
        (("uint32[]", "word[]"), "manifest-entry", "kernel k: "),
        (("[2, 3]\n", "[2, 0]\n"), "manifest-entry", "no sizes in x, y, z"),
        (("[1, 2, 4]", "[1, 2, 4, 5]"), "manifest-entry", "no sizes in x, y, z"),
    ],
)
def test_broken_manifests(tmp_path: Path, change: tuple[str, str], code: str, reason: str) -> None:
    with pytest.raises(QgcError) as caught:
        load_manifest(write(tmp_path, GOOD.replace(*change)))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code and reason in diagnostic.message
    assert diagnostic.span is not None and diagnostic.span.file.endswith("manifest.toml")

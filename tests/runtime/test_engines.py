"""Every engine gives every example's expected arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qgc.diagnostics import QgcError
from qgc.driver import Kernel, Settings, source
from qgc.runtime.engines import ENGINES, Request, engine
from qgc.runtime.manifest import Case, KernelCase, load_manifest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PTX = EXAMPLES.parent / "golden/ptx"
KERNELS = load_manifest(EXAMPLES / "manifest.toml")
CASES = [
    pytest.param(kernel, case, id=f"{kernel.name}-{number}")
    for kernel in KERNELS
    for number, case in enumerate(kernel.cases)
]
INTERPRETERS = ["isa", "ssa", "ptx"]


def compiled(kernel: KernelCase) -> Kernel:
    path = PTX / f"{kernel.name}.nvrtc.ptx"
    return Kernel(source(path.read_text(), path.name), Settings(kernel=kernel.kernel))


@pytest.mark.parametrize(("example", "case"), CASES)
@pytest.mark.parametrize("name", INTERPRETERS)
def test_examples(name: str, example: KernelCase, case: Case) -> None:
    args = list(case.args.values())
    before = [np.copy(a) for a in args]
    result = engine(name).run(compiled(example), Request(case.grid, case.block, args))
    names = list(case.args)
    arrays = {names[number]: array for number, array in result.arrays.items()}
    for output, expected in case.expected.items():
        np.testing.assert_array_equal(arrays[output], expected)
        assert arrays[output].dtype == expected.dtype
    for given, kept in zip(args, before, strict=True):
        np.testing.assert_array_equal(given, kept)


@pytest.mark.parametrize("name", INTERPRETERS)
def test_an_array_given_twice_is_one_array(name: str) -> None:
    same = np.array([1, 2, 3], dtype=np.int32)
    out = np.zeros(1, dtype=np.int32)
    dot = compiled(KERNELS[0])
    result = engine(name).run(dot, Request((1, 1, 1), (3, 1, 1), [same, same, out]))
    assert result.arrays[2].tolist() == [14]
    clash = np.array([5], dtype=np.int32)
    result = engine(name).run(dot, Request((1, 1, 1), (1, 1, 1), [clash, clash, clash]))
    assert [result.arrays[i].tolist() for i in range(3)] == [[30]] * 3


@pytest.mark.parametrize("name", INTERPRETERS)
def test_a_wrong_number_of_arguments_is_refused(name: str) -> None:
    with pytest.raises(QgcError, match="launch-arguments"):
        engine(name).run(compiled(KERNELS[0]), Request((1, 1, 1), (1, 1, 1), [1, 2]))


def test_the_registry() -> None:
    assert [engine(name).name for name in ENGINES] == list(ENGINES)
    with pytest.raises(QgcError, match="did you mean 'isa'"):
        engine("iso")

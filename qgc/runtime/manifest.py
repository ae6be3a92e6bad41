"""Tables of kernels: what to launch, on what, and what must come out (`manifest.toml` in each folder of `examples/`)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import Span, fail

Argument: TypeAlias = "NDArray[Any] | int"
Dim3: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class KernelParam:
    """A kernel parameter as the host sees it: a scalar or an array of `dtype` (a numpy type name, `int32`)."""

    name: str
    dtype: str
    is_array: bool


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One launch. `args` has every argument in the kernel's order; `expected` the arrays after the launch.

    `grid` and `block` are (x, y, z); `shared` is how many bytes of dynamic shared memory a block has. Arrays are
    one-dimensional and must not be written to: copy them. A case that `is_slow` takes an interpreter more than seconds.
    """

    grid: Dim3
    block: Dim3
    args: dict[str, Argument]
    expected: dict[str, NDArray[Any]]
    shared: int = 0
    is_slow: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class KernelCase:
    """A kernel of the manifest.

    `source` is the path of its CUDA file, `kernel` the symbol in it, `machine` the smallest preset that runs it. What is
    in the arrays of `work` at the end is nobody's business.
    """

    name: str
    source: Path
    kernel: str
    params: tuple[KernelParam, ...]
    cases: tuple[Case, ...]
    machine: str = "simt4"
    work: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The arrays that the kernel writes, in the order of its parameters."""
        return tuple(p.name for p in self.params if p.name in self.cases[0].expected)


def load_manifest(path: Path) -> tuple[KernelCase, ...]:
    """Read a manifest; sources are relative to its folder.

    Raises:
        QgcError: `manifest-syntax` when the file is not TOML, `manifest-entry` when an entry lacks a field, has a
            value of the wrong type, or an argument that is no parameter.
    """
    text = path.read_text(encoding="utf-8")
    try:
        entries = tomllib.loads(text).get("kernel", [])
    except tomllib.TOMLDecodeError as err:
        raise fail("manifest-syntax", str(err), Span(str(path), 1, 1)) from err
    return tuple(_kernel(entry, path, number) for number, entry in enumerate(entries, 1))


def _kernel(entry: dict[str, Any], path: Path, number: int) -> KernelCase:
    name = entry.get("name", f"number {number}")
    try:
        params = tuple(_param(param, spelled) for param, spelled in entry["params"].items())
        cases = tuple(_case(case, entry, params) for case in entry["case"])
        source, kernel = path.parent / entry["source"], entry.get("kernel", name)
        machine, work = entry.get("machine", "simt4"), tuple(entry.get("work", ()))
        if unknown := set(work) - {param.name for param in params}:
            raise ValueError(f"work names no parameter: {', '.join(sorted(unknown))}")
        return KernelCase(name, source, kernel, params, cases, machine, work)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as err:
        reason = f"has no {err}" if isinstance(err, KeyError) else str(err)
        raise fail("manifest-entry", f"kernel {name}: {reason}", Span(str(path), 1, 1)) from err


def _param(name: str, spelled: str) -> KernelParam:
    element = spelled.removesuffix("[]")
    return KernelParam(name, np.dtype(element).name, spelled.endswith("[]"))


def _case(case: dict[str, Any], entry: dict[str, Any], params: tuple[KernelParam, ...]) -> Case:
    grid, block = (_dim3(case.get(key, entry.get(key, [1]))) for key in ("grid", "block"))
    arrays = {p.name: p for p in params if p.is_array}
    expected = {name: _array(arrays[name], values) for name, values in case["expected"].items()}
    args = {p.name: _argument(p, case["args"][p.name]) for p in params}
    shared, is_slow = int(case.get("shared", 0)), bool(case.get("slow", False))
    return Case(grid, block, args, expected, shared, is_slow)


def _argument(param: KernelParam, value: Any) -> Argument:
    if param.is_array:
        return _array(param, value)
    return int(np.array(value, dtype=param.dtype))


def _array(param: KernelParam, values: list[int]) -> NDArray[Any]:
    array = np.array(values, dtype=param.dtype)
    array.flags.writeable = False
    return array


def _dim3(values: list[int]) -> Dim3:
    x, y, z = (*values, 1, 1)[:3]
    if len(values) > 3 or min(x, y, z) < 1:
        raise ValueError(f"{values} are no sizes in x, y, z")
    return x, y, z

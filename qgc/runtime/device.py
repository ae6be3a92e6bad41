"""The devices that stock transformers may run on, and what each of them computes in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from qgc.diagnostics import fail
from qgc.names import unknown


def _has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def _has_mps() -> bool:
    import torch

    return torch.backends.mps.is_available()


PRESENT: Mapping[str, Callable[[], bool]] = {"cuda": _has_cuda, "mps": _has_mps, "cpu": lambda: True}
"""Whether this machine, and this build of torch, has each device; the best first."""
DEVICES = ("auto", "cpu", "cuda", "mps")
"""What may be asked for; `auto` is the first of `PRESENT` that is there."""


def pick(asked: str) -> str:
    """The device to use. `auto` finds one always.

    Raises:
        QgcError: `device-unknown`; `device-missing` when the machine, or this build of torch, does not have it.
    """
    if asked not in DEVICES:
        raise fail("device-unknown", unknown("device", asked, DEVICES))
    if asked == "auto":
        return next(name for name, is_there in PRESENT.items() if is_there())
    if PRESENT[asked]():
        return asked
    import torch

    found = ", ".join(name for name, is_there in PRESENT.items() if is_there())
    raise fail(
        "device-missing",
        f"there is no device {asked}: torch {torch.__version__} finds {found} here",
        hint=f"leave --device out, or install a build of torch that supports {asked} on a machine that has it",
    )


def dtype_on(device: str, asked: str) -> str:
    """What to compute in: `auto` is bfloat16 on cuda, whose matrix units are made for it, else float32."""
    if asked != "auto":
        return asked
    return "bfloat16" if device == "cuda" else "float32"


def can_compile(device: str) -> bool:
    """Whether transformers may compile the step that it generates with: it does so on cuda, by way of triton."""
    return device == "cuda" and find_spec("triton") is not None

"""The parameter names of a CUDA kernel, which PTX does not keep: `dot_param_0` is `a` again.

Read from the source text, without preprocessing: names hidden behind macros are not found, and then the PTX names stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_KERNEL = re.compile(r"__global__\b(?P<head>[^;{}()]*(?:\([^()]*\)[^;{}()]*)*?)\b(?P<name>[A-Za-z_]\w*)\s*\(")
_WORD = re.compile(r"[A-Za-z_]\w*")
_OPEN, _CLOSE = "([{<", ")]}>"
_NO_NAMES = ("int", "char", "short", "long", "unsigned", "signed", "float", "double", "bool", "const", "void")


@dataclass(frozen=True, slots=True)
class SourceParam:
    """A parameter as the source declares it; `name` is empty where the source gives none."""

    name: str
    is_pointer: bool


def kernel_params(source: str, kernel: str) -> tuple[SourceParam, ...] | None:
    """The parameters of the `__global__` function `kernel`, or None when the text does not show it."""
    text = _NOISE.sub(" ", source)
    for match in _KERNEL.finditer(text):
        if match["name"] == kernel:
            declarations = _split(text[match.end() :])
            return None if declarations is None else tuple(map(_param, declarations))
    return None


def _split(text: str) -> list[str] | None:
    """The comma-separated parts up to the parenthesis that closes the list; None when none does."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if depth == 0 and char in ",)":
            parts.append(text[start:at].strip())
            start = at + 1
            if char == ")":
                return [] if parts in ([""], ["void"]) else parts
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
    return None


def _param(declaration: str) -> SourceParam:
    declarator = declaration.split("=")[0]
    outside = re.sub(r"\[[^\]]*\]", "", declarator)
    words = _WORD.findall(outside)
    name = words[-1] if len(words) > 1 and words[-1] not in _NO_NAMES else ""
    return SourceParam(name, "*" in outside or "[" in declarator)

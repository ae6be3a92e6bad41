"""The verifier finds exactly the faults that the files in faults/ mark, each at its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qgc.diagnostics import VerifyError
from qgc.ir.ptx import verify as module_of_verify
from qgc.ir.ptx.kernels import find_kernel
from qgc.ir.ptx.parse import parse
from qgc.ir.ptx.verify import verify, verify_function
from tests.helpers.ptx import HEADER, kernel_text

FILES = sorted((Path(__file__).parent / "faults").glob("*.ptx"))
MARK = re.compile(r"// error: (.*)")


def marked(text: str) -> list[tuple[int, str]]:
    lines = enumerate(text.splitlines(), 1)
    return [(number, code) for number, line in lines if (m := MARK.search(line)) for code in m[1].split()]


def reported(text: str, file: str) -> list[tuple[int, str]]:
    try:
        verify(parse(text, file))
    except VerifyError as err:
        spans = [(d.span.line if d.span else 0, d.code) for d in err.diagnostics]
        return sorted(spans)
    return []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_marked_faults(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert reported(text, path.name) == marked(text)


def test_every_code_has_a_failing_sample() -> None:
    codes = set(re.findall(r"^  (ptx-\w+)", module_of_verify.__doc__ or "", re.MULTILINE))
    seen = {code for path in FILES for _line, code in marked(path.read_text(encoding="utf-8"))}
    assert codes == seen


def test_a_kernel_is_usable_beside_one_that_is_not() -> None:
    text = (
        kernel_text("mov.u32 r1, 1;")
        + ".entry float(.param .u64 p) { .reg .f32 %f<2>; add.f32 %f1, %f1, %f1; ret; }"
    )
    module = parse(text)
    verify_function(module, find_kernel(module, "k"))
    with pytest.raises(VerifyError, match="ptx-unsupported"):
        verify(module)


def test_the_message_says_what_is_wrong_and_what_to_do() -> None:
    text = (
        HEADER + ".entry k()\n{\n.reg .b32 %r<3>;\nadd.u32 %r1, %r2, %r3;\nmulx.u32 %r1, %r1, %r2;\nret;\n}\n"
    )
    with pytest.raises(VerifyError) as caught:
        verify(parse(text, "k.ptx"))
    rendered = [d.render({"k.ptx": text}).splitlines() for d in caught.value.diagnostics]
    assert rendered[0] == [
        "k.ptx:7:19: error[ptx-register]: register %r3 is not declared",
        "  add.u32 %r1, %r2, %r3;",
        "                    ^^^",
        "  hint: declare it with .reg",
    ]
    assert rendered[1][0] == "k.ptx:8:1: error[ptx-opcode]: unknown instruction mulx.u32"
    assert rendered[1][-1] == "  hint: did you mean mul?"

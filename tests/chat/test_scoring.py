"""The evaluation: what it asks, and what it takes for right."""

from __future__ import annotations

import json

import pytest

from qgc.chat.device import Device
from qgc.chat.scoring import Problem, problems, score
from qgc.chat.session import Session
from qgc.cli.eval import summary, table
from tests.helpers.talkers import Scripted


def test_the_problems() -> None:
    asked = problems("normal")
    assert len(asked) == len({problem.name for problem in asked}) == 24
    assert asked == problems("normal")
    assert [problem.name for problem in problems("advanced")] == [
        "squares", "axpy", "histogram", "collatz", "transpose"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "call", "is_computed", "is_said"),
    [
        ("It is 42.", "6 * 7", True, True),
        ("It is 42", "40 + 2", True, True),
        ("It is 142.", "6 * 7", True, False),
        ("It is -42.", "6 * 7", True, False),
        ("It is 42.5.", "6 * 7", True, False),
        ("It is 42.", "6 * 8", False, True),
    ],
)
def test_right_needs_the_launch_and_the_text(
    simt4: Device, text: str, call: str, is_computed: bool, is_said: bool
) -> None:
    session = Session(Scripted(f"<gpu>{call}</gpu>", text, tokens=["<gpu>"]), simt4)
    found = score(session, Problem("multiply", "6 times 7?", "42", "42"))
    assert (found.is_computed, found.is_said, found.launches) == (is_computed, is_said, 1)
    assert found.is_right == (is_computed and is_said)


def test_a_number_without_a_launch_is_wrong(simt4: Device) -> None:
    found = score(Session(Scripted("It is 42."), simt4), Problem("multiply", "6 times 7?", "42", "42"))
    assert found.is_said
    assert not found.is_right


def test_vectors_and_words(simt4: Device) -> None:
    texts = ("<gpu>sort([2, 1])</gpu>", "That gives [1,2].", "<gpu>1 < 2</gpu>", "yes, it is.")
    session = Session(Scripted(*texts, tokens=["<gpu>"]), simt4)
    assert score(session, Problem("sort", "?", "[1, 2]", "[1, 2]")).is_right
    assert score(session, Problem("less", "?", "1", "Yes")).is_right


def test_cuda_tasks_can_be_solved(simt4: Device) -> None:
    """By hand: every task has a kernel that fits the machine and gives what is expected."""
    head = 'extern "C" __global__ void k'
    kernels = {
        "squares": (
            f"{head}(const int *a, int *out) {{ out[threadIdx.x] = a[threadIdx.x] * a[threadIdx.x]; }}",
            "block=8 a=3,1,4,1,5,9,2,6 out=0:8",
        ),
        "axpy": (
            f"{head}(const int *x, const int *y, int *z) {{ int i = threadIdx.x; z[i] = 3 * x[i] + y[i]; }}",
            "block=6 x=1,2,3,4,5,6 y=10,20,30,40,50,60 z=0:6",
        ),
        "histogram": (
            f"{head}(const int *a, int *count) {{ atomicAdd(count + a[threadIdx.x], 1); }}",
            "block=9 a=0,3,1,3,3,2,0,3,1 count=0:4",
        ),
        "collatz": (
            (
                f"{head}(const int *a, int *out) {{ int x = a[threadIdx.x], n = 0;"
                " for (; x != 1; ++n) x = x & 1 ? 3 * x + 1 : x >> 1; out[threadIdx.x] = n; }"
            ),
            "block=4 a=1,6,7,27 out=0:4",
        ),
        "transpose": (
            (
                f"{head}(const int *a, int *out)"
                " { int r = threadIdx.x / 3, c = threadIdx.x % 3; out[c * 2 + r] = a[threadIdx.x]; }"
            ),
            "block=6 a=1,2,3,4,5,6 out=0:6",
        ),
    }
    for problem in problems("advanced"):
        code, launch = kernels[problem.name]
        session = Session(Scripted(f"```cuda\n{code}\n```\nlaunch: {launch}\n", "Done."), simt4, "advanced")
        found = score(session, problem)
        assert found.is_right, (problem.name, found)


def test_the_table_and_the_json(simt4: Device) -> None:
    session = Session(Scripted("<gpu>6 * 7</gpu>", "It is 42.", "No.", tokens=["<gpu>"]), simt4)
    problem = Problem("multiply", "6 times 7?", "42", "42")
    scores = [score(session, problem), score(session, problem)]
    found = json.loads(json.dumps(summary("normal", scores)))
    assert (found["right"], found["of"], found["launches"]) == (1, 2, 1)
    lines = table("normal", scores).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["right", "wrong"]
    assert lines[-1].startswith("1 of 2 right")

"""A turn with a model that plays back texts: calls, faults, repairs, limits, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from qgc.chat.device import Device
from qgc.chat.protocol import Visible, choose, protocols
from qgc.chat.session import MAX_CALLS, REPAIRS, Computed, Event, Failed, Said, Session, Turn
from qgc.chat.talker import Message, Sampling
from tests.helpers.talkers import Scripted

KERNEL = """```cuda
extern "C" __global__ void square(const int *a, int *out) {
    out[threadIdx.x] = a[threadIdx.x] * a[threadIdx.x];
}
```
launch: block=3 a=1,2,3 out=0:3"""
BROKEN = KERNEL.replace("int *out)", "int *out")


def answer(
    talker: Scripted, device: Device, mode: str = "normal", **options: int
) -> tuple[Turn, list[Event]]:
    session, turn = Session(talker, device, mode, Sampling(**options)), Turn()
    events: list[Event] = []
    for event in session.reply([Message("user", "go")], turn):
        last = events[-1] if events else None
        if isinstance(event, Said) and isinstance(last, Said):
            events[-1] = Said(last.text + event.text)
        else:
            events.append(event)
    return turn, events


def host(*texts: str, size: int = 3) -> Scripted:
    return Scripted(*texts, tokens=["<gpu>"], size=size)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_call_is_launched_and_its_result_goes_back(simt4: Device, size: int) -> None:
    talker = host("<gpu>6 * 7</gpu><result>0</result>", "It is 42.", size=size)
    turn, events = answer(talker, simt4)
    assert turn.content == "<gpu>6 * 7</gpu><result>42</result>It is 42."
    assert (turn.text, turn.results, turn.end) == ("It is 42.", ["42"], "stop")
    assert talker.seen[1].endswith("<assistant><gpu>6 * 7</gpu><result>42</result>")
    (computed,) = [event for event in events if isinstance(event, Computed)]
    assert [launched.name for launched in computed.launches] == ["multiply"]
    assert turn.launches == list(computed.launches)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_fenced_calls_with_text_around_them(simt4: Device, size: int) -> None:
    talker = Scripted("Let me `see`.\n```gpu\n2 + 3\n```", "Then\n```gpu\n5 * 5\n```", "Done: 25.", size=size)
    turn, events = answer(talker, simt4)
    assert turn.text == "Let me `see`.\nThen\nDone: 25."
    assert "".join(event.text for event in events if isinstance(event, Said)) == turn.text
    assert turn.results == ["5", "25"]
    assert "```gpu\n2 + 3\n```\n```result\n5\n```\n" in turn.content


def test_a_fault_ends_the_turn_of_the_host(simt4: Device) -> None:
    turn, (failed,) = answer(host("<gpu>1 // 0</gpu>"), simt4)
    assert isinstance(failed, Failed)
    assert (failed.fault, failed.is_final) == ("division by zero (column 1)", True)
    assert (turn.end, turn.text) == ("error", "error: division by zero (column 1)")
    assert turn.content.endswith("<result>error: division by zero (column 1)</result>")


def test_a_fault_goes_back_to_a_model_that_reads_it(simt4: Device) -> None:
    talker = Scripted("```gpu\n7 / 2\n```", "```gpu\n7 // 2\n```", "3")
    turn, events = answer(talker, simt4)
    assert [type(event) for event in events] == [Failed, Computed, Said]
    assert "error: '/' is out of place (column 3)" in talker.seen[1]
    assert (turn.results, turn.repairs, turn.end) == (["3"], 1, "stop")


def test_cuda_that_does_not_compile_is_repaired(simt4: Device) -> None:
    talker = Scripted(BROKEN, KERNEL + "\n", "The squares are 1, 4, 9.")
    turn, events = answer(talker, simt4, "advanced")
    assert [type(event) for event in events] == [Failed, Computed, Said]
    assert "kernel.cu:1:" in talker.seen[1]
    assert "error[cuda-error]" in talker.seen[1]
    assert turn.results == ["a=1,2,3\nout=1,4,9"]
    assert turn.text == "The squares are 1, 4, 9."
    assert turn.launches[0].execs > 0


@pytest.mark.parametrize(
    ("launch", "fault"),
    [
        ("block=3 a=1,2,3", "argument-missing"),
        ("block=3 a=1,2,3 out=0:3 b=4", "argument-unknown"),
        ("block=0 a=1,2,3 out=0:3", "chat-launch"),
        ("block=3 a=1,2,3 out = 0:3", "chat-launch"),
        ("block=4 a=1,2,3,4 out=0", "run-store"),
        ("block=99 a=1,2,3 out=0:3", "launch-threads"),
        ("cube block=3 a=1,2,3 out=0:3", "kernel-missing"),
        ("block=3 a=1:200 out=0:3", "launch-memory"),
    ],
)
def test_a_wrong_launch_is_explained(simt4: Device, launch: str, fault: str) -> None:
    talker = Scripted(KERNEL.split("launch:")[0] + f"launch: {launch}\n", "I give up.")
    turn, (failed, _) = answer(talker, simt4, "advanced")
    assert isinstance(failed, Failed)
    assert f"error[{fault}]" in failed.fault
    assert f"error[{fault}]" in talker.seen[1]
    assert turn.results == []


def test_repairs_are_bounded(simt4: Device) -> None:
    talker = Scripted(*[BROKEN + "\n"] * (REPAIRS + 1))
    turn, events = answer(talker, simt4, "advanced")
    assert [event.is_final for event in events if isinstance(event, Failed)] == [False] * REPAIRS + [True]
    assert turn.end == "error"


def test_calls_are_bounded(simt4: Device) -> None:
    turn, _ = answer(host(*["<gpu>1 + 1</gpu>"] * MAX_CALLS), simt4)
    assert turn.results == ["2"] * MAX_CALLS
    assert turn.end == "length"


def test_a_text_that_is_too_long_is_cut(simt4: Device) -> None:
    turn, _ = answer(host("a long text without end"), simt4, max_new_tokens=2)
    assert (turn.text, turn.end) == ("a long", "length")


def test_an_interrupted_turn_keeps_what_was_said(simt4: Device) -> None:
    class Stopped(Scripted):
        def pieces(self, text: str, sampling: Sampling) -> Iterator[str]:
            yield "half an "
            raise KeyboardInterrupt

    turn = Turn()
    with pytest.raises(KeyboardInterrupt):
        list(Session(Stopped(), simt4).reply([Message("user", "go")], turn))
    assert turn.content == "half an "


def test_the_host_is_shown_the_last_turns_only(simt4: Device) -> None:
    session = Session(host(), simt4)
    turns = [Message(role, "word " * 40) for _ in range(9) for role in ("user", "assistant")]
    text = session.prompt([*turns, Message("user", "last")])
    assert session.talker.count(text) <= protocols()["host"].context
    assert text.startswith("<user>")
    assert text.count("<user>") > 1
    assert text.endswith("<user>last<assistant>")
    assert "x" * 200 in session.prompt([*turns, Message("user", "word " * 300 + "x" * 200)])


def test_system_prompts_are_put_together(simt4: Device) -> None:
    session = Session(Scripted(), simt4, system="Be brief.")
    text = session.prompt([Message("system", "Be kind."), Message("user", "hi")])
    assert text.count("<system>") == 1
    assert "isprime(x)" in text
    assert text.index("```gpu") < text.index("Be brief.\n\nBe kind.<user>hi")
    assert Session(host(), simt4).prompt([Message("user", "hi")]) == "<user>hi<assistant>"
    assert "128 words" in Session(host(), simt4, "advanced").prompt([Message("user", "hi")])


def test_the_protocol_follows_the_tokenizer() -> None:
    assert choose(host(), "normal").name == "host"
    assert choose(Scripted(), "normal").name == "fence"
    assert choose(host(), "advanced").name == "cuda"


def test_what_may_become_a_call_is_held_back() -> None:
    visible = Visible("```gpu")
    assert [list(visible.feed(piece)) for piece in ("a `", "``", "gp", "x", "``", "`gpu 1")] == [
        ["a "], [], [], ["```gpx"], [], []
    ]  # fmt: skip
    assert visible.take() == "```gpu 1"

"""A talker that plays back texts, to drive a chat without a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qgc.chat.talker import Message, Sampling


class Scripted:
    """Says one text of a list in each stretch, a few characters at a time, and remembers what it was shown.

    Attributes:
        seen: the texts that it went on from.
    """

    def __init__(self, *texts: str, tokens: Sequence[str] = (), size: int = 3) -> None:
        self.seen: list[str] = []
        self.is_cut = False
        self._texts = list(texts)
        self._tokens = tokens
        self._size = size

    def prompt(self, messages: Sequence[Message]) -> str:
        return "".join(f"<{message.role}>{message.content}" for message in messages) + "<assistant>"

    def count(self, text: str) -> int:
        return len(text.split())

    def has_token(self, text: str) -> bool:
        return text in self._tokens

    def pieces(self, text: str, sampling: Sampling) -> Iterator[str]:
        self.seen.append(text)
        said = self._texts.pop(0)
        room = sampling.max_new_tokens * self._size
        self.is_cut = len(said) > room
        for at in range(0, min(len(said), room), self._size):
            yield said[at : at + self._size]

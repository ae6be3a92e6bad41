"""What writes the text of a chat: a protocol, and the language model of a merged checkpoint.

A machine is silent on text: on every row of the base's vocabulary its layers add exactly 0 (`backends.merge` proves it for each
row, or builds nothing). So text tokens need only the closing layer, which takes the guard away, and the base's layers;
`load_text_part` loads these alone. `load_whole` loads everything, by `AutoModelForCausalLM.from_pretrained`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from qgc.diagnostics import fail
from qgc.runtime.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast

_TOKENIZER_FILES = ("tokenizer_config.json", "chat_template.jinja", "special_tokens_map.json", "config.json")


@dataclass(frozen=True, slots=True)
class Message:
    """A part of a conversation; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen: the likeliest at temperature 0, else drawn from the likeliest with `top_p` together."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    max_new_tokens: int = 256


class Talker(Protocol):
    """Writes text.

    Attributes:
        is_cut: whether the last text ended because `max_new_tokens` were written.
    """

    is_cut: bool

    def prompt(self, messages: Sequence[Message]) -> str:
        """The text of a conversation, up to where the assistant goes on."""
        ...

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        ...

    def has_token(self, text: str) -> bool:
        """Whether `text` is one token."""
        ...

    def pieces(self, text: str, sampling: Sampling) -> Iterator[str]:
        """What the model writes after `text`, piece by piece, until it ends its turn or `max_new_tokens` are written.

        Whoever has read enough just stops.
        """
        ...


class ModelTalker:
    """The language model of a merged checkpoint, a forward step of stock transformers for every token.

    The context of the last call is used again as far as the next text begins with it.
    """

    def __init__(
        self, folder: Path, is_whole: bool = False, dtype: str = "auto", device: str = "auto"
    ) -> None:
        """Load the model and its tokenizer, without the machine's tokens: no text can become one.

        Raises:
            QgcError: `checkpoint-manifest`; `chat-text` when the folder holds a machine alone; `chat-load` when it cannot be
                loaded; what `runtime.device.pick` raises.
        """
        checkpoint = Checkpoint(folder)
        self._first_token = first_token(checkpoint)
        self.tokenizer = load_tokenizer(folder, self._first_token)
        load = load_whole if is_whole else load_text_part
        self._model = load(checkpoint, dtype, device)
        self._ids: list[int] = []
        self._cache: Any = None
        ends = self._model.generation_config.eos_token_id if self._model.generation_config else None
        listed = ends if isinstance(ends, list) else [ends]
        self._ends = {*listed, self.tokenizer.eos_token_id} - {None}
        self.is_cut = False

    @property
    def layers(self) -> int:
        """Layers that a text token goes through."""
        return int(self._model.config.num_hidden_layers)

    def prompt(self, messages: Sequence[Message]) -> str:
        """By the tokenizer's chat template, thoughts off; without one, as a dialogue with names."""
        if self.tokenizer.chat_template is None:
            lines = [f"{message.role.capitalize()}: {message.content}\n" for message in messages]
            return "".join(lines) + "Assistant:"
        return str(
            self.tokenizer.apply_chat_template(
                [asdict(message) for message in messages],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
        )

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self._encoded(text))

    def has_token(self, text: str) -> bool:
        """Whether `text` is one token."""
        return len(self._encoded(text)) == 1

    def _encoded(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def pieces(self, text: str, sampling: Sampling) -> Iterator[str]:
        """See `Talker.pieces`."""
        import torch

        generator = torch.Generator().manual_seed(sampling.seed)
        given = self._encoded(text)
        written: list[int] = []
        shown = ""
        self.is_cut = False
        while len(written) < sampling.max_new_tokens:
            token = _chosen(self._logits([*given, *written]), sampling, generator)
            if token in self._ends:
                return
            written.append(token)
            whole = str(self.tokenizer.decode(written))
            if not whole.endswith("\ufffd"):  # a character of several tokens is not complete
                yield whole[len(shown) :]
                shown = whole
        self.is_cut = True

    def _logits(self, ids: Sequence[int]) -> torch.Tensor:
        """Logits of text after `ids`, `[first_token]`, float32 on the CPU."""
        import torch
        from transformers import DynamicCache

        known = len(self._ids)
        if self._cache is None or known >= len(ids) or self._ids != list(ids[:known]):
            self._cache, known = DynamicCache(config=self._model.config), 0
        cache, self._cache = self._cache, None  # a step that is interrupted leaves no half of itself
        with torch.inference_mode():
            new = torch.tensor([ids[known:]], device=self._model.device)
            out = self._model(new, cache=cache, use_cache=True, logits_to_keep=1)
        self._ids, self._cache = list(ids), cache
        logits: torch.Tensor = out.logits[0, -1, : self._first_token].float().cpu()
        return logits


def first_token(checkpoint: Checkpoint) -> int:
    """The machine's first token: rows below are text.

    Raises:
        QgcError: `chat-text` when there is no text.
    """
    if checkpoint.merged is None:
        raise fail(
            "chat-text",
            f"{checkpoint.folder} is a machine without a language model",
            hint="build one with `qgc build --base MODEL -o DIR`",
        )
    return checkpoint.merged.first_token


def load_tokenizer(folder: Path, first: int) -> PreTrainedTokenizerFast:
    """The base's tokenizer again: added tokens from number `first` on, the machine's, are left out.

    Raises:
        QgcError: `chat-load`.
    """
    from transformers import AutoTokenizer

    try:
        content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        content["added_tokens"] = [token for token in content["added_tokens"] if token["id"] < first]
        with tempfile.TemporaryDirectory() as name:
            copy = Path(name)
            (copy / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
            for file in _TOKENIZER_FILES:
                if (folder / file).exists():
                    shutil.copyfile(folder / file, copy / file)
            return AutoTokenizer.from_pretrained(copy, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise fail("chat-load", f"{folder} has no tokenizer: {str(err).splitlines()[0]}") from err


def load_whole(checkpoint: Checkpoint, dtype: str, device: str) -> Any:
    """The checkpoint as stock transformers loads it.

    Raises:
        QgcError: `chat-load`; what `runtime.device.pick` raises.
    """
    from transformers import AutoModelForCausalLM

    from qgc.runtime.device import pick

    place = pick(device)
    kind = checkpoint.manifest["dtype"] if dtype == "auto" else dtype
    _quiet()
    try:
        model = AutoModelForCausalLM.from_pretrained(checkpoint.folder, dtype=kind, local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError) as err:
        raise _unloaded(checkpoint.folder, err) from err
    return model.to(place).eval()


def load_text_part(checkpoint: Checkpoint, dtype: str, device: str) -> Any:
    """The closing layer and the base's layers, as a model of stock transformers with fewer layers and no machine tokens.

    Raises:
        QgcError: `chat-text` when the checkpoint is not merged; `chat-load`; what `runtime.device.pick` raises.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from qgc.runtime.device import pick

    place = pick(device)
    kind = getattr(torch, checkpoint.manifest["dtype"] if dtype == "auto" else dtype)
    rows, skipped = first_token(checkpoint), int(checkpoint.manifest["base"]["layers"]) - 1
    _quiet()
    try:
        config = AutoConfig.from_pretrained(checkpoint.folder, local_files_only=True).get_text_config()
        config.num_hidden_layers -= skipped
        config.layer_types = config.layer_types[skipped:]
        config.vocab_size = rows
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
        model.load_state_dict(_tensors(checkpoint.folder, skipped, rows, kind, place), assign=True)
        rotary = model.model.rotary_emb
        model.model.rotary_emb = type(rotary)(config=config).to(place)  # its buffers are in no checkpoint
    except (OSError, ValueError, RuntimeError, KeyError) as err:
        raise _unloaded(checkpoint.folder, err) from err
    return model.eval()


def _tensors(folder: Path, skipped: int, rows: int, kind: torch.dtype, place: Any) -> dict[str, torch.Tensor]:
    """The tensors of the text part by the names that they have in it."""
    from safetensors import safe_open

    index = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))["weight_map"]
    found: dict[str, torch.Tensor] = {}
    for file in sorted(set(index.values())):
        with safe_open(folder / file, framework="pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118 (the file is no mapping)
                new = _name(name, skipped)
                if new is None:
                    continue
                part = tensors.get_slice(name)
                tensor = part[:rows] if new in ("model.embed_tokens.weight", "lm_head.weight") else part[:]
                found[new] = tensor.to(device=place, dtype=kind)
    return found


def _name(name: str, skipped: int) -> str | None:
    """What a tensor of the checkpoint is called in the text part; None when it is not in it."""
    if name.startswith("model.language_model."):
        name = "model." + name.removeprefix("model.language_model.")
    elif name.startswith(("mtp.", "model.visual.")):
        return None
    if not name.startswith("model.layers."):
        return name
    number, _, rest = name.removeprefix("model.layers.").partition(".")
    return f"model.layers.{int(number) - skipped}.{rest}" if int(number) >= skipped else None


def _chosen(logits: torch.Tensor, sampling: Sampling, generator: torch.Generator) -> int:
    import torch
    from transformers.generation import TemperatureLogitsWarper, TopPLogitsWarper

    if sampling.temperature == 0:
        return int(logits.argmax())
    ids, scores = torch.zeros(1, 0, dtype=torch.long), logits[None]
    scores = TemperatureLogitsWarper(sampling.temperature)(ids, scores)
    if sampling.top_p < 1:
        scores = TopPLogitsWarper(sampling.top_p)(ids, scores)
    return int(torch.multinomial(scores.softmax(-1)[0], 1, generator=generator))


def _quiet() -> None:
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _unloaded(folder: Path, err: Exception) -> Exception:
    return fail(
        "chat-load",
        f"{folder} is no checkpoint that transformers can load: {str(err).splitlines()[0]}",
        hint="build it with `qgc build`",
    )

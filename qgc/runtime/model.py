"""A checkpoint in stock transformers: generate, replay, and nothing that qgc computes itself.

The only calls made are `AutoModelForCausalLM.from_pretrained`, `.generate` and `.forward`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import fail
from qgc.runtime.device import can_compile, dtype_on, pick
from qgc.runtime.progress import Progress, silent

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

LOGIT_ROWS = 256
"""Positions whose logits are made at once in a replay: a whole trace of a large vocabulary would not fit memory."""

_NEVER = -1
"""A number that no token has."""


@dataclass(slots=True)
class Session:
    """A context that grows launch by launch.

    Attributes:
        ids: every token so far.
        cache: transformers' cache after all of them but the last, which no step has read yet; None at the start
            of a session that `generate` is to choose it for.
    """

    ids: list[int] = field(default_factory=list)
    cache: Any = None

    def state(self, layer: int, head: int) -> NDArray[np.float32]:
        """The recurrent state of one head, `[key dimension, value dimension]`."""
        state: NDArray[np.float32] = (
            self.cache.get_recurrent_state(layer, state_idx=0)[0, head].float().cpu().numpy()
        )
        return state


class Model:
    """One checkpoint, loaded once.

    Attributes:
        device, dtype: where it runs, and in what.
        is_static: whether sessions whose length is known get a cache of fixed size, with which transformers compiles
            the step.
    """

    def __init__(self, folder: Path, dtype: str = "auto", device: str = "auto") -> None:
        """Load `folder` to a device; `device.pick` and `device.dtype_on` say what `auto` is.

        Raises:
            QgcError: `checkpoint-load` when transformers cannot make a model of it; what `device.pick` raises.
        """
        self.device = pick(device)
        self.dtype = dtype_on(self.device, dtype)
        self.is_static = can_compile(self.device)
        from transformers import AutoModelForCausalLM
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=self.dtype, local_files_only=True)
            self._model = model.to(self.device)
        except (OSError, ValueError, RuntimeError, KeyError) as err:
            raise fail(
                "checkpoint-load",
                f"{folder} is no checkpoint that transformers can load: {str(err).splitlines()[0]}",
                hint="build one with `qgc blocks2weights`, or leave --checkpoint out",
            ) from err
        self._model.eval()

    @property
    def layers(self) -> int:
        """Decoder layers."""
        return int(self._model.config.num_hidden_layers)

    def new_session(self, room: int | None = None) -> Session:
        """An empty context; `room` is how many tokens it will hold at most, None when that is not known."""
        if room is None or not self.is_static:
            return Session()
        from transformers import StaticCache

        return Session(cache=StaticCache(config=self._model.config, max_cache_len=room))

    def extend(
        self,
        session: Session,
        prompt: Sequence[int],
        stop: Sequence[int],
        budget: int,
        progress: Progress = silent,
    ) -> list[int]:
        """Append a prompt, generate greedily, and return what was generated.

        Generation ends after a token of `stop` (which may be empty), or after `budget` tokens. `session` grows by both, so that a later
        call continues in the same recurrent state.
        """
        import torch

        session.ids += prompt
        ids = torch.tensor([session.ids], device=self.device)
        result = self._model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            cache=session.cache,
            do_sample=False,
            max_new_tokens=budget,
            eos_token_id=list(stop) or [_NEVER],
            pad_token_id=stop[0] if stop else 0,
            return_dict_in_generate=True,
            streamer=_Counter(budget, progress),
        )
        session.cache = result.cache
        generated: list[int] = result.sequences[0, len(session.ids) :].tolist()
        session.ids += generated
        return generated

    def parts(
        self,
        session: Session,
        prompt: Sequence[int],
        stop: Sequence[int],
        budget: int,
        progress: Progress = silent,
    ) -> Iterator[list[int]]:
        """What `extend` generates: one part."""
        yield self.extend(session, prompt, stop, budget, progress)

    def replay(self, ids: Sequence[int]) -> tuple[list[int], Any]:
        """Feed `ids` in one teacher-forced prefill: the greedy answer after each of them, and the cache after all."""
        import torch
        from transformers import DynamicCache

        cache = DynamicCache(config=self._model.config)
        with torch.no_grad():
            prompt = torch.tensor([ids], device=self.device)
            hidden = self._model.model(prompt, cache=cache).last_hidden_state[0]
            rows = [self._model.lm_head(part).argmax(-1) for part in hidden.split(LOGIT_ROWS)]
        answers: list[int] = torch.cat(rows).tolist()
        return answers, cache


class _Counter:
    """What `generate` calls a streamer: it is shown each token as it comes. Here it only counts."""

    def __init__(self, budget: int, progress: Progress) -> None:
        self._budget = budget
        self._progress = progress
        self._count = -1  # the first call brings the prompt

    def put(self, _ids: torch.Tensor) -> None:
        """Count one token."""
        self._count += 1
        self._progress("generate", self._count, self._budget)

    def end(self) -> None:
        """Nothing is left to show."""

"""The base of a merge: a Qwen3.5 checkpoint, text or multimodal, from a folder or the hub; tensors stay mapped files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import fail
from qgc.ir.layout.shape import SHAPES, ModelShape

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")
CHUNK = 4096
"""Vocabulary rows that are in memory at once."""
FILES = ("*.json", "*.safetensors", "*.txt", "*.jinja", "LICENSE*", "README*")
"""What is fetched of a hub repository."""


def locate(name: str) -> Path:
    """The folder of a base: `name` itself when it is a folder, else a repository of the hub, fetched or found in its cache.

    Raises:
        QgcError: `base-missing` when it is neither, `base-download` when the hub cannot give it; a download that was
            interrupted is resumed by the next call.
    """
    folder = Path(name)
    if folder.is_dir():
        return folder
    if folder.exists() or name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise fail(
            "base-missing", f"{name} is no folder", hint="give a checkpoint folder or a hub id OWNER/NAME"
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(FILES)))
    except (OSError, ValueError) as err:  # the hub's errors are OSErrors, those about names ValueErrors
        raise fail(
            "base-download",
            f"{name} cannot be fetched from the hub: {str(err).splitlines()[0]}",
            hint="what has arrived is kept: run the command again, or give a local folder",
        ) from err


class Base:
    """A checkpoint that a machine is put in front of.

    Attributes:
        name, folder: as the user calls it, and where it lies.
        config: its `config.json`; `text` is the part that describes the language model.
        prefix: of the language model's tensors: `model.` or `model.language_model.`.
        shape, rows: its widths, and rows of its vocabulary.
        dtype: of its embedding, and so of the checkpoint.
        norm: `[hidden]`, the factors 1 + w of its final norm.
    """

    def __init__(self, name: str, is_merged: bool = False) -> None:
        """Open a base, or a merged checkpoint as a whole.

        Raises:
            QgcError: `base-missing` or `base-download`; `base-checkpoint` when files are missing or cut off; `base-kind`
                when it is no Qwen3.5 model; `base-merged` when it holds a machine already; `base-dtype`.
        """
        self.name, self.folder = name, locate(name)
        self.config = _read_json(self.folder / "config.json")
        kind = self.config.get("model_type")
        if kind not in ("qwen3_5", "qwen3_5_text"):
            raise fail(
                "base-kind",
                f"{name} is a {kind!r} model",
                hint="bases are of the classes qwen3_5 and qwen3_5_text",
            )
        if not is_merged and (self.folder / "qgc.json").exists():
            raise fail(
                "base-merged", f"{name} holds a machine already", hint="give the model that it was made from"
            )
        self.text: dict[str, Any] = self.config["text_config"] if kind == "qwen3_5" else self.config
        self._files: dict[str, Any] = {}
        self.names = self._index()
        found = [n for n in self.names if n.endswith("embed_tokens.weight") and not n.startswith("mtp.")]
        if len(found) != 1:
            raise fail("base-checkpoint", f"{name} has {len(found)} tensors embed_tokens.weight, not one")
        self.prefix = found[0].removesuffix("embed_tokens.weight")
        embedding = self.embedding
        self.rows = int(embedding.shape[0])
        self.dtype = str(embedding.dtype).removeprefix("torch.")
        if self.dtype not in DTYPES:
            raise fail(
                "base-dtype", f"{name} is stored in {self.dtype}", hint=f"bases are in {', '.join(DTYPES)}"
            )
        self.shape = _shape(name, self.text, int(embedding.shape[1]))
        self.norm = 1 + self.tensor(f"{self.prefix}norm.weight").float()

    @property
    def layers(self) -> int:
        """Its own layers."""
        return int(self.text["num_hidden_layers"])

    @property
    def layer_types(self) -> list[str]:
        """The kind of each of its layers; by default every fourth is full attention."""
        every = int(self.text.get("full_attention_interval", 4))
        default = ["linear_attention" if (i + 1) % every else "full_attention" for i in range(self.layers)]
        return list(self.text.get("layer_types") or default)

    @property
    def eps(self) -> float:
        """Of its RMSNorms."""
        return float(self.text.get("rms_norm_eps", 1e-6))

    @property
    def embedding(self) -> torch.Tensor:
        """`[rows, hidden]`."""
        return self.tensor(f"{self.prefix}embed_tokens.weight")

    @property
    def head(self) -> torch.Tensor:
        """The output table, `[rows, hidden]`: the embedding when they are tied."""
        return self.tensor("lm_head.weight") if "lm_head.weight" in self.names else self.embedding

    def tensor(self, name: str) -> torch.Tensor:
        """One tensor, mapped.

        Raises:
            QgcError: `base-checkpoint`.
        """
        from safetensors import SafetensorError, safe_open

        try:
            file = self.names[name]
            if file not in self._files:
                self._files[file] = safe_open(self.folder / file, framework="pt")
            tensor: torch.Tensor = self._files[file].get_tensor(name)
        except (OSError, KeyError, RuntimeError, SafetensorError) as err:
            raise fail(
                "base-checkpoint",
                f"{self.name}: tensor {name} cannot be read: {err}",
                hint="a file is missing or cut off: fetch the base again",
            ) from err
        return tensor

    def files(self) -> dict[str, list[str]]:
        """The tensors of each file, in order."""
        out: dict[str, list[str]] = {}
        for name, file in self.names.items():
            out.setdefault(file, []).append(name)
        return dict(sorted(out.items()))

    def _index(self) -> dict[str, str]:
        from safetensors import SafetensorError, safe_open

        index = self.folder / "model.safetensors.index.json"
        if index.exists():
            return dict(_read_json(index)["weight_map"])
        try:
            self._files["model.safetensors"] = safe_open(self.folder / "model.safetensors", framework="pt")
        except (OSError, SafetensorError) as err:
            raise fail(
                "base-checkpoint", f"{self.name} has no model.safetensors that can be read: {err}"
            ) from err
        return dict.fromkeys(self._files["model.safetensors"].keys(), "model.safetensors")


def row_chunks(table: torch.Tensor, size: int = CHUNK) -> Iterator[tuple[int, torch.Tensor]]:
    """(first row, rows) of a table, part by part."""
    for first in range(0, len(table), size):
        yield first, table[first : first + size]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise fail("base-checkpoint", f"{path} cannot be read: {err}") from err
    if not isinstance(content, dict):
        raise fail("base-checkpoint", f"{path} holds no JSON object")
    return content


def _shape(name: str, text: dict[str, Any], hidden: int) -> ModelShape:
    try:
        shape = ModelShape(
            "base",
            hidden,
            int(text["intermediate_size"]),
            int(text.get("linear_num_key_heads", 16)),
            int(text.get("linear_num_value_heads", 32)),
            int(text.get("linear_key_head_dim", 128)),
            int(text["num_attention_heads"]),
            int(text["num_key_value_heads"]),
            int(text.get("head_dim", 256)),
        )
    except KeyError as err:
        raise fail("base-checkpoint", f"{name}: config.json has no {err}") from err
    if (
        int(text.get("linear_value_head_dim", 128)) != shape.head_dim
        or int(text.get("linear_conv_kernel_dim", 4)) != 4
    ):
        raise fail(
            "base-kind", f"{name}: value heads of 128 dimensions and a convolution over 4 tokens are expected"
        )
    for known in SHAPES.values():
        if replace(shape, name=known.name) == known:
            return known
    return shape

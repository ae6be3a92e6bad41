"""A merged checkpoint: compiled layers, the closing layer, then the base's layers as they are, and one vocabulary.

Layers 0 to C - 1 are the machine's, the closing layer included. The output table is a tensor of its own, also where the base
ties it to the embedding: text rows of the embedding may hold the guard, the machine's rows hold its constant, and neither
belongs in a logit.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc import __version__
from qgc.backends.merge.base import Base, row_chunks
from qgc.backends.merge.closing import closing_layer, deciding_units
from qgc.backends.merge.margin import Margin, leftovers, margin
from qgc.backends.merge.silence import Silence, choose, guarded
from qgc.backends.merge.stream import Part, whole, write
from qgc.backends.merge.tokenizer import extended
from qgc.backends.weights.checkpoint import linear_layer
from qgc.backends.weights.embedding import embedding
from qgc.backends.weights.memory import memory_banks
from qgc.backends.weights.plan import Plan, plan
from qgc.diagnostics import fail
from qgc.ir.layout.schedule import Schedule, lives
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.weights import LayerWeights, tensor_shapes
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.tokens import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

Progress = Callable[[str, int, int], None]

SPARE = 16
"""Coordinates beside the widest point that the layout keeps: clears need room to wait."""
GATED = ("mlp.gate_proj.weight", "linear_attn.in_proj_z.weight", "linear_attn.in_proj_b.weight")
"""The tensors whose rows say whether something happens at all."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge that is decided and checked, but not written."""

    base: Base
    dtype: str
    silence: Silence
    plan: Plan
    margin: Margin
    tokenizer: dict[str, Any]

    @property
    def layers(self) -> int:
        """Compiled layers, the closing layer included."""
        return self.plan.layout.schedule.layers + 1

    @property
    def vocabulary(self) -> Vocabulary:
        """The machine's tokens."""
        return Vocabulary(self.plan.machine)

    @property
    def rows(self) -> int:
        """Of the merged vocabulary: a multiple of 64."""
        return -(-(self.base.rows + self.vocabulary.size) // 64) * 64

    @property
    def width(self) -> int:
        """Bytes of a stored number."""
        return 4 if self.dtype == "float32" else 2

    @property
    def compiled_bytes(self) -> int:
        """On disk, of the compiled layers: their matrices, which are dense whatever they hold."""
        sizes = tensor_shapes(self.base.shape).values()
        return self.width * self.layers * sum(rows * columns for rows, columns in sizes)

    @property
    def bytes(self) -> int:
        """On disk, of all tensors but the small ones."""
        base, tables = self.base, (f"{self.base.prefix}embed_tokens.weight", "lm_head.weight")
        own = sum(base.tensor(name).numel() for name in base.names if name not in tables)
        return self.width * (own + 2 * self.rows * base.shape.hidden) + self.compiled_bytes

    @property
    def code(self) -> list[int]:
        """Coordinates of the token code."""
        return list(self.plan.layout.code.values())


def target_dtype(base: Base, dtype: str) -> str:
    """The dtype to store in; `auto` is the base's, and float32 for a float16 base.

    Raises:
        QgcError: `merge-dtype` for float16, which the machine's numbers do not fit.
    """
    if dtype == "auto":
        return "float32" if base.dtype == "float16" else base.dtype
    if dtype == "float16":
        raise fail(
            "merge-dtype",
            "float16 has no number above 65504; the machine's constant is 2**30 and its gates are larger",
            hint="store it as float32, which holds every float16 weight exactly, or as bfloat16",
        )
    return dtype


def prepare(
    base: Base, machine: MachineConfig, dtype: str = "auto", progress: Progress = lambda *_: None
) -> Merge:
    """Decide everything: dtype, silence, layout, margin, tokenizer.

    Raises:
        QgcError: what does not fit or cannot be guaranteed, with the reason.
    """
    dtype = target_dtype(base, dtype)
    progress("tokenizer", 0, 1)
    tokenizer = extended(base.folder, base.rows, Vocabulary(machine))
    found: list[Silence] = []

    def reserve(schedule: Schedule) -> tuple[int, ...]:
        progress("silence", 0, 1)
        found.append(choose(base, dtype, _room(schedule)))
        return found[0].coordinates

    progress("plan", 0, 1)
    made = plan(machine, base.shape, reserve=reserve)
    code = list(made.layout.code.values())
    units = deciding_units(code) + (base.shape.hidden if found[0].kind == "guard" else 0)
    if units > base.shape.intermediate:
        raise fail(
            "merge-units", f"the closing layer needs {units} units; the base has {base.shape.intermediate}"
        )
    progress("margin", 0, 1)
    return Merge(base, dtype, found[0], made, margin(base, code, leftovers(made.layout), dtype), tokenizer)


def _room(schedule: Schedule) -> int:
    """Coordinates that no wire needs at the widest point."""
    spans = lives(schedule)
    widest = max(
        sum(1 for born, died in spans if born <= t <= died) for t in range(-1, 2 * schedule.layers + 1)
    )
    room = schedule.shape.hidden - schedule.shape.constants - len(schedule.netlist.outputs) - widest - SPARE
    return max(1, room)


def build(merge: Merge, out: Path, progress: Progress = lambda *_: None) -> None:
    """Write the checkpoint into a folder that does not exist yet."""
    out.mkdir(parents=True)
    total = merge.layers + 2 + len(merge.base.files())
    index: dict[str, str] = {}
    size = 0
    for number, parts in enumerate(_files(merge), 1):
        progress("write", number, total)
        name = f"model-{number:05d}-of-{total:05d}.safetensors"
        size += write(out / name, parts)
        index |= dict.fromkeys((part.name for part in parts), name)
    for path in sorted(merge.base.folder.iterdir()):
        if path.is_file() and not path.name.endswith((".safetensors", ".index.json", ".bin", ".npz")):
            shutil.copyfile(path, out / path.name)
    _json(out / "model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": index})
    _json(out / "config.json", _config(merge))
    _json(out / "tokenizer.json", merge.tokenizer)
    _json(out / "qgc.json", _manifest(merge))


def _json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _manifest(merge: Merge) -> dict[str, Any]:
    p = merge.plan
    return {
        "qgc": __version__,
        "machine": asdict(p.machine),
        "shape": asdict(p.layout.shape),
        "dtype": merge.dtype,
        "layers": merge.layers,
        "first_token": merge.base.rows,
        "memory": [asdict(bank) for bank in memory_banks(p.machine, p.netlist, p.layout)],
        "baked": None,
        "base": {
            "name": merge.base.name,
            "layers": merge.layers,
            "vocab": merge.base.rows,
            **merge.silence.facts(),
            "margin": merge.margin.facts(),
        },
    }


def _config(merge: Merge) -> dict[str, Any]:
    base = merge.base
    changed = {
        "num_hidden_layers": base.layers + merge.layers,
        "layer_types": ["linear_attention"] * merge.layers + base.layer_types,
        "vocab_size": merge.rows,
        "tie_word_embeddings": False,
    }
    text = {k: v for k, v in base.text.items() if k != "full_attention_interval"} | changed
    is_text = base.text is base.config
    config = text if is_text else base.config | {"text_config": text, "tie_word_embeddings": False}
    for part in (config, text):
        for key in ("dtype", "torch_dtype"):
            if key in part:
                part[key] = merge.dtype
    return config | {"dtype": merge.dtype}


def _files(merge: Merge) -> Iterator[list[Part]]:
    """The tensors of each file: tables, compiled layers, the base's files."""
    base = merge.base
    ports = merge.plan.layout
    table = embedding(merge.vocabulary, ports)[: merge.vocabulary.size]
    shape = (merge.rows, base.shape.hidden)
    yield [Part(f"{base.prefix}embed_tokens.weight", merge.dtype, shape, lambda: _embedding(merge, table))]
    yield [Part("lm_head.weight", merge.dtype, shape, lambda: _head(merge, table))]
    closing = closing_layer(base.shape, merge.code, merge.silence)
    for number, layer in enumerate(chain(merge.plan.layers(), [closing])):
        deciding = deciding_units(merge.code) if layer is closing else None
        tensors = silent_layer(base.shape, merge.silence, layer, deciding)
        yield [whole(f"{base.prefix}layers.{number}.{k}", t, merge.dtype) for k, t in tensors.items()]
    for names in base.files().values():
        kept = [n for n in names if n not in (f"{base.prefix}embed_tokens.weight", "lm_head.weight")]
        yield [_kept(merge, name) for name in kept]


def _embedding(merge: Merge, table: Any) -> Iterator[torch.Tensor]:
    import torch

    for _, rows in row_chunks(merge.base.embedding):
        yield guarded(rows, merge.silence, merge.base.eps, merge.dtype)
    yield torch.from_numpy(table)
    yield torch.zeros(merge.rows - merge.base.rows - len(table), table.shape[1])


def _head(merge: Merge, table: Any) -> Iterator[torch.Tensor]:
    import torch

    yield from (rows for _, rows in row_chunks(merge.base.head))
    yield output_rows(table, merge.code, merge.base.norm, merge.margin.scale)
    yield torch.zeros(merge.rows - merge.base.rows - len(table), table.shape[1])


def silent_layer(
    shape: ModelShape, silence: Silence, layer: LayerWeights, deciding: int | None = None
) -> dict[str, torch.Tensor]:
    """All tensors of a compiled layer, with -W times the functional in every row that opens something.

    Args:
        shape, silence: of the base.
        layer: what is not 0.
        deciding: how many units are shut on text; None: all. Those after them take the guard away.

    Raises:
        QgcError: `merge-silence`.
    """
    import torch

    tensors = linear_layer(shape, layer)
    places = list(silence.coordinates)
    for name in GATED:
        rows = tensors[name]
        used = rows.any(dim=1).nonzero().flatten()
        if deciding is not None:
            used = used[used < deciding]
        if name in tensor_shapes(shape) and len(used):
            weight = silence.strength(float(rows[used].norm(dim=1).max()), shape.hidden)
            rows[used[:, None], torch.tensor(places)] = -weight * torch.tensor(silence.weights)
    return tensors


def output_rows(
    table: NDArray[np.float32], code: list[int], norm: torch.Tensor, scale: float
) -> torch.Tensor:
    """The machine's rows of the output table, `[tokens, hidden]`: their codes, with the signs of the last norm's factors."""
    import torch

    own = torch.zeros(table.shape)
    own[:, code] = torch.from_numpy(table[:, code]) * norm[code].sign() * scale
    return own


def _kept(merge: Merge, name: str) -> Part:
    """A tensor of the base: its layers are numbered on, everything else keeps its name; bytes change with the dtype alone."""
    base = merge.base
    tensor = base.tensor(name)
    start = f"{base.prefix}layers."
    new = name
    if name.startswith(start):
        number, _, rest = name.removeprefix(start).partition(".")
        new = f"{start}{int(number) + merge.layers}.{rest}"
    if not tensor.is_floating_point():
        raise fail(
            "base-dtype",
            f"{base.name}: tensor {name} is {tensor.dtype}",
            hint="quantized bases are not supported",
        )
    own = str(tensor.dtype).removeprefix("torch.")
    if merge.silence.kind == "guard" and name.endswith("visual.merger.linear_fc2.bias"):
        tensor = tensor.float().clone()
        tensor[merge.silence.coordinates[0]] += merge.silence.constant
    return whole(new, tensor, own if merge.dtype == base.dtype else merge.dtype)

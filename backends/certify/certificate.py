"""The certificate of a checkpoint folder: its weights are the layout's, and no rounding changes what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from qgc.backends.certify.compare import Fault, differences
from qgc.backends.certify.logits import LogitMargin, logit_margin
from qgc.backends.certify.noise import Analysis, LayerProof
from qgc.backends.certify.places import Places
from qgc.backends.certify.reads import faults as read_faults
from qgc.backends.weights.checkpoint import configuration, idle_attention_layer, linear_layer
from qgc.backends.weights.embedding import embedding
from qgc.backends.weights.memory import memory_banks
from qgc.backends.weights.plan import Plan
from qgc.ir.machine.tokens import Vocabulary

if TYPE_CHECKING:
    import torch

    from qgc.backends.certify.merged import MergedPart

READING = ("gate_proj.weight", "up_proj.weight", "in_proj_qkv.weight", "in_proj_z.weight", "in_proj_b.weight")
"""The matrices that are given the normalised residual."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Stored:
    """What a folder holds: its `config.json`, its `qgc.json`, the names of its tensors, and a reader of one tensor.

    `close` lets go of the files that were read; it is called after each layer, so that memory stays at one of them.
    """

    config: Mapping[str, Any]
    manifest: Mapping[str, Any]
    names: frozenset[str]
    tensor: Callable[[str], torch.Tensor]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Proof:
    """What is proved for arithmetic in one dtype."""

    dtype: str
    layers: list[LayerProof]
    logits: LogitMargin
    faults: list[Fault]

    @property
    def passes(self) -> bool:
        """Whether nothing is wrong."""
        return not self.all_faults

    @property
    def all_faults(self) -> list[Fault]:
        """Those of the layers first."""
        return [fault for layer in self.layers for fault in layer.faults] + self.faults


@dataclass(frozen=True, slots=True)
class Certificate:
    """Both halves: `differences` between what is stored and what must be, and a proof for each dtype."""

    machine: str
    shape: str
    tensors: int
    differences: list[Fault]
    proofs: list[Proof]

    @property
    def passes(self) -> bool:
        """Whether the checkpoint is certified."""
        return not self.differences and all(proof.passes for proof in self.proofs)

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        return {"passes": self.passes, **asdict(self)}


def certify(
    stored: Stored, plan: Plan, dtypes: tuple[str, ...], progress: Progress, merged: MergedPart | None = None
) -> Certificate:
    """Certify a checkpoint of a machine's plan, stand-alone or `merged`; every tensor is read once, a layer at a time.

    Raises:
        QgcError: when a tensor cannot be read.
    """
    layout, vocabulary = plan.layout, Vocabulary(plan.machine)
    count = layout.schedule.layers
    analyses = [Analysis(layout, dtype) for dtype in dtypes]
    proved: list[list[LayerProof]] = [[] for _ in dtypes]
    found = [*merged.ends(plan)] if merged else [*_outside(stored, plan), *_ends(stored, plan)]
    places, seen = Places(layout), len(_table_names())
    for number, weights in enumerate(plan.layers()):
        progress("certify", number, count)
        prefix = f"{merged.prefix if merged else 'model.'}layers.{number}."
        expected = merged.layer(layout.shape, weights) if merged else linear_layer(layout.shape, weights)
        read = {name: stored.tensor(prefix + name) for name in expected}
        found += differences(number, read.__getitem__, expected, _named(places, number))
        seen += len(expected)
        if all(read[name].shape == expected[name].shape for name in expected):
            tensor = _without(read, merged.coordinates if merged else ())
            for analysis, proofs in zip(analyses, proved, strict=True):
                proofs.append(analysis.layer(number, tensor))
        del read, expected
        stored.close()
    progress("logits", 0, 1)
    proofs_of = []
    for dtype, layers in zip(dtypes, proved, strict=True):
        if merged:
            margin, faults = merged.logits(plan, dtype)
        else:
            table = stored.tensor("model.embed_tokens.weight")
            margin, faults = logit_margin(layout, table, vocabulary.size, dtype)
        reads = [Fault(-1, "memory reads", what) for what in read_faults(dtype)]
        proofs_of.append(Proof(dtype, layers, margin, [*reads, *faults]))
    seen += len(linear_layer(layout.shape, {}) if merged else idle_attention_layer(layout.shape))
    return Certificate(plan.machine.name, layout.shape.name, seen, found, proofs_of)


def _without(
    tensors: Mapping[str, torch.Tensor], coordinates: tuple[int, ...]
) -> Callable[[str], torch.Tensor]:
    """Tensors as machine tokens see them: what reads coordinates that are exactly 0 on them does nothing."""

    def tensor(name: str) -> torch.Tensor:
        found = tensors[name]
        if coordinates and name.endswith(READING):
            found = found.clone()
            found[:, list(coordinates)] = 0
        return found

    return tensor


def _named(places: Places, layer: int) -> Callable[[str, int, int], str]:
    return lambda tensor, row, column: places.entry(layer, tensor, row, column)


def _table_names() -> tuple[str, str]:
    return "embed_tokens.weight", "norm.weight"


def _ends(stored: Stored, plan: Plan) -> Iterator[Fault]:
    """The embedding, the last norm, and the idle layer."""
    import torch

    layout, vocabulary = plan.layout, Vocabulary(plan.machine)
    places = Places(layout)
    tables = {
        "embed_tokens.weight": torch.from_numpy(embedding(vocabulary, layout)),
        "norm.weight": torch.zeros(layout.shape.hidden),
    }

    def name(_tensor: str, row: int, column: int) -> str:
        token = vocabulary.name(vocabulary.token(row)) if row < vocabulary.size else f"free row {row}"
        return f"token {token}, {places.coordinate(-1, column)}"

    yield from differences(-1, lambda key: stored.tensor(f"model.{key}"), tables, name)
    last = layout.schedule.layers
    idle = idle_attention_layer(layout.shape)
    prefix = f"model.layers.{last}."
    yield from differences(last, lambda key: stored.tensor(prefix + key), idle, lambda *_: "the idle layer")


def _outside(stored: Stored, plan: Plan) -> Iterator[Fault]:
    """What is not in tensors: the configuration, the manifest, and which tensors there are."""
    layout = plan.layout
    dtype = str(stored.manifest.get("dtype"))
    for key, wanted in configuration(plan, Vocabulary(plan.machine), dtype).items():
        if (is_ := stored.config.get(key)) != wanted:
            yield Fault(-1, f"config.json {key}", f"is {is_!r}, must be {wanted!r}")
    memory = [asdict(bank) for bank in memory_banks(plan.machine, plan.netlist, layout)]
    for key, fact in (("layers", layout.schedule.layers), ("first_token", 0), ("memory", memory)):
        if stored.manifest.get(key) != fact:
            yield Fault(-1, f"qgc.json {key}", f"is {stored.manifest.get(key)!r}, must be {fact!r}")
    layers = layout.schedule.layers
    names = {f"model.{name}" for name in _table_names()}
    names |= {f"model.layers.{layers}.{name}" for name in idle_attention_layer(layout.shape)}
    per_layer = linear_layer(layout.shape, {})
    names |= {f"model.layers.{n}.{name}" for n in range(layers) for name in per_layer}
    for extra in sorted(stored.names - names):
        yield Fault(-1, extra, "no tensor of this name belongs to the model")
    for missing in sorted(names - stored.names):
        yield Fault(-1, missing, "the tensor is missing")

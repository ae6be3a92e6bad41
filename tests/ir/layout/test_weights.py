"""Weights: every invariant has an input that breaks it; the forward pass is transformers' own, on its own numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from qgc.backends.weights.allocate import allocate
from qgc.backends.weights.checkpoint import linear_layer
from qgc.backends.weights.lower import lower
from qgc.backends.weights.scheduler import schedule
from qgc.diagnostics import QgcError, VerifyError
from qgc.ir.layout import weights_verify as module
from qgc.ir.layout.weights import CONSTANT, STATE_LEVEL, Entries, Weights, norm_factor, tensor_shapes
from qgc.ir.layout.weights_evaluate import Evaluator
from qgc.ir.layout.weights_text import parse, to_text
from qgc.ir.layout.weights_verify import load, verify
from qgc.ir.netlist.netlist import HEAD_BITS
from tests.helpers.circuits import NARROW, SHARED, memory_cell

SHAPE = "shape s hidden=8 intermediate=4 heads=1 value_heads=1 head_dim=128 attention_heads=1 kv_heads=1 attention_dim=16"
TEXT = f"""\
weights
{SHAPE}
constants 0 1
field x 3
code next 2
layer 0
tensor mlp.gate_proj.weight
row 0: 0=-16 3=33554432
row 3: 0=16
tensor mlp.up_proj.weight
row 0: 0=0.5
layer 1
"""

WRONG = {
    "weights-coordinate": ("field x 3", "field x 8", 4),
    "weights-tensor": ("tensor mlp.up_proj.weight", "tensor mlp.up", 10),
    "weights-place": ("row 3: 0=16", "row 4: 0=16", 9),
    "weights-number": ("0=0.5", "0=0.1", 11),
}

MORE = [
    ("weights-coordinate", "code next 2", "code next 1"),
    ("weights-coordinate", "constants 0 1", "constants 0"),
    ("weights-coordinate", "field x 3\n", ""),
    ("weights-coordinate", "code next 2\n", ""),
    ("weights-place", "row 3: 0=16", "row 3: 8=16"),
    ("weights-number", "0=0.5", "0=257"),
    ("weights-number", "0=0.5", "0=1e300"),
]


def test_the_text_is_right() -> None:
    weights = load(TEXT)
    assert to_text(weights) == TEXT
    assert len(weights.layers) == 2


@pytest.mark.parametrize("code", WRONG)
def test_a_fault_in_a_text(code: str) -> None:
    old, new, line = WRONG[code]
    with pytest.raises(VerifyError) as caught:
        load(TEXT.replace(old, new), "k")
    fault = caught.value.diagnostics[0]
    assert (fault.code, fault.span and fault.span.line) == (code, line)


@pytest.mark.parametrize(("code", "old", "new"), MORE)
def test_more_faults(code: str, old: str, new: str) -> None:
    with pytest.raises(VerifyError) as caught:
        load(TEXT.replace(old, new))
    assert code in {d.code for d in caught.value.diagnostics}


def test_faults_in_memory() -> None:
    weights = load(TEXT)
    with pytest.raises(VerifyError, match="there is no layer"):
        verify(replace(weights, layers=()))
    for value in (float("nan"), float("inf")):
        broken = replace(weights, layers=({"mlp.up_proj.weight": Entries([0], [0], [value])},))
        with pytest.raises(VerifyError, match="weights-number"):
            verify(broken)


def test_every_code_has_a_failing_test() -> None:
    assert set(re.findall(r"^    (weights-[a-z]+)", module.__doc__ or "", re.MULTILINE)) == set(WRONG)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "1:1", "no line `weights`"),
        ("weights\n", "1:1", "no line `shape"),
        ("weights\nweights\n", "2:1", "twice"),
        ("weights\nlayer 1\n", "2:7", "out of order"),
        ("weights\ntensor t\n", "2:8", "before the first layer"),
        ("weights\nlayer 0\ntensor t\ntensor t\n", "4:8", "twice"),
        ("weights\nlayer 0\nrow 0: 0=1\n", "3:1", "below a tensor"),
        ("weights\nlayer 0\ntensor t\nrow 0\n", "4:1", "row NUMBER"),
        ("weights\nlayer 0\ntensor t\nrow 0: 0\n", "4:5", "not COLUMN=VALUE"),
        ("weights\nlayer 0\ntensor t\nrow 0: 0=x\n", "4:10", "not a number"),
        ("weights\nlayer 0\ntensor t\nrow 1: 0=1\nrow 0: 0=1\n", "5:5", "out of order"),
        ("weights\nfield x\n", "2:1", "field NAME COORDINATE"),
        ("weights\nfield x 1\nfield x 2\n", "3:7", "there already"),
    ],
)
def test_what_is_not_understood(text: str, place: str, words: str) -> None:
    with pytest.raises(QgcError) as caught:
        parse(text, "k")
    fault = caught.value.diagnostics[0]
    assert (fault.code, str(fault.span)) == ("weights-syntax", f"k:{place}")
    assert words in fault.message


def test_equal_places_add_up() -> None:
    entries = Entries([1, 0, 1, 1], [2, 0, 2, 1], [1.0, 2.0, 0.5, -1.0])
    place, value = entries.merged(4)
    assert (place.tolist(), value.tolist()) == ([0, 5, 6], [2.0, -1.0, 1.5])


# The forward pass --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [NARROW, SHARED], ids=lambda shape: shape.name)
def test_the_forward_pass_is_that_of_transformers(shape: object) -> None:
    """Random dense weights through both: RMSNorm, the gated delta rule, gated RMSNorm, SwiGLU."""
    import torch
    from transformers import DynamicCache, Qwen3_5ForCausalLM, Qwen3_5TextConfig

    assert isinstance(shape, type(NARROW))
    rng = np.random.default_rng(5)
    layers = 2
    config = Qwen3_5TextConfig(
        vocab_size=8,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=layers + 1,
        layer_types=["linear_attention"] * layers + ["full_attention"],
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=16,
        linear_num_key_heads=shape.heads,
        linear_num_value_heads=shape.value_heads,
        linear_key_head_dim=128,
        linear_value_head_dim=128,
    )
    model = Qwen3_5ForCausalLM(config).double().eval()
    made = []
    state = model.state_dict()
    for tensor in state.values():
        tensor.zero_()
    for number in range(layers):
        weights = {}
        for name, size in tensor_shapes(shape).items():
            dense = rng.normal(size=size) * (0 if "in_proj_a" in name else 0.4)
            place = np.argwhere(dense)
            weights[name] = Entries(place[:, 0].tolist(), place[:, 1].tolist(), dense[dense != 0].tolist())
        made.append(weights)
        for name, tensor in linear_layer(shape, weights).items():
            state[f"model.layers.{number}.{name}"].copy_(tensor)
    rows = torch.from_numpy(rng.normal(size=(5, shape.hidden)))
    ours = Evaluator(Weights(shape, tuple(range(shape.constants)), {}, {}, tuple(made)))
    with torch.no_grad():
        theirs = model.model(inputs_embeds=rows[None], cache=DynamicCache(config=config)).last_hidden_state[0]
    for row, want in zip(rows.numpy(), theirs.numpy(), strict=True):
        np.testing.assert_allclose(ours.forward(row), want, rtol=2e-5, atol=2e-5)


# Exactness ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [12, 1024, 2048, 2560])
def test_the_norm_factor_is_the_same_for_every_token(hidden: int) -> None:
    """In float32 and in bfloat16, whatever the wires hold."""
    import torch
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5RMSNorm

    shape = replace(NARROW, hidden=hidden)
    norm = Qwen3_5RMSNorm(hidden)
    for level in (0.0, 1.0, 255.0):
        for dtype in (torch.float32, torch.bfloat16):
            row = torch.full((hidden,), level, dtype=dtype)
            row[: shape.constants] = CONSTANT
            with torch.no_grad():
                out = norm(row)
            assert set((out[shape.constants :] / norm_factor(shape)).tolist()) == {level}
            assert set((out[: shape.constants] / norm_factor(shape)).tolist()) == {CONSTANT}


def test_a_row_is_read_back_exactly() -> None:
    """Any bits in both polarities, padded to 32 ones: query scale and gated norm give exactly 2, 0 for a row never
    written, in float32 and bfloat16."""
    import torch
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5RMSNormGated

    norm = Qwen3_5RMSNormGated(128)
    rng = np.random.default_rng(1)
    rows = []
    for width in range(1, HEAD_BITS + 1):
        bits = rng.integers(0, 2, width)
        row = np.zeros(128, dtype=np.float32)
        row[[2 * i + 1 - bit for i, bit in enumerate(bits)]] = 1
        row[2 * width : HEAD_BITS + width] = 1
        assert row.sum() == HEAD_BITS
        rows.append(row)
    on = torch.from_numpy(np.array(rows))
    for dtype in (torch.float32, torch.bfloat16):
        read = (on * STATE_LEVEL * 128**-0.5).to(dtype)
        gate = torch.full_like(read, 32)
        assert torch.equal(norm(read, gate).float(), on * 64)
        assert not norm(torch.zeros_like(read), gate).any()


def test_states_hold_bits_at_one_level() -> None:
    layout = allocate(schedule(memory_cell(), NARROW))
    evaluator = Evaluator(lower(layout))
    evaluator.step({"write": 1, "data[1]": 1, "row[0]": 1})
    written = evaluator.state[0][0][1]
    assert written[[0, 1, 2, 3]].tolist() == pytest.approx([0, STATE_LEVEL, STATE_LEVEL, 0], rel=1e-9)
    assert np.abs(evaluator.state[0][0][[0, 2, 3]]).max() < 1e-6

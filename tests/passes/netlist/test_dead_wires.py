"""Dropping dead wires keeps what the outputs compute, and drops everything else."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given

from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.netlist import Builder, Key, Netlist
from qgc.ir.netlist.text import to_text
from qgc.ir.netlist.verify import verify
from qgc.passes.netlist.dead_wires import DeadWires
from tests.helpers.circuits import circuits, tokens


@given(circuits(), tokens())
def test_outputs_keep_their_values(netlist: Netlist, inputs: list[dict[str, int]]) -> None:
    """With all outputs but one given up, that one stays as it was."""
    name, signal = next(iter(netlist.outputs.items()))
    pruned = deepcopy(netlist)
    pruned.outputs = {name: signal}
    before = to_text(pruned)
    changed = DeadWires().run(pruned)
    assert changed == (to_text(pruned) != before)
    verify(pruned, is_pruned=True)
    assert DeadWires().run(pruned) is False
    old, new = Evaluator(netlist), Evaluator(pruned)
    for token in inputs:
        assert new.step(token) == {name: old.step(token)[name]}


def test_fields_of_the_token_stay() -> None:
    b = Builder()
    used, unused, out = b.token("used"), b.token("unused"), b.wire("out")
    dead = b.memory("dead", [unused], used, Key((used,)), Key((used,)), rows=2)
    b.add(b.wire("sum"), dead[0])
    b.add(out, used)
    b.output("out", out)
    assert DeadWires().run(b.netlist) is True
    assert [info.name for info in b.netlist.wires] == ["used", "unused", "out"]
    assert (len(b.netlist.units), b.netlist.heads) == (1, [])

"""Control-flow facts: orders, dominators, loops, and the forward graph."""

from __future__ import annotations

import networkx as nx
from hypothesis import given

from qgc.ir.ssa.cfg import Cfg, post_dominators, reachable
from qgc.ir.ssa.edges import phi_copies, split_edge
from qgc.ir.ssa.function import Block, Function
from qgc.ir.ssa.text import parse
from tests.helpers.ssa_programs import function_of, programs


def graph(text: str) -> tuple[Function, dict[str, Block]]:
    """A function from lines `name: successor successor`; a block with two successors branches on a parameter."""
    rows = [line.split(":") for line in text.strip().splitlines()]
    body = ['kernel g from "g.ptx" {', 'param 0: u32 "p"']
    for i, (name, successors) in enumerate(rows):
        names = successors.split()
        ends = {0: "ret", 1: "br " + ", ".join(names), 2: "cbr %c, " + ", ".join(names)}
        condition = ["%p: i32 = param 0", "%c: i1 = icmp.ne %p, 0"] if i == 0 else []
        body += [f"{name.strip()}:", *condition, ends[len(names)]]
    (function,) = parse("\n".join([*body, "}"]), "g.ir").functions
    return function, {block.name: block for block in function.blocks}


NEST = """
entry: outer
outer: inner done
inner: left right
left: latch
right: inner latch
latch: outer
done:
"""


def names(blocks: list[Block]) -> str:
    return " ".join(block.name for block in blocks)


def test_order_dominators_and_loops_of_a_nest() -> None:
    function, b = graph(NEST)
    cfg = Cfg(function)
    assert names(cfg.order) == "entry outer inner left right latch done"
    assert cfg.idom == {
        b["outer"]: b["entry"],
        b["inner"]: b["outer"],
        b["left"]: b["inner"],
        b["right"]: b["inner"],
        b["latch"]: b["inner"],
        b["done"]: b["outer"],
    }
    outer, inner = cfg.loops
    assert (outer.header, inner.header) == (b["outer"], b["inner"])
    assert inner.parent is outer
    assert outer.parent is None
    assert names(outer.blocks) == "outer inner left right latch"
    assert names(inner.blocks) == "inner right"
    assert [(s.name, t.name) for s, t in inner.exits] == [("inner", "left"), ("right", "latch")]
    assert cfg.loop_of[b["right"]] is inner
    assert cfg.loop_of[b["left"]] is outer
    assert cfg.dominates(b["inner"], b["latch"])
    assert not cfg.dominates(b["left"], b["latch"])
    assert names(cfg.frontiers[b["left"]]) == "latch"


def test_the_forward_graph_leaves_loops_where_they_exit() -> None:
    function, b = graph(NEST)
    cfg = Cfg(function)
    assert names(cfg.forward[b["right"]]) == "latch left"
    assert names(cfg.forward[b["latch"]]) == "done"
    assert cfg.reconvergence[b["inner"]] is b["latch"]
    assert cfg.reconvergence[b["outer"]] is b["done"]
    assert cfg.reconvergence[b["done"]] is None


def test_lanes_that_end_in_different_blocks_meet_nowhere() -> None:
    function, b = graph("entry: left right\nleft:\nright:\n")
    assert Cfg(function).reconvergence[b["entry"]] is None


def test_a_loop_without_exit_is_a_sink() -> None:
    function, b = graph("entry: loop done\nloop: loop\ndone:\n")
    cfg = Cfg(function)
    assert cfg.forward[b["loop"]] == []
    assert cfg.reconvergence[b["loop"]] is None


def test_a_loop_entered_beside_its_header_is_found() -> None:
    function, _ = graph("entry: a b\na: b\nb: a end\nend:\n")
    assert [(s.name, t.name) for s, t in Cfg(function).irreducible_edges] == [("a", "b")]
    function, _ = graph(NEST)
    assert Cfg(function).irreducible_edges == []


def test_reachable_stops() -> None:
    function, b = graph(NEST)
    found = reachable(Cfg(function).forward, [b["left"], b["right"]], b["latch"])
    assert names(found) == "left right"


def test_an_edge_gets_a_block_and_its_copies() -> None:
    text = """kernel k from "k.ptx" {
entry:
  cbr 1:i1, side, end
side:
  br end
end:
  %a: i32 = phi entry: 1, side: 2
  %b: i32 = phi entry: %c, side: 4
  ret
}
"""
    (function,) = parse(text.replace("%c", "3"), "k.ir").functions
    entry, side, end = function.blocks
    middle = split_edge(function, entry, end, "middle")
    assert names(function.blocks) == "entry middle side end"
    assert entry.successors == [side, middle]
    copies = phi_copies(middle, end)
    assert [(r.name, getattr(s, "value", None)) for r, s in copies] == [("a", 1), ("b", 3)]
    assert [getattr(s, "value", None) for _, s in phi_copies(side, end)] == [2, 4]


@given(programs())
def test_the_forward_graph_of_a_structured_program_is_acyclic_and_goes_down(program: str) -> None:
    cfg = Cfg(function_of(program))
    edges = nx.DiGraph((s, t) for s, targets in cfg.forward.items() for t in targets)
    assert nx.is_directed_acyclic_graph(edges)
    for block, end in post_dominators(cfg.forward).items():
        if end is not None:
            assert end in nx.descendants(edges, block)

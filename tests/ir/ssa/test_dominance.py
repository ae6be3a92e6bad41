"""Dominators and their frontiers, against networkx on any graph and by hand where the entry is in a loop."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from qgc.ir.ssa.dominance import dominance_frontiers, immediate_dominators

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


def parts(edges: list[tuple[int, int]]) -> tuple[nx.DiGraph, list[int], dict[int, list[int]]]:
    """The part of a graph that node 0 reaches, its nodes in reverse postorder, and their predecessors."""
    whole = nx.DiGraph(edges)
    whole.add_node(0)
    order = list(nx.dfs_postorder_nodes(whole, 0))[::-1]
    reached = whole.subgraph(order)
    return reached, order, {node: sorted(reached.predecessors(node)) for node in order}


@given(EDGES)
def test_dominators_are_those_of_networkx(edges: list[tuple[int, int]]) -> None:
    graph, order, predecessors = parts(edges)
    expected = {n: d for n, d in nx.immediate_dominators(graph, 0).items() if n != 0}
    assert immediate_dominators(order, predecessors) == expected


@given(EDGES)
def test_frontiers_are_what_they_say(edges: list[tuple[int, int]]) -> None:
    """By the definition, with domination found by taking the node away."""
    graph, order, predecessors = parts(edges)

    def dominates(a: int, b: int) -> bool:
        rest = graph.subgraph(n for n in order if n != a)
        return a == b or a == 0 or not nx.has_path(rest, 0, b)

    frontiers = dominance_frontiers(order, predecessors, immediate_dominators(order, predecessors))
    for a in order:
        by_definition = [
            b
            for b in order
            if any(dominates(a, p) for p in predecessors[b]) and (a == b or not dominates(a, b))
        ]
        assert frontiers[a] == by_definition


def test_an_entry_in_a_loop_is_in_its_own_frontier() -> None:
    predecessors = {0: [1], 1: [0]}
    idom = immediate_dominators([0, 1], predecessors)
    assert idom == {1: 0}
    assert dominance_frontiers([0, 1], predecessors, idom) == {0: [0], 1: [0]}


def test_a_single_node() -> None:
    assert immediate_dominators(["only"], {"only": []}) == {}
    assert dominance_frontiers(["only"], {"only": []}, {}) == {"only": []}

"""Formation of machine blocks: each unit is cut into blocks of chained operations at the least expected cost in tokens.

A block costs its EXEC token, and the tokens of every result that a later block of the unit reads. (Results that leave
the unit are written whatever the cut.) The search goes from cut to cut: a state is the set of nodes already placed,
a step adds one block, and the best `BEAM` states of equal block count are kept. Sets of nodes are bit masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from qgc.backends.simt.coalesce import Classes
from qgc.backends.simt.code import COPY, Code, Node, Reg, Unit
from qgc.backends.simt.depend import Graph, dependence_graph, is_store
from qgc.backends.simt.live import liveness
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.isa import OPS
from qgc.ir.machine.isa import Unit as Circuit

BEAM = 12
"""States that the search keeps at each block count."""

WINDOW = 12
"""Unplaced nodes, in order, that a block may choose from."""


@dataclass(eq=False, slots=True)
class Draft:
    """One machine block before register allocation.

    `stages` maps nodes to stages; a copy of a value of the same block has the stage that computes the value. `writes`
    are the registers that the block leaves behind. `is_last` marks the block that ends its unit with its branch.
    """

    unit: Unit
    stages: dict[Node, int] = field(default_factory=dict)
    writes: list[Reg] = field(default_factory=list)
    is_serial: bool = False
    is_last: bool = False


def form(code: Code, classes: Classes, config: MachineConfig) -> list[Draft]:
    """Cut all units, in order."""
    live = liveness(code)
    number = {unit: i for i, unit in enumerate(code.units)}
    drafts: list[Draft] = []
    for unit in code.units:
        graph = dependence_graph(unit, classes)
        if graph is None:
            raise ValueError(f"unit {unit.name}: its registers contradict its order")
        goes_back = any(number[target] <= number[unit] for target in unit.successors)
        drafts += _Former(unit, graph, live.end[unit], goes_back, config).run()
    return drafts


@dataclass(frozen=True, slots=True)
class _State:
    """Nodes placed, the cost so far, and the blocks."""

    placed: int
    cost: float
    blocks: tuple[int, ...]


class _Former:
    """The search over the cuts of one unit."""

    def __init__(
        self, unit: Unit, graph: Graph, live_end: set[Reg], goes_back: bool, config: MachineConfig
    ) -> None:
        self.unit, self.graph, self.config, self.goes_back = unit, graph, config, goes_back
        self.nodes = graph.nodes
        count = len(self.nodes)
        self.all = (1 << count) - 1
        self.loose = [_mask(graph.flow[i]) | _mask(graph.weak[i]) for i in range(count)]
        self.strong = [_mask(graph.strong[i]) for i in range(count)]
        self.readers = [0] * count
        for i in range(count):
            for j in graph.flow[i]:
                self.readers[j] |= 1 << i
        end = 1 << count
        condition = unit.condition
        self.leaves = [node.result in live_end for node in self.nodes]
        for i, node in enumerate(self.nodes):
            if condition is not None and node.result is condition.reg:
                self.readers[i] |= end
        self.end = end
        atoms: dict[int, int] = {}
        for i, node in enumerate(self.nodes):
            atoms[node.atom] = atoms.get(node.atom, 0) | 1 << i
        self.atoms = [atoms[node.atom] if node.atom else 0 for node in self.nodes]
        self.stores = _mask(i for i, node in enumerate(self.nodes) if is_store(node))
        self.copies = _mask(i for i, node in enumerate(self.nodes) if node.op == COPY)
        self.zeros = _mask(i for i, node in enumerate(self.nodes) if node.op == "nop")
        self.products = _mask(
            i for i, n in enumerate(self.nodes) if n.op in OPS and OPS[n.op].unit is Circuit.MULTIPLY
        )
        self.loads = _mask(
            i for i, n in enumerate(self.nodes) if n.op in OPS and OPS[n.op].unit is Circuit.LOAD
        )
        self.atomic = _mask(i for i, node in enumerate(self.nodes) if node.atom)
        self.serial = _mask(i for i, node in enumerate(self.nodes) if node.atom and not node.combined)
        self._stages: dict[int, dict[int, int] | None] = {}

    def run(self) -> list[Draft]:
        """The blocks of the cheapest cut found."""
        best: _State | None = None
        frontier = [_State(0, 0.0, ())]
        while frontier:
            steps: dict[int, _State] = {}
            for state in frontier:
                for block in self.blocks(state.placed):
                    step = self.step(state, block)
                    known = steps.get(step.placed)
                    if known is None or step.cost < known.cost:
                        steps[step.placed] = step
            done = steps.pop(self.all, None)
            if done is not None and (best is None or done.cost < best.cost):
                best = done
            open_ = [s for s in steps.values() if best is None or self.bound(s) < best.cost]
            frontier = sorted(open_, key=self.bound)[:BEAM]
        if best is None:
            raise ValueError(f"unit {self.unit.name}: no cut found")
        return self.drafts(best)

    def bound(self, state: _State) -> float:
        """The cost of a state and at least the blocks that are still needed."""
        rest = self.all & ~state.placed
        slots = (rest & ~self.copies & ~self.zeros).bit_count() / self.config.stages
        return state.cost + max(slots, (rest & self.stores).bit_count())

    def step(self, state: _State, block: int) -> _State:
        """The state after one more block."""
        cost = state.cost + 1
        placed = state.placed | block
        for i in _bits(block):
            result = self.nodes[i].result
            if result is not None and not self.leaves[i] and self.is_written(i, block, placed):
                cost += result.tokens
        return _State(placed, cost, (*state.blocks, block))

    def is_written(self, i: int, block: int, placed: int) -> bool:
        """Whether the result of node i of `block` is read after `placed`, which includes the block, has run."""
        after = self.readers[i] & ~placed
        if placed == self.all and self.may_branch(block):
            after &= ~self.end
        return self.leaves[i] or bool(after)

    def may_branch(self, block: int) -> bool:
        """Whether a block may end the unit: a serial one must not send a lane back while others wait."""
        return not (self.goes_back and block & self.serial)

    # Blocks --------------------------------------------------------------------------------------------------------

    def blocks(self, placed: int) -> Iterator[int]:
        """Every set of nodes that can be the next block."""
        if placed == self.all:
            if not self.nodes:
                yield 0
            return
        window = list(_bits(self.all & ~placed))[:WINDOW]
        window = [
            i
            for i in range(len(self.nodes))
            if not placed >> i & 1 and (i in window or self.shares(i, window))
        ]
        stack = [(0, 0)]
        while stack:
            block, start = stack.pop()
            for n in range(len(window) - 1, start - 1, -1):
                i = window[n]
                grown = block | 1 << i
                if self.strong[i] & ~placed or self.loose[i] & ~(placed | block) or not self.has_room(grown):
                    continue
                stack.append((grown, n + 1))
            if block and self.is_block(block, placed):
                yield block

    def shares(self, i: int, window: list[int]) -> bool:
        """Whether node i is of an atomic group that the window has begun."""
        return any(self.atoms[i] >> j & 1 for j in window)

    def has_room(self, block: int) -> bool:
        """Whether the counts of a block are within the machine's."""
        if (block & self.stores).bit_count() > 1:
            return False
        if block.bit_count() <= self.config.stages:
            return True
        needy = sum(self.host(i, block) is None for i in _bits(block))
        return needy <= self.config.stages

    def host(self, i: int, block: int) -> int | None:
        """The node of the block whose stage node i shares: a copy that of its operand, a zero that of the first zero."""
        if self.copies >> i & 1:
            return next((j for j in self.graph.flow[i] if block >> j & 1), None)
        if self.zeros >> i & 1:
            first = next(_bits(block & self.zeros))
            return first if first != i else None
        return None

    def is_block(self, block: int, placed: int) -> bool:
        """Whether a set of nodes fits the stages, the live-outs and the rules of atomic operations."""
        if block & self.atomic and not self.is_atomic_block(block, placed):
            return False
        if block.bit_count() > self.config.stages and self.written(block, placed) > self.config.stages:
            return False
        return self.stages(block) is not None

    def written(self, block: int, placed: int) -> int:
        """How many results a block leaves behind."""
        results = [i for i in _bits(block) if self.nodes[i].result is not None]
        return sum(self.is_written(i, block, placed | block) for i in results)

    def is_atomic_block(self, block: int, placed: int) -> bool:
        """One atomic group, whole, and else only nodes whose results stay inside."""
        group = next(self.atoms[i] for i in _bits(block) if self.atoms[i])
        others = block & ~group
        if group & ~block or others & self.atomic:
            return False
        return not any(
            self.nodes[i].result and self.is_written(i, block, placed | block) for i in _bits(others)
        )

    def stages(self, block: int) -> dict[int, int] | None:
        """A stage for each node of a block, the lowest ones first; None when there are none."""
        if block not in self._stages:
            self._stages[block] = self.assign(list(_bits(block)), block)
        return self._stages[block]

    def assign(self, members: list[int], block: int) -> dict[int, int] | None:
        """Depth-first over the members in order."""
        stack: list[dict[int, int]] = [{}]
        while stack:
            chosen = stack.pop()
            if len(chosen) == len(members):
                return chosen
            i = members[len(chosen)]
            stack += [{**chosen, i: stage} for stage in reversed(self.choices(i, block, chosen))]
        return None

    def choices(self, i: int, block: int, chosen: dict[int, int]) -> list[int]:
        """The stages that node i can take after those chosen."""
        if (host := self.host(i, block)) is not None:
            return [chosen[host]]
        flow = [j for j in self.graph.flow[i] if block >> j & 1]
        earliest = max((chosen[j] + self.latency(j) for j in flow), default=0)
        allowed: range | tuple[int, ...] = range(self.config.stages)
        if self.stores >> i & 1:
            allowed = (self.config.store_stage,)
        elif self.products >> i & 1:
            allowed = self.config.multiply_stages
        elif self.loads >> i & 1:
            allowed = self.config.loads
        taken = chosen.values()
        return [stage for stage in allowed if stage >= earliest and stage not in taken]

    def latency(self, i: int) -> int:
        """Stages until the result of node i can be forwarded."""
        return self.config.multiply_latency if self.products >> i & 1 else 1

    # Results -------------------------------------------------------------------------------------------------------

    def drafts(self, state: _State) -> list[Draft]:
        """The blocks of a finished state, with one more for the branch where the last one may not have it."""
        drafts: list[Draft] = []
        placed = 0
        for block in state.blocks:
            placed |= block
            stages = self.stages(block) or {}
            draft = Draft(self.unit, {self.nodes[i]: stage for i, stage in stages.items()})
            for i in _bits(block):
                result = self.nodes[i].result
                if result is not None and self.is_written(i, block, placed):
                    draft.writes.append(result)
            draft.is_serial = bool(block & self.serial)
            drafts.append(draft)
        if drafts[-1].is_serial and self.goes_back:
            drafts.append(Draft(self.unit))
        drafts[-1].is_last = True
        return drafts


def _bits(mask: int) -> Iterator[int]:
    """The indices of the ones of a mask, low first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _mask(indices: Iterable[int]) -> int:
    mask = 0
    for i in indices:
        mask |= 1 << i
    return mask

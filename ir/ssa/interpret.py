"""The exact reference evaluator of SSA: every thread of a launch on Python integers.

Threads of a block run as the machine runs lanes: those at the smallest block number go first, together, and the blocks
of the grid run one after another. At a barrier threads wait until every other thread of the block waits or has ended; then those at the smallest place go
on, and those that wait for their warp before those that wait for the block.
Any stage can be interpreted; on `ir-div` the order of blocks is the machine's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qgc.diagnostics import fail
from qgc.ir.launch import AccessFault, Launch, Memory, Place, exchange_words
from qgc.ir.ssa.function import Block, Const, Function, Op, Value
from qgc.ir.ssa.ops import RMWS, SREGS
from qgc.ir.ssa.types import MEMS

Column = list[int]
"""One value of every thread of a block."""
Observer = Callable[[Op, Sequence[int], Column], None]
"""Called after each op with a result: the op, the threads that ran it, and all threads' values."""

DEFAULT_BUDGET = 50_000_000


def run(
    function: Function,
    launch: Launch,
    params: bytes,
    memory: Memory,
    *,
    dynamic_shared: int = 0,
    budget: int = DEFAULT_BUDGET,
    observe: Observer | None = None,
) -> int:
    """Execute a launch on `memory` (global) and return how many ops its threads ran.

    `params` is the parameter buffer, `dynamic_shared` the bytes of `.extern .shared` arrays.

    Raises:
        QgcError: `launch-params`, `memory-bounds`, `memory-align` (with the op's place), `launch-budget`.
    """
    if len(params) < max((p.offset + p.size for p in function.params), default=0):
        message = f"kernel {function.name} takes {function.param_bytes} parameter bytes, got {len(params)}"
        raise fail("launch-params", message)
    buffer = params.ljust(function.param_bytes, b"\0")
    steps = 0
    for ctaid in launch.blocks():
        threads = list(launch.threads(ctaid))
        block = _ThreadBlock(
            function, threads, buffer, _spaces(function, memory, len(threads), dynamic_shared)
        )
        block.observe = observe
        steps += block.run(budget - steps)
    return steps


def _spaces(function: Function, memory: Memory, threads: int, dynamic: int) -> dict[str, list[Memory]]:
    """The memory of each thread in each state space."""
    spaces = {"global": [memory] * threads}
    for space in ("shared", "const", "local"):
        symbols = [s for s in function.symbols if s.space == space]
        count = threads if space == "local" else 1
        each = []
        for _ in range(count):
            own = Memory()
            for symbol in symbols:
                size = symbol.size or dynamic
                if size:
                    own.map(symbol.name, symbol.address, symbol.init.ljust(size, b"\0"))
            each.append(own)
        spaces[space] = each if space == "local" else each * threads
    frames = Memory()
    if function.frame_bytes:
        frames.map("frames", 0, bytes(threads * function.frame_bytes))
    spaces["frame"] = [frames] * threads
    exchange = Memory()
    exchange.map("exchange", 0, bytes(4 * exchange_words(threads)))
    spaces["exchange"] = [exchange] * threads
    return spaces


class _ThreadBlock:
    """The threads of one block of the grid, each at an op of a block of the function."""

    def __init__(
        self, function: Function, threads: list[Place], params: bytes, spaces: dict[str, list[Memory]]
    ) -> None:
        self.function, self.threads, self.params, self.spaces = function, threads, params, spaces
        self.observe: Observer | None = None
        self.number = {block: i for i, block in enumerate(function.blocks)}
        self.at: dict[int, tuple[int, int]] = dict.fromkeys(range(len(threads)), (0, 0))
        self.waiting: dict[str, dict[int, tuple[int, int]]] = {"syncwarp": {}, "barrier": {}}
        self.came: list[Block | None] = [None] * len(threads)
        self.columns: dict[Value, Column] = {}

    def run(self, budget: int) -> int:
        """Run until every thread has ended; return the number of ops that they ran."""
        steps = 0
        while self.at or any(self.waiting.values()):
            if not self.at:
                kind = next(kind for kind, waiting in self.waiting.items() if waiting)
                self.resume(self.waiting[kind])
            place = min(self.at.values())
            active = sorted(t for t, at in self.at.items() if at == place)
            steps += self.run_block(place, active)
            if steps > budget:
                op = self.function.blocks[place[0]].terminator
                hint = "a loop of the kernel may never end; give a larger budget if it does"
                raise fail("launch-budget", f"the launch did not end within {budget} ops", op.span, hint)
        return steps

    def resume(self, waiting: dict[int, tuple[int, int]]) -> None:
        """Threads at the smallest place go on, as the machine's lanes do: the others wait on."""
        place = min(waiting.values())
        self.at = {t: at for t, at in waiting.items() if at == place}
        for t in self.at:
            del waiting[t]

    def run_block(self, place: tuple[int, int], active: list[int]) -> int:
        """Run `active` threads from an op to the end of its block, or to a barrier."""
        number, first = place
        block = self.function.blocks[number]
        if first == 0:
            first = self.run_phis(block, active)
        for i in range(first, len(block.ops)):
            op = block.ops[i]
            if op.spec.terminator:
                self.branch(block, op, active)
                return (i - place[1] + 1) * len(active)
            if op.name in self.waiting:
                for t in active:
                    self.waiting[op.name][t] = (number, i + 1)
                    del self.at[t]
                return (i - place[1] + 1) * len(active)
            self.execute(op, active)
        raise ValueError(f"block {block.name} has no terminator")

    def run_phis(self, block: Block, active: list[int]) -> int:
        """Assign all phis at once and return how many there are."""
        phis = block.phis
        new = [
            [self.column(op.operands[op.blocks.index(came)])[t] for t in active if (came := self.came[t])]
            for op in phis
        ]
        for op, values in zip(phis, new, strict=True):
            self.assign(op, active, values)
        return len(phis)

    def branch(self, block: Block, op: Op, active: list[int]) -> None:
        for t in active:
            self.came[t] = block
            if op.name == "ret":
                del self.at[t]
            else:
                taken = 0 if op.name == "br" or self.column(op.operands[0])[t] else 1
                self.at[t] = (self.number[op.blocks[taken]], 0)

    def column(self, value: Value) -> Column:
        found = self.columns.get(value)
        if found is None:
            start = value.value if isinstance(value, Const) else 0
            found = self.columns[value] = [start] * len(self.threads)
        return found

    def assign(self, op: Op, active: list[int], values: Sequence[int]) -> None:
        if op.result is None:
            return
        column = self.column(op.result)
        for t, value in zip(active, values, strict=True):
            column[t] = op.result.ty.wrap(value)
        if self.observe is not None:
            self.observe(op, active, column)

    def execute(self, op: Op, active: list[int]) -> None:
        if op.spec.evaluate is not None:
            evaluate = op.spec.evaluate
            bits = op.operands[0].ty.bits
            columns = [self.column(v) for v in op.operands]
            self.assign(op, active, [evaluate(bits, *(c[t] for c in columns)) for t in active])
        elif op.name == "sreg":
            read = SREGS[str(op.attr("sreg"))].read
            self.assign(op, active, [read(self.threads[t]) for t in active])
        elif op.name == "param" and op.result is not None:
            offset = int(op.attr("offset"))
            word = int.from_bytes(self.params[offset : offset + op.result.ty.bits // 8], "little")
            self.assign(op, active, [word] * len(active))
        else:
            self.access(op, active)

    def access(self, op: Op, active: list[int]) -> None:
        """A memory operation, thread after thread in linear order."""
        space = self.spaces[str(op.attr("space"))]
        columns = [self.column(v) for v in op.operands]
        guard = self.column(op.guard) if op.guard is not None else None
        results = [
            0 if guard is not None and not guard[t] else self.touch(op, t, space[t], [c[t] for c in columns])
            for t in active
        ]
        self.assign(op, active, results)

    def touch(self, op: Op, thread: int, memory: Memory, operands: list[int]) -> int:
        """One thread's access; returns what it read."""
        mem = MEMS[str(op.attr("mem"))]
        address, *values = operands
        try:
            if op.name == "store":
                memory.store(address, mem.bytes, values[0])
                return 0
            old = memory.load(address, mem.bytes)
            if op.name == "load":
                return old - (1 << 8 * mem.bytes) if mem.is_signed and old >> (8 * mem.bytes - 1) else old
            if op.name == "atomic":
                memory.store(address, mem.bytes, RMWS[str(op.attr("rmw"))](8 * mem.bytes, old, values[0]))
            elif old == values[0]:
                memory.store(address, mem.bytes, values[1])
            return old
        except AccessFault as fault:
            place = self.threads[thread]
            message = f"{fault.message} ({op.name} by thread {place.tid} of block {place.ctaid})"
            raise fail(fault.code, message, op.span, fault.hint) from None

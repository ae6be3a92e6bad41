"""Random SSA functions that verify and end: every pure op of the table, forks, loops with breaks, guards, early returns.

Each thread stores to its own words and reads a common array, so that the final memory does not depend on the order in
which threads run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from qgc.ir.launch import Launch, Memory
from qgc.ir.ssa.function import Block, Builder, Function, Op, Param, Value, const, make
from qgc.ir.ssa.interpret import Observer, run
from qgc.ir.ssa.ops import OPS, TyVar
from qgc.ir.ssa.text import function_text, parse
from qgc.ir.ssa.types import I1, I32, I64, Ty

SOURCE, TARGET, SUM = 0x1000, 0x2000, 0x3000
SOURCE_WORDS, OWN_WORDS, THREADS = 16, 8, 5

PURE = [spec.name for spec in OPS.values() if spec.evaluate is not None]
CONSTANTS = st.one_of(
    st.integers(-4, 40),
    st.sampled_from(
        [31, 32, 33, 63, 64, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, 1 << 63, -(1 << 31)]
    ),
    st.integers(0, (1 << 64) - 1),
)
PARAMS = (
    Param("source", "u32", 0, 4),
    Param("target", "u32", 4, 4),
    Param("n", "s32", 8, 4),
    Param("k", "u64", 16, 8),
)


_KINDS = ("pure",) * 6 + ("load", "load", "store", "store", "atomic", "fork", "fork", "fork", "loop", "loop")


@dataclass
class Writer:
    """Grows a function; `values` holds what may be read at the current place."""

    draw: st.DrawFn
    blocks: list[Block] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    builder: Builder = field(default_factory=lambda: Builder([]))
    wide: bool = True
    budget: int = 60

    def open(self, block: Block) -> None:
        self.blocks.append(block)
        self.builder = Builder(block.ops)

    @property
    def block(self) -> Block:
        return self.blocks[-1]

    def pick(self, ty: Ty) -> Value:
        """A value of a type, or a constant."""
        found = [v for v in self.values if v.ty is ty]
        if found and self.draw(st.integers(0, 4)) > 0:
            return found[-1 - self.draw(st.integers(0, min(len(found), 8) - 1))]
        return const(ty, self.draw(CONSTANTS))

    def emit(
        self, name: str, *operands: Value | int, ty: Ty | None = None, guard: Value | None = None
    ) -> Value:
        attrs = ("global", "b32") if name == "load" else ()
        value = self.builder.emit(name, *operands, ty=ty, attrs=attrs, guard=guard)
        self.values.append(value)
        return value

    def pure(self) -> None:
        """Any op of the table that has an evaluator."""
        spec = OPS[self.draw(st.sampled_from(PURE))]
        types = [I1, I32, I64] if self.wide else [I1, I32]
        bound: dict[TyVar, Ty] = {}
        if spec.name in ("zext", "sext", "trunc"):
            pairs = [
                (a, b)
                for a in types
                for b in types
                if (a.bits < b.bits) == (spec.name != "trunc") and a is not b
            ]
            source, target = self.draw(st.sampled_from(pairs))
            self.emit(spec.name, self.pick(source), ty=target)
            return
        operands = []
        for pattern in spec.operands:
            if isinstance(pattern, TyVar):
                choices = [ty for ty in pattern.choices if ty in types]
                ty = bound[pattern] = bound.get(pattern) or self.draw(st.sampled_from(choices))
            else:
                ty = pattern
            operands.append(self.pick(ty))
        self.emit(spec.name, *operands)

    def guard(self) -> Value | None:
        return self.pick(I1) if self.draw(st.integers(0, 3)) == 0 else None

    def load(self) -> None:
        index = self.builder.emit("and", self.pick(I32), SOURCE_WORDS - 1)
        offset = self.builder.emit("shl", index, 2)
        address = self.builder.emit("add", self.values[0], offset)
        self.emit("load", address, guard=self.guard())

    def store(self) -> None:
        index = self.builder.emit("and", self.pick(I32), OWN_WORDS - 1)
        address = self.builder.emit("add", self.values[1], self.builder.emit("shl", index, 2))
        self.builder.effect("store", address, self.pick(I32), attrs=("global", "b32"), guard=self.guard())

    def atomic(self) -> None:
        rmw = self.draw(st.sampled_from(["add", "umax", "xor", "smin"]))
        cell = const(I32, SUM + 4 * ["add", "umax", "xor", "smin"].index(rmw))
        self.builder.effect("atomic", cell, self.pick(I32), attrs=("global", rmw, "b32"), guard=self.guard())

    def fork(self, depth: int) -> None:
        """if/else whose sides may be missing; some of what they compute is joined."""
        condition, before = self.pick(I1), list(self.values)
        head, join = self.block, Block("join")
        sides: list[tuple[Block, list[Value]]] = []
        branch = self.builder.effect("cbr", condition, blocks=[join, join])
        for i in range(2):
            if i == 1 and self.draw(st.booleans()):
                sides.append((head, before))
                continue
            side = Block("side")
            branch.blocks[i] = side
            self.values = list(before)
            self.open(side)
            self.statements(depth + 1)
            if i == 1 and sides[0][0] is not head and self.draw(st.integers(0, 5)) == 0:
                self.builder.effect("ret")
            else:
                self.builder.effect("br", blocks=[join])
                sides.append((self.block, self.values))
        self.values = before
        self.open(join)
        for ty in [I1, I32, I64] if len(sides) == 2 else []:
            arms = [[v for v in values if v.ty is ty] for _, values in sides]
            if all(arms) and self.draw(st.booleans()):
                self.join([b for b, _ in sides], [self.draw(st.sampled_from(arm)) for arm in arms])

    def join(self, blocks: list[Block], values: list[Value]) -> None:
        op = make("phi", *values, blocks=blocks, hint="j")
        self.block.ops.append(op)
        self.values.append(result(op))

    def loop(self, depth: int) -> None:
        """do-while with a counter that may differ between threads, carried values and sometimes a break."""
        bound = self.builder.emit("and", self.pick(I32), 3)
        carried = [self.pick(ty) for ty in ([I32, I64] if self.wide else [I32])]
        before, header, after = self.block, Block("loop"), Block("after")
        self.builder.effect("br", blocks=[header])
        outside = list(self.values)
        self.open(header)
        phis = [make("phi", ty=v.ty, hint="p") for v in [const(I32, 0), *carried]]
        header.ops += phis
        self.values += [result(phi) for phi in phis]
        self.statements(depth + 1)
        exits: list[tuple[Block, list[Value]]] = []
        if self.draw(st.booleans()):
            following = Block("on")
            self.builder.effect("cbr", self.pick(I1), blocks=[after, following])
            exits.append((self.block, list(self.values)))
            self.open(following)
            self.statements(depth + 1)
        counter = self.builder.emit("add", result(phis[0]), 1)
        steps = [counter, *(self.pick(v.ty) for v in carried)]
        again = self.builder.emit("icmp.lt.u", counter, bound)
        self.builder.effect("cbr", again, blocks=[header, after])
        exits.append((self.block, list(self.values)))
        for phi, start, step in zip(phis, [const(I32, 0), *carried], steps, strict=True):
            phi.blocks, phi.operands = [before, self.block], [start, step]
        self.values = outside
        self.open(after)
        arms = [[v for v in values if v.ty is I32] for _, values in exits]
        self.join([b for b, _ in exits], [self.draw(st.sampled_from(arm[-6:])) for arm in arms])

    def statements(self, depth: int) -> None:
        for _ in range(self.draw(st.integers(6, 12) if depth == 0 else st.integers(2, 5))):
            kind = self.draw(st.sampled_from(_KINDS))
            self.budget -= 1
            if self.budget > 0 and depth < 3 and kind in ("fork", "loop"):
                self.fork(depth) if kind == "fork" else self.loop(depth)
            elif kind in ("load", "store", "atomic"):
                getattr(self, kind)()
            else:
                self.pure()

    def finish(self) -> None:
        """Store what is alive, so that it is not dead."""
        words = [v for v in self.values if v.ty is I32][-OWN_WORDS:]
        wide = [v for v in self.values if v.ty is I64][-2:]
        for v in wide:
            words.append(self.builder.emit("trunc", self.builder.emit("shr.u", v, 32), ty=I32))
            words.append(self.builder.emit("trunc", v, ty=I32))
        words += [self.builder.emit("zext", v, ty=I32) for v in self.values if v.ty is I1][-2:]
        for i, value in enumerate(words):
            at = self.builder.emit("add", self.values[1], 4 * (i % OWN_WORDS))
            old = self.builder.emit("load", at, attrs=("global", "b32"))
            self.builder.effect("store", at, self.builder.emit("xor", old, value), attrs=("global", "b32"))
        self.builder.effect("ret")


def result(op: Op) -> Value:
    if op.result is None:
        raise ValueError(op.name)
    return op.result


@st.composite
def programs(draw: st.DrawFn, wide: bool = True) -> str:
    """The text of a function of stage `ir`; without `wide` it has no 64-bit values."""
    writer = Writer(draw, wide=wide)
    writer.open(Block("entry"))
    b = writer.builder
    source, target, n = (
        b.emit("param", ty=I32, attrs=(o,), hint=h) for o, h in ((0, "src"), (4, "dst"), (8, "n"))
    )
    tid = b.emit("sreg", attrs=("tid.x",), hint="t")
    own = b.emit("add", target, b.emit("mul", tid, 4 * OWN_WORDS), hint="own")
    writer.values = [source, own, n, tid, b.emit("icmp.lt.u", tid, 2)]
    if wide:
        writer.values += [b.emit("param", ty=I64, attrs=(16,), hint="k"), b.emit("sext", n, ty=I64)]
    writer.statements(0)
    writer.finish()
    return function_text(Function("random", "random.ptx", PARAMS, (), writer.blocks))


def function_of(text: str) -> Function:
    """The only function of a text."""
    (function,) = parse(text, "random.ir").functions
    return function


def functions(wide: bool = True) -> st.SearchStrategy[Function]:
    """The functions themselves; `programs` prints better when a test fails."""
    return programs(wide).map(function_of)


@dataclass(frozen=True)
class Input:
    """What a random function is run on."""

    words: tuple[int, ...]
    n: int
    k: int


INPUTS = st.builds(
    Input,
    st.tuples(*[st.integers(0, 0xFFFFFFFF)] * 4).map(lambda t: t * 4),
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, (1 << 64) - 1),
)


def final_memory(function: Function, given: Input, observe: Observer | None = None) -> bytes:
    """Run on five threads and return what they stored."""
    memory = Memory()
    memory.map("source", SOURCE, b"".join(w.to_bytes(4, "little") for w in given.words))
    memory.map("target", TARGET, bytes(4 * OWN_WORDS * THREADS))
    memory.map("sum", SUM, bytes(16))
    words = [SOURCE, TARGET, given.n, 0, given.k & 0xFFFFFFFF, given.k >> 32]
    params = b"".join(w.to_bytes(4, "little") for w in words)
    run(function, Launch(block=(THREADS, 1, 1)), params, memory, budget=2_000_000, observe=observe)
    return b"".join(bytes(region.data) for region in memory.regions)

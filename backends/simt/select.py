"""Instruction selection: SSA of stage `ir-div` to machine operations on virtual registers.

Parameters, launch constants and immediates become rows of the constant bank, additions vanish into addresses where they
fit, negations into guards, `4 * x + y` into one operation. An atomic operation becomes a load, its operation and a
store that share an `atom`; one that is guarded is branched around, so that the lanes that skip it spend no token. An
addition of all lanes to one word, whose old value nobody reads, is one addition of their sum.
"""

from __future__ import annotations

from collections.abc import Callable

from qgc.backends.simt.address import Address, match_address, quarter
from qgc.backends.simt.code import TID, ZERO, Code, Condition, Node, Operand, Phi, Reg, Row, Unit
from qgc.backends.simt.estimate import expected_tokens
from qgc.diagnostics import Diagnostic, QgcError
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.program import Param, Wait
from qgc.ir.machine.symbols import EXCHANGE, FRAMES, LAUNCH_CONSTANTS, PRODUCTS, RECIPROCALS, SHARED, TABLES
from qgc.ir.ssa.function import Block, Const, Function, Op, Value, is_const
from qgc.ir.ssa.types import I1

_SAME = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "shl": "shl",
    "shr.u": "shr",
    "shr.s": "sar",
    "icmp.eq": "seteq",
    "icmp.ne": "setne",
    "icmp.lt.s": "setlt",
    "icmp.ge.s": "setge",
    "icmp.lt.u": "setltu",
    "icmp.ge.u": "setgeu",
    "popc": "popc",
    "clz": "clz",
    "brev": "brev",
}
"""SSA operations that are one machine operation on the same operands, one or two."""

_ZERO_TESTS = {
    ("icmp.lt.s", None, 1): ("setge", True),
    ("icmp.ge.s", None, 1): ("setlt", True),
    ("icmp.lt.u", None, 1): ("seteq", False),
    ("icmp.ge.u", None, 1): ("setne", False),
    ("icmp.lt.s", -1, None): ("setge", False),
    ("icmp.ge.s", -1, None): ("setlt", False),
}
"""Comparisons with 1 or -1 that compare with zero, which takes no constant: the operation, and whether 0 comes first."""

_OF_TID = {"laneid": ("and", 31), "warpbase": ("and", -32 & 0xFFFFFFFF), "warpid": ("shr", 5)}
"""Special registers that are one operation on the thread's index."""

_BASES = {"global": None, "shared": SHARED, "frame": FRAMES, "const": TABLES, "exchange": EXCHANGE}
"""State spaces, and the base of their addresses in the machine's one memory."""

_COMBINE = {"add": "add", "and": "and", "or": "or", "xor": "xor"}
"""Atomics whose new value is one operation on the old value and the operand."""

_KEEP_OLD = {
    "smin": ("setlt", False),
    "smax": ("setlt", True),
    "umin": ("setltu", False),
    "umax": ("setltu", True),
}
"""Atomics that store their operand when `operand < old` (or `old < operand` where True)."""


def select(function: Function, config: MachineConfig) -> Code:
    """Translate one kernel.

    Raises:
        QgcError: `simt-op`, `simt-type`, `simt-space`, `simt-param`, `simt-sreg`, `simt-multiply`: everything that
            the machine cannot do, each with its place.
    """
    selector = _Selector(function, config)
    code = selector.run()
    if selector.faults:
        raise QgcError(*selector.faults)
    _drop_dead(code)
    return code


def _drop_dead(code: Code) -> None:
    """Remove nodes whose results nobody reads, stores and atomic operations excepted."""
    while True:
        used = {reg for unit in code.units for node in unit.nodes for reg in node.reads()}
        used |= {unit.condition.reg for unit in code.units if unit.condition is not None}
        used |= {
            arg
            for unit in code.units
            for phi in unit.phis
            for arg in phi.args.values()
            if isinstance(arg, Reg)
        }
        before = sum(len(unit.nodes) + len(unit.phis) for unit in code.units)
        for unit in code.units:
            unit.nodes = [n for n in unit.nodes if n.result is None or n.atom or n.result in used]
            unit.phis = [phi for phi in unit.phis if phi.result in used]
        if before == sum(len(unit.nodes) + len(unit.phis) for unit in code.units):
            return


class _Selector:
    def __init__(self, function: Function, config: MachineConfig) -> None:
        self.function = function
        self.config = config
        self.faults: list[Diagnostic] = []
        self.param_names = {p.offset: p.name for p in function.params}
        self.tokens = expected_tokens(function, config)
        self.code = Code(function.name, _params(function), shared=_shared_bytes(function))
        self.code.frame, self.code.tables = function.frame_bytes, _tables(function)
        self.values: dict[Value, Operand] = {}
        self.first: dict[Block, Unit] = {}
        self.last: dict[Block, Unit] = {}
        self.phis: list[tuple[Op, Phi]] = []
        self.unit = Unit("")
        self.atoms = 0
        self.quotients: dict[tuple[Unit, str], Reg] = {}
        read = [op.attr("sreg") for op in function.ops() if op.name == "sreg"]
        self.axes = 3 if "tid.z" in read else 2 if "tid.y" in read else 1

    def run(self) -> Code:
        for block in self.function.blocks:
            self.first[block] = Unit(block.name)
        for block in self.function.blocks:
            self.unit = self.first[block]
            self.code.units.append(self.unit)
            for op in block.ops:
                self.select(op)
            self.last[block] = self.unit
        for op, phi in self.phis:
            for came, value in zip(op.blocks, op.operands, strict=True):
                phi.args[self.last[came]] = self.operand(value)
        return self.code

    # Helpers -------------------------------------------------------------------------------------------------------

    def fault(self, code: str, message: str, op: Op, hint: str | None = None) -> None:
        self.faults.append(Diagnostic(code, message, op.span, hint))

    def operand(self, value: Value) -> Operand:
        """Where a value is read; one that could not be selected (a fault is noted) reads as zero."""
        if isinstance(value, Const):
            return Row(value.value) if value.value else ZERO
        return self.values.get(value, ZERO)

    def reg(self, value: Value | None, name: str = "", tokens: int = 1) -> Reg:
        """A new register, for a value or for something between."""
        if value is None:
            return self.code.reg(name, tokens)
        reg = self.code.reg(value.name, self.tokens[value], value.op.span if value.op else None)
        self.values[value] = reg
        return reg

    def emit(
        self,
        op: Op,
        name: str,
        a: Operand,
        b: Operand = ZERO,
        result: Reg | None = None,
        guard: Condition | None = None,
    ) -> Reg:
        """Append an operation; without `result` it writes a new register."""
        result = result or self.reg(None, op.name)
        self.append(Node(name, a, b, guard=guard, result=result, span=op.span))
        return result

    def append(self, node: Node) -> None:
        """Append a node; of two rows of the constant bank the second comes through a register."""
        rows = [o for o in (node.a, node.b, node.data) if isinstance(o, Row)]
        if len(set(rows)) > 1:
            moved = self.reg(None, "const")
            self.unit.nodes.append(Node("or", rows[0], ZERO, result=moved, span=node.span))
            node.a = moved if node.a == rows[0] else node.a
            node.b = moved if node.b == rows[0] else node.b
            self.append(node)
            return
        self.unit.nodes.append(node)

    def condition(self, value: Value) -> Condition | bool:
        """A predicate as a condition, or as a truth when it is constant.

        Negations are looked through, and a test of the lowest bit is that bit.
        """
        negated = False
        while value.op is not None and value.op.name == "xor" and is_const(value.op.operands[1], 1):
            value, negated = value.op.operands[0], not negated
        if isinstance(value, Const):
            return bool(value.value) != negated
        if (bit := _lowest_bit(value)) is not None and isinstance(reg := self.operand(bit[0]), Reg):
            return Condition(reg, bit[1] != negated)
        operand = self.operand(value)
        return Condition(operand, negated) if isinstance(operand, Reg) else False

    # Operations ----------------------------------------------------------------------------------------------------

    def select(self, op: Op) -> None:
        """Translate one operation into the current unit."""
        if any(
            value.ty.bits > 32 for value in [*op.operands, *([op.result] if op.result is not None else [])]
        ):
            hint = "64-bit values other than addresses are not supported on this machine"
            self.fault("simt-type", f"`{op.name}` on 64-bit values", op, hint)
            return
        handlers: dict[str, Callable[[Op], None]] = {
            "add": self.add,
            "mul": self.multiply,
            "xor": self.xor,
            "select": self.choose,
            "zext": self.extend,
            "param": self.param,
            "sreg": self.sreg,
            "load": self.load,
            "store": self.store,
            "atomic": self.atomic,
            "cas": self.atomic,
            "barrier": self.barrier,
            "syncwarp": self.barrier,
            "phi": self.phi,
            "br": self.branch,
            "cbr": self.branch,
            "ret": self.branch,
        }
        if op.name in handlers:
            handlers[op.name](op)
        elif op.name in _SAME:
            self.simple(op)
        else:
            self.fault("simt-op", f"`{op.name}` is no operation of machine {self.config.name}", op)

    def simple(self, op: Op) -> None:
        """One operation on its operands."""
        if len(op.operands) == 1:
            self.emit(op, _SAME[op.name], self.operand(op.operands[0]), result=self.reg(op.result))
            return
        name, (left, right) = op.name, op.operands
        a, b = self.operand(left), self.operand(right)
        if (zero := _ZERO_TESTS.get((name, _small(left), _small(right)))) is not None:
            operation, is_zero_first = zero
            x = a if _small(left) is None else b
            a, b = (ZERO, x) if is_zero_first else (x, ZERO)
            self.emit(op, operation, a, b, self.reg(op.result))
            return
        self.emit(op, _SAME[name], a, b, self.reg(op.result))

    def multiply(self, op: Op) -> None:
        """A product; that of a block's index and size is a launch constant."""
        factors = [operand.value for value in op.operands if isinstance(operand := self.operand(value), Row)]
        product = next((p for p in PRODUCTS if sorted(map(str, factors)) == sorted(p.split("*"))), None)
        if product is not None and op.result is not None:
            self.values[op.result] = Row(product)
            return
        if not self.config.multiply_stages:
            self.fault("simt-multiply", f"machine {self.config.name} has no multiplier", op)
        self.simple(op)

    def add(self, op: Op) -> None:
        """`4 * x + y` in one operation where an operand is a multiple of four."""
        a, b = op.operands
        for value, other in ((b, a), (a, b)):
            if (x := quarter(value)) is not None:
                self.emit(op, "addx", self.operand(x), self.operand(other), self.reg(op.result))
                return
        self.simple(op)

    def xor(self, op: Op) -> None:
        """The negation of a predicate compares it with zero, which takes no row of the constant bank."""
        a, b = op.operands
        if a.ty is I1 and is_const(b, 1):
            self.emit(op, "seteq", self.operand(a), ZERO, self.reg(op.result))
        else:
            self.simple(op)

    def choose(self, op: Op) -> None:
        """`select`, its condition as a guard."""
        condition, a, b = op.operands
        guard = self.condition(condition)
        if isinstance(guard, bool):
            if op.result is not None:
                self.values[op.result] = self.operand(a if guard else b)
            return
        self.emit(op, "sel", self.operand(a), self.operand(b), self.reg(op.result), guard)

    def extend(self, op: Op) -> None:
        """A predicate is 0 or 1 in a whole register already."""
        if op.result is not None:
            self.values[op.result] = self.operand(op.operands[0])

    def param(self, op: Op) -> None:
        """A parameter is a row of the constant bank."""
        offset = int(op.attr("offset"))
        if offset not in self.param_names:
            self.fault(
                "simt-param", f"no parameter starts at byte {offset}", op, "structures are not supported"
            )
        elif op.result is not None:
            self.values[op.result] = Row(f"param {self.param_names[offset]}")

    def sreg(self, op: Op) -> None:
        """Thread and launch coordinates; `tid` is linear, its row and plane come by reciprocal multiplication."""
        name = str(op.attr("sreg"))
        if op.result is None:
            return
        if name in LAUNCH_CONSTANTS:
            self.values[op.result] = Row(name)
        elif name == "linear":
            self.values[op.result] = TID
        elif name.startswith("lanemask_"):
            self.lane_mask(op, name.removeprefix("lanemask_"))
        elif name in ("tid.x", "tid.y", "tid.z"):
            self.values[op.result] = self.coordinate(op, name)
        elif name in _OF_TID:
            operation, amount = _OF_TID[name]
            self.emit(op, operation, TID, Row(amount), self.reg(op.result))
        else:
            self.fault("simt-sreg", f"special register %{name} is not supported", op)

    def lane_mask(self, op: Op, kind: str) -> None:
        """The bit of this lane, of those below or above it, with or without its own."""
        lane = self.emit(op, "and", TID, Row(31))
        first = {"eq": 1, "lt": 1, "ge": 1, "le": 2, "gt": 2}[kind]
        result = self.reg(op.result)
        bit = self.emit(
            op, "shl", self.emit(op, "or", ZERO, Row(first)), lane, result if kind == "eq" else None
        )
        if kind in ("lt", "le"):
            self.emit(op, "sub", bit, Row(1), result)
        elif kind in ("ge", "gt"):
            self.emit(op, "sub", ZERO, bit, result)

    def coordinate(self, op: Op, name: str) -> Operand:
        """One coordinate of the thread in its block; axes that the kernel never reads have size 1."""
        if self.axes == 1:
            return TID
        if not self.config.multiply_stages:
            hint = "use one-dimensional blocks and threadIdx.x alone"
            self.fault("simt-multiply", f"%{name} needs a multiplier; {self.config.name} has none", op, hint)
            return ZERO
        if name == "tid.z":
            return self.quotient(op, "xy")
        row = self.quotient(op, "x")
        if name == "tid.x":
            return self.emit(op, "sub", TID, self.emit(op, "mul", row, Row("ntid.x")))
        if self.axes == 2:
            return row
        return self.emit(op, "sub", row, self.emit(op, "mul", self.quotient(op, "xy"), Row("ntid.y")))

    def quotient(self, op: Op, axes: str) -> Reg:
        """The linear thread index divided by the size of a row (`x`) or of a plane (`xy`), once in a unit."""
        key = (self.unit, axes)
        if key not in self.quotients:
            product = self.emit(op, "mul", TID, Row(RECIPROCALS[axes]))
            self.quotients[key] = self.emit(op, "shr", product, Row(16))
        return self.quotients[key]

    # Memory --------------------------------------------------------------------------------------------------------

    def access(self, op: Op, name: str, data: Operand | None = None) -> Node | None:
        """A load or store of the op's address, not yet appended; None when the op is not possible."""
        space = str(op.attr("space"))
        if space not in _BASES:
            self.fault("simt-space", f"`{op.name}` in {space} memory is not supported", op)
            return None
        if op.attr("mem") != "b32":
            self.fault("simt-type", f"`{op.name}` of {op.attr('mem')}; the machine accesses whole words", op)
            return None
        place = match_address(Address((op.operands[0],), param=_BASES[space]), self.param_names)
        operands: list[Operand] = [self.operand(value) for value in (*place.scaled, *place.values)]
        if place.row is not None:
            operands.append(Row(place.row))
        a, b = (*operands, ZERO, ZERO)[:2]
        return Node(name + "x" if place.scaled else name, a, b, data, span=op.span, place=place)

    def load(self, op: Op) -> None:
        """A load; a guard that is never true leaves zero."""
        guard = self.condition(op.guard) if op.guard is not None else True
        if guard is False:
            if op.result is not None:
                self.values[op.result] = ZERO
            return
        if node := self.access(op, "ld"):
            node.guard = None if guard is True else guard
            node.result = self.reg(op.result)
            self.append(node)

    def store(self, op: Op) -> None:
        """A store, unless its guard is never true."""
        guard = self.condition(op.guard) if op.guard is not None else True
        node = self.access(op, "st", self.operand(op.operands[1]))
        if node is not None and guard is not False:
            node.guard = None if guard is True else guard
            self.append(node)

    def atomic(self, op: Op) -> None:
        """A read, an operation and a write in one serial block, branched around where the guard does not hold."""
        guard = self.condition(op.guard) if op.guard is not None else True
        if guard is False:
            if op.result is not None:
                self.values[op.result] = ZERO
            return
        if guard is True:
            self.exchange(op, self.reg(op.result) if op.result is not None else None)
            return
        before, body, after = self.unit, Unit(f"{self.unit.name}.atomic"), Unit(f"{self.unit.name}.after")
        before.condition, before.targets = guard, [body, after]
        self.code.units += [body, after]
        self.unit = body
        old = self.reg(None, op.name) if op.result is not None else None
        self.exchange(op, old)
        body.targets = [after]
        self.unit = after
        if old is not None:
            after.phis.append(Phi(self.reg(op.result), {before: ZERO, body: old}))

    def exchange(self, op: Op, result: Reg | None) -> None:
        """The nodes of one atomic operation; `result` gets the old value."""
        rmw = str(op.attr("rmw")) if op.name == "atomic" else "cas"
        read, write = self.access(op, "ld"), self.access(op, "st")
        if read is None or write is None:
            return
        operands = [self.operand(value) for value in op.operands[1:]]
        if rmw == "exch" and result is None:
            write.data = operands[0]
            self.append(write)
            return
        if rmw == "add" and result is None and self.can_combine(op):
            self.add_sum(op, read, write, operands[0])
            return
        start = len(self.unit.nodes)
        read.result = old = result or self.reg(None, "old")
        self.append(read)
        if rmw in _COMBINE:
            write.data = self.emit(op, _COMBINE[rmw], old, operands[0])
        elif rmw in _KEEP_OLD:
            compare, old_first = _KEEP_OLD[rmw]
            a, b = (old, operands[0]) if old_first else (operands[0], old)
            write.guard = Condition(self.emit(op, compare, a, b))
            write.data = operands[0]
        elif rmw == "cas":
            write.guard = Condition(self.emit(op, "seteq", old, operands[0]))
            write.data = operands[1]
        elif rmw == "exch":
            write.data = operands[0]
        else:
            self.fault("simt-op", f"atomic {rmw} is not supported", op, "use atomicCAS in a loop")
        self.append(write)
        self.atoms += 1
        group = [n for n in self.unit.nodes[start:] if n in (read, write) or old in n.reads()]
        for node in group:
            node.atom = self.atoms
        if len(group) > self.config.stages:
            hint = f"it takes {len(group)} operations in one block"
            self.fault("simt-op", f"atomic {rmw} does not fit {self.config.stages} stages", op, hint)

    def can_combine(self, op: Op) -> bool:
        """Whether all lanes add to one word, and the machine can sum over lanes in time for the addition."""
        config, address = self.config, op.operands[0]
        is_shared = isinstance(address, Const) or bool(address.uniform)
        first = min(config.multiply_stages, default=config.stages)
        return is_shared and first + config.multiply_latency < config.store_stage

    def add_sum(self, op: Op, read: Node, write: Node, value: Operand) -> None:
        """The sum of the lanes' values is added once, by the lowest lane."""
        start = len(self.unit.nodes)
        total = self.emit(op, "lsum", value)
        read.result = old = self.reg(None, "old")
        self.append(read)
        write.op = {"st": "stl", "stx": "stlx"}[write.op]
        write.data = self.emit(op, "add", old, total)
        self.append(write)
        self.atoms += 1
        for node in self.unit.nodes[start:]:
            if node.op in ("lsum", write.op) or old in (node.result, *node.reads()):
                node.atom, node.combined = self.atoms, True

    # Control -------------------------------------------------------------------------------------------------------

    def phi(self, op: Op) -> None:
        """A phi; its arguments are filled in when all values are known."""
        phi = Phi(self.reg(op.result), {})
        self.unit.phis.append(phi)
        self.phis.append((op, phi))

    def barrier(self, op: Op) -> None:
        """What follows a barrier is a unit that lanes wait for; all barriers of a kernel are the one of its thread block."""
        wait = Wait.WARP if op.name == "syncwarp" else Wait.CTA
        after = Unit(f"{self.unit.name}.barrier", wait=wait, span=op.span)
        self.unit.targets, self.unit.span = [after], op.span
        self.code.units.append(after)
        self.unit = after

    def branch(self, op: Op) -> None:
        """The end of a block."""
        targets: list[Unit | None] = [self.first[block] for block in op.blocks]
        self.unit.span = op.span
        if op.name == "cbr":
            condition = self.condition(op.operands[0])
            if isinstance(condition, bool):
                targets = targets[:1] if condition else targets[1:]
            else:
                self.unit.condition = condition
        self.unit.targets = targets or [None]


def _small(value: Value) -> int | None:
    """1 or -1 when the value is that constant."""
    return next((number for number in (1, -1) if is_const(value, number)), None)


def _lowest_bit(value: Value) -> tuple[Value, bool] | None:
    """x and whether it is inverted, when a predicate is bit 0 of x."""
    op = value.op
    if op is None or op.name not in ("icmp.eq", "icmp.ne") or op.operands[0].op is None:
        return None
    masked, bit = op.operands[0].op, op.operands[1]
    if (
        masked.name != "and"
        or not is_const(masked.operands[1], 1)
        or not (is_const(bit, 0) or is_const(bit, 1))
    ):
        return None
    return masked.operands[0], (op.name == "icmp.eq") == is_const(bit, 0)


def _params(function: Function) -> tuple[Param, ...]:
    """The parameters; a pointer is one that says so or that takes part in an address."""
    bases = _address_bases(function)
    return tuple(Param(p.name, p.is_pointer or p.offset in bases) for p in function.params)


def _shared_bytes(function: Function) -> int:
    """Bytes of shared memory up to the end of the last variable; arrays whose size the launch gives come after it."""
    ends = (s.address + s.size for s in function.symbols if s.space == "shared")
    return max(ends, default=0)


def _tables(function: Function) -> tuple[int, ...]:
    """The words of the constant variables."""
    tables = [s for s in function.symbols if s.space == "const"]
    data = bytearray(-(-max((s.address + s.size for s in tables), default=0) // 4) * 4)
    for s in tables:
        data[s.address : s.address + len(s.init)] = s.init
    return tuple(int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4))


def _address_bases(function: Function) -> set[int]:
    """Byte offsets of the parameters that reach an address by additions, choices and phis alone."""
    work = [
        op.operands[0] for op in function.ops() if "space" in op.spec.attrs and op.attr("space") == "global"
    ]
    seen: set[Value] = set()
    found: set[int] = set()
    while work:
        value = work.pop()
        if value in seen or value.op is None:
            continue
        seen.add(value)
        if value.op.name == "param":
            found.add(int(value.op.attr("offset")))
        elif value.op.name in ("add", "sub", "phi"):
            work += value.op.operands
        elif value.op.name == "and":  # the word around a byte
            work.append(value.op.operands[0])
        elif value.op.name == "select":
            work += value.op.operands[1:]
    return found

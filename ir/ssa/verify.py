"""What holds of every SSA function, and what each stage adds.

Every stage:
  ssa-entry        there is a first block, and no branch goes to it
  ssa-terminator   a block ends with its one terminator
  ssa-block        branches and phis name blocks of this function; every block can be reached
  ssa-arity        an op has the operands, blocks and result of its row in the table
  ssa-attr         its attributes are names or offsets that exist
  ssa-type         its types fit the row; constants are in range; conversions go the right way
  ssa-guard        only guardable ops have a guard, and it is an i1
  ssa-param        a parameter read lies inside the parameter space, aligned to its size
  ssa-symbol       variables of one space do not overlap, lie below `SPACE_BYTES`, and hold their initial bytes
  ssa-phi          phis stand first in a block and have one operand for each predecessor
  ssa-definition   a value is defined by one op of this function
  ssa-dominance    a definition dominates its uses (a phi uses its operands at the end of their blocks)
`ir-opt` and later:
  ssa-wide         no value has more than 32 bits
`ir-pred` and later:
  ssa-machine      only ops of the machine, and accesses of whole words
`ir-div`:
  ssa-reducible    every loop is entered through its header alone
  ssa-critical     an edge into a block with phis is the only one out of its source
  ssa-order        (O1) an edge goes to a later block, unless it is the back edge of a loop; (O2) the blocks of a
                   loop stand together, its header first and its only latch last
  ssa-uniformity   every value is annotated, and `uniform` only where the divergence analysis proves it

O1 and O2 are what the machine's rule "run the lanes at the smallest block number" needs. Let a lane's time be its block
and its iteration of each loop around it. Lanes with a smaller number run first and edges lead to larger numbers, so
when a block runs, every lane of the group that will ever be there in this iteration is there: lanes that part at a
branch meet again at its post-dominator in `Cfg.forward`, and no block of one iteration runs twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from qgc.diagnostics import Diagnostic, VerifyError
from qgc.ir.ssa.cfg import Cfg
from qgc.ir.ssa.divergence import Divergence
from qgc.ir.ssa.function import Attr, Block, Const, Function, Module, Op, Value, attr_binding
from qgc.ir.ssa.ops import ATTRS, Pattern, TyVar
from qgc.ir.ssa.text import op_text
from qgc.ir.ssa.types import I1, I32, Ty

STAGES: tuple[str, ...] = ("ir", "ir-opt", "ir-pred", "ir-div")
"""The stages whose data type is an SSA function, in order."""


SPACE_BYTES = 1 << 24
"""No state space but global memory is larger, nor is the parameter space."""


def verify(module: Module, stage: str = "ir") -> None:
    """Check every kernel of a module.

    Raises:
        VerifyError: every fault found, in text order.
    """
    faults = [fault for function in module.functions for fault in function_faults(function, stage)]
    if faults:
        raise VerifyError(*faults)


def verify_function(function: Function, stage: str = "ir") -> None:
    """Check one kernel as `verify` does."""
    faults = function_faults(function, stage)
    if faults:
        raise VerifyError(*faults)


def function_faults(function: Function, stage: str = "ir") -> list[Diagnostic]:
    """The faults of one kernel. A kind is looked for only where those before it leave its question meaningful."""
    later = STAGES.index(stage)
    groups: list[Callable[[Function], Iterator[Diagnostic]]] = [_shape, _declarations, _rows, _values]
    groups += [_narrow] if later >= STAGES.index("ir-opt") else []
    groups += [_machine] if later >= STAGES.index("ir-pred") else []
    groups += [_reducible, _divergent] if later >= STAGES.index("ir-div") else []
    for group in groups:
        if faults := list(group(function)):
            return faults
    return []


def _fault(code: str, message: str, function: Function, op: Op | None = None) -> Diagnostic:
    text = f"`{op_text(function, op)}`: " if op is not None else ""
    return Diagnostic(code, f"kernel {function.name}: {text}{message}", op.span if op is not None else None)


# Blocks and terminators


def _shape(function: Function) -> Iterator[Diagnostic]:
    if not function.blocks:
        yield _fault("ssa-entry", "there is no block", function)
        return
    for block in function.blocks:
        if not block.ops or not block.terminator.spec.terminator:
            yield _fault("ssa-terminator", f"block {block.name} does not end with a terminator", function)
        for op in block.ops:
            if op.spec.terminator and op is not block.ops[-1]:
                yield _fault("ssa-terminator", f"ops follow it in block {block.name}", function, op)
            for target in op.blocks:
                if target not in function.blocks:
                    yield _fault("ssa-block", f"block {target.name} is not in this function", function, op)
            if op.spec.terminator and function.entry in op.blocks:
                yield _fault("ssa-entry", "it goes to the entry block", function, op)


def _declarations(function: Function) -> Iterator[Diagnostic]:
    if function.param_bytes > SPACE_BYTES:
        yield _fault("ssa-param", f"there are {function.param_bytes} bytes of parameters", function)
    end: dict[str, int] = {}
    for symbol in sorted(function.symbols, key=lambda s: s.address):
        if symbol.address < end.get(symbol.space, 0):
            yield _fault("ssa-symbol", f"{symbol.name} overlaps the variable before it", function)
        end[symbol.space] = symbol.address + symbol.size
        if end[symbol.space] > SPACE_BYTES:
            yield _fault("ssa-symbol", f"{symbol.name} ends at {end[symbol.space]}", function)
        if len(symbol.init) > symbol.size:
            yield _fault("ssa-symbol", f"{symbol.name} has {len(symbol.init)} initial bytes", function)


# Ops against their rows


def _rows(function: Function) -> Iterator[Diagnostic]:
    reached = Cfg(function).index
    for block in function.blocks:
        if block not in reached:
            yield _fault("ssa-block", f"nothing reaches block {block.name}", function)
        for op in block.ops:
            yield from _arity(function, op) or _types(function, op)
    yield from _phis(function)


def _arity(function: Function, op: Op) -> list[Diagnostic]:
    spec, faults = op.spec, []
    if spec.blocks >= 0 and len(op.operands) != len(spec.operands):
        message = f"takes {len(spec.operands)} operands, has {len(op.operands)}"
        faults.append(_fault("ssa-arity", message, function, op))
    blocks = spec.blocks if spec.blocks >= 0 else len(op.operands)
    if len(op.blocks) != blocks:
        faults.append(_fault("ssa-arity", f"names {len(op.blocks)} blocks, not {blocks}", function, op))
    if (op.result is None) != (spec.result is None) and not spec.optional_result:
        wanted = "no result" if spec.result is None else "a result"
        faults.append(_fault("ssa-arity", f"has {wanted}", function, op))
    if len(op.attrs) != len(spec.attrs) or not all(map(_is_attr, spec.attrs, op.attrs)):
        faults.append(_fault("ssa-attr", f"needs {', '.join(spec.attrs) or 'nothing'}", function, op))
    if op.guard is not None and (not spec.guardable or op.guard.ty is not I1):
        message = "its guard is no i1" if spec.guardable else "it can have no guard"
        faults.append(_fault("ssa-guard", message, function, op))
    return faults


def _is_attr(kind: str, attr: Attr) -> bool:
    return isinstance(attr, int) and attr >= 0 if kind == "offset" else attr in ATTRS[kind]


def _types(function: Function, op: Op) -> Iterator[Diagnostic]:
    spec = op.spec
    bound = attr_binding(spec, op.attrs)
    patterns = spec.operands * len(op.operands) if spec.blocks < 0 else spec.operands
    for number, (pattern, value) in enumerate(zip(patterns, op.operands, strict=True)):
        if wanted := _mismatch(pattern, value.ty, bound):
            message = f"operand {number} is {value.ty}, expected {wanted}"
            yield _fault("ssa-type", message, function, op)
        if isinstance(value, Const) and not 0 <= value.value <= value.ty.mask:
            yield _fault("ssa-type", f"operand {number} is out of the range of {value.ty}", function, op)
    if op.result is not None and spec.result is not None:
        if wanted := _mismatch(spec.result, op.result.ty, bound):
            yield _fault("ssa-type", f"the result is {op.result.ty}, expected {wanted}", function, op)
        yield from _conversion(function, op, op.result.ty)


def _mismatch(pattern: Pattern, ty: Ty, bound: dict[TyVar, Ty]) -> str:
    """Say what the pattern wanted, or nothing when `ty` is that."""
    if isinstance(pattern, Ty):
        return "" if ty is pattern else str(pattern)
    if ty not in pattern.choices:
        return " or ".join(map(str, pattern.choices))
    wanted = bound.setdefault(pattern, ty)
    return "" if wanted is ty else str(wanted)


def _conversion(function: Function, op: Op, ty: Ty) -> Iterator[Diagnostic]:
    if op.name in ("zext", "sext") and ty.bits <= op.operands[0].ty.bits:
        yield _fault("ssa-type", f"{ty} is not wider than {op.operands[0].ty}", function, op)
    if op.name == "trunc" and ty.bits >= op.operands[0].ty.bits:
        yield _fault("ssa-type", f"{ty} is not narrower than {op.operands[0].ty}", function, op)
    if op.name == "param":
        offset, size = int(op.attr("offset")), ty.bits // 8
        if size == 0 or offset % size or offset + size > function.param_bytes:
            message = f"no {ty} at offset {offset} of {function.param_bytes} parameter bytes"
            yield _fault("ssa-param", message, function, op)


def _phis(function: Function) -> Iterator[Diagnostic]:
    predecessors = Cfg(function).predecessors
    for block in function.blocks:
        came = predecessors.get(block, [])
        head = True
        for op in block.ops:
            if op.name != "phi":
                head = False
                continue
            if not head:
                yield _fault("ssa-phi", "an op that is no phi stands before it", function, op)
            for predecessor in came:
                if op.blocks.count(predecessor) != 1:
                    message = f"{op.blocks.count(predecessor)} operands for predecessor {predecessor.name}"
                    yield _fault("ssa-phi", message, function, op)
            for source in op.blocks:
                if source not in came:
                    yield _fault("ssa-phi", f"{source.name} is no predecessor", function, op)


# Definitions and uses


def _values(function: Function) -> Iterator[Diagnostic]:
    place: dict[Value, tuple[Block, int]] = {}
    for block in function.blocks:
        for i, op in enumerate(block.ops):
            if op.result is None:
                continue
            if op.result in place or op.result.op is not op:
                yield _fault("ssa-definition", "its result is defined by another op", function, op)
            place[op.result] = (block, i)
    cfg = Cfg(function)
    for block in function.blocks:
        for i, op in enumerate(block.ops):
            for number, value in enumerate(op.uses):
                if isinstance(value, Const):
                    continue
                use = (op.blocks[number], 1 << 60) if op.name == "phi" else (block, i)
                if value not in place:
                    yield _fault("ssa-definition", "it uses a value that no op here defines", function, op)
                elif not _comes_before(cfg, place[value], use):
                    yield _fault("ssa-dominance", f"%{value.name} is not defined on every path", function, op)


def _comes_before(cfg: Cfg, definition: tuple[Block, int], use: tuple[Block, int]) -> bool:
    if definition[0] is use[0]:
        return definition[1] < use[1]
    return cfg.dominates(definition[0], use[0])


# Stages


def _narrow(function: Function) -> Iterator[Diagnostic]:
    for op in function.ops():
        types = [v.ty for v in [*op.uses, *([op.result] if op.result is not None else [])]]
        if any(ty.bits > I32.bits for ty in types):
            yield _fault("ssa-wide", "the machine has only 32-bit words", function, op)


def _machine(function: Function) -> Iterator[Diagnostic]:
    for op in function.ops():
        if not op.spec.machine:
            yield _fault("ssa-machine", "is no operation of the machine", function, op)
        elif "mem" in op.spec.attrs and op.attr("mem") != "b32":
            yield _fault("ssa-machine", "the machine's memory is read and written in words", function, op)


def _reducible(function: Function) -> Iterator[Diagnostic]:
    for source, target in Cfg(function).irreducible_edges:
        message = f"the branch to {target.name} enters a loop beside its header"
        yield _fault("ssa-reducible", message, function, source.terminator)


def _divergent(function: Function) -> Iterator[Diagnostic]:
    cfg = Cfg(function)
    yield from _edges(function, cfg)
    number = {block: i for i, block in enumerate(function.blocks)}
    for loop in cfg.loops:
        places = sorted(number[block] for block in loop.blocks)
        name = loop.header.name
        if places[-1] - places[0] + 1 != len(places) or number[loop.header] != places[0]:
            yield _fault(
                "ssa-order", f"the loop at {name} does not stand together after its header", function
            )
        elif len(loop.latches) != 1 or number[loop.latches[0]] != places[-1]:
            yield _fault("ssa-order", f"the loop at {name} does not end with its only latch", function)
    divergence = Divergence(function)
    for op in function.ops():
        if op.result is None:
            continue
        if op.result.uniform is None:
            yield _fault("ssa-uniformity", "its result is not annotated", function, op)
        elif op.result.uniform and not divergence.is_uniform(op.result):
            yield _fault("ssa-uniformity", "its result may differ between lanes", function, op)


def _edges(function: Function, cfg: Cfg) -> Iterator[Diagnostic]:
    number = {block: i for i, block in enumerate(function.blocks)}
    back = set(cfg.back_edges)
    for block in function.blocks:
        for target in block.successors:
            if target.phis and len(block.successors) > 1:
                message = f"the edge to {target.name} has no block for the copies of its phis"
                yield _fault("ssa-critical", message, function, block.terminator)
            if (block, target) not in back and number[target] <= number[block]:
                yield _fault("ssa-order", f"it goes back to block {target.name}", function, block.terminator)

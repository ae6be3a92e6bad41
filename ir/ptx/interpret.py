"""The reference evaluator of PTX: a launch, thread by thread in meaning, array by array in work.

Blocks of the grid run one after another. In a block every thread has its own program counter; those at the lowest
run next, together, until they branch apart or meet others. That is the order in which branches reconverge. So that
threads which spin cannot starve those they wait for, every `_FAIR` turns the threads that waited longest run instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import QgcError, fail
from qgc.ir.launch import Dim3, Launch, Memory
from qgc.ir.ptx.ast import Instruction, Module, Symbol
from qgc.ir.ptx.collective import REDUCTIONS, WARP_OPS
from qgc.ir.ptx.decode import Form, decode
from qgc.ir.ptx.execute import Action, Executor, Target
from qgc.ir.ptx.flat import FlatFunction, flatten
from qgc.ir.ptx.kernels import find_kernel, ptx_params
from qgc.ir.ptx.lanes import Lanes, Mask, Reader
from qgc.ir.ptx.variables import Variables
from qgc.ir.ptx.verify import verify_function

DEFAULT_BUDGET = 50_000_000
_FAIR = 64

_RUNNING, _AT_BARRIER, _AT_WARP, _ENDED = range(4)

Array: TypeAlias = NDArray[Any]


def run(
    module: Module,
    launch: Launch,
    params: bytes,
    memory: Memory,
    *,
    kernel: str | None = None,
    dynamic_shared: int = 0,
    budget: int = DEFAULT_BUDGET,
) -> int:
    """Execute a launch on `memory` (global) and return how many instructions its threads ran.

    `params` is the parameter buffer (`kernels.ptx_params`, `kernels.pack_params`), `kernel` a name for
    `find_kernel`, `dynamic_shared` the bytes of `.extern .shared` arrays. Module-scope global variables are added to
    `memory` unless an earlier launch did.

    Raises:
        QgcError: `kernel-*`; the faults of the kernel (VerifyError); `launch-params`, `launch-deadlock`,
            `launch-budget`, `launch-trap`; `memory-bounds` and `memory-align` with thread, address and line.
    """
    function = find_kernel(module, kernel)
    verify_function(module, function)
    needed = max((p.offset + p.size for p in ptx_params(function)), default=0)
    if len(params) < needed:
        raise fail(
            "launch-params", f"kernel {function.name} takes {needed} parameter bytes, got {len(params)}"
        )
    flat = flatten(function)
    variables = Variables(module, flat, memory, params, dynamic_shared)
    lanes = Lanes(launch, flat.registers, (variables.total_shared, dynamic_shared))
    code = _assemble(flat, Executor(lanes, variables))
    spent = 0
    for ctaid in launch.blocks():
        spent = _BlockRun(flat, code, lanes, variables, budget, spent).run(ctaid)
    return spent


@dataclass(frozen=True, slots=True)
class _Step:
    """One instruction, prepared. `jumps` are the targets of a branch, `sources` what control needs to read."""

    item: Instruction
    form: Form
    guard: Reader | None
    action: Action | None
    jumps: tuple[int, ...]
    sources: tuple[Reader, ...]
    targets: tuple[Target, ...]


def _assemble(flat: FlatFunction, executor: Executor) -> tuple[_Step, ...]:
    return tuple(_step(flat, executor, item) for item in flat.code)


def _step(flat: FlatFunction, executor: Executor, item: Instruction) -> _Step:
    form = decode(item.opcode, item.modifiers)
    if not isinstance(form, Form):
        raise TypeError(f"{item.name} passed the verifier without a row")
    guard = executor.reader(item.guard.reg, "pred") if item.guard is not None else None
    if form.spec.is_branch:
        jumps = tuple(flat.labels[name] for name in _jump_labels(flat, item))
        sources = (executor.reader(item.operands[0], "u32"),) if item.opcode == "brx" else ()
        return _Step(item, form, guard, None, jumps, sources, ())
    if form.spec.is_collective:
        return _Step(
            item,
            form,
            guard,
            None,
            (),
            tuple(executor.sources(item, form)),
            tuple(executor.targets(item, form)),
        )
    return _Step(item, form, guard, executor.action(item, form), (), (), ())


def _jump_labels(flat: FlatFunction, item: Instruction) -> tuple[str, ...]:
    target = item.operands[-1] if item.operands else None
    if not isinstance(target, Symbol):
        return ()
    return flat.tables[target.name] if item.opcode == "brx" else (target.name,)


class _BlockRun:
    """One block of the grid: where each thread stands, and why it waits.

    `pc` is the next instruction of each thread, or the collective that it waits at. At a barrier `wait_key` is the
    barrier's number and `wait_count` the threads it waits for, 0 for all; at a warp operation `wait_key` is the
    membermask. `arrived` counts `bar.arrive` for each barrier.
    """

    def __init__(
        self,
        flat: FlatFunction,
        code: tuple[_Step, ...],
        lanes: Lanes,
        variables: Variables,
        budget: int,
        spent: int,
    ) -> None:
        self.flat, self.code, self.lanes, self.variables = flat, code, lanes, variables
        self.budget, self.spent = budget, spent
        count = lanes.count
        self.pc = np.zeros(count, dtype=np.int64)
        self.status = np.full(count, _RUNNING, dtype=np.int8)
        self.wait_key = np.zeros(count, dtype=np.int64)
        self.wait_count = np.zeros(count, dtype=np.int64)
        self.last_turn = np.zeros(count, dtype=np.int64)
        self.arrived: dict[int, int] = {}
        self.turn = 0

    def run(self, ctaid: Dim3) -> int:
        """Run the block to its end and return the instructions spent so far, earlier blocks included."""
        self.lanes.start_block(ctaid)
        self.variables.start_block(self.lanes.count)
        with np.errstate(all="ignore"):
            while not (self.status == _ENDED).all():
                running = self.status == _RUNNING
                if running.any():
                    self._take_turn(running)
                else:
                    raise self._deadlock()
        return self.spent

    # Turns

    def _take_turn(self, running: Mask) -> None:
        """Choose threads that stand at one instruction and run them until they branch or meet others."""
        self.turn += 1
        if self.turn % _FAIR:
            at = int(self.pc[running].min())
        else:
            patience = np.where(running, self.last_turn, self.turn)
            at = int(self.pc[patience.argmin()])
        mask = running & (self.pc == at)
        self.last_turn[mask] = self.turn
        later = self.pc[running & (self.pc > at)]
        stop = int(later.min()) if later.size else len(self.code)
        is_alone = bool((mask == running).all())
        self._run(mask, at, stop, is_alone)

    def _run(self, mask: Mask, at: int, stop: int, is_alone: bool) -> None:
        """Run the threads of `mask` from `at` on. `is_alone` lets them jump without handing over."""
        count = int(np.count_nonzero(mask))
        while at < stop:
            step = self.code[at]
            self._spend(count, step, mask)
            active = mask if step.guard is None else self._guarded(mask, step, step.guard)
            if step.action is not None:
                if step.guard is None or active.any():
                    step.action(active)
                at += 1
                continue
            following = self._control(step, at, mask, active)
            if following is None or (following != at + 1 and not is_alone):
                self.pc[mask] = at if following is None else following
                if following is None:
                    self._settle(step, at, mask, active)
                return
            at = following
        self.pc[mask] = at

    def _guarded(self, mask: Mask, step: _Step, guard: Reader) -> Mask:
        is_negated = step.item.guard is not None and step.item.guard.negated
        return mask & (~guard() if is_negated else guard())

    def _spend(self, count: int, step: _Step, mask: Mask) -> None:
        self.spent += count
        self.lanes.clock += 1
        if self.spent > self.budget:
            who = self.lanes.thread_name(int(np.flatnonzero(mask)[0]))
            hint = "a loop may never end; if it does, raise the budget"
            message = f"the launch did not end within {self.budget} instructions; {who} is here"
            raise fail("launch-budget", message, step.item.span, hint)

    # Control

    def _control(self, step: _Step, at: int, mask: Mask, active: Mask) -> int | None:
        """Return where all threads of `mask` go on together, or None when they do not."""
        if not active.any():
            return at + 1
        if step.item.opcode == "bra" and bool((active == mask).all()):
            return step.jumps[0]
        return None

    def _settle(self, step: _Step, at: int, mask: Mask, active: Mask) -> None:
        """Send each thread its own way after an instruction that parts them."""
        self.pc[mask & ~active] = at + 1
        opcode = step.item.opcode
        if opcode == "bra":
            self.pc[active] = step.jumps[0]
        elif opcode == "brx":
            self._branch_by_table(step, active)
        elif opcode == "trap":
            who = self.lanes.thread_name(int(np.flatnonzero(active)[0]))
            raise fail("launch-trap", f"{who} executed trap", step.item.span)
        elif step.form.spec.is_branch:  # ret, exit
            self.status[active] = _ENDED
            self._release()
        else:
            self._wait(step, at, active)

    def _branch_by_table(self, step: _Step, active: Mask) -> None:
        index = step.sources[0]()[active]
        outside = index >= len(step.jumps)
        if outside.any():
            who = self.lanes.thread_name(int(np.flatnonzero(active)[outside.argmax()]))
            message = f"{who} branches to entry {int(index[outside][0])} of a list of {len(step.jumps)}"
            raise fail("launch-branch", message, step.item.span)
        self.pc[active] = np.array(step.jumps, dtype=np.int64)[index]

    # Waiting

    def _wait(self, step: _Step, at: int, active: Mask) -> None:
        if step.form.spec.name in WARP_OPS:
            self.status[active] = _AT_WARP
            self.wait_key[active] = step.sources[-1]()[active]
        elif step.form.spec.name == "bar.arrive":
            self._arrive(step, at, active)
        else:
            self.status[active] = _AT_BARRIER
            self.wait_key[active] = step.sources[0]()[active]
            has_count = len(step.sources) > 1 and step.form.spec.name not in REDUCTIONS
            self.wait_count[active] = step.sources[1]()[active] if has_count else 0
        self._release()

    def _arrive(self, step: _Step, at: int, active: Mask) -> None:
        for barrier in step.sources[0]()[active].tolist():
            self.arrived[barrier] = self.arrived.get(barrier, 0) + 1
        self.pc[active] = at + 1

    def _release(self) -> None:
        """Let go every barrier and every warp operation for which all have come."""
        for barrier in np.unique(self.wait_key[self.status == _AT_BARRIER]).tolist():
            self._release_barrier(barrier)
        waiting = np.flatnonzero(self.status == _AT_WARP)
        groups = {(int(self.lanes.warp[t]), int(self.wait_key[t]), int(self.pc[t])) for t in waiting}
        for group in sorted(groups):
            self._release_warp(*group)

    def _release_barrier(self, barrier: int) -> None:
        """Ended threads count as arrived: a return before a barrier does not hold the block up."""
        waiting = (self.status == _AT_BARRIER) & (self.wait_key == barrier)
        alive = int(np.count_nonzero(self.status != _ENDED))
        come = int(np.count_nonzero(waiting)) + self.arrived.get(barrier, 0)
        wanted = int(self.wait_count[waiting].max())
        if come < alive if wanted == 0 else come + self.lanes.count - alive < wanted:
            return
        self.arrived.pop(barrier, None)
        for at in np.unique(self.pc[waiting]).tolist():
            self._reduce(self.code[at], waiting, waiting & (self.pc == at))
        self._go_on(waiting)

    def _reduce(self, step: _Step, everyone: Mask, here: Mask) -> None:
        combine = REDUCTIONS.get(step.form.spec.name)
        if combine is None:
            return
        (name, _type_name), held = step.targets[0], step.sources[1]()[everyone]
        if name is not None:
            self.lanes.write(name, np.full(self.lanes.count, combine(held)), here)

    def _release_warp(self, warp: int, members: int, at: int) -> None:
        """Execute a warp operation once every living thread of its membermask waits at it."""
        in_mask = (self.lanes.warp == warp) & (members >> self.lanes.lane & 1).astype(bool)
        expected = in_mask & (self.status != _ENDED)
        come = (
            (self.status == _AT_WARP)
            & (self.pc == at)
            & (self.wait_key == members)
            & (self.lanes.warp == warp)
        )
        if not (come == expected).all():
            outsider = come & ~in_mask
            if outsider.any():
                who = self.lanes.thread_name(int(np.flatnonzero(outsider)[0]))
                message = f"{who} is not in its own membermask {members:#x}"
                raise fail("launch-membermask", message, self.code[at].item.span)
            return
        step, threads = self.code[at], np.flatnonzero(come)
        operands = [read()[threads] for read in step.sources[:-1]]
        results = WARP_OPS[step.form.spec.name](step.form, self.lanes.lane[threads], *operands)
        for (name, _type_name), value in zip(step.targets, results, strict=False):
            if name is not None:
                full = np.zeros(self.lanes.count, dtype=value.dtype)
                full[threads] = value
                self.lanes.write(name, full, come)
        self._go_on(come)

    def _go_on(self, threads: Mask) -> None:
        self.status[threads] = _RUNNING
        self.pc[threads] += 1

    def _deadlock(self) -> QgcError:
        stuck = int(np.flatnonzero(self.status != _ENDED)[0])
        step = self.code[int(self.pc[stuck])]
        count = int(np.count_nonzero(self.status != _ENDED))
        message = f"deadlock: {self.lanes.thread_name(stuck)} and {count - 1} more wait here for threads that never come"
        hint = "every thread of the block, or of the membermask, must reach the same barrier"
        return fail("launch-deadlock", message, step.item.span, hint)

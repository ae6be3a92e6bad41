"""The next token: more of the value being spelled, the next live-out, the store, or the next block.

An exec token latches what its block produced: the results, and for each of them how many slices it takes. Every later
token of the block reads these latches, and the counters say how far the spelling has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from qgc.backends.circuits.gates import all_of, any_of, clean, conjunction, literal, matches
from qgc.backends.circuits.machine.context import Context
from qgc.backends.circuits.machine.control import Next
from qgc.backends.circuits.machine.fetch import Fetched
from qgc.backends.circuits.machine.stage import StageResult
from qgc.ir.machine.config import WORD_BITS
from qgc.ir.machine.tokens import MORE_SLICES, Vocabulary
from qgc.ir.netlist.netlist import Builder, Signal, total


@dataclass(frozen=True, slots=True)
class _Latched:
    """What the block's exec token has left: 0/1 signals.

    `vector[s][k]`, `uniform_more[s][k]`: stage s's value needs slice k + 1 as a vector, as a uniform value.
    `scalar[lane][k]`: the word that the lane stores needs scalar slice k + 1.
    """

    is_uniform: list[Signal]
    vector: list[list[Signal]]
    uniform_more: list[list[Signal]]
    scalar: list[list[Signal]]
    stores: list[Signal]
    is_run: Signal
    faults: Signal


def build_emission(b: Builder, c: Context, f: Fetched, stages: list[StageResult], n: Next) -> None:
    """Everything from the stage results to the outputs `next.kind.*` and `next.payload[*]`."""
    b = b.with_scope("emit")
    c = replace(
        c,
        slice=clean(b, "slice", c.slice),
        ordinal=clean(b, "ordinal", c.ordinal),
        stores=clean(b, "stores", c.stores),
    )
    latched = _summary(b, c, f, stages)
    progress = _progress(b, c, f)
    more = _more(b, c, progress, latched)
    choice = _choose(b, c, f, progress, latched, more)
    _outputs(b, c, f, stages, n, progress, choice)


# How many slices each result takes --------------------------------------------------------------------------------


def _summary(b: Builder, c: Context, f: Fetched, stages: list[StageResult]) -> _Latched:
    """Compute the summary of the results and latch it."""
    config = c.config
    uniform, vector, scalar_of = [], [], []
    for s, stage in enumerate(stages):
        sb = b.with_scope(f"s{s}")
        uniform.append(_uniform(sb, f, stage))
        vector.append(_needs(sb, "v", f, stage, config.lane_bits, config.vector_slices))
        scalar_of.append(_needs(sb, "u", f, stage, config.payload, config.scalar_slices))
    store = stages[config.store_stage]
    scalar = [
        [
            _lane_needs(b, f"word{lane}.{k}", f.lane[lane], bits, k * config.payload)
            for k in range(1, config.scalar_slices)
        ]
        for lane, bits in enumerate(store.value)
    ]
    is_run = _is_run(b, f, store)
    faults = any_of(b, "fault", [stage.faults for stage in stages])
    groups: list[list[Signal]] = [uniform, *vector, *scalar_of, *scalar, store.enabled, [is_run, faults]]
    flat = [x for group in groups for x in group]
    read = iter(b.memory("latch", flat, c.exec))
    parts = [[next(read) for _ in group] for group in groups]
    n = config.stages
    return _Latched(
        parts[0], parts[1 : n + 1], parts[n + 1 : 2 * n + 1], parts[2 * n + 1 : -2], parts[-2], *parts[-1]
    )


def _uniform(b: Builder, f: Fetched, stage: StageResult) -> Signal:
    """Whether all running lanes agree: in every bit, none or all of them have a 1."""
    running = total(f.lane)
    agree = []
    for i in range(WORD_BITS):
        ones, same = b.wire(f"ones{i}", high=len(f.lane)), b.wire(f"same{i}", high=2)
        for lane, bits in enumerate(stage.value):
            b.add(ones, conjunction(f.lane[lane], bits[i]))
        b.add(same, 1 - 2 * ones)
        b.add(same, 1 - 2 * (running - ones))
        agree.append(same)
    return all_of(b, "is_uniform", agree)


def _lane_needs(b: Builder, name: str, on: Signal, bits: list[Signal], low: int) -> Signal:
    """Whether a running lane's bits from `low - 1` up are not all equal: the slices below do not say it all."""
    top = bits[low - 1 :]
    agree = b.wire(name)
    b.add(agree, conjunction(on, *top))
    b.add(agree, conjunction(on, *(1 - bit for bit in top)))
    return on - agree


def _needs(b: Builder, name: str, f: Fetched, stage: StageResult, width: int, count: int) -> list[Signal]:
    """For each slice from 1 up: some running lane needs it."""
    out = []
    for k in range(1, count):
        lanes = [
            _lane_needs(b, f"{name}{k}.lane{lane}", f.lane[lane], bits, k * width)
            for lane, bits in enumerate(stage.value)
        ]
        out.append(any_of(b, f"{name}{k}", lanes))
    return out


def _is_run(b: Builder, f: Fetched, store: StageResult) -> Signal:
    """Whether a store is one vector: at least two lanes run, all of them store, to consecutive words from lane 0's.

    `gap` is positive when a running lane's address is not lane 0's plus its number, or the lane does not store.
    """
    gap = b.wire("gap", high=len(f.lane) * (2 << len(store.address[0])))
    base = total(bit * (1 << i) for i, bit in enumerate(store.address[0]))
    for lane, bits in enumerate(store.address):
        b.add(gap, conjunction(f.lane[lane], 1 - store.enabled[lane]))
        if lane:
            step = total(bit * (1 << i) for i, bit in enumerate(bits)) - base - lane
            b.add(gap, step, f.lane[lane])
            b.add(gap, -step, f.lane[lane])
    out = b.wire("is_run")
    for lane, on in enumerate(f.lane[1:], 1):
        b.add(out, conjunction(f.lane[0], on, *(1 - x for x in f.lane[1:lane])) - 2 * gap)
    return out


# How far the spelling has come ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Progress:
    """Which stage's value comes into question, known early in the token's pass; one-hot by stage.

    `current`: the live-out being spelled; `following`: the next live-out (all 0 when there is none).
    `spelled`, `begun`: the values that this token would go on with, and begin, if it is a value at all that comes next.
    """

    current: list[Signal]
    following: list[Signal]
    spelled: list[Signal]
    begun: list[Signal]


def _progress(b: Builder, c: Context, f: Fetched) -> _Progress:
    config = c.config
    current, following = b.bus("current", config.stages), b.bus("following", config.stages)
    for n in range(config.stages):
        stage = f.live[f"stage{n}"]
        is_used = any_of(b, f"live{n}", f.live[f"register{n}"])
        for s in range(config.stages):
            b.add(current[s], conjunction(c.ordinal[n + 1], *matches(stage, s)))
            b.add(following[s], conjunction(c.ordinal[n], is_used, *matches(stage, s)))
    spelled, begun = b.bus("spelled", config.stages), b.bus("begun", config.stages)
    idle = c.exec + c.is_data
    for s in range(config.stages):
        b.add(spelled[s], conjunction(c.is_data, c.is_val, current[s]))
        b.add(begun[s], conjunction(idle, following[s]))
    b.add(spelled[config.store_stage], conjunction(c.is_data, 1 - c.is_val))
    b.add(begun[config.store_stage], conjunction(c.kind["adr"] + c.kind["adr_v"]))
    return _Progress(current, following, spelled, begun)


def _storing(c: Context, stores: list[Signal], lane: int, rank: int) -> Iterator[list[Signal]]:
    """Literals that say: the lane stores, and exactly `rank` lanes below it do; one list for each set of lanes."""
    for below in product((0, 1), repeat=lane):
        if sum(below) == rank:
            yield [stores[lane], *(literal(stores[i], x) for i, x in enumerate(below))]


def _more(b: Builder, c: Context, p: _Progress, x: _Latched) -> Signal:
    """Whether the value being spelled needs another slice."""
    more = b.wire("more")
    store = c.config.store_stage
    mem = [c.is_data, 1 - c.is_val]
    for k in range(c.config.vector_slices - 1):
        for s in range(c.config.stages):
            b.add(
                more, conjunction(c.is_data, c.is_val, c.is_vector, p.current[s], c.slice[k]), x.vector[s][k]
            )
        b.add(more, conjunction(*mem, c.is_vector, c.slice[k]), x.vector[store][k])
    for k in range(c.config.scalar_slices - 1):
        for s in range(c.config.stages):
            spelled = conjunction(c.is_data, c.is_val, 1 - c.is_vector, p.current[s], c.slice[k])
            b.add(more, spelled, x.uniform_more[s][k])
        for lane, rank in _ranks(c):
            for literals in _storing(c, x.stores, lane, rank):
                gate = conjunction(*mem, 1 - c.is_vector, c.slice[k], c.stores[rank + 1], *literals)
                b.add(more, gate, x.scalar[lane][k])
    return more


def _ranks(c: Context) -> list[tuple[int, int]]:
    return [(lane, rank) for lane in range(c.config.lanes) for rank in range(lane + 1)]


# Which token ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Choice:
    """Exactly one of these is chosen. All are 0/1 wires.

    `vector[k]`: slice k of a vector; `scalar[lane][k]`: slice k of a lane's word. Slice 0 begins the value of
    `_Progress.begun`, the others go on with `_Progress.spelled`.
    """

    more: Signal
    rest: Signal
    val_v: Signal
    val_u: Signal
    adr_v: Signal
    adr: list[Signal]
    fault: Signal
    end: Signal
    vector: list[Signal]
    scalar: list[list[Signal]]


def _choose(b: Builder, c: Context, f: Fetched, p: _Progress, x: _Latched, more: Signal) -> _Choice:
    config = c.config
    lanes = range(config.lanes)
    w = {n: b.wire(n) for n in ("do_more", "do_rest", "val_v", "val_u", "adr_v", "fault_out", "end")}
    adr = b.bus("adr", config.lanes)
    vector = b.bus("vector", config.vector_slices)
    scalar = [b.bus(f"scalar_of{lane}", config.scalar_slices) for lane in lanes]
    chosen = _Choice(
        w["do_more"],
        w["do_rest"],
        w["val_v"],
        w["val_u"],
        w["adr_v"],
        adr,
        w["fault_out"],
        w["end"],
        vector,
        scalar,
    )
    late = total(c.slice[MORE_SLICES - 1 :])
    b.add(chosen.more, conjunction(more, 1 - late))
    b.add(chosen.rest, conjunction(more, late))
    b.add(chosen.fault, conjunction(c.exec, x.faults))
    is_next = total(p.following)
    for idle, may_store in (([c.exec, 1 - x.faults], []), ([c.is_data, 1 - more], [c.is_val])):
        for s in range(config.stages):
            b.add(chosen.val_v, conjunction(*idle, p.following[s], 1 - x.is_uniform[s]))
            b.add(chosen.val_u, conjunction(*idle, p.following[s], x.is_uniform[s]))
            b.add(vector[0], conjunction(*idle, p.following[s], 1 - x.is_uniform[s]))
            for lane in lanes:
                b.add(scalar[lane][0], conjunction(*idle, p.following[s], x.is_uniform[s], f.first[lane]))
        rest = [*idle, 1 - is_next]
        b.add(chosen.adr_v, conjunction(*rest, x.is_run, *may_store))
        if may_store:
            b.add(chosen.end, conjunction(*rest, x.is_run, 1 - c.is_val))
        b.add(chosen.end, conjunction(*rest, 1 - x.is_run))
        for lane, rank in _ranks(c):
            for literals in _storing(c, x.stores, lane, rank):
                gate = conjunction(*rest, 1 - x.is_run, c.stores[rank], *literals)
                b.add(adr[lane], gate)
                b.add(chosen.end, gate, -1)
    for kind in ("start", "warp"):
        b.add(chosen.end, conjunction(c.kind[kind]))
    _choose_slices(b, c, f, x, more, chosen)
    return chosen


def _choose_slices(b: Builder, c: Context, f: Fetched, x: _Latched, more: Signal, chosen: _Choice) -> None:
    """Which slice of what: the next one of the value being spelled, or the first one of the word just addressed."""
    b.add(chosen.vector[0], conjunction(c.kind["adr_v"]))
    for k in range(c.config.vector_slices - 1):
        b.add(chosen.vector[k + 1], conjunction(more, c.is_vector, c.slice[k]))
    for k in range(c.config.scalar_slices - 1):
        for lane in range(c.config.lanes):
            gate = conjunction(more, c.is_val, 1 - c.is_vector, c.slice[k], f.first[lane])
            b.add(chosen.scalar[lane][k + 1], gate)
    for lane, rank in _ranks(c):
        for literals in _storing(c, x.stores, lane, rank):
            where = [c.stores[rank + 1], *literals]
            b.add(chosen.scalar[lane][0], conjunction(c.kind["adr"], *where))
            for k in range(c.config.scalar_slices - 1):
                gate = conjunction(more, 1 - c.is_val, 1 - c.is_vector, c.slice[k], *where)
                b.add(chosen.scalar[lane][k + 1], gate)


# Its code ---------------------------------------------------------------------------------------------------------


def _outputs(
    b: Builder, c: Context, f: Fetched, stages: list[StageResult], n: Next, p: _Progress, x: _Choice
) -> None:
    """The payload and the kind of the chosen token."""
    config = c.config
    vocabulary = Vocabulary(config)
    payload = b.bus("payload", vocabulary.payload_bits)
    begun, spelled = (
        _latched_values(b.with_scope("begun"), c, stages, p.begun),
        _latched_values(b, c, stages, p.spelled),
    )
    for lane in range(config.lanes):
        for k, chosen in enumerate(x.vector):
            bits = (spelled if k else begun)[lane]
            for r in range(config.lane_bits):
                bit = bits[min(k * config.lane_bits + r, WORD_BITS - 1)]
                b.add(payload[lane * config.lane_bits + r], conjunction(chosen, f.lane[lane]), bit)
        for k, chosen in enumerate(x.scalar[lane]):
            bits = (spelled if k else begun)[lane]
            for i in range(config.payload):
                b.add(payload[i], conjunction(chosen), bits[min(k * config.payload + i, WORD_BITS - 1)])
    addresses = [bit for bits in stages[config.store_stage].address for bit in bits]
    latched = iter(b.memory("addresses", addresses, c.exec))
    for lane in range(config.lanes):
        bits = [next(latched) for _ in range(config.address_bits)]
        for i, bit in enumerate(bits):
            b.add(payload[i], conjunction(x.adr[lane]), bit)
            if lane == 0:
                b.add(payload[i], conjunction(x.adr_v), bit)
    _end_payload(b, c, n, x, payload)
    _kind_code(b, c, vocabulary, n, x)
    for i, wire in enumerate(payload):
        b.output(f"next.payload[{i}]", wire)


def _latched_values(
    b: Builder, c: Context, stages: list[StageResult], which: list[Signal]
) -> list[list[Signal]]:
    """The results that the exec token latched, of the stage that `which` selects: `[lane][bit]`."""
    value = [b.bus(f"value{lane}", WORD_BITS) for lane in range(c.config.lanes)]
    for s, result in enumerate(stages):
        for lane, bits in enumerate(result.value):
            b.memory(f"result{s}.{lane}", bits, c.exec, read=which[s], out=value[lane])
    return value


def _end_payload(b: Builder, c: Context, n: Next, x: _Choice, payload: list[Signal]) -> None:
    """After the last emission: the lanes at the smallest key and its block, or the next group and who waits."""
    low = c.config.group_bits
    for lane in range(c.config.lanes):
        b.add(payload[lane], conjunction(x.end, 1 - n.is_idle), n.lane[lane])
        leads = [x.end, n.leader[lane]]
        for i, bit in enumerate(n.key[lane][: c.config.block_bits]):
            b.add(payload[c.config.lanes + i], conjunction(*leads, 1 - n.is_idle), bit)
        for i, bit in enumerate(n.key[lane]):
            b.add(payload[low + i], conjunction(*leads, n.is_idle, 1 - n.keep), bit)
    for i, bit in enumerate(c.waiting):
        b.add(payload[low + i], conjunction(x.end, n.is_idle, n.keep), bit)
    for i, bit in enumerate(n.group):
        b.add(payload[i], conjunction(x.end, n.is_idle, 1 - n.is_over), bit)


def _kind_code(b: Builder, c: Context, vocabulary: Vocabulary, n: Next, x: _Choice) -> None:
    """The number of the next token's kind, in binary."""
    kinds: dict[str, list[Signal]] = {
        "more": [x.more],
        "rest": [x.rest],
        "val_v": [x.val_v],
        "val_u": [x.val_u],
        "adr_v": [x.adr_v],
        "adr": [total(x.adr)],
        "mem_s": [c.kind["adr"]],
        "mem_v": [c.kind["adr_v"]],
        "fault": [x.fault],
        "exec": [x.end, 1 - n.is_idle],
        "warp": [x.end, n.is_idle, 1 - n.is_over],
        "halt": [x.end, n.is_over],
    }
    code = b.bus("kind_code", vocabulary.kind_bits)
    for kind, literals in kinds.items():
        number = vocabulary.kinds.index(kind)
        for i, wire in enumerate(code):
            if number >> i & 1:
                b.add(wire, conjunction(*literals))
    for i, wire in enumerate(code):
        b.output(f"next.kind[{i}]", wire)

"""One pipeline stage: operands in, one result a lane out.

Every operation runs in its own circuit and adds its result to the stage's result wires only while it is selected, so
choosing among results costs no layer; the first layers of shifts, sums and products share their scratch wires. Layer by layer: operand mux; digit sums, logic, low shifts, bit products;
carries, high shifts, load addresses; loads (a head reads them straight into the result).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qgc.backends.circuits import adders, bitcount, multiplier, shifter
from qgc.backends.circuits.gates import conjunction, enable, matches
from qgc.backends.circuits.machine.context import Context
from qgc.backends.circuits.machine.fetch import Fetched, Operation, decode_operation
from qgc.backends.circuits.machine.operands import RegisterWrite, Sources, Variant, guard_bits, operand
from qgc.backends.circuits.machine.values import Values
from qgc.ir.machine.config import WORD_BITS, bits_for
from qgc.ir.machine.isa import OPS, Unit
from qgc.ir.netlist.netlist import ZERO, Builder, Key, Signal, total

_ADDRESS_DIGIT = 2
LOADS = ("ld", "ldx")
STORES = tuple(name for name, spec in OPS.items() if spec.unit is Unit.STORE)
BY_LEADER = tuple(name for name in STORES if OPS[name].by_leader)
PRODUCTS = ("mul", "lsum")
COMPARES = ("seteq", "setne", "setlt", "setge", "setltu", "setgeu")
SUMS = ("add", "addx", "sub", *COMPARES, *LOADS, *STORES)


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage leaves behind.

    Attributes:
        value: `[lane][bit]`; for a store the word to store.
        early: `[lane][bit]`: the value without the product, which comes too late for the next stages.
        faults: how many running lanes touch memory out of range or not aligned.
        address: `[lane][bit]`, the word address of a load or store.
        enabled: 0/1 by lane: the lane runs a store whose guard holds (only of the store stage).
    """

    value: list[list[Signal]]
    early: list[list[Signal]]
    faults: Signal
    address: list[list[Signal]]
    enabled: list[Signal]


def build_stage(
    b: Builder,
    c: Context,
    v: Values,
    f: Fetched,
    w: RegisterWrite,
    stage: int,
    before: list[StageResult],
) -> StageResult:
    """The circuit of one stage, given the stages before it."""
    latency = c.config.multiply_latency
    results = [r.value if stage - s >= latency else r.early for s, r in enumerate(before)]
    b = b.with_scope(f"s{stage}")
    fields = f.instr[stage]
    o = decode_operation(b, c, stage, fields["op"])
    scaled = total(o.op[n] for n in o.op if OPS[n].scale_a)
    inverted = total(o.op[n] for n in o.op if OPS[n].invert_b)
    sources = Sources(c, v, w, results, f.const[stage])
    x = operand(b, "a", fields["a"], sources, [Variant(1 - scaled), Variant(scaled, shift=2)])
    y = operand(b, "b", fields["b"], sources, [Variant(1 - inverted), Variant(inverted, is_inverted=True)])
    g = guard_bits(b, "g", fields["guard"], fields["negated"][0], sources)
    data = None
    if stage == c.config.store_stage:
        data = operand(b, "d", fields["data"], sources, [Variant(c.exec)])
    out = [b.bus(f"r{lane}", WORD_BITS) for lane in range(c.config.lanes)]
    faults = b.wire("faults", high=c.config.lanes)
    scratch = [
        b.with_scope(f"lane{lane}").bus("scratch", WORD_BITS, high=WORD_BITS)
        for lane in range(c.config.lanes)
    ]
    _add_lanes(b, o, f, x, scratch)
    _vote(b, o, f, x, out)
    address, enabled, values = [], [], []
    for lane in range(c.config.lanes):
        lb = b.with_scope(f"lane{lane}")
        _logic(lb, o, x[lane], y[lane], g[lane], out[lane])
        bitcount.count_ones(lb, x[lane], o.op["popc"], out[lane])
        bitcount.count_leading_zeros(lb, x[lane], o.op["clz"], out[lane])
        if "brev" in o.op:
            bitcount.reverse(lb, x[lane], o.op["brev"], out[lane])
        run = shifter.Directions(o.any("shl"), o.any("shr"), o.any("sar"))
        shifter.shift(lb, x[lane], y[lane], scratch[lane], run, out[lane])
        values.append(_product(lb, o, x[lane], y[lane], scratch[lane], out[lane], c.config.lanes))
        digits = adders.add(lb, "sum", x[lane], y[lane], scratch[lane], _sums(o), _ADDRESS_DIGIT)
        adders.finish(lb, digits, out[lane], inverted, when=o.any("add", "addx", "sub"))
        _compare(lb, o, x[lane], y[lane], digits, inverted, out[lane])
        on = [f.lane[lane], g[lane]]
        where = _address(lb, c, o, digits, on, faults)
        if stage in c.config.loads:
            _load(lb, c, v, o, where, on, out[lane])
        address.append(where)
        if data is not None:
            for wire, bit in zip(out[lane], data[lane], strict=True):
                lb.add(wire, conjunction(o.any(*STORES)), bit)
            store = lb.wire("stores")
            lb.add(store, conjunction(o.any(*STORES) - o.any(*BY_LEADER), *on))
            lb.add(store, conjunction(o.any(*BY_LEADER), *on, f.first[lane]))
            enabled.append(store)
        _complete(lb, out[lane], values[lane])
    return StageResult(values, out, faults, address, enabled)


def _sums(o: Operation) -> Signal:
    """Whether the operation uses the adder."""
    return total(signal for name, signal in o.op.items() if name in SUMS)


def _product(
    b: Builder,
    o: Operation,
    x: Sequence[Signal],
    y: Sequence[Signal],
    scratch: Sequence[Signal],
    early: list[Signal],
    lanes: int,
) -> list[Signal]:
    """Wires of their own for the result that waits for the product, or the sum over lanes: at most one of them is not 0."""
    if "mul" not in o.op:
        return early
    product = b.bus("product", WORD_BITS)
    multiplier.add_products(b, x, y, scratch, o.op["mul"])
    digits = multiplier.sum_columns(b, "mul", scratch, o.any(*PRODUCTS), lanes)
    adders.finish(b, digits, product, ZERO, when=o.any(*PRODUCTS))
    return product


def _complete(b: Builder, early: Sequence[Signal], value: Sequence[Signal]) -> None:
    """What makes the early result makes the value as well, so that the early one is not kept once it has been forwarded."""
    for source, wire in zip(early, value, strict=True):
        if wire != source:
            b.info(wire).terms.extend(b.info(source).terms)


def _add_lanes(
    b: Builder, o: Operation, f: Fetched, x: Sequence[Sequence[Signal]], columns: Sequence[Sequence[Signal]]
) -> None:
    """The sum over lanes is a product whose columns hold every running lane's bits: one unit a bit, for all lanes."""
    if "lsum" not in o.op:
        return
    for lane, bits in enumerate(x):
        for c, bit in enumerate(bits):
            for column in columns:
                b.add(column[c], conjunction(o.op["lsum"], f.lane[lane]), bit)


def _vote(
    b: Builder, o: Operation, f: Fetched, x: Sequence[Sequence[Signal]], out: Sequence[Sequence[Signal]]
) -> None:
    """Bit i of every lane's result is bit 0 of lane i's operand, when lane i runs."""
    for lane, bits in enumerate(x):
        for wires in out:
            b.add(wires[lane], conjunction(o.op["vote"], f.lane[lane]), bits[0])


def _logic(
    b: Builder, o: Operation, x: Sequence[Signal], y: Sequence[Signal], g: Signal, out: Sequence[Signal]
) -> None:
    """Bitwise operations and select, with `x | y = x + y - xy` and `x ^ y = x + y - 2xy`."""
    for p, q, wire in zip(x, y, out, strict=True):
        b.add(wire, conjunction(o.any("or", "xor")), p + q)
        b.add(wire, conjunction(o.op["or"], p), q, -1)
        b.add(wire, conjunction(o.op["xor"], p), q, -2)
        b.add(wire, conjunction(o.op["and"], p), q)
        b.add(wire, conjunction(o.op["sel"], g), p)
        b.add(wire, conjunction(o.op["sel"], 1 - g), q)


def _compare(
    b: Builder,
    o: Operation,
    x: Sequence[Signal],
    y: Sequence[Signal],
    digits: Sequence[adders.Digit],
    carry_in: Signal,
    out: Sequence[Signal],
) -> None:
    """Comparisons from `x + ~y + 1`: it carries out exactly when x >= y, and all digits propagate when x == y.

    Signed order is unsigned order with both sign bits flipped, which changes the top digit only.
    """
    target = out[0]
    top = len(digits) - 1
    flipped = x[2 * top] + 2 * (1 - x[2 * top + 1]) + y[2 * top] + 2 * (1 - y[2 * top + 1])
    signed = adders.classify(b, "signed", flipped, b.bus("signed.s", _ADDRESS_DIGIT), 6)
    for ge, lt, last in (
        (o.op["setgeu"], o.op["setltu"], digits[top]),
        (o.op["setge"], o.op["setlt"], signed),
    ):
        b.add(target, conjunction(lt))
        for term in adders.carry_terms([*digits[:top], last], carry_in, len(digits)):
            b.add(target, conjunction(ge + lt, *term), ge - lt)
    eq, ne = o.op["seteq"], o.op["setne"]
    b.add(target, conjunction(ne))
    b.add(target, conjunction(eq + ne, *(d.propagate for d in digits)), eq - ne)


def _address(
    b: Builder, c: Context, o: Operation, digits: Sequence[adders.Digit], on: list[Signal], faults: Signal
) -> list[Signal]:
    """The word address bits of a load or store; adds 1 to `faults` when a running lane's address is bad.

    Only the address bits are summed. That all bits above are 0 is seen from the upper digit sums: they are all 0 and
    no carry comes in, or all propagate and a carry comes in, or one digit is the radix with 0 below and propagating
    digits above.
    """
    access = o.any(*LOADS, *STORES)
    low = -(-(c.config.address_bits + 2) // _ADDRESS_DIGIT)
    bits = b.bus("address", low * _ADDRESS_DIGIT)
    adders.finish(b, digits[:low], bits, ZERO, when=access)
    upper = digits[low:]
    inside = b.wire("inside")
    carry = list(adders.carry_terms(digits, ZERO, low))
    zero = [[1 - d.generate, *(1 - bit for bit in d.bits)] for d in upper]
    clear = [[x for z in zero for x in z]]
    for j, digit in enumerate(upper):
        below = [x for z in zero[:j] for x in z]
        clear.append(
            [*below, digit.generate, *(1 - bit for bit in digit.bits), *(d.propagate for d in upper[j + 1 :])]
        )
    for literals in clear:
        b.add(inside, conjunction(access, *literals))
        for term in carry:
            b.add(inside, conjunction(access, *literals, *term), -1)
    for term in carry:
        b.add(inside, conjunction(access, *term, *(d.propagate for d in upper)))
    spare = bits[c.config.address_bits + 2 :]
    good = [inside, *(1 - bit for bit in (*bits[:2], *spare))]
    b.add(faults, conjunction(access, *on))
    b.add(faults, conjunction(access, *on, *good), -1)
    return bits[2 : c.config.address_bits + 2]


def _load(
    b: Builder,
    c: Context,
    v: Values,
    o: Operation,
    address: list[Signal],
    on: list[Signal],
    out: Sequence[Signal],
) -> None:
    """Memory in one bank for each lane position; every lane has heads of its own on all banks."""
    bank_bits = bits_for(c.config.lanes)
    for m in range(c.config.lanes):
        b.memory(
            f"bank{m}",
            v.lane[m],
            v.bank_write[m],
            Key(tuple(v.bank_row[m])),
            Key(tuple(address[bank_bits:])),
            c.config.words // c.config.lanes,
            read=enable(o.any(*LOADS), *on, *matches(address[:bank_bits], m)),
            out=out,
        )

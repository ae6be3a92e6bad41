"""docs/circuits.md shows what the circuits take now."""

from __future__ import annotations

from collections.abc import Callable

from qgc.backends.circuits.gates import bit_of, decode, staircase, weighted
from qgc.ir.netlist.netlist import Builder, Signal
from tests.backends.circuits.test_arithmetic import adder, product_of, shifts
from tests.helpers.circuits import Bench, Inputs
from tests.helpers.docs import with_numbers


def _decoder(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
    for value, line in decode(b, "is", inputs["x"], range(32)).items():
        b.add(out[value], 2 * line - 1)


def _digits(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
    staircase(b, weighted(inputs["x"]), range(32), [(wire, bit_of(i)) for i, wire in enumerate(out)])


def benches() -> dict[str, Bench]:
    """The circuits that the page lists."""
    return {
        "decoder, 5 bits to 32 lines and onwards": Bench({"x": 5}, 32, _decoder),
        "staircase, 5 bits of a number": Bench({"x": 5}, 5, _digits),
        "adder, 32 bits": adder(32, 2),
        "shifter, 32 bits, three directions": shifts(32, 32),
        "multiplier, low 32 bits": product_of(32),
    }


def test_the_page_shows_the_numbers(golden: Callable[[str, str], None]) -> None:
    rows = ["| circuit | layers | units | inner wires |", "|---|---|---|---|"]
    for name, bench in benches().items():
        netlist = bench.b.netlist
        inner = sum(info.token_field is None for info in netlist.wires) - len(netlist.outputs)
        rows.append(f"| {name} | {bench.layers} | {bench.units} | {inner} |")
    golden("../docs/circuits.md", with_numbers("circuits.md", "\n".join(rows) + "\n"))

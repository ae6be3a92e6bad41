"""`python -m benchmarks.tokens`: what launches cost in tokens, for each payload width; rewrites the tables of docs/tokens.md.

Everything is counted on the reference interpreter, from the PTX under golden/, so the numbers are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from qgc.driver import Kernel, Settings, source
from qgc.ir.layout.shape import SHAPES
from qgc.ir.machine.config import PRESETS, MachineConfig
from qgc.ir.machine.program import Program
from qgc.ir.machine.tokens import Vocabulary
from qgc.runtime.isa import Run, run_isa
from qgc.runtime.launch import link
from qgc.runtime.manifest import Argument, Case, KernelCase, load_manifest
from qgc.runtime.stats import Stats, stats

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/tokens.md"
FOLDERS = ("", "peer/")
WIDTHS = (8, 12, 16)
DOT_LENGTHS = (1, 3, 4, 8, 32)


def machine(payload: int) -> MachineConfig:
    """`simt4` with another payload width."""
    return replace(PRESETS["simt4"], payload=payload)


def examples() -> Iterator[tuple[str, KernelCase]]:
    """Every kernel of every manifest, with the folder that it is in."""
    for folder in FOLDERS:
        for kernel in load_manifest(ROOT / "examples" / folder / "manifest.toml"):
            yield folder, kernel


def run(folder: str, kernel: KernelCase, config: MachineConfig, case: Case) -> tuple[Program, Run]:
    """One launch of a kernel on a machine."""
    path = ROOT / f"golden/ptx/{folder}{kernel.name}.clang32.ptx"
    settings = Settings(kernel=kernel.kernel, machine=config)
    program = Kernel(source(path.read_text(encoding="utf-8"), path.name), settings).program
    return program, run_isa(link(program, case.grid, case.block, list(case.args.values())))


def measure(folder: str, kernel: KernelCase, payload: int) -> Stats:
    """The first case of a kernel at one payload width."""
    return stats(*run(folder, kernel, machine(payload), kernel.cases[0]))


# Tables ------------------------------------------------------------------------------------------------------------


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others numbers."""
    lines = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def kernel_table() -> str:
    """Tokens of every kernel for each width, and the sums and medians."""
    measured = [
        (folder + k.name, [measure(folder, k, width) for width in WIDTHS]) for folder, k in examples()
    ]
    rows = []
    for name, found in measured:
        counts = [f"{getattr(s, part):,}" for part in ("prompt", "answers") for s in found]
        ratios = [f"{s.tokens_per_operation:.2f}" for s in found] + [
            f"{s.tokens_per_issue:.2f}" for s in found
        ]
        rows.append([name, *counts, *ratios])
    columns = list(zip(*(found for _, found in measured), strict=True))
    sums = [
        f"**{sum(getattr(s, part) for s in column):,}**"
        for part in ("prompt", "answers")
        for column in columns
    ]
    middles = [
        f"**{median(getattr(s, ratio) for s in column):.2f}**"
        for ratio in ("tokens_per_operation", "tokens_per_issue")
        for column in columns
    ]
    rows.append(["**sum, median**", *sums, *middles])
    parts = ("prompt", "generated", "a lane op", "a group op")
    return table(["kernel", *(f"{part} {width}" for part in parts for width in WIDTHS)], rows)


def vocabulary_table() -> str:
    """What a width costs: rows of the embedding, and their bytes in two shapes."""
    rows = []
    for width in WIDTHS:
        config = machine(width)
        size = Vocabulary(config).size
        sizes = [f"{2 * size * SHAPES[name].hidden / 1e6:,.0f} MB" for name in ("tiny", "qwen3.5-2b")]
        slices = [str(config.lane_bits), str(config.scalar_slices), str(config.vector_slices)]
        rows.append([str(width), f"{size:,}", *sizes, *slices])
    heads = ("payload", "tokens", "bf16, hidden 1024", "bf16, hidden 2048")
    return table([*heads, "bits a lane", "slices of a full scalar", "of a full vector"], rows)


def sum_table() -> str:
    """Dot products of several lengths: with the lanes' sum added once, and lane by lane on a machine that has no time for it."""
    (kernel,) = (k for _, k in examples() if k.name == "dot")
    combined = machine(12)
    apart = replace(combined, multiply_stages=combined.multiply_stages[1:])
    rows = []
    for length in DOT_LENGTHS:
        a, b = np.arange(1, length + 1, dtype=np.int32), np.arange(4, length + 4, dtype=np.int32)
        args: dict[str, Argument] = {"a": a, "b": b, "out": np.zeros(1, np.int32)}
        case = Case((1, 1, 1), (length, 1, 1), args, {})
        now, then = (len(run("", kernel, config, case)[1].answers) for config in (combined, apart))
        rows.append([str(length), str(then), str(now), f"{1 - now / then:.0%}"])
    return table(["threads", "tokens lane by lane", "tokens with a lane sum", "saved"], rows)


TABLES = {"kernels": kernel_table, "vocabulary": vocabulary_table, "sums": sum_table}


def page(text: str) -> str:
    """The page with its tables as they are measured now; each stands between `<!-- NAME -->` and `<!-- end -->`."""
    for name, make in TABLES.items():
        before, rest = text.split(f"<!-- {name} -->\n")
        _, after = rest.split("<!-- end -->\n", 1)
        text = f"{before}<!-- {name} -->\n{make()}<!-- end -->\n{after}"
    return text


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

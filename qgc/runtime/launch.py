"""Linking and launching: a program, a grid, a block and arguments become the prompts that a machine is fed.

The first prompt holds the program, the constants, the arrays and the threads of the first block of the grid; each
later one follows the `halt` of the block before it and holds what differs: the constants that name the block, and its
threads. Nothing is computed here but addresses and launch constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qgc.diagnostics import Diagnostic, QgcError, fail
from qgc.ir.launch import Dim3, exchange_words
from qgc.ir.launch import Launch as Geometry
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.isa import MASK
from qgc.ir.machine.program import Param, Program
from qgc.ir.machine.rom import encode_block
from qgc.ir.machine.symbols import (
    EXCHANGE,
    FRAMES,
    PRODUCTS,
    RECIPROCALS,
    SHARED,
    TABLES,
    is_hidden,
    is_spill_slot,
    param_symbol,
)
from qgc.ir.machine.tokens import ROM_SLOTS, Token, rom_word_bits, scalar_tokens
from qgc.runtime.memory_image import DTYPES, MemoryImage, Region, memory_tokens, place_arrays

Argument: TypeAlias = "int | NDArray[Any]"


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A linked launch.

    Attributes:
        program: what runs.
        geometry: the grid and the block.
        image: where the arrays lie.
        arguments: as they were given, in the order of the parameters.
        prompts: for each block of the grid the tokens before it runs.
    """

    program: Program
    geometry: Geometry
    image: MemoryImage
    arguments: tuple[Argument, ...]
    prompts: list[list[Token]]

    def read(self, memory: Sequence[int]) -> dict[str, NDArray[Any]]:
        """The arrays as they are in `memory` (unsigned words), by parameter, with the shapes and types given."""
        arrays = {}
        for param, argument in zip(self.program.params, self.arguments, strict=True):
            if isinstance(argument, np.ndarray):
                words = self.image[param.name].words
                raw = np.array(memory[words.start : words.stop], dtype=np.uint32)
                arrays[param.name] = raw.view(argument.dtype).reshape(argument.shape)
        return arrays


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One launch of several in one context: a verified program, grid and block sizes in x, y, z, an argument for each
    parameter (a number, or an array of int32 or uint32 in C order), and the bytes of the `extern __shared__` arrays.
    """

    program: Program
    grid: Dim3
    block: Dim3
    args: Sequence[Argument]
    shared: int = 0

    @property
    def geometry(self) -> Geometry:
        """Grid and block."""
        return Geometry(self.grid, self.block)

    @property
    def arrays(self) -> list[tuple[str, NDArray[Any]]]:
        """The arrays and their parameters."""
        given = zip(self.program.params, self.args, strict=True)
        return [(param.name, array) for param, array in given if isinstance(array, np.ndarray)]


def link(
    program: Program,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Argument],
    *,
    include_program: bool = True,
    shared: int = 0,
) -> Launch:
    """Make the prompts of a launch.

    Args:
        program: a verified program.
        grid: blocks in x, y and z.
        block: threads of a block in x, y and z.
        args: one for each parameter: a number, or an array of int32 or uint32 (of any shape, C order).
        include_program: False for a machine that has the program in its weights.
        shared: bytes of the `extern __shared__` arrays.

    Raises:
        QgcError: `launch-arguments`, `launch-type`, `launch-threads`, `launch-dimensions`, `launch-memory`,
            `launch-overlap`.
    """
    return link_chain([Step(program, grid, block, args, shared)], include_program=include_program)[0]


def link_chain(steps: Sequence[Step], *, include_program: bool = True) -> list[Launch]:
    """Make the prompts of launches that follow one another in one context, on programs of one machine.

    An array has one place in all of them, and memory is kept; a later launch sends what differs of its program and its
    constants.

    Raises:
        QgcError: as `link`.
    """
    for step in steps:
        _check_arguments(step.program, step.args)
        _check_shape(step.program, step.grid, step.block)
    images = place_steps(steps)
    config = steps[0].program.config
    launches: list[Launch] = []
    rom: list[int] = []
    bank: list[int] = []
    for step, image in zip(steps, images, strict=True):
        threads = start_tokens(config, step.geometry.block_threads)
        prompts: list[list[Token]] = []
        for ctaid in step.geometry.blocks():
            prompt: list[Token] = []
            if not prompts and include_program:
                following = rom_words(step.program)
                prompt += _rom_tokens(config, rom, following)
                rom = [*following, *rom[len(following) :]]
            wanted = _bank(step.program, step.geometry, image, step.args, ctaid)
            prompt += _bank_tokens(config, bank, wanted)
            bank = [*wanted, *bank[len(wanted) :]]
            if not prompts and not launches:
                prompt += memory_tokens(config, image.words)
            prompts.append(prompt + threads)
        launches.append(Launch(step.program, step.geometry, image, tuple(step.args), prompts))
    return launches


def place_steps(steps: Sequence[Step]) -> list[MemoryImage]:
    """Where the arrays of each step lie, and what its program needs besides.

    Shared memory, frames and the like are one region for all steps, as large as the largest; tables are each step's own.

    Raises:
        QgcError: `launch-memory`, `launch-overlap`, `launch-shared`.
    """
    own = [own_regions(step.program, step.geometry, step.shared) for step in steps]
    common: dict[str, list[int]] = {}
    for number, regions in enumerate(own):
        for name, words in regions.items():  # contents matter for tables alone
            key = f"{name}{number}" if name == TABLES else name
            common[key] = max(common.get(key, []), words, key=len)
    several = len(steps) > 1
    arrays = [
        (f"{name} of step {number + 1}" if several else name, array)
        for number, step in enumerate(steps)
        for name, array in step.arrays
    ]
    whole = place_arrays(steps[0].program.config, arrays, common)
    left = iter(whole.regions)
    images = []
    for number, step in enumerate(steps):
        placed = [replace(next(left), name=name) for name, _ in step.arrays]
        for name, words in own[number].items():
            start = whole[f"{name}{number}" if name == TABLES else name].words.start
            placed.append(Region(name, range(start, start + len(words))))
        images.append(MemoryImage(tuple(placed), whole.words))
    return images


def own_regions(program: Program, geometry: Geometry, shared: int) -> dict[str, list[int]]:
    """The memory that a program needs besides its arrays: hidden bases, and the words that they start with.

    Raises:
        QgcError: `launch-shared` for a negative size.
    """
    if shared < 0:
        raise fail("launch-shared", f"{shared} bytes of shared memory")
    used = {symbol.name for row in program.consts if isinstance(row, str) and (symbol := param_symbol(row))}
    words = {SHARED: [0] * (-(-(program.shared + shared) // 4))}
    words[FRAMES] = [0] * (program.frame // 4 * geometry.block_threads)
    words[TABLES] = list(program.tables)
    for name in sorted(filter(is_spill_slot, used)):
        words[name] = [0] * geometry.block_threads
    if EXCHANGE in used:
        words[EXCHANGE] = [0] * exchange_words(geometry.block_threads)
    return {name: values for name, values in words.items() if values}


# Checks ------------------------------------------------------------------------------------------------------------


def _check_arguments(program: Program, args: Sequence[Argument]) -> None:
    if len(args) != len(program.params):
        names = ", ".join(param.name for param in program.params) or "none"
        raise fail(
            "launch-arguments",
            f"kernel {program.kernel} takes {len(program.params)} arguments, got {len(args)}",
            hint=f"parameters: {names}",
        )
    used = {symbol.name for row in program.consts if isinstance(row, str) and (symbol := param_symbol(row))}
    faults = []
    for param, argument in zip(program.params, args, strict=True):
        if (fault := _misfit(param, argument, param.name in used)) is not None:
            faults.append(Diagnostic("launch-type", f"argument {param.name}: {fault}"))
    if faults:
        raise QgcError(*faults)


def _misfit(param: Param, argument: Argument, is_used: bool) -> str | None:
    """What is wrong with an argument; a parameter that the program never reads takes anything."""
    if isinstance(argument, np.ndarray):
        if not param.is_pointer and is_used:
            return "the kernel takes a number here, not an array"
        if argument.dtype.name not in DTYPES:
            return f"an array of {argument.dtype.name}; arrays are of {' or '.join(DTYPES)}"
        if not argument.flags.c_contiguous:
            return "the array is not contiguous; pass a copy of it"
        return None
    if isinstance(argument, bool | np.bool_) or not isinstance(argument, int | np.integer):
        return f"{type(argument).__name__} is neither a whole number nor an array"
    if param.is_pointer and is_used:
        return "the kernel takes an array here, not a number"
    if not -(1 << 31) <= int(argument) <= MASK:
        return f"{argument} does not fit 32 bits"
    return None


def _check_shape(program: Program, grid: Dim3, block: Dim3) -> None:
    config = program.config
    for what, dims in (("grid", grid), ("block", block)):
        if min(dims) < 1:
            raise fail("launch-threads", f"the {what} is {_dims(dims)}; every size is at least 1")
    threads = Geometry(grid, block).block_threads
    if threads > config.threads:
        raise fail(
            "launch-threads",
            f"a block of {_dims(block)} = {threads} threads; machine {config.name} runs {config.threads} "
            f"({config.groups} groups of {config.lanes} lanes)",
            hint="use smaller blocks and more of them, or a machine with more groups",
        )
    axes = _axes(program)
    if any(size > 1 for size in block[axes:]):
        raise fail(
            "launch-dimensions",
            f"a block of {_dims(block)}, but the kernel reads threadIdx of the first {axes} axes alone"
            if axes > 1
            else f"a block of {_dims(block)}, but the kernel reads threadIdx.x alone",
            hint=f"launch it with a one-dimensional block of {threads} threads" if axes == 1 else None,
        )


def _axes(program: Program) -> int:
    """The axes of a block that the program tells apart."""
    if RECIPROCALS["xy"] in program.consts:
        return 3
    if RECIPROCALS["x"] in program.consts:
        return 2
    reads_tid = any("tid" in (i.a, i.b, i.data) for block in program.blocks for i in block.instrs)
    return 1 if reads_tid else 3


def _dims(dims: Dim3) -> str:
    return "x".join(map(str, dims))


# Prompts -----------------------------------------------------------------------------------------------------------


def rom_words(program: Program) -> list[int]:
    """The program ROM, slot by slot up to the program's last block."""
    words: list[int] = []
    for block in program.blocks:
        encoded = encode_block(program.config, block)
        words += [*encoded, *[0] * (ROM_SLOTS - len(encoded))]
    return words


def rom_tokens(program: Program) -> list[Token]:
    """The program ROM, words that are zero left out."""
    return _rom_tokens(program.config, [], rom_words(program))


def _rom_tokens(config: MachineConfig, before: Sequence[int], words: Sequence[int]) -> list[Token]:
    """The slots that change; those past the end of a program are never read."""
    bits = rom_word_bits(config)
    tokens: list[Token] = []
    for slot, word in enumerate(words):
        if word != (before[slot] if slot < len(before) else 0):
            tokens += [Token("rom", slot), *scalar_tokens(config, "mem_s", word, bits)]
    return tokens


def start_tokens(config: MachineConfig, threads: int) -> list[Token]:
    """The threads of a block, then the first group as the current one."""
    tokens = []
    for group in range(-(-threads // config.lanes)):
        lanes = min(config.lanes, threads - group * config.lanes)
        tokens.append(Token("start", ((1 << lanes) - 1) << config.group_bits | group))
    return [*tokens, Token("warp", 0)]


def _bank_tokens(config: MachineConfig, before: Sequence[int], bank: Sequence[int]) -> list[Token]:
    """The rows of the constant bank that change."""
    tokens: list[Token] = []
    for row, new in enumerate(bank):
        if new != (before[row] if row < len(before) else 0):
            tokens += [Token("const", row), *scalar_tokens(config, "mem_s", new)]
    return tokens


def _bank(
    program: Program, geometry: Geometry, image: MemoryImage, args: Sequence[Argument], ctaid: Dim3
) -> list[int]:
    """The constant bank of one block of the grid."""
    values: dict[str, int] = {}
    for name, dims in (("ntid", geometry.block), ("nctaid", geometry.grid), ("ctaid", ctaid)):
        values |= {f"{name}.{axis}": size for axis, size in zip("xyz", dims, strict=True)}
    values |= {product: values[a] * values[b] for product in PRODUCTS for a, b in [product.split("*")]}
    row, plane = geometry.block[0], geometry.block[0] * geometry.block[1]
    values |= {RECIPROCALS["x"]: -(-(1 << 16) // row), RECIPROCALS["xy"]: -(-(1 << 16) // plane)}
    params = {
        p.name: image[p.name].address if isinstance(a, np.ndarray) else int(a)
        for p, a in zip(program.params, args, strict=True)
    }
    params |= {region.name: region.address for region in image.regions if is_hidden(region.name)}
    return [_resolve(entry, values, params) & MASK for entry in program.consts]


def _resolve(entry: int | str, values: dict[str, int], params: dict[str, int]) -> int:
    if isinstance(entry, int):
        return entry
    symbol = param_symbol(entry)
    if symbol is None:
        return values[entry]
    if symbol.name not in params:  # a region without a word: any access to it is out of range
        return MASK & ~3
    return params[symbol.name] + symbol.addend

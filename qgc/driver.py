"""The compiler from end to end: one function for each arrow between stages, and `Kernel`, which follows them on demand.

    cuda -> ptx -> ast -> ir -> ir-opt -> ir-pred -> ir-div -> blocks -> tokens

The command line, `qgc.RawKernel` and the tests all go through these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import QgcError, Span, fail
from qgc.frontends.signature import SourceParam, kernel_params
from qgc.ir.machine.config import PRESETS, MachineConfig
from qgc.ir.machine.program import Param, Program
from qgc.passes.manager import Options
from qgc.sources import Sources
from qgc.stages import STAGES, side, stage_of

if TYPE_CHECKING:
    from qgc.ir.launch import Dim3
    from qgc.ir.layout.shape import ModelShape
    from qgc.ir.machine.stream import Stream
    from qgc.ir.ptx import ast
    from qgc.ir.ptx.source import PtxSource
    from qgc.ir.ssa.function import Function, Module
    from qgc.runtime.launch import Argument

CUDA_SUFFIXES = (".cu", ".cuh", ".cpp", ".c")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to compile.

    Attributes:
        frontend: `auto`, `clang` or `nvrtc`.
        kernel: which kernel, by symbol or C++ name; None for the only one.
        machine: what to compile for.
        passes: what the pass manager shows and checks.
    """

    frontend: str = "auto"
    kernel: str | None = None
    machine: MachineConfig = field(default_factory=lambda: PRESETS["simt4"])
    passes: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Source:
    """What a compilation starts from: a text of CUDA (`language` "cuda") or of a program stage (its name)."""

    text: str
    file: str
    language: str


def source(text: str, file: str, language: str | None = None) -> Source:
    """A source whose language, when it is not given, its file name tells; a name without suffix means CUDA.

    Raises:
        QgcError: `stage-suffix` for an unknown suffix, `stage-side` for a stage of the machine side.
    """
    if language is None:
        is_cuda = file.endswith(CUDA_SUFFIXES) or not Path(file).suffix
        language = "cuda" if is_cuda else stage_of(file).name
    if language != "cuda" and language not in [s.name for s in side("program")]:
        raise fail(
            "stage-side",
            f"{file} holds stage {language}, which is no program",
            hint="give a .cu or .ptx file",
        )
    return Source(text, file, language)


@dataclass(frozen=True, slots=True, eq=False)
class LaunchArguments:
    """A launch as the user gives it: grid and block in x, y, z, an argument for each parameter, bytes of dynamic shared memory."""

    grid: Dim3
    block: Dim3
    args: Sequence[Argument]
    shared: int = 0


# The arrows ----------------------------------------------------------------------------------------------------------


def cuda_to_ptx(text: str, file: str, settings: Settings, sources: Sources) -> PtxSource:
    """Compile CUDA; the PTX is called `<NAME.ptx>` in diagnostics, and remembered.

    Raises:
        QgcError: `cuda-error`, `frontend-missing`.
    """
    from qgc.frontends import compile_cuda
    from qgc.ir.ptx.source import PtxSource

    ptx = compile_cuda(text, file=file, frontend=settings.frontend)  # type: ignore[arg-type]
    name = f"<{Path(file.strip('<>')).stem}.ptx>"
    sources.remember(name, ptx)
    return PtxSource(ptx, name)


def ptx_to_ast(ptx: PtxSource, settings: Settings) -> ast.Module:
    """Parse and verify; where one kernel is wanted, the others may hold what qgc does not know.

    Raises:
        QgcError: `ptx-syntax`, `kernel-missing`; VerifyError with all `ptx-*` faults.
    """
    from qgc.ir.ptx.kernels import find_kernel
    from qgc.ir.ptx.verify import verify, verify_function

    module = ptx.module()
    if settings.kernel is None:
        verify(module)
    else:
        verify_function(module, find_kernel(module, settings.kernel))
    return module


def ast_to_ir(module: ast.Module, settings: Settings) -> Module:
    """Lower the wanted kernel, or all of them.

    Raises:
        QgcError: `kernel-missing`, `ptx-unsupported`.
    """
    from qgc.backends.ssa import lower_module

    return lower_module(module, settings.kernel)


def ir_to_opt(module: Module, settings: Settings) -> Module:
    """Optimise, and narrow to 32-bit words."""
    return _passes(module, "ir", "ir-opt", settings)


def opt_to_pred(module: Module, settings: Settings) -> Module:
    """Turn short forks into guards and selects."""
    return _passes(module, "ir-opt", "ir-pred", settings)


def pred_to_div(module: Module, settings: Settings) -> Module:
    """Settle divergence: put the blocks in the machine's order."""
    return _passes(module, "ir-pred", "ir-div", settings)


class Stopped(Exception):
    """`stop_after` ended the pipeline: `module` is what the last pass left, at `stage`."""

    def __init__(self, module: Module, stage: str) -> None:
        super().__init__(stage)
        self.module = module
        self.stage = stage


def _passes(module: Module, start: str, end: str, settings: Settings) -> Module:
    """Run the passes between two SSA stages, in place.

    Raises:
        Stopped: when the settings say so.
        QgcError: what `passes.pipelines.run_passes` raises.
    """
    from qgc.passes.pipelines import run_passes

    stage, is_stopped = run_passes(module, start, end, settings.passes)
    if is_stopped:
        raise Stopped(module, stage)
    return module


def div_to_blocks(module: Module, settings: Settings) -> Program:
    """Compile one kernel to machine blocks.

    Raises:
        QgcError: `kernel-unnamed` when the module has several and none is chosen; what `backends.simt` raises.
    """
    return function_to_blocks(one_kernel(module, settings.kernel), settings.machine)


def function_to_blocks(function: Function, machine: MachineConfig) -> Program:
    """Compile a kernel to machine blocks; what has no place of its own is said at the kernel's first line.

    Raises:
        QgcError: what `backends.simt` raises.
    """
    from qgc.backends.simt.lower import lower

    try:
        return lower(function, machine)
    except QgcError as err:
        spans = (op.span for block in function.blocks for op in block.ops)
        first = next((span for span in spans if span is not None), None)
        raise type(err)(*(replace(d, span=d.span or first) for d in err.diagnostics)) from err


def one_kernel(module: Module, name: str | None) -> Function:
    """The kernel called `name`, or the only one.

    Raises:
        QgcError: `kernel-missing`, `kernel-unnamed`.
    """
    from qgc.ir.ptx.kernels import source_name

    names = [function.name for function in module.functions]
    listed = f"kernels here: {', '.join(names) or 'none'}"
    place = Span(module.functions[0].source, 1, 1) if names else None
    if name is None:
        if len(names) != 1:
            raise fail(
                "kernel-unnamed", f"there are {len(names)} kernels", place, f"say --kernel NAME; {listed}"
            )
        return module.functions[0]
    for function in module.functions:
        if name in (function.name, source_name(function.name), source_name(function.name).split("::")[-1]):
            return function
    raise fail("kernel-missing", f"no kernel is named {name}", place, listed)


def blocks_to_tokens(program: Program, launch: LaunchArguments) -> Stream:
    """Link a launch and give its prompts, one after another.

    Raises:
        QgcError: what `runtime.launch.link` raises.
    """
    from qgc.ir.machine.stream import Stream
    from qgc.ir.machine.tokens import Token
    from qgc.runtime.launch import link

    prompts = link(program, launch.grid, launch.block, launch.args, shared=launch.shared).prompts
    tokens = prompts[0]
    for prompt in prompts[1:]:
        tokens = [*tokens, Token("halt"), *prompt]
    return Stream(program.config, tuple(tokens))


Arrow = Callable[[Any, Settings], Any]

ARROWS: dict[str, Arrow] = {
    "ast": ptx_to_ast,
    "ir": ast_to_ir,
    "ir-opt": ir_to_opt,
    "ir-pred": opt_to_pred,
    "ir-div": pred_to_div,
    "blocks": div_to_blocks,
}
"""How each stage is made from the one before it; `tokens` needs a launch as well."""


def advance(unit: Any, start: str, end: str, settings: Settings) -> Any:
    """Take a unit from one program stage to a later one (`blocks` at most).

    Raises:
        QgcError: `stage-order` when `end` comes before `start`; what the arrows raise.
        Stopped: by a pass option.
    """
    order = [stage.name for stage in side("program")]
    if order.index(end) < order.index(start):
        raise fail(
            "stage-order",
            f"stage {end} comes before {start}, which the input holds already",
            hint="give a file of an earlier stage, or ask for a later one",
        )
    for stage in order[order.index(start) + 1 : order.index(end) + 1]:
        unit = ARROWS[stage](unit, settings)
    return unit


def load(source: Source, settings: Settings, sources: Sources) -> tuple[Any, str]:
    """Read a source into the verified unit of its stage; CUDA becomes `ptx`, which is verified on its way to `ast`.

    Raises:
        QgcError: what the front end or the stage's parser raises.
    """
    sources.remember(source.file, source.text)
    if source.language == "cuda":
        return cuda_to_ptx(source.text, source.file, settings, sources), "ptx"
    stage = STAGES[source.language]
    is_ptx = stage.name == "ptx"  # its arrow verifies it, perhaps one kernel alone
    return (stage.parse if is_ptx else stage.load)(source.text, source.file), stage.name


def machine_unit(stage: str, machine: MachineConfig, shape: ModelShape) -> Any:
    """A machine at one of its stages.

    Raises:
        QgcError: when the machine does not fit the shape.
    """
    from qgc.backends.weights.plan import plan

    made = plan(machine, shape)
    if stage == "weights":
        return made.weights()
    return {"netlist": made.netlist, "schedule": made.layout.schedule, "layout": made.layout}[stage]


# Kernels -------------------------------------------------------------------------------------------------------------


class Kernel:
    """One kernel, in every form that an engine may ask for; each is made when it is first wanted.

    A source of a later stage has no earlier forms.
    """

    def __init__(self, source: Source, settings: Settings, sources: Sources | None = None) -> None:
        self.source = source
        self.settings = settings
        self.sources = sources if sources is not None else Sources()

    @cached_property
    def start(self) -> tuple[Any, str]:
        """The first unit and its stage."""
        return load(self.source, self.settings, self.sources)

    @cached_property
    def module(self) -> ast.Module:
        """The syntax tree, verified."""
        module: ast.Module = self._from_start("ast")
        return module

    @cached_property
    def function(self) -> Function:
        """The kernel at stage `ir-div`."""
        early = self.start[1] in ("ptx", "ast")
        made = advance(self.module, "ast", "ir-div", self.settings) if early else self._from_start("ir-div")
        return one_kernel(made, self.settings.kernel)

    @cached_property
    def program(self) -> Program:
        """The kernel's machine blocks, its parameters by the names of the source where that has them."""
        if self.start[1] == "blocks":
            program: Program = self.start[0]
            return program
        from qgc.passes.blocks.name_params import name_params

        lowered = function_to_blocks(self.function, self.settings.machine)
        named = self._declared(lowered.kernel)
        return lowered if named is None else name_params(lowered, [param.name for param in named])

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The parameters by the names that the source gives them, or else by those of PTX."""
        program = self.program
        named = self._declared(program.kernel)
        if named is None or len(named) != len(program.params):
            return program.params
        return tuple(
            Param(given.name or param.name, given.is_pointer or param.is_pointer)
            for given, param in zip(named, program.params, strict=True)
        )

    def _declared(self, kernel: str) -> tuple[SourceParam, ...] | None:
        from qgc.ir.ptx.kernels import source_name

        if self.source.language != "cuda":
            return None
        return kernel_params(self.source.text, source_name(kernel).split("::")[-1])

    def _from_start(self, stage: str) -> Any:
        unit, start = self.start
        order = [s.name for s in side("program")]
        if order.index(start) > order.index(stage):
            raise fail(
                "stage-order",
                f"{self.source.file} holds stage {start}; stage {stage} cannot be had from it",
                hint="start from the .cu or .ptx file, or choose another engine",
            )
        return advance(unit, start, stage, self.settings)

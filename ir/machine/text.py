"""The text form of the `blocks` stage: a `Program`, one line for each fact.

    machine simt4
    kernel dot
    shared 64
    param a ptr
    const k0 = param a
    block 0:
      0: ldx tid, k0 @ dot.ptx:12:3-17
      1: mul f0, r2
      out r1 = f1
      branch f0 ? 1 : cta 2

`shared BYTES` is the kernel's shared memory, `frame BYTES` the local memory of a thread, `tables` lines hold the words of
constant tables; what there is none of is left out. A branch target is a block number, `warp N` or `cta N` to wait there for the warp or the whole thread block, or `exit`.
`kN` as an operand is the source `k` with row N of the constant bank; every other operand is a name of the machine's
`SourceTable`. A store writes `st A, B <- DATA`; a guard follows as `if f0` or `if !f0`; the always-true guard is not
written. `@ file:line:column-end` is where the operation came from. `machine NAME field=value ...` lists the fields in
which the machine differs from the preset NAME, and all fields of a machine that is no preset. Lines that start with `#`
are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from urllib.parse import quote, unquote

from qgc.diagnostics import Diagnostic, QgcError, Span, fail
from qgc.ir.machine.config import PRESETS, MachineConfig
from qgc.ir.machine.program import ALWAYS, EXIT, Block, Branch, Guard, Instr, LiveOut, Param, Program, Wait

_FILE_SAFE = "/.<>+=,()[]~"
_INDENT = "  "
_TABLE_ROW = 8


# Printing ----------------------------------------------------------------------------------------------------------


def to_text(program: Program) -> str:
    """The program as text; `parse` gives an equal program back, source locations included."""
    return "".join(line + "\n" for line in _lines(program))


def _lines(program: Program) -> Iterator[str]:
    yield machine_text(program.config)
    yield f"kernel {program.kernel}"
    if program.shared:
        yield f"shared {program.shared}"
    if program.frame:
        yield f"frame {program.frame}"
    for at in range(0, len(program.tables), _TABLE_ROW):
        yield f"tables {' '.join(f'{word:08x}' for word in program.tables[at : at + _TABLE_ROW])}"
    for param in program.params:
        yield f"param {param.name} {'ptr' if param.is_pointer else 'int'}"
    for row, value in enumerate(program.consts):
        yield f"const k{row} = {const_text(value)}"
    for number, block in enumerate(program.blocks):
        yield f"block {number}{' serial' if block.serial else ''}:"
        for line in block_lines(block):
            yield _INDENT + line


def block_lines(block: Block) -> Iterator[str]:
    """The lines of one block below its header, without indentation."""
    for stage, instr in enumerate(block.instrs):
        yield f"{stage}: {instr_text(instr)}"
    for out in block.live_outs:
        yield f"out r{out.register} = f{out.stage}"
    yield branch_text(block.branch)


def machine_text(config: MachineConfig) -> str:
    """`machine NAME` and the fields in which it differs from the preset of that name; all, when there is none."""
    base = PRESETS.get(config.name)
    names = [f.name for f in fields(config) if f.name != "name"]
    changed = [name for name in names if base is None or getattr(config, name) != getattr(base, name)]
    return " ".join(["machine", config.name, *(f"{name}={_field_text(config, name)}" for name in changed)])


def _field_text(config: MachineConfig, name: str) -> str:
    value = getattr(config, name)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def const_text(value: int | str) -> str:
    """A row of the constant bank: a symbol as it is, a word as a signed number."""
    return value if isinstance(value, str) else str(value - (1 << 32) if value >> 31 == 1 else value)


def instr_text(instr: Instr) -> str:
    """One instruction, its guard and its source location."""
    text = instr.op
    if instr.op != "nop" or (instr.a, instr.b) != ("r0", "r0"):
        text += f" {_operand(instr, instr.a)}, {_operand(instr, instr.b)}"
    if instr.data is not None:
        text += f" <- {_operand(instr, instr.data)}"
    if instr.guard != ALWAYS:
        text += f" if {instr.guard}"
    if instr.span is not None:
        text += f" @ {_span_text(instr.span)}"
    return text


def _operand(instr: Instr, source: str) -> str:
    return f"k{instr.const}" if source == "k" and instr.const is not None else source


def _span_text(span: Span) -> str:
    return f"{quote(span.file, safe=_FILE_SAFE)}:{span.line}:{span.column}-{span.end}"


def branch_text(branch: Branch) -> str:
    """`branch 2`, or `branch f1 ? cta 2 : exit`."""
    taken = _target_text(branch.taken, branch.taken_wait)
    if branch == Branch(branch.taken, taken_wait=branch.taken_wait):
        return f"branch {taken}"
    return f"branch {branch.guard} ? {taken} : {_target_text(branch.other, branch.other_wait)}"


def _target_text(block: int, wait: Wait) -> str:
    target = "exit" if block == EXIT else str(block)
    return f"{wait.name.lower()} {target}" if wait else target


# Parsing -----------------------------------------------------------------------------------------------------------

Places = dict[str, Span]
"""Where each part of a parsed program stands in its text, by the part's name, such as `block 2 stage 1`."""

_COUNT = "[0-9]{1,9}"
_NUMBER = "-?[0-9]{1,10}"
_FIELD_VALUE = "([0-9]{1,6}(,[0-9]{1,6})*)?"
_SOURCE = "[a-z]+[0-9]{0,9}"
_GUARD = rf"(!?)({_SOURCE})"
_TARGET = rf"(?:(?:warp|cta) )?{_NUMBER}|exit"
_LINE = {
    "shared": re.compile(rf"shared (?P<bytes>{_COUNT})"),
    "frame": re.compile(rf"frame (?P<bytes>{_COUNT})"),
    "tables": re.compile(r"tables (?P<words>[0-9a-f]{8}(?: [0-9a-f]{8})*)"),
    "param": re.compile(r"param (?P<name>\S+) (?P<kind>ptr|int)"),
    "const": re.compile(rf"const k(?P<row>{_COUNT}) = (?P<value>\S.*)"),
    "block": re.compile(rf"block (?P<number>{_COUNT})(?P<serial> serial)?:"),
    "out": re.compile(rf"out r(?P<register>{_COUNT}) = f(?P<stage>{_COUNT})"),
    "branch": re.compile(rf"branch (?:{_GUARD} \? (?P<first>{_TARGET}) : )?(?P<last>{_TARGET})"),
}
_EXPECTED = {
    "shared": "shared BYTES",
    "frame": "frame BYTES",
    "tables": "tables WORD WORD ..., in 8 hexadecimal digits each",
    "param": "param NAME ptr|int",
    "const": "const kROW = NUMBER or SYMBOL",
    "block": "block NUMBER: or block NUMBER serial:",
    "out": "out rREGISTER = fSTAGE",
    "branch": "branch TARGET or branch GUARD ? TARGET : TARGET, where TARGET is N, warp N, cta N or exit",
}
_INSTR = re.compile(
    rf"(?P<stage>{_COUNT}): (?P<op>[a-z]+)(?: (?P<a>{_SOURCE}), (?P<b>{_SOURCE}))?(?: <- (?P<data>{_SOURCE}))?"
    rf"(?: if {_GUARD})?(?: @ (?P<file>\S+):(?P<line>{_COUNT}):(?P<column>{_COUNT})-(?P<end>{_COUNT}))?"
)
_INSTR_EXPECTED = "STAGE: OP A, B, then for stores <- DATA, then perhaps if GUARD and @ FILE:LINE:COLUMN-END"


def parse(text: str, file: str = "<blocks>") -> Program:
    """Read a program; it is not verified.

    Raises:
        QgcError: `blocks-syntax`, one for each line that is not understood.
    """
    return parse_with_places(text, file)[0]


def parse_with_places(text: str, file: str = "<blocks>") -> tuple[Program, Places]:
    """Read a program and where its parts stand, so that the verifier can point at them.

    Raises:
        QgcError: `blocks-syntax`, one for each line that is not understood.
    """
    reader = _Reader(file)
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            reader.read(line, number)
    return reader.program(), reader.places


def parse_machine(body: str, span: Span) -> MachineConfig:
    """Read a `machine` line, as `machine_text` prints it.

    Raises:
        QgcError: `blocks-syntax` for each field that is not understood, `machine-size`, `machine-payload`.
    """
    name, *changes = body.split()[1:] or [""]
    kinds = {
        f.name: type(getattr(MachineConfig(""), f.name)) for f in fields(MachineConfig) if f.name != "name"
    }
    values: dict[str, object] = {}
    faults = []
    for change in changes:
        key, _, value = change.partition("=")
        if (
            key not in kinds
            or not re.fullmatch(_FIELD_VALUE, value)
            or ("," in value) > (kinds[key] is tuple)
        ):
            message = f"{change!r} is not FIELD=NUMBER; fields: {', '.join(kinds)}"
            faults.append(Diagnostic("blocks-syntax", message, span))
        elif kinds[key] is tuple:
            values[key] = tuple(int(v) for v in value.split(",") if v)
        else:
            values[key] = int(value or 0)
    if not changes and name not in PRESETS:
        message = f"no machine {name!r}; presets: {', '.join(PRESETS)}"
        faults.append(Diagnostic("blocks-syntax", message, span))
    if faults:
        raise QgcError(*faults)
    try:
        return replace(PRESETS.get(name, MachineConfig(name)), **values)  # type: ignore[arg-type]
    except QgcError as err:
        raise QgcError(*(replace(d, span=span) for d in err.diagnostics)) from err


class _Reader:
    """The program so far. Blocks are gathered in plain lists and built at the end."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Diagnostic] = []
        self.places: Places = {}
        self.config: MachineConfig | None = None
        self.kernel: str | None = None
        self.params: list[Param] = []
        self.consts: list[int | str] = []
        self.blocks: list[_Draft] = []
        self.shared = self.frame = 0
        self.tables: list[int] = []
        self._span = Span(file, 1, 1)

    def read(self, line: str, number: int) -> None:
        """Take one line that is neither empty nor a comment."""
        body = line.strip()
        column = line.index(body) + 1
        self._span = Span(self.file, number, column, column + len(body))
        word = body.split(" ")[0].rstrip(":")
        if word == "machine":
            self._machine(body)
        elif word == "kernel":
            self.kernel = body[len("kernel ") :].strip()
            self.places["kernel"] = self._span
        elif word in _LINE:
            if match := _LINE[word].fullmatch(body):
                getattr(self, f"_{word}")(match)
            else:
                self._fault(f"a line `{word}` reads: {_EXPECTED[word]}")
        elif word.isdigit() and word.isascii():
            self._instr(body)
        else:
            known = ", ".join(["machine", "kernel", *_LINE])
            self._fault(f"unknown line {word!r}; a line starts with a stage number or one of: {known}")

    def program(self) -> Program:
        """Build the program, or raise all faults."""
        if self.config is None:
            self.faults.insert(
                0, Diagnostic("blocks-syntax", "no `machine NAME` line", Span(self.file, 1, 1))
            )
        if not self.kernel:
            self.faults.append(Diagnostic("blocks-syntax", "no `kernel NAME` line", Span(self.file, 1, 1)))
        for draft in self.blocks:
            if draft.branch is None:
                self.faults.append(Diagnostic("blocks-syntax", "the block has no branch line", draft.span))
        if self.faults or self.config is None or self.kernel is None:
            raise QgcError(*self.faults)
        blocks = tuple(draft.build() for draft in self.blocks)
        return Program(
            self.config,
            self.kernel,
            tuple(self.params),
            tuple(self.consts),
            blocks,
            self.shared,
            self.frame,
            tuple(self.tables),
        )

    def _fault(self, message: str) -> None:
        self.faults.append(Diagnostic("blocks-syntax", message, self._span))

    def _machine(self, body: str) -> None:
        try:
            self.config = parse_machine(body, self._span)
        except QgcError as err:
            self.faults += err.diagnostics

    def _shared(self, match: re.Match[str]) -> None:
        self.shared = int(match["bytes"])

    def _frame(self, match: re.Match[str]) -> None:
        self.frame = int(match["bytes"])

    def _tables(self, match: re.Match[str]) -> None:
        self.tables += [int(word, 16) for word in match["words"].split()]

    def _param(self, match: re.Match[str]) -> None:
        self.places[f"param {len(self.params)}"] = self._span
        self.params.append(Param(match["name"], match["kind"] == "ptr"))

    def _const(self, match: re.Match[str]) -> None:
        row, value = int(match["row"]), match["value"].strip()
        if row != len(self.consts):
            self._fault(f"constant k{row} is out of order; the next row is k{len(self.consts)}")
            return
        self.places[f"const {row}"] = self._span
        if re.fullmatch(_NUMBER, value):
            number = int(value)
            if not -(1 << 31) <= number < 1 << 32:
                self._fault(f"{number} does not fit a 32-bit word")
            self.consts.append(number & 0xFFFFFFFF)
        else:
            self.consts.append(value)

    def _block(self, match: re.Match[str]) -> None:
        number = int(match["number"])
        if number != len(self.blocks):
            self._fault(f"block {number} is out of order; the next one is {len(self.blocks)}")
        self.places[f"block {len(self.blocks)}"] = self._span
        self.blocks.append(_Draft(self._span, bool(match["serial"])))

    def _instr(self, body: str) -> None:
        match = _INSTR.fullmatch(body)
        if not match or (match["a"] is None and match["op"] != "nop"):
            self._fault(f"an instruction reads: {_INSTR_EXPECTED}")
            if self.blocks:
                self.blocks[-1].instrs.append(Instr("nop"))
        elif (draft := self._draft()) is not None:
            if int(match["stage"]) != len(draft.instrs):
                self._fault(f"stage {match['stage']} is out of order; the next one is {len(draft.instrs)}")
            self.places[f"block {len(self.blocks) - 1} stage {len(draft.instrs)}"] = self._span
            draft.instrs.append(self._operation(match))

    def _operation(self, match: re.Match[str]) -> Instr:
        rows: list[int] = []
        a, b, data = (self._source(match[name], rows) for name in ("a", "b", "data"))
        guard = Guard(match[7], match[6] == "!") if match[7] else ALWAYS
        if len(set(rows)) > 1:
            self._fault("an instruction reads one row of the constant bank, not two")
        span = None
        if match["file"]:
            span = Span(unquote(match["file"]), *(int(match[name]) for name in ("line", "column", "end")))
        return Instr(match["op"], a or "r0", b or "r0", data, rows[0] if rows else None, guard, span)

    @staticmethod
    def _source(name: str | None, rows: list[int]) -> str | None:
        """The source of an operand; the row of `kN` goes to `rows`."""
        if name and name[0] == "k" and name[1:].isdigit():
            rows.append(int(name[1:]))
            return "k"
        return name

    def _out(self, match: re.Match[str]) -> None:
        if (draft := self._draft()) is not None:
            self.places[f"block {len(self.blocks) - 1} live-out {len(draft.live_outs)}"] = self._span
            draft.live_outs.append(LiveOut(int(match["register"]), int(match["stage"])))

    def _branch(self, match: re.Match[str]) -> None:
        if (draft := self._draft()) is None:
            return
        self.places[f"block {len(self.blocks) - 1} branch"] = self._span
        last, wait = _target(match["last"])
        if match["first"] is None:
            draft.branch = Branch(last, taken_wait=wait)
        else:
            first, first_wait = _target(match["first"])
            draft.branch = Branch(first, last, Guard(match[2], match[1] == "!"), first_wait, wait)

    def _draft(self) -> _Draft | None:
        """The block that a line belongs to."""
        if not self.blocks:
            self._fault("the line stands before the first block")
            return None
        if self.blocks[-1].branch is not None:
            self._fault("the block has ended with its branch line")
        return self.blocks[-1]


class _Draft:
    """A block while it is read."""

    def __init__(self, span: Span, is_serial: bool) -> None:
        self.span = span
        self.is_serial = is_serial
        self.instrs: list[Instr] = []
        self.live_outs: list[LiveOut] = []
        self.branch: Branch | None = None

    def build(self) -> Block:
        """The finished block."""
        if self.branch is None:
            raise fail("blocks-syntax", "the block has no branch line", self.span)
        return Block(tuple(self.instrs), tuple(self.live_outs), self.branch, self.is_serial)


def _target(text: str) -> tuple[int, Wait]:
    """The block and the wait of a branch target."""
    if text == "exit":
        return EXIT, Wait.NONE
    *wait, block = text.split(" ")
    return int(block), Wait[wait[0].upper()] if wait else Wait.NONE

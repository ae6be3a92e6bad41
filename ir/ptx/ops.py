"""The one table of PTX instructions: verifier, interpreter and documentation read its rows.

A row's name is the opcode and the modifiers that choose the operation, without the types: `mul.wide`. A word in
capitals stands for any member of `GROUPS`: `setp.CMP`. Options are groups of which a member may also be missing.
The order of an instruction's modifiers does not matter (PTX assemblers take `vote.ballot.sync` and
`vote.sync.ballot` alike), except among types.

A row's operands are written `name:type`, separated by spaces:
  `=d:t`       a destination; `t` is the instruction's first type, `u` its second, `2t` a type twice as wide as t;
               others are types by name, `any` is a register or literal that the type check skips
  `=d|p:t`     a destination that a predicate may follow, as in `%r1|%p1`
  `=p|q:pred`  one or two predicates
  `=d:t+`      a register that may be wider than the type; the value is extended by the type's sign
  `a:t`        a source; `a:t+` may be wider, the low bits count
  `!c:pred`    a source predicate that may be negated
  `[a]`        an address
  `{d}:t+`     one value, or as many as the vector option says; `={d}:t+` as a destination
  `@l`         a label, `@@l` a list of targets
  `#i`         an integer literal
  `%cc`        the carry flag, which is not written in the instruction: read; `=%cc`: written
  a final `?`  may be missing
"""

from __future__ import annotations

from dataclasses import dataclass

GROUPS: dict[str, tuple[str, ...]] = {
    "EQ": ("eq", "ne"),
    "CMP": ("eq", "ne", "lt", "le", "gt", "ge"),
    "CMPU": ("lo", "ls", "hi", "hs"),
    "BOOL": ("and", "or", "xor"),
    "WRAP": ("wrap", "clamp"),
    "PERMUTE": ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"),
    "SPACE": ("global", "shared", "local", "const", "param"),
    "VEC": ("v2", "v4", "v8"),
    "UNI": ("uni",),
    "ALIGNED": ("aligned",),
    "CTA": ("cta",),
    "SHUFFLE": ("up", "down", "bfly", "idx"),
    "VOTE": ("all", "any", "uni"),
    "ORDER": ("weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile", "mmio"),
    "SCOPE": ("cta", "cluster", "gpu", "sys"),
    "LEVEL": ("cta", "gl", "sys"),
    "CACHE": ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified"),
    "EVICT": (
        "L1::evict_normal",
        "L1::evict_unchanged",
        "L1::evict_first",
        "L1::evict_last",
        "L1::no_allocate",
    ),
    "FETCH": ("L2::64B", "L2::128B", "L2::256B"),
    "NEAR": ("L1", "L2"),
}
"""Capitalised word of a row's name -> the modifiers that it stands for."""


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One operand of a row, taken apart; see the module's docstring for how it is spelled.

    `kind` is reg, pair, pred, mem, vec, label, table, imm or flag. `type` is `t`, `u`, `2t`, `any` or a type's name.
    """

    name: str
    kind: str
    type: str
    is_dest: bool = False
    is_optional: bool = False
    may_widen: bool = False


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One row. `types` lists, for each type of the instruction in order, the names that are allowed.

    `group` is the chapter of the PTX ISA manual that defines the operation, `doc` its meaning in one line.
    """

    name: str
    types: tuple[tuple[str, ...], ...]
    operands: tuple[OperandSpec, ...]
    doc: str
    group: str
    options: tuple[str, ...] = ()
    is_branch: bool = False
    is_collective: bool = False

    @property
    def opcode(self) -> str:
        """The first word of the name."""
        return self.name.partition(".")[0]


_B, _I, _S = "b16 b32 b64", "u16 u32 u64 s16 s32 s64", "s16 s32 s64"
_MOVED = f"{_B} {_I} f32 f64"
_STORED = f"b8 u8 s8 {_MOVED}"
_ANY_INT = f"u8 s8 {_I}"
_LOAD = "SPACE VEC ORDER SCOPE CACHE EVICT FETCH"
_ATOMIC = "SPACE ORDER SCOPE"

_Row = tuple[str, str, str, str] | tuple[str, str, str, str, str]  # name, types, operands, doc, options

_CHAPTERS: dict[str, tuple[_Row, ...]] = {
    "Integer Arithmetic Instructions": (
        ("add", _I, "=d:t a:t b:t", "d = a + b, modulo 2^n"),
        ("add.sat", "s32", "=d:t a:t b:t", "d = a + b, clamped to the range of the type"),
        ("sub", _I, "=d:t a:t b:t", "d = a - b, modulo 2^n"),
        ("sub.sat", "s32", "=d:t a:t b:t", "d = a - b, clamped to the range of the type"),
        ("mul.lo", _I, "=d:t a:t b:t", "d = low half of a * b"),
        ("mul.hi", _I, "=d:t a:t b:t", "d = high half of a * b"),
        ("mul.wide", "u16 u32 s16 s32", "=d:2t a:t b:t", "d = a * b in twice the width"),
        ("mad.lo", _I, "=d:t a:t b:t c:t", "d = low half of a * b, plus c"),
        ("mad.hi", _I, "=d:t a:t b:t c:t", "d = high half of a * b, plus c"),
        ("mad.hi.sat", "s32", "=d:t a:t b:t c:t", "d = high half of a * b, plus c, clamped"),
        ("mad.wide", "u16 u32 s16 s32", "=d:2t a:t b:t c:2t", "d = a * b in twice the width, plus c"),
        ("mul24.lo", "u32 s32", "=d:t a:t b:t", "d = bits 31..0 of the product of the low 24 bits"),
        ("mul24.hi", "u32 s32", "=d:t a:t b:t", "d = bits 47..16 of the product of the low 24 bits"),
        ("mad24.lo", "u32 s32", "=d:t a:t b:t c:t", "d = mul24.lo of a and b, plus c"),
        ("mad24.hi", "u32 s32", "=d:t a:t b:t c:t", "d = mul24.hi of a and b, plus c"),
        ("sad", _I, "=d:t a:t b:t c:t", "d = c + |a - b|"),
        (
            "div",
            _I,
            "=d:t a:t b:t",
            "d = a / b towards zero; all ones when b = 0, as NVIDIA's assembler folds it",
        ),
        (
            "rem",
            _I,
            "=d:t a:t b:t",
            "d = a - (a / b) * b; all ones when b = 0, as NVIDIA's assembler folds it",
        ),
        ("abs", _S, "=d:t a:t", "d = |a|; the least number stays itself"),
        ("neg", _S, "=d:t a:t", "d = -a; the least number stays itself"),
        ("min", _I, "=d:t a:t b:t", "d = the smaller of a and b, by the type's sign"),
        ("max", _I, "=d:t a:t b:t", "d = the larger of a and b, by the type's sign"),
        ("popc", "b32 b64", "=d:u32 a:t", "d = number of ones in a"),
        ("clz", "b32 b64", "=d:u32 a:t", "d = number of zeros above the highest one; n when a = 0"),
        (
            "bfind",
            "u32 u64 s32 s64",
            "=d:u32 a:t",
            "d = place of the highest bit that differs from the sign, else -1",
        ),
        (
            "bfind.shiftamt",
            "u32 u64 s32 s64",
            "=d:u32 a:t",
            "d = left shift that brings the bit found by bfind to the top, else -1",
        ),
        (
            "fns",
            "b32",
            "=d:b32 a:b32 b:b32 c:s32",
            "d = place of the c-th one of a, counted from bit b, else -1",
        ),
        ("brev", "b32 b64", "=d:t a:t", "d = a with the order of its bits reversed"),
        (
            "bfe",
            "u32 u64 s32 s64",
            "=d:t a:t b:u32 c:u32",
            "d = the c bits of a from bit b up, sign-extended for .s",
        ),
        (
            "bfi",
            "b32 b64",
            "=f:t a:t b:t c:u32 d:u32",
            "f = b with d bits from bit c up replaced by the low bits of a",
        ),
        (
            "dp4a",
            "u32 s32 | u32 s32",
            "=d:b32 a:b32 b:b32 c:b32",
            "d = c + sum of the four products of bytes",
        ),
        (
            "dp2a.lo",
            "u32 s32 | u32 s32",
            "=d:b32 a:b32 b:b32 c:b32",
            "d = c + halves of a times bytes 0 and 1 of b",
        ),
        (
            "dp2a.hi",
            "u32 s32 | u32 s32",
            "=d:b32 a:b32 b:b32 c:b32",
            "d = c + halves of a times bytes 2 and 3 of b",
        ),
    ),
    "Extended-Precision Integer Arithmetic Instructions": (
        ("add.cc", "u32 s32 u64 s64", "=d:t =%cc a:t b:t", "d = a + b; carry = carry-out"),
        ("addc", "u32 s32 u64 s64", "=d:t a:t b:t %cc", "d = a + b + carry"),
        ("addc.cc", "u32 s32 u64 s64", "=d:t =%cc a:t b:t %cc", "d = a + b + carry; carry = carry-out"),
        ("sub.cc", "u32 s32 u64 s64", "=d:t =%cc a:t b:t", "d = a - b; carry = no borrow"),
        ("subc", "u32 s32 u64 s64", "=d:t a:t b:t %cc", "d = a + ~b + carry"),
        ("subc.cc", "u32 s32 u64 s64", "=d:t =%cc a:t b:t %cc", "d = a + ~b + carry; carry = carry-out"),
        (
            "mad.lo.cc",
            "u32 s32 u64 s64",
            "=d:t =%cc a:t b:t c:t",
            "d = low half of a * b, plus c; carry = carry-out",
        ),
        (
            "mad.hi.cc",
            "u32 s32 u64 s64",
            "=d:t =%cc a:t b:t c:t",
            "d = high half of a * b, plus c; carry = carry-out",
        ),
        ("madc.lo", "u32 s32 u64 s64", "=d:t a:t b:t c:t %cc", "d = low half of a * b, plus c + carry"),
        ("madc.hi", "u32 s32 u64 s64", "=d:t a:t b:t c:t %cc", "d = high half of a * b, plus c + carry"),
        ("madc.lo.cc", "u32 s32 u64 s64", "=d:t =%cc a:t b:t c:t %cc", "as madc.lo; carry = carry-out"),
        ("madc.hi.cc", "u32 s32 u64 s64", "=d:t =%cc a:t b:t c:t %cc", "as madc.hi; carry = carry-out"),
    ),
    "Comparison and Selection Instructions": (
        ("set.EQ", f"u32 s32 | {_B}", "=d:t a:u b:u", "d = all ones where the comparison holds, else 0"),
        ("set.CMP", f"u32 s32 | {_I}", "=d:t a:u b:u", "d = all ones where the comparison holds, else 0"),
        (
            "set.CMPU",
            "u32 s32 | u16 u32 u64",
            "=d:t a:u b:u",
            "d = all ones where the comparison holds, else 0",
        ),
        (
            "set.EQ.BOOL",
            f"u32 s32 | {_B}",
            "=d:t a:u b:u !c:pred",
            "d = all ones where comparison op c, else 0",
        ),
        (
            "set.CMP.BOOL",
            f"u32 s32 | {_I}",
            "=d:t a:u b:u !c:pred",
            "d = all ones where comparison op c, else 0",
        ),
        ("setp.EQ", _B, "=p|q:pred a:t b:t", "p = comparison; q = its complement"),
        ("setp.CMP", _I, "=p|q:pred a:t b:t", "p = comparison, by the type's sign; q = its complement"),
        ("setp.CMPU", "u16 u32 u64", "=p|q:pred a:t b:t", "p = unsigned comparison; q = its complement"),
        ("setp.EQ.BOOL", _B, "=p|q:pred a:t b:t !c:pred", "p = comparison op c; q = complement op c"),
        ("setp.CMP.BOOL", _I, "=p|q:pred a:t b:t !c:pred", "p = comparison op c; q = complement op c"),
        (
            "setp.CMPU.BOOL",
            "u16 u32 u64",
            "=p|q:pred a:t b:t !c:pred",
            "p = comparison op c; q = complement op c",
        ),
        ("selp", _MOVED, "=d:t a:t b:t !c:pred", "d = a where c holds, else b"),
        ("slct", f"{_MOVED} | s32", "=d:t a:t b:t c:s32", "d = a where c >= 0, else b"),
    ),
    "Logic and Shift Instructions": (
        ("and", f"pred {_B}", "=d:t a:t b:t", "d = a and b, bit by bit"),
        ("or", f"pred {_B}", "=d:t a:t b:t", "d = a or b, bit by bit"),
        ("xor", f"pred {_B}", "=d:t a:t b:t", "d = a xor b, bit by bit"),
        ("not", f"pred {_B}", "=d:t a:t", "d = the complement of a"),
        ("cnot", _B, "=d:t a:t", "d = 1 where a = 0, else 0"),
        ("lop3", "b32", "=d:t a:t b:t c:t #f", "d = for each bit, bit (4a + 2b + c) of the table f"),
        (
            "shf.l.WRAP",
            "b32",
            "=d:t a:t b:t c:u32",
            "d = high word of b:a shifted left by c mod 32, or at most 32",
        ),
        (
            "shf.r.WRAP",
            "b32",
            "=d:t a:t b:t c:u32",
            "d = low word of b:a shifted right by c mod 32, or at most 32",
        ),
        ("shl", _B, "=d:t a:t b:u32", "d = a shifted left, 0 when b >= n"),
        (
            "shr",
            f"{_B} {_I}",
            "=d:t a:t b:u32",
            "d = a shifted right, filled by the type's sign, also when b >= n",
        ),
        (
            "prmt",
            "b32",
            "=d:t a:t b:t c:b32",
            "d = four bytes of b:a chosen by the nibbles of c; bit 3: their sign",
        ),
        (
            "prmt.PERMUTE",
            "b32",
            "=d:t a:t b:t c:b32",
            "d = four bytes of b:a in a pattern moved by the low bits of c",
        ),
    ),
    "Data Movement and Conversion Instructions": (
        (
            "mov",
            f"pred {_MOVED}",
            "={d}:t {a}:t",
            "d = a; vectors pack and unpack, the first element lowest",
            "VEC",
        ),
        ("ld", _STORED, "={d}:t+ [a]", "d = memory at a", _LOAD),
        ("ldu", _STORED, "={d}:t+ [a]", "d = memory at a, which all threads share and none writes", _LOAD),
        ("st", _STORED, "[a] {b}:t+", "memory at a = b", _LOAD),
        ("prefetch", "", "[a]", "nothing: a hint", "SPACE NEAR"),
        ("prefetchu", "", "[a]", "nothing: a hint", "NEAR"),
        ("cvt", f"{_ANY_INT} | {_ANY_INT}", "=d:t+ a:u+", "d = a, extended by its own sign, then truncated"),
        ("cvt.sat", f"{_ANY_INT} | {_ANY_INT}", "=d:t+ a:u+", "d = a, clamped to the range of d's type"),
        ("cvta.SPACE", "u32 u64", "=d:t a:any", "d = generic address of the address a in a state space"),
        ("cvta.to.SPACE", "u32 u64", "=d:t a:any", "d = address in a state space of the generic address a"),
        ("isspacep.SPACE", "", "=p:pred a:any", "p = the generic address a lies in the state space"),
    ),
    "Control Flow Instructions": (
        ("bra", "", "@l", "go to l", "UNI"),
        ("brx.idx", "", "a:u32 @@l", "go to entry a of the list l", "UNI"),
        ("ret", "", "", "return; in a kernel the thread ends", "UNI"),
        ("exit", "", "", "the thread ends"),
        ("trap", "", "", "stop the launch with an error"),
    ),
    "Parallel Synchronization and Communication Instructions": (
        (
            "bar.sync",
            "",
            "a:u32 b:u32?",
            "wait at barrier a for all threads of the block, or for b threads",
            "CTA",
        ),
        ("barrier.sync", "", "a:u32 b:u32?", "wait at barrier a, as bar.sync", "CTA ALIGNED"),
        (
            "bar.arrive",
            "",
            "a:u32 b:u32",
            "count as arrived at barrier a, which waits for b threads, and go on",
            "CTA",
        ),
        (
            "bar.red.popc",
            "u32",
            "=d:t a:u32 !c:pred",
            "wait as bar.sync; d = number of threads in which c holds",
            "CTA",
        ),
        ("bar.red.and", "pred", "=d:t a:u32 !c:pred", "wait as bar.sync; d = c holds in every thread", "CTA"),
        ("bar.red.or", "pred", "=d:t a:u32 !c:pred", "wait as bar.sync; d = c holds in some thread", "CTA"),
        ("bar.warp.sync", "", "m:b32", "wait for the threads of the warp in m"),
        ("membar.LEVEL", "", "", "order memory accesses: they are in order here"),
        ("fence", "", "", "order memory accesses: they are in order here", "ORDER SCOPE"),
        ("nanosleep", "u32", "a:t", "nothing: time is not modelled"),
        ("atom.add", "u32 s32 u64 s64", "=d:t [a] b:t", "d = [a]; [a] = [a] + b", _ATOMIC),
        ("atom.min", "u32 s32 u64 s64", "=d:t [a] b:t", "d = [a]; [a] = min([a], b)", _ATOMIC),
        ("atom.max", "u32 s32 u64 s64", "=d:t [a] b:t", "d = [a]; [a] = max([a], b)", _ATOMIC),
        ("atom.and", "b32 b64", "=d:t [a] b:t", "d = [a]; [a] = [a] and b", _ATOMIC),
        ("atom.or", "b32 b64", "=d:t [a] b:t", "d = [a]; [a] = [a] or b", _ATOMIC),
        ("atom.xor", "b32 b64", "=d:t [a] b:t", "d = [a]; [a] = [a] xor b", _ATOMIC),
        ("atom.exch", "b32 b64", "=d:t [a] b:t", "d = [a]; [a] = b", _ATOMIC),
        ("atom.inc", "u32", "=d:t [a] b:t", "d = [a]; [a] = [a] >= b ? 0 : [a] + 1", _ATOMIC),
        ("atom.dec", "u32", "=d:t [a] b:t", "d = [a]; [a] = [a] = 0 or [a] > b ? b : [a] - 1", _ATOMIC),
        ("atom.cas", "b16 b32 b64", "=d:t [a] b:t c:t", "d = [a]; [a] = [a] = b ? c : [a]", _ATOMIC),
        ("red.add", "u32 s32 u64 s64", "[a] b:t", "[a] = [a] + b", _ATOMIC),
        ("red.min", "u32 s32 u64 s64", "[a] b:t", "[a] = min([a], b)", _ATOMIC),
        ("red.max", "u32 s32 u64 s64", "[a] b:t", "[a] = max([a], b)", _ATOMIC),
        ("red.and", "b32 b64", "[a] b:t", "[a] = [a] and b", _ATOMIC),
        ("red.or", "b32 b64", "[a] b:t", "[a] = [a] or b", _ATOMIC),
        ("red.xor", "b32 b64", "[a] b:t", "[a] = [a] xor b", _ATOMIC),
        ("red.inc", "u32", "[a] b:t", "[a] = [a] >= b ? 0 : [a] + 1", _ATOMIC),
        ("red.dec", "u32", "[a] b:t", "[a] = [a] = 0 or [a] > b ? b : [a] - 1", _ATOMIC),
        (
            "shfl.sync.SHUFFLE",
            "b32",
            "=d|p:t a:t b:b32 c:b32 m:b32",
            "d = a of the lane that mode, b and c choose",
        ),
        (
            "vote.sync.VOTE",
            "pred",
            "=d:t !a:pred m:b32",
            "d = whether a holds in all, in any, or in all or none, of m",
        ),
        ("vote.sync.ballot", "b32", "=d:t !a:pred m:b32", "d = the lanes of m in which a holds"),
        ("match.any.sync", "b32 b64", "=d:b32 a:t m:b32", "d = the lanes of m with the same a"),
        (
            "match.all.sync",
            "b32 b64",
            "=d|p:b32 a:t m:b32",
            "d = m if a is the same in all of m, else 0; p = d != 0",
        ),
        ("redux.sync.add", "u32 s32", "=d:t a:t m:b32", "d = sum of a over m"),
        ("redux.sync.min", "u32 s32", "=d:t a:t m:b32", "d = the smallest a in m"),
        ("redux.sync.max", "u32 s32", "=d:t a:t m:b32", "d = the largest a in m"),
        ("redux.sync.and", "b32", "=d:t a:t m:b32", "d = the bits that every a in m has"),
        ("redux.sync.or", "b32", "=d:t a:t m:b32", "d = the bits that some a in m has"),
        ("redux.sync.xor", "b32", "=d:t a:t m:b32", "d = the bits that an odd number of a in m have"),
        ("activemask", "b32", "=d:t", "d = the lanes of the warp that execute together"),
    ),
}

_BRANCHES = frozenset(["bra", "brx", "ret", "exit", "trap"])
_COLLECTIVES = frozenset(["bar", "barrier", "shfl", "vote", "match", "redux"])


def _operand(spelled: str) -> OperandSpec:
    text = spelled.removesuffix("?")
    is_optional = text != spelled
    is_dest = text.startswith("=")
    text = text.removeprefix("=")
    may_widen = text.endswith("+")
    name, _colon, type_name = text.removesuffix("+").partition(":")
    kind, name = _kind(name)
    return OperandSpec(name, kind, type_name or "any", is_dest, is_optional, may_widen)


def _kind(name: str) -> tuple[str, str]:
    for prefix, kind in (("@@", "table"), ("@", "label"), ("#", "imm"), ("%", "flag"), ("!", "pred")):
        if name.startswith(prefix):
            return kind, name.removeprefix(prefix)
    if name[0] in "[{":
        return ("mem" if name[0] == "[" else "vec"), name[1:-1]
    return ("pair" if "|" in name else "reg"), name


def _spec(row: _Row, group: str) -> OpSpec:
    name, types, operands, doc = row[:4]
    options = tuple(row[4].split()) if len(row) > 4 else ()
    lists = tuple(tuple(part.split()) for part in types.split("|")) if types else ()
    opcode = name.partition(".")[0]
    return OpSpec(
        name,
        lists,
        tuple(_operand(o) for o in operands.split()),
        doc,
        group,
        options,
        is_branch=opcode in _BRANCHES,
        is_collective=opcode in _COLLECTIVES,
    )


OPS: tuple[OpSpec, ...] = tuple(_spec(row, group) for group, rows in _CHAPTERS.items() for row in rows)
"""Every row, in the manual's order."""

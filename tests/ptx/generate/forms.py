"""The rows of the instruction table that random programs use, and why they omit the others."""

from .. import reference, table

LOWERED = {"set", "setp", "lop3"}

# Chapters whose instructions need objects, descriptors or fragments made for them.
CHAPTERS = {
    "matrix": "fragments over a whole warp: their bits are recorded case by case",
    "texture": "needs textures: their bits are recorded case by case",
    "tcgen05": "needs columns, descriptors and a newer device: tests of its own",
    "async": "what is copied when is open until it is waited for: tests of its own",
}
MNEMONICS = {
    "activemask": "which lanes are together is the device's choice",
    "alloca": "addresses of the stack are the device's choice",
    "stacksave": "addresses of the stack are the device's choice",
    "stackrestore": "addresses of the stack are the device's choice",
    "trap": "ends the launch",
    "brkpt": "ends the launch",
    "setmaxnreg.inc.sync.aligned": "wants a launch made for it",
    "setmaxnreg.dec.sync.aligned": "wants a launch made for it",
    "griddepcontrol.launch_dependents": "wants a launch made for it",
    "griddepcontrol.wait": "wants a launch made for it",
    "barrier.cluster.arrive": "wants a launch made for it",
    "barrier.cluster.wait": "wants a launch made for it",
    "mapa": "wants a launch made for it",
    "getctarank": "wants a launch made for it",
    "shfl": "not for this target: it names no lanes",
    "vote": "not for this target: it names no lanes",
    "vote.ballot": "not for this target: it names no lanes",
    "pmevent": "counts on a profiler",
    "pmevent.mask": "counts on a profiler",
    "prefetch.tensormap": "needs a tensor map",
    "prefetch.const.tensormap": "needs a tensor map",
    "prefetch.param.tensormap": "needs a tensor map",
    "tanh.approx": "approximate",
    "clmad.lo": "newer than the PTX of the programs: tests of its own",
    "clmad.hi": "newer than the PTX of the programs: tests of its own",
    "bar.arrive": "threads wait for others than all: tests of its own",
    "bar.cta.arrive": "threads wait for others than all: tests of its own",
    "barrier.arrive": "threads wait for others than all: tests of its own",
    "barrier.cta.arrive": "threads wait for others than all: tests of its own",
    "fence.proxy": "orders what programs here don't do",
    "membar.proxy.alias": "orders what programs here don't do",
}
# Made by statements of `memory`, `warp` and `program` rather than drawn from the table.
COMPOSED = {
    "ld", "ld.global", "ldu", "st", "prefetch", "prefetchu.L1", "isspacep", "cvta", "cvta.to",
    "atom", "red", "bra", "brx.idx", "call", "ret", "exit", "nanosleep", "membar", "fence",
    "bar.sync", "bar.cta.sync", "barrier.sync", "barrier.cta.sync", "bar.red.popc", "bar.red",
    "bar.cta.red.popc", "bar.cta.red", "barrier.red.popc", "barrier.red", "barrier.cta.red.popc",
    "barrier.cta.red", "bar.warp.sync", "vote.sync", "vote.ballot.sync", "vote.sync.ballot",
    "match.any.sync", "match.all.sync", "redux.sync", "shfl.sync", "elect.sync",
}  # fmt: skip


def excluded(row):
    """Why no program has the row; None where one may have it."""
    if row.chapter in CHAPTERS:
        return CHAPTERS[row.chapter]
    if row.mnemonic in MNEMONICS:
        return MNEMONICS[row.mnemonic]
    if ".approx" in row.mnemonic or row.mnemonic == "div.full":
        return "approximate"
    if row.mnemonic.startswith("fence.") and row.mnemonic not in COMPOSED:
        return "orders what programs here don't do"
    return None


# Spellings for which an H200 gave other bits than the manual, in the run that the results describe.
# Each time, an operand was a constant or a register in which floating point was computed.
DIFFERING = (
    ("cvt.sat.s16.u16", "a register that halves were computed in"),
    ("setp.eq.and.b16", "a register that halves were computed in"),
    ("setp.ne.and.b16", "a register that halves were computed in"),
    ("vmax4.s32.u32.u32.add", "not understood"),
    ("cvt.rz.relu.tf32.f32", "not understood: NaN"),
    ("cvt.rn.relu.tf32.f32", "not understood: NaN"),
)
# NVIDIA's compiler folds these to other bits if the source or the position is constant.
NEVER_CONSTANT = {"Szext", "Bfe", "Bfi"}


def carries(row):
    """Whether it reads or writes the condition code; such rows are drawn in chains only."""
    return "cc_in" in row.shapes or "cc_out" in row.shapes


def drawn():
    """The rows that compute on registers, by chapter."""
    rows = {}
    for row in table.rows():
        computes = row.semantics in reference.FUNCTIONS or row.mnemonic in LOWERED
        wanted = computes or row.chapter == "video" or (row.mnemonic == "mov" and row.types)
        if wanted and row.recorded and not excluded(row) and row.mnemonic not in COMPOSED:
            rows.setdefault(row.chapter, []).append(row)
    return rows


def spelled(row, rng):
    """A spelling for which no device gave other bits than the manual."""
    while True:
        found = any_spelling(row, rng)
        if found[0] not in (opcode for opcode, _ in DIFFERING):
            return found


def any_spelling(row, rng):
    """A spelling: (opcode, modifiers by axis, type, second type). The rounding of additions and
    products is always written: without it, NVIDIA's compiler may fuse two operations into one.
    """
    named = {}
    for a in row.axes:
        free = a.optional and a.name not in ("rnd", "rn", "second_operation")
        if a.name in ("sat_implied", "cache_hint") or (free and rng.random() < 0.5):
            named[a.name] = None
        else:
            named[a.name] = rng.choice(a.choices)
    if row.chapter == "video" and row.mnemonic[-1] not in "24":
        # For scalar forms that saturate, or take the minimum or maximum with c, NVIDIA's compiler
        # does not follow the manual.
        named.update((n, None) for n in ("saturate_video", "scale_video") if n in named)
        if "second_operation" in named:
            named["second_operation"] = "add"
    if row.chapter == "video" and named.get("accumulate") and named.get("saturate_video"):
        named["saturate_video"] = None  # these two modifiers exclude each other
    t = rng.choice(row.types) if row.types else None
    t2 = rng.choice(row.types2) if row.types2 else None
    front = [named[a.name] for a in row.axes if named[a.name] and not a.trailing]
    back = [named[a.name] for a in row.axes if named[a.name] and a.trailing]
    parts = [row.mnemonic, *front, *(x for x in (t, t2) if x), *back]
    return ".".join(parts), named, t, t2


def nan_is_open(row, named, t):
    """Whether the device may choose the bits of a NaN result."""
    if row.mnemonic in ("copysign", "selp", "slct", "mov"):
        return False
    same = row.semantics == "ConvertReal" and t in (*row.types2, "f16")
    sign = "AbsReal" in row.semantics or "NegReal" in row.semantics
    # NVIDIA's compiler replaces min(x, x) by x, also for a NaN.
    sign = sign or "MinReal" in row.semantics or "MaxReal" in row.semantics
    return t == "f64" or sign or bool(named.get("xorsign")) or same


# For some operands, the manual leaves the result open. An entry has the semantics and a size (None:
# any), and by the index of a source an instruction that excludes such operands.
GUARDS = {
    ("Div", None): {1: "or.b{n} {to}, {of}, 1"},
    ("Rem", None): {1: "or.b{n} {to}, {of}, 1"},
    ("Bfe", None): {1: "and.b32 {to}, {of}, 0xff", 2: "and.b32 {to}, {of}, 0xff"},
    ("Bfi", None): {2: "and.b32 {to}, {of}, 0xff", 3: "and.b32 {to}, {of}, 0xff"},
    ("Fns", None): {1: "and.b32 {to}, {of}, 31", 2: "shr.s32 {to}, {of}, 1"},
    ("mad", None): {2: "and.b32 {to}, {of}, 0x3fffffff"},  # vmad beyond 32 bits
    # NVIDIA's compiler (13.0) converts an f32 result before it shifts 64 bits by it.
    ("Shl", 64): {1: "xor.b32 {to}, {of}, 5"},
    ("Shr", 64): {1: "xor.b32 {to}, {of}, 5"},
}


# Instructions that must have no guard. NVIDIA's compiler (13.0) makes several machine instructions
# of each and guards only the first; the rest then change old values of lanes that the guard
# excludes. The compiler does not end for a setp of two halves whose result is its own guard.
UNGUARDED = {("set", None), ("testp", None), ("setp", "f16x2"), ("setp", "bf16x2")}


# Instructions that NVIDIA's compiler (13.0) turns into calls of its own functions. The compiler
# crashes on some of them in branches of a function that is called by its address.
CALLING = {"div", "rem", "sqrt", "rcp"}


def guards(row, t):
    return GUARDS.get((row.semantics, None)) or GUARDS.get(
        (row.semantics, t and reference.size(t)), {}
    )

"""The registers of a program, and single instructions on them."""

from .. import reference
from ..test_rows import OUTPUTS, kinds
from . import forms
from .tree import Piece

POOL = {
    1: [f"%p{i}" for i in range(4)],
    16: [f"%h{i}" for i in range(4)],
    32: [f"%r{i}" for i in range(8)],
    64: [f"%d{i}" for i in range(4)],
}
# The pool, and scratch: %t %u %v %q %z belong to a statement, %c count rounds.
DECLARED = [
    ".reg .pred %p<4>, %q<4>; .reg .b8 %z0; .reg .b16 %h<4>, %v<6>; .reg .b32 %r<8>, %t<8>, %c<4>;",
    ".reg .b64 %d<4>, %u<6>;",
]
SCRATCH = {16: "%v", 32: "%t", 64: "%u"}
ROWS = forms.drawn()
CHAINS = [r for r in ROWS["integer"] if forms.carries(r)]
CHAPTERS = ["integer"] * 4 + ["real"] * 4 + ["compare"] * 3 + ["convert"] * 3 + ["video", "move"]
INTEGERS = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 0x7FFF)
SINGLES = (0, 0x80000000, 1, 0x3F800000, 0xBF800000, 0x3F000000, 0x7F7FFFFF, 0x4B800001)
DOUBLES = (0, 1 << 63, 1, 0x3FF0000000000000, 0xBFE0000000000000, 0x7FEFFFFFFFFFFFFF)


def width(kind):
    return 1 if kind == "pred" else max(reference.size(kind), 16)


def constant(kind, rng):
    """A literal of a type; None where it has none."""
    if kind in ("u32", "s32", "b32", "u64", "s64", "b64", "u16", "s16", "b16"):
        return hex(rng.choice(INTEGERS)) if rng.random() < 0.7 else hex(rng.getrandbits(15))
    if kind == "f32":
        return f"0f{rng.choice(SINGLES):08X}"
    return f"0d{rng.choice(DOUBLES):016X}" if kind == "f64" else None


def quiet(kind, at):
    """The canonical NaN in place of another one."""
    if kind == "f64":
        return [f"setp.nan.f64 %q0, {at}, {at};", f"@%q0 mov.b64 {at}, 0x7ff8000000000000;"]
    if kind == "f32":
        return [f"setp.nan.f32 %q0, {at}, {at};", f"@%q0 mov.b32 {at}, 0x7fffffff;"]
    if kind in ("f16", "bf16"):
        return [f"setp.nan.{kind} %q0, {at}, {at};", f"@%q0 mov.b16 {at}, 0x7fff;"]
    half = kind[:-2]
    halves = [line for h in ("%v0", "%v1") for line in quiet(half, h)]
    return [f"mov.b32 {{%v0, %v1}}, {at};", *halves, f"mov.b32 {at}, {{%v0, %v1}};"]


class Instructions:
    """Draws instructions of the table."""

    # Whether it is for a function whose address is taken.
    indirect = False

    def __init__(self, rng):
        self.rng = rng

    def some(self, bits):
        return self.rng.choice(POOL[bits])

    def predicate(self):
        return ("!" if self.rng.random() < 0.3 else "") + self.some(1)

    def guard(self):
        return f"@{self.predicate()} " if self.rng.random() < 0.15 else ""

    def source(self, shape, kind, wider=False):
        rng = self.rng
        if kind == "pred":
            return self.predicate() if shape == "np" else self.some(1)
        if wider and shape == "ar2" and kind[0] in "us" and rng.random() < 0.3:
            return self.some(rng.choice([b for b in (16, 32, 64) if b >= reference.size(kind)]))
        if shape in ("a", "w", "a2") and rng.random() < 0.15:
            return constant(kind, rng) or self.some(width(kind))
        return self.some(width(kind))

    def operation(self):
        """An instruction of the table, whole."""
        rows = ROWS[self.rng.choice(CHAPTERS)]
        row = self.rng.choice(rows)
        while self.indirect and row.mnemonic in forms.CALLING:
            row = self.rng.choice(rows)
        if forms.carries(row):
            return self.chain()
        return self.instruction(row)

    def instruction(self, row):
        opcode, named, t, t2 = forms.spelled(row, self.rng)
        if row.chapter == "video":
            return self.video(row, opcode, t)
        if "dpack" in row.shapes or "apack" in row.shapes:
            return self.pack(t, "apack" in row.shapes)
        if "dv" in row.shapes:
            return self.vector_move(t)
        if t == "b128":
            return self.wide()
        guards, before, after, operands, number = forms.guards(row, t), [], [], [], 0
        wider = "bf16" not in (t, t2)  # whether integers may stand in wider registers
        for shape, kind in zip(row.shapes, kinds(row, t, t2), strict=True):
            if kind == "imm":
                operands.append(hex(self.rng.getrandbits(8)))
            elif shape in OUTPUTS:
                operands.append(self.result(row, named, shape, kind, wider, after))
            else:
                constants = row.semantics not in forms.NEVER_CONSTANT
                of = self.source(shape, kind, wider) if constants else self.some(width(kind))
                if number in guards:
                    to = SCRATCH[width(kind)] + str(number)
                    text = guards[number].format(n=width(kind), to=to, of=of)
                    before.append(text + ";")
                    of = to
                operands.append(of)
                number += 1
        # A byte that is not computed would be stored behind.
        always = {(row.mnemonic, None), (row.mnemonic, t)} & forms.UNGUARDED or "%z0" in operands
        text = f"{'' if always else self.guard()}{opcode} {', '.join(operands)};"
        return Piece(*before, text, *after)

    def result(self, row, named, shape, kind, wider, after):
        if shape == "pq":
            one, other = self.rng.sample(POOL[1], 2)
            return f"{one}|{other}" if self.rng.random() < 0.3 else one
        if shape == "dp":
            at = self.some(32)
            return f"{at}|{self.some(1)}"
        if shape == "d" and kind != "pred" and reference.size(kind) == 8:
            after.append(f"mov.b16 {self.some(16)}, {{%z0, 0}};")
            return "%z0"
        bits = width(kind)
        if wider and shape == "dr" and kind[0] in "us" and self.rng.random() < 0.3:
            bits = self.rng.choice([b for b in (16, 32, 64) if b >= bits])
        at = self.some(bits)
        if kind.removesuffix("x2") in ("f16", "bf16", "f32", "f64") and forms.nan_is_open(
            row, named, kind
        ):
            after += quiet(kind, at)
        return at

    def chain(self):
        """Sums of several words: only the first takes no carry, only the last gives none."""
        rng = self.rng
        family = "sub" if rng.random() < 0.4 else "add mad"
        rows = [r for r in CHAINS if r.mnemonic[:3] in family]

        def link(takes, gives):
            fit = [
                r
                for r in rows
                if ("cc_in" in r.shapes) == takes and ("cc_out" in r.shapes) == gives
            ]
            row = rng.choice(fit)
            opcode, _, t, _ = forms.spelled(row, rng)
            count = len([s for s in row.shapes if s == "a"])
            sources = [self.source("a", t) for _ in range(count)]
            return f"{opcode} {', '.join([self.some(width(t)), *sources])};"

        middle = [link(True, True) for _ in range(rng.randrange(3))]
        return Piece(link(False, True), *middle, link(True, False))

    def pack(self, t, into):
        rng, bits = self.rng, reference.size(t)
        if bits == 128:
            return self.wide()
        t = f"b{bits}"  # for typed registers, NVIDIA's compiler takes fewer forms
        shapes = {16: [8], 32: [16, 8], 64: [32, 16]}[bits]
        part = rng.choice(shapes)
        if part == 8:  # bytes are registers of their own: taken from a word, and put together again
            return Piece(
                f"mov.b16 {{%z0, _}}, {self.some(16)};", f"mov.b16 {self.some(16)}, {{%z0, %z0}};"
            )
        count = bits // part
        if into:
            parts = [self.some(part) for _ in range(count)]
            return Piece(f"mov.{t} {self.some(bits)}, {{{', '.join(parts)}}};")
        parts = rng.sample(POOL[part], count)
        return Piece(f"mov.{t} {{{', '.join(parts)}}}, {self.some(bits)};")

    def vector_move(self, t):
        bits = reference.size(t)
        count = self.rng.choice([n for n in (2, 4) if n * bits <= 128])
        to = self.rng.sample(POOL[bits], count)
        of = [self.some(bits) for _ in range(count)]
        return Piece(f"mov.v{count}.{t} {{{', '.join(to)}}}, {{{', '.join(of)}}};")

    def wide(self):
        one, other = self.rng.sample(POOL[64], 2)
        text = (
            f"mov.b128 %w, {{{self.some(64)}, {self.some(64)}}}; mov.b128 {{{one}, {other}}}, %w;"
        )
        return Piece(f"{{ .reg .b128 %w; {text} }}")

    def video(self, row, opcode, t):
        rng, name = self.rng, row.mnemonic
        many = name[-1] in "24"
        letter, count = ("h", 2) if name[-1] == "2" else ("b", 4)

        def part(at):
            if many:
                digits = "".join(str(rng.randrange(2 * count)) for _ in range(count))
                if digits == "1024":  # NVIDIA's assembler (13.0) reads .b1024 as a type
                    digits = "1025"
                return f"{at}.{letter}{digits}" if rng.random() < 0.6 else at
            if name == "vmad":
                return f"{at}.b{rng.randrange(4)}"
            return at + rng.choice(["", "", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"])

        d, a, b = self.some(32), part(self.some(32)), part(self.some(32))
        more, before = "", []
        if "vd" in row.shapes or name == "vmad":
            more = ", " + self.some(32)
        if name == "vmad":
            kinds = opcode.split(".")  # the result is signed where a factor is
            kinds[1] = "s32" if "s32" in kinds[2:4] else "u32"
            opcode = ".".join(kinds)
            before = [forms.guards(row, t)[2].format(to="%t2", of=more[2:]) + ";"]
            more = ", %t2"
        # Sums over parts become several instructions, and NVIDIA's compiler guards only some of
        # them.
        guard = "" if many and opcode.endswith(".add") else self.guard()
        if many and rng.random() < 0.4:  # some parts of the destination, the other parts from c
            d += (
                "." + letter + "".join(str(i) for i in reversed(range(count)) if rng.random() < 0.6)
            )
            d = d.removesuffix("." + letter)
        return Piece(*before, f"{guard}{opcode} {d}, {a}, {b}{more};")

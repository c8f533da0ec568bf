"""One statement for each row of the instruction table, as a kernel on one line."""

import re

from . import matrix

REGISTERS = """{ .reg .b32 %r<140>; .reg .b64 %d<8>; .reg .b16 %h<8>; .reg .f32 %f<8>;
.reg .b8 %c<4>; .reg .f64 %g<8>; .reg .pred %p<8>; .reg .b128 %q<8>; """.replace("\n", " ")
LETTERS = {
    "u8": "h", "s8": "h", "b8": "h", "u16": "h", "s16": "h", "b16": "h", "f16": "h", "bf16": "h",
    "e4m3x2": "h", "e5m2x2": "h", "e2m3x2": "h", "e3m2x2": "h", "ue8m0x2": "h", "e2m1x2": "c",
    "s2f6x2": "h", "e4m3": "c", "e5m2": "c",
    "f32": "f", "f64": "g", "pred": "p", "b128": "q", "u64": "d", "s64": "d", "b64": "d",
    "f32x2": "d",
}  # fmt: skip
TWICE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
# Numbers of cp.async, of prefetches and of cache lines; all other rows take any small number.
NUMBERS = {
    "applypriority": 128, "discard": 128, "fence.proxy": 128, "tensormap.cp_fenceproxy": 128,
    "setmaxnreg": 40, "st.bulk": 0, "tensormap": 1, "pmevent": 1, "mma": 0,
}  # fmt: skip


def register(kind, number):
    return f"%{LETTERS.get(kind, 'r')}{number}"


def number_of(opcode):
    return next((n for start, n in NUMBERS.items() if opcode.startswith(start)), 16)


def form_of(opcode):
    """The matrix form of an mma; the selector of a sparse one is 0."""
    shape = re.search(r"\.m(\d+)n(\d+)k(\d+)\.", opcode)
    types = [word for word in opcode.split(".") if word in matrix.BITS]
    if ".kind::mxf4" in opcode:
        types = [t.replace("e2m1", "packed e2m1") for t in types]
    selector = 0 if opcode.startswith("mma.sp") else None
    return matrix.Form(opcode, *map(int, shape.groups()), *types[:4], selector)


def fragment(constraint, opcode):
    """The registers of a matrix; None for the instructions that have a list of their own."""
    if opcode.startswith(("ldmatrix", "stmatrix")):
        count, letter = int(re.search(r"\.x(\d)\.", opcode)[1]), "r"
        count *= 2 if ".m16n16." in opcode else 1
    elif opcode.startswith("mma"):
        form, which = form_of(opcode), constraint[1]
        count = form.registers(which)
        letter = {"f32": "f", "f64": "g"}.get(getattr(form, which), "r")
    else:
        return None
    return "{" + ", ".join(f"%{letter}{n}" for n in range(count)) + "}"


def words(letter, count):
    return "{" + ", ".join(f"%{letter}{n}" for n in range(count)) + "}"


def operand(constraint, opcode, t, t2, number):
    """The text of an operand; None where it needs a declaration of its own."""
    if constraint in ("fa", "fb", "fc", "fd"):
        return fragment(constraint, opcode)
    same = {"d": t, "a": t, "dr": t, "address": t, "a2": t2, "ar2": t2}
    if constraint in same:
        # An 8-bit float in a wide register is refused, integers of 8 bits are not.
        return register(same[constraint] or "b32", number)
    if constraint in ("dw", "aw"):
        return register(TWICE[t] if t else "b64", number)
    if constraint in ("dv", "av"):
        found = re.search(r"\.v([248])(\.|$)", opcode)
        listed = [register(t, n % 8) for n in range(int(found[1]) if found else 1)]
        return listed[0] if len(listed) == 1 else "{" + ", ".join(listed) + "}"
    fixed = {
        "d32": "%r1", "d8": "%c1", "w": "%r2", "vd": "%r1", "va": "%r2", "h": "%h1", "p": "%p1",
        "pq": "%p1|%p2",
        "np": "%p3", "number": "0.5", "m": "[%d1]", "md": "%d2", "imm": str(number_of(opcode)),
        "sd": "%r3", "sa": "{0, 1}", "sb": "{0, 3}", "few": "3",
        "tm": "[%r1]", "columns": "32", "tr": "%r139", "halvings": "3",
    }  # fmt: skip
    if constraint == "four_a2":
        return words(LETTERS[t2], 4)
    if constraint in ("td", "ts"):
        unit = {"128b": 2, "256b": 4}
        shape, count = re.search(r"\.\d+x(\d+b)(?:x2)?\.x(\d+)", opcode).groups()
        listed = [f"%r{n + 2}" for n in range(int(count) * unit.get(shape, 1))]
        return "{" + ", ".join(listed) + "}"
    if constraint == "mask":
        return words("r", 8 if ".cta_group::2" in opcode else 4)
    if constraint in ("tensor", "shift"):
        rank = int(re.search(r"\.(\d)d\.", opcode)[1])
        if constraint == "shift":
            return words("h", 2 if "::w" in opcode else rank - 2)
        rows = "gather4" in opcode or "scatter4" in opcode
        return f"[%d1, {words('r', 5 if rows else rank)}]"
    if constraint == "dp":
        return f"{register(t if t and t != 'b64' else 'b32', 1)}|%p1"
    return fixed.get(constraint)


def statement(row, opcode, t, t2):
    """None where the row needs a declaration, such as a label or a texture."""
    operands = []
    for constraint in row.shapes:
        if constraint in ("cc_in", "cc_out"):
            continue
        text = operand(constraint, opcode, t, t2, len(operands) + 1)
        if text is None:
            return None
        operands.append(text)
    return f"{opcode} {', '.join(operands)};"


def kernel(number, text):
    return f".visible .entry k{number}(.param .u64 pa) {REGISTERS}{text} ret; }}"

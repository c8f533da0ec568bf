"""`wmma`: matrices that are loaded, multiplied and stored as a whole."""

from dataclasses import dataclass

import numpy as np

from .form import BITS, REGISTER
from .values import packed


@dataclass(frozen=True)
class Whole:
    """One wmma.mma with the loads of its operands and the store of its result."""

    m: int
    n: int
    k: int
    d: str
    a: str
    c: str
    layouts: tuple = ("row", "col")
    result: str = "row"  # layout of C and D in memory
    tail: str = ""
    front: str = ""
    operation: str = ""

    @property
    def b(self):
        return self.a

    @property
    def shape(self):
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def opcode(self):
        types = f"{self.d}.{self.c}" if self.a == "f16" else f"{self.d}.{self.a}.{self.a}.{self.c}"
        return (
            f"wmma.mma{self.operation}.sync.aligned.{'.'.join(self.layouts)}.{self.shape}"
            f"{self.front}.{types}{self.tail}"
        )

    def count(self, operand):
        """Elements of a whole matrix."""
        return {"a": self.m * self.k, "b": self.k * self.n}.get(operand, self.m * self.n)

    def type(self, operand):
        return self.a if operand == "b" else getattr(self, operand)

    def registers(self, operand):
        t = self.type(operand)
        if t == "f16" and operand in "ab":
            return 8  # some elements lie in several lanes
        return self.count(operand) * BITS[t] // (32 * max(BITS[t], 32))

    def width(self, operand):
        return 8 if self.type(operand) == "f64" else 4

    def stride(self, operand):
        rows, columns = {"a": (self.m, self.k), "b": (self.k, self.n)}.get(
            operand, (self.m, self.n)
        )
        layout = {"a": self.layouts[0], "b": self.layouts[1]}.get(operand, self.result)
        return columns if layout == "row" else rows


def _whole():
    both = [(x, y) for x in ("row", "col") for y in ("row", "col")]
    sixteen = [(16, 16, 16), (8, 32, 16), (32, 8, 16)]
    for result in ("row", "col"):
        for layouts in both:
            for s in sixteen:
                for d in ("f16", "f32"):
                    for c in ("f16", "f32"):
                        yield Whole(*s, d, "f16", c, layouts, result)
                yield Whole(*s, "f32", "bf16", "f32", layouts, result)
                for t in ("s8", "u8"):
                    for tail in ("", ".satfinite"):
                        yield Whole(*s, "s32", t, "s32", layouts, result, tail)
            yield Whole(16, 16, 8, "f32", "tf32", "f32", layouts, result)
            for front in ("", ".rn", ".rz", ".rm", ".rp"):
                yield Whole(8, 8, 4, "f64", "f64", "f64", layouts, result, front=front)
        for t in ("s4", "u4"):
            for tail in ("", ".satfinite"):
                yield Whole(8, 8, 32, "s32", t, "s32", result=result, tail=tail)
        for operation in (".xor.popc", ".and.popc"):
            yield Whole(8, 8, 128, "s32", "b1", "s32", result=result, operation=operation)


WHOLE = list(_whole())


def whole_kernel(form, name="k", pad=0, space=".global"):
    """PTX that loads A, B and C, writes their fragments, multiplies, writes D and its fragment.

    Parameters: the matrices a, b, c, d, and the fragments fa, fb, fc, fd. Rows (or columns) lie
    `pad` elements further apart than they are long.
    """
    head, body, store = [], [], []
    names = {}
    for o in "abcd":
        count, width, t = form.registers(o), form.width(o), form.type(o)
        kind = REGISTER.get(t, f"b{8 * width}")
        if o in "ab":
            kind = f"b{8 * width}" if t != "f64" else "f64"
        head.append(f".reg .{kind} %{o}<{count}>; .reg .b64 %p{o}, %f{o};")
        stride = form.stride(o) + pad
        lines = form.count(o) // form.stride(o)
        size = lines * stride * BITS[t] // 8
        body.append(
            f"ld.param.u64 %p{o}, [p{o}]; ld.param.u64 %f{o}, [f{o}];"
            f" mad.wide.u32 %p{o}, %case, {size}, %p{o};"
            f" mad.wide.u32 %f{o}, %case, {count * 32 * width}, %f{o};"
            f" mad.wide.u32 %f{o}, %lane, {width}, %f{o};"
        )
        names[o] = "{" + ", ".join(f"%{o}{i}" for i in range(count)) + "}"
        layout = {"a": form.layouts[0], "b": form.layouts[1]}.get(o, form.result)
        if o != "d":
            body.append(
                f"wmma.load.{o}.sync.aligned.{layout}.{form.shape}{space}.{t} {names[o]},"
                f" [%p{o}], {stride};"
            )
        else:
            store.append(
                f"wmma.store.d.sync.aligned.{layout}.{form.shape}{space}.{t} [%pd], {names[o]},"
                f" {stride};"
            )
        store += [f"st.global.{kind} [%f{o}+{i * 32 * width}], %{o}{i};" for i in range(count)]
    parameters = ", ".join(f".param .u64 {x}{o}" for x in "pf" for o in "abcd")
    lines = [
        f".visible .entry {name}({parameters}) {{",
        ".reg .b32 %case, %lane;",
        *head,
        "mov.u32 %case, %ctaid.x; mov.u32 %lane, %laneid;",
        *body,
        f"{form.opcode} {names['d']}, {names['a']}, {names['b']}, {names['c']};",
        *store,
        "ret; }",
    ]
    return "\n".join(lines) + "\n"


def matrix_words(form, operand, cases, seed):
    """Words [case, word] of a matrix in memory, without padding."""
    t = form.type(operand)
    count = form.count(operand) * BITS[t] // (8 * form.width(operand))
    salt = {"a": 1, "b": 2, "c": 4}[operand]
    return packed(t, (cases, count), seed * 8 + salt, operand == "c")


def numbered(form, operand):
    """Words [plane, word]: each element holds its own number, as many bits as it has, in planes."""
    t = form.type(operand)
    bits, count = BITS[t], form.count(operand)
    planes = 1 if bits >= 16 else -(-max(count - 1, 1).bit_length() // bits)
    number = np.arange(count, dtype=np.uint64)
    out = []
    for p in range(planes):
        value = number >> np.uint64(p * bits) & np.uint64(2 ** min(bits, 63) - 1)
        per = form.width(operand) * 8 // bits
        value = value.reshape(-1, per)
        word = np.zeros(len(value), np.uint64)
        for i in range(per):
            word |= value[:, i] << np.uint64(i * bits)
        out.append(word)
    return np.array(out).astype(np.uint64 if form.width(operand) == 8 else np.uint32)

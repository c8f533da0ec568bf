"""Forms of `mma` and `mma.sp`, and their kernels."""

import itertools
from dataclasses import dataclass

# Bits of an element, and of the register that holds it.
BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f32": 32, "s32": 32, "s8": 8, "u8": 8,
    "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8, "e2m1": 8, "e2m3": 8, "e3m2": 8,
    "packed e2m1": 4,
}  # fmt: skip
# exponent and mantissa bits
FLOATS = {
    "f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23), "f64": (11, 52),
    "e4m3": (4, 3), "e5m2": (5, 2), "e2m1": (2, 1), "e2m3": (2, 3), "e3m2": (3, 2),
    "packed e2m1": (2, 1),
}  # fmt: skip


@dataclass(frozen=True)
class Form:
    """One opcode of mma.sync or mma.sp."""

    opcode: str
    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str
    selector: int | None = None  # selector of a sparse matrix A
    layouts: tuple = ("row", "col")
    scales: int = 0  # scale factors in a row of A
    scale: str = ""  # their type
    select: tuple = (0, 0, 0, 0)  # byte and lanes of the scale factors of A, then of B

    @property
    def quads(self):
        """Four products by eight lanes each."""
        return (self.m, self.k, self.a) == (8, 4, "f16")

    def registers(self, operand):
        """How many a lane has of "d", "a", "b", "c", "e", or of scale factors: "s" and "t"."""
        if operand == "e":
            return 0 if self.selector is None else 1
        if operand in "st":
            return 1 if self.scales else 0
        t = getattr(self, operand)
        size = {"a": self.m * self.k, "b": self.k * self.n}.get(operand, self.m * self.n)
        if operand == "a" and self.selector is not None:
            size //= 2
        return size * (4 if self.quads else 1) * BITS[t] // (32 * max(BITS[t], 32))

    def width(self, operand):
        """Bytes of a register."""
        return 8 if operand not in "est" and getattr(self, operand) == "f64" else 4

    @property
    def k_stored(self):
        """Elements of a row of A that are held."""
        return self.k if self.selector is None else self.k // 2


def _dense():
    for al in ("row", "col"):
        for bl in ("row", "col"):
            for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
                yield Form(f"mma.sync.aligned.m8n8k4.{al}.{bl}.{d}.f16.f16.{c}", 8, 8, 4,
                           d, "f16", "f16", c, layouts=(al, bl))  # fmt: skip
    head = "mma.sync.aligned"

    def form(m, n, k, d, a, b, tail="", front=""):
        return Form(
            f"{head}.m{m}n{n}k{k}.row.col{front}.{d}.{a}.{b}.{d}{tail}", m, n, k, d, a, b, d
        )

    for k in (8, 16):
        for d in ("f16", "f32"):
            yield form(16, 8, k, d, "f16", "f16")
        yield form(16, 8, k, "f32", "bf16", "bf16")
        yield form(16, 8, k // 2, "f32", "tf32", "tf32")
    for k in (16, 32):
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                for d in ("f16", "f32"):
                    yield form(16, 8, k, d, a, b)
    yield form(8, 8, 4, "f64", "f64", "f64")
    for k in (4, 8, 16):
        yield form(16, 8, k, "f64", "f64", "f64")
    for types, shapes in (
        (("s8", "u8"), ((8, 16), (16, 16), (16, 32))),
        (("s4", "u4"), ((8, 32), (16, 32), (16, 64))),
    ):
        for m, k in shapes:
            for a in types:
                for b in types:
                    for front in ("", ".satfinite"):
                        yield form(m, 8, k, "s32", a, b, front=front)
    for m, k in ((8, 128), (16, 128), (16, 256)):
        for op in ("xor", "and"):
            yield form(m, 8, k, "s32", "b1", "b1", tail=f".{op}.popc")


def _sparse():
    for variant in ("sp", "sp::ordered_metadata"):
        head = f"mma.{variant}.sync.aligned"

        def form(k, d, a, b, selector, front="", head=head):
            return Form(f"{head}.m16n8k{k}.row.col{front}.{d}.{a}.{b}.{d}", 16, 8, k, d, a, b, d,
                        selector)  # fmt: skip

        for selector in range(4):
            yield form(8, "f32", "tf32", "tf32", selector)
            for d, t in (("f16", "f16"), ("f32", "f16"), ("f32", "bf16")):
                yield form(16, d, t, t, selector)
        for selector in range(2):
            yield form(16, "f32", "tf32", "tf32", selector)
            for d, t in (("f16", "f16"), ("f32", "f16"), ("f32", "bf16")):
                yield form(32, d, t, t, selector)
            for front in ("", ".satfinite"):
                for types, k in ((("s8", "u8"), 32), (("s4", "u4"), 64)):
                    for a in types:
                        for b in types:
                            yield form(k, "s32", a, b, selector, front)
        for front in ("", ".satfinite"):
            for types, k in ((("s8", "u8"), 64), (("s4", "u4"), 128)):
                for a in types:
                    for b in types:
                        yield form(k, "s32", a, b, 0, front)
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                yield form(64, "f32", a, b, 0)


# Floats of kind::f8f6f4, each in a byte.
SMALL = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2")
PAIRS = [(a, b) for a in SMALL for b in SMALL]
# Products of e2m1 with scale factors: spelling, scale factors in a row of A, their type.
PACKED = [
    ("mxf4.block_scale", 2, "ue8m0"),
    ("mxf4.block_scale.scale_vec::2X", 2, "ue8m0"),
    ("mxf4nvf4.block_scale.scale_vec::2X", 2, "ue8m0"),
    ("mxf4nvf4.block_scale.scale_vec::4X", 4, "ue8m0"),
    ("mxf4nvf4.block_scale.scale_vec::4X", 4, "ue4m3"),
]


def selections(scales):
    """All valid selections of scale factors."""
    some = range(0, 4, scales)
    return list(itertools.product(some, range(2), some, range(4)))


def _kinds():
    """Forms with .kind, and the sparse one of 8-bit floats that sm_120 added without it."""
    for variant, selector, factor in (("mma.sync", None, 1),
                                      ("mma.sp::ordered_metadata.sync", 0, 2)):  # fmt: skip

        def form(k, kind, d, a, b, opcode=variant, selector=selector, factor=factor, **scaled):
            name = f"{opcode}.aligned.m16n8k{k * factor}.row.col{kind}.{d}"
            tail = f".{scaled['scale']}" if scaled else ""
            words = f"{a.split()[-1]}.{b.split()[-1]}"
            return Form(f"{name}.{words}.{d}{tail}", 16, 8, k * factor, d, a, b, d,
                        selector, **scaled)  # fmt: skip

        for n, (a, b) in enumerate(PAIRS):
            for d in ("f32", "f16"):
                yield form(32, ".kind::f8f6f4", d, a, b)
            vector = ("", ".scale_vec::1X")[n % 2]
            select = selections(1)[n * 7 % 32]
            yield form(32, f".kind::mxf8f6f4.block_scale{vector}", "f32", a, b,
                       scales=1, scale="ue8m0", select=select)  # fmt: skip
            if n in (0, 1, 5, 6):
                if selector == 0:
                    yield form(32, "", "f16", a, b)
                else:
                    yield form(16, ".kind::f8f6f4", "f32", a, b)
                    yield form(16, ".kind::f8f6f4", "f16", a, b)
        for kind, scales, scale in PACKED:
            for select in selections(scales):
                yield form(64, f".kind::{kind}", "f32", "packed e2m1", "packed e2m1",
                           scales=scales, scale=scale, select=select)  # fmt: skip


DENSE = list(_dense())
KINDS = list(_kinds())
SPARSE = list(_sparse())
REGISTER = {"f32": "f32", "f64": "f64"}


def header(version="8.7", target="sm_90a"):
    return f".version {version}\n.target {target}\n.address_size 64\n"


def kernel(form, name="k"):
    """PTX that reads fragments a, b, c (and e, s, t), runs the instruction, and writes d.

    A block is a warp, and one case. Input: [case, register, lane] of each operand in turn, each
    an array of its own.
    """
    reads = [o for o in "abcest" if form.registers(o)]
    head, loads, names = [], [], {}
    for o in [*reads, "d"]:
        count, width = form.registers(o), form.width(o)
        kind = "b32" if o in "est" else REGISTER.get(getattr(form, o), f"b{8 * width}")
        head.append(f".reg .{kind} %{o}<{count}>; .reg .b64 %p{o};")
        loads.append(
            f"ld.param.u64 %p{o}, [p{o}]; mad.wide.u32 %p{o}, %case, {count * 32 * width}, %p{o};"
            f" mad.wide.u32 %p{o}, %lane, {width}, %p{o};"
        )
        if o != "d":
            loads += [f"ld.global.{kind} %{o}{i}, [%p{o}+{i * 32 * width}];" for i in range(count)]
        names[o] = "{" + ", ".join(f"%{o}{i}" for i in range(count)) + "}"
    tail = f", %e0, {form.selector}" if form.selector is not None else ""
    if form.scales:
        byte_a, lanes_a, byte_b, lanes_b = form.select
        tail += f", %s0, {{{byte_a}, {lanes_a}}}, %t0, {{{byte_b}, {lanes_b}}}"
    kind = REGISTER.get(form.d, f"b{8 * form.width('d')}")
    parameters = ", ".join(f".param .u64 p{o}" for o in [*reads, "d"])
    lines = [
        f".visible .entry {name}({parameters}) {{",
        ".reg .b32 %case, %lane;",
        *head,
        "mov.u32 %case, %ctaid.x; mov.u32 %lane, %laneid;",
        *loads,
        f"{form.opcode} {names['d']}, {names['a']}, {names['b']}, {names['c']}{tail};",
        *(
            f"st.global.{kind} [%pd+{i * 32 * form.width('d')}], %d{i};"
            for i in range(form.registers("d"))
        ),
        "ret; }",
    ]
    return "\n".join(lines) + "\n"

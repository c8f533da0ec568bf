"""Forms of `mma` and `mma.sp`, and their kernels."""

from dataclasses import dataclass

# Bits of an element, and of the register that holds it.
BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f32": 32, "s32": 32, "s8": 8, "u8": 8,
    "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8,
}  # fmt: skip
# exponent and mantissa bits
FLOATS = {
    "f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23), "f64": (11, 52),
    "e4m3": (4, 3), "e5m2": (5, 2),
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

    @property
    def quads(self):
        """Four products by eight lanes each."""
        return (self.m, self.k, self.a) == (8, 4, "f16")

    def registers(self, operand):
        """How many a lane has of "d", "a", "b", "c" or "e"."""
        if operand == "e":
            return 0 if self.selector is None else 1
        t = getattr(self, operand)
        size = {"a": self.m * self.k, "b": self.k * self.n}.get(operand, self.m * self.n)
        if operand == "a" and self.selector is not None:
            size //= 2
        return size * (4 if self.quads else 1) * BITS[t] // (32 * max(BITS[t], 32))

    def width(self, operand):
        """Bytes of a register."""
        return 8 if operand != "e" and getattr(self, operand) == "f64" else 4

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


DENSE = list(_dense())
SPARSE = list(_sparse())
REGISTER = {"f32": "f32", "f64": "f64"}


def header(version="8.7", target="sm_90a"):
    return f".version {version}\n.target {target}\n.address_size 64\n"


def kernel(form, name="k"):
    """PTX that reads fragments a, b, c (and e), runs the instruction, and writes d.

    A block is a warp, and one case. Input: [case, register, lane] of each operand in turn, each
    an array of its own.
    """
    reads = [o for o in "abce" if form.registers(o)]
    head, loads, names = [], [], {}
    for o in [*reads, "d"]:
        count, width = form.registers(o), form.width(o)
        kind = "b32" if o == "e" else REGISTER.get(getattr(form, o), f"b{8 * width}")
        head.append(f".reg .{kind} %{o}<{count}>; .reg .b64 %p{o};")
        loads.append(
            f"ld.param.u64 %p{o}, [p{o}]; mad.wide.u32 %p{o}, %case, {count * 32 * width}, %p{o};"
            f" mad.wide.u32 %p{o}, %lane, {width}, %p{o};"
        )
        if o != "d":
            loads += [f"ld.global.{kind} %{o}{i}, [%p{o}+{i * 32 * width}];" for i in range(count)]
        names[o] = "{" + ", ".join(f"%{o}{i}" for i in range(count)) + "}"
    tail = f", %e0, {form.selector}" if form.selector is not None else ""
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

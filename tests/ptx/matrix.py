"""The instructions on matrices: every form, the kernel that runs one, and inputs for it.

A fragment is an array of words [register, lane]; what its elements mean stands in matrix_model.py.
"""

from dataclasses import dataclass

import numpy as np

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
    selector: int | None = None  # of a sparse A
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


def words(seed, count):
    """The same random words everywhere: splitmix64 of a counter."""
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z += np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


# How numbers of a case are distributed.
STYLES = ("near", "spread", "wide", "cancel", "tiny", "special", "sparse", "sum", "huge", "bits")


def _floats(t, style, accumulator, raw):
    """Elements of a float type, as bits, from random words."""
    e, m = FLOATS[t]
    bias, top = (1 << (e - 1)) - 1, (1 << e) - 1
    sign = raw >> np.uint64(63)
    mantissa = raw & np.uint64((1 << m) - 1)
    pick = raw >> np.uint64(53) & np.uint64(1023)  # independent of sign and mantissa up to 52 bits
    if t == "f64":
        pick = words(int(raw.flat[0] & np.uint64(0xFFFF)), raw.size).reshape(
            raw.shape
        ) >> np.uint64(54)
    limit = {"near": 1, "spread": 4, "wide": 12, "cancel": 3, "sum": 2}.get(style, 2)
    limit = min(limit, bias - 1)
    exponent = pick % np.uint64(2 * limit + 1) + np.uint64(bias - limit)
    if style == "sum" and accumulator:  # C outweighs the products, or is outweighed
        far = np.where(pick & np.uint64(1), 20, 12) * np.where(pick & np.uint64(2), 1, -1)
        exponent = np.clip(bias + far, 1, top - 1).astype(np.uint64)
    if style == "tiny":
        if t in ("tf32", "bf16"):  # products near the least f32
            exponent = pick % np.uint64(24) + np.uint64(52)
        else:
            exponent = pick % np.uint64(4 if not accumulator else 12 if t == "f32" else bias)
            if t == "f64" and not accumulator:
                exponent = pick % np.uint64(40) + np.uint64(bias // 2 - 20)
    if style == "huge":
        exponent = np.uint64(top - 1) - pick % np.uint64(min(e, 4) + 1)
        if t in ("tf32", "bf16", "f64"):
            exponent = pick % np.uint64(6) + np.uint64(bias + bias // 2 - 3)
    if style == "bits":
        exponent = pick & np.uint64(top)
    if style == "special":
        exponent = np.where(pick < (40 if t == "f64" else 8), np.uint64(top), exponent)
        mantissa = np.where(pick < 6, np.uint64(0), mantissa)
        exponent = np.where((pick >= 8) & (pick < 100), np.uint64(0), exponent)
        mantissa = np.where((pick >= 8) & (pick < 60), np.uint64(0), mantissa)
    bits = sign << np.uint64(e + m) | exponent << np.uint64(m) | mantissa
    if style == "sparse":
        # Few elements that are not zero, of far exponents.
        spread = min(10, bias - 1)
        exponent = raw >> np.uint64(40) & np.uint64(1023)
        exponent = exponent % np.uint64(2 * spread + 1) + np.uint64(bias - spread)
        bits = sign << np.uint64(e + m) | exponent << np.uint64(m) | mantissa
        bits = np.where(pick < (700 if accumulator else 640), sign << np.uint64(e + m), bits)
    if t == "tf32":
        bits = bits << np.uint64(13) | raw >> np.uint64(30) & np.uint64(0x1FFF)
    return bits


def packed(t, shape, seed, accumulator=False):
    """Words [case, ..., lane] full of elements of a type, the style by the case's number."""
    width = 8 if t == "f64" else 4
    dtype = np.uint64 if width == 8 else np.uint32
    cases, count = shape[0], int(np.prod(shape))
    which = np.arange(cases).reshape(-1, *[1] * (len(shape) - 1))
    if t not in FLOATS:
        raw = words(seed, count).reshape(shape) >> np.uint64(32)
        if accumulator:
            small = (raw.astype(np.int64) - 2**31) >> 16
            low = small & 1023
            edge = np.where(raw & np.uint64(1), 2**31 - 1 - low, -(2**31) + low)
            raw = np.where(
                which % 3 == 0, small, np.where(which % 3 == 1, edge, raw.astype(np.int64))
            )
            return (raw & 0xFFFFFFFF).astype(np.uint32)
        extreme = {"s8": 0x80808080, "s4": 0x88888888}.get(t, 0xFFFFFFFF)  # the largest products
        return np.where(which % 4 == 3, np.uint64(extreme), raw).astype(np.uint32)
    per = width * 8 // BITS[t]
    raw = words(seed, count * per).reshape(*shape, per)
    out = np.zeros(raw.shape, np.uint64)
    for i in range(cases):
        style = STYLES[i % len(STYLES)]
        out[i] = _floats(t, style, accumulator, raw[i])
        if style == "cancel" and not accumulator and per > 1:
            half = per // 2  # products that are each other's opposite, or nearly
            flip = np.uint64((seed & 1) << (BITS[t] - 1))
            out[i, ..., half:] = out[i, ..., :half] ^ flip
            near = raw[i, ..., half:] >> np.uint64(20) & np.uint64(7)
            out[i, ..., half:] ^= ((near == 0) & np.bool_(seed & 1)).astype(np.uint64)
    together = np.zeros(shape, np.uint64)
    for i in range(per):
        together |= (out[..., i] & np.uint64(2 ** BITS[t] - 1)) << np.uint64(i * BITS[t])
    return together.astype(dtype)


def fragment(form, operand, cases, seed):
    """Words [case, register, lane] of an operand."""
    shape = (cases, form.registers(operand), 32)
    if operand == "e":
        return metadata(form, shape, seed)
    salt = {"a": 1, "b": 2, "c": 4}[operand]
    return packed(getattr(form, operand), shape, seed * 8 + salt, operand == "c")


def metadata(form, shape, seed):
    """Words of valid metadata for a sparse A."""
    raw = words(seed * 8 + 6, int(np.prod(shape)) * 8).reshape(*shape, 8)
    valid = [0x4, 0xE] if form.a == "tf32" else [0x4, 0x8, 0x9, 0xC, 0xD, 0xE]
    picked = np.array(valid, np.uint64)[(raw >> np.uint64(20)).astype(np.int64) % len(valid)]
    out = np.zeros(shape, np.uint64)
    for i in range(8):
        out |= picked[..., i] << np.uint64(4 * i)
    return out.astype(np.uint32)


def inputs(form, cases, seed):
    """Fragments of every operand read, in the kernel's order."""
    return [fragment(form, o, cases, seed) for o in "abce" if form.registers(o)]


def output(form, cases):
    dtype = np.uint64 if form.width("d") == 8 else np.uint32
    return np.zeros((cases, form.registers("d"), 32), dtype)


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


@dataclass(frozen=True)
class Group:
    """One opcode of wgmma.mma_async: 128 lanes, m64; B, and where `shared` A, in shared memory."""

    n: int
    k: int
    d: str
    a: str
    b: str
    shared: bool = True
    tail: str = ""  # behind the types
    front: str = ""  # before them
    negate: tuple = (1, 1)
    transpose: tuple = (0, 0)
    selector: int | None = None  # of a sparse A
    m: int = 64

    @property
    def opcode(self):
        sparse = ".sp" if self.selector is not None else ""
        return (
            f"wgmma.mma_async{sparse}.sync.aligned.m64n{self.n}k{self.k}{self.front}"
            f".{self.d}.{self.a}.{self.b}{self.tail}"
        )

    def registers(self, operand):
        return 4 if operand == "a" else self.n * BITS[self.d] // 64

    @property
    def immediates(self):
        if self.d == "s32":
            return ""
        out = "".join(f", {x}" for x in self.negate)
        if self.a in ("f16", "bf16"):
            out += "".join(f", {x}" for x in self.transpose[0 if self.shared else 1 :])
        return out


def group_kernel(form, name="k", a_bytes=2048, b_bytes=8192):
    """PTX of one product by a warpgroup. Parameters: A (words of shared memory, or registers
    [register, thread]), B (words of shared memory), c and d (registers [register, thread]), both
    descriptors without their addresses, offsets from the start of A and B, whether to add to D;
    of a sparse A the metadata of each thread, too.
    """
    count = form.registers("d")
    kind = REGISTER.get(form.d, "b32")
    d = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
    a = "{%a0, %a1, %a2, %a3}" if not form.shared else "%da"
    sparse = "" if form.selector is None else f", %e, {form.selector}"
    last = ", .param .u64 pe" if sparse else ""
    copies = []
    for o, size in (("a", a_bytes), ("b", b_bytes)):
        if o == "a" and not form.shared:
            continue
        copies += [
            f"ld.param.u64 %p{o}, [p{o}]; mad.wide.u32 %p{o}, %case, {size}, %p{o};",
            f"mov.u32 %s, s{o}; mov.u32 %i, %thread;",
            f"L{o}: setp.ge.u32 %q, %i, {size // 4}; @%q bra E{o};",
            f"mad.wide.u32 %x, %i, 4, %p{o}; ld.global.b32 %w, [%x];",
            "mad.lo.u32 %j, %i, 4, %s; st.shared.b32 [%j], %w;",
            f"add.u32 %i, %i, 128; bra L{o}; E{o}:",
            f"ld.param.u32 %j, [o{o}]; add.u32 %s, %s, %j; and.b32 %s, %s, 0x3ffff;"
            f" shr.u32 %s, %s, 4; cvt.u64.u32 %x, %s; ld.param.u64 %d{o}, [d{o}];"
            f" or.b64 %d{o}, %d{o}, %x;",
        ]
    if not form.shared:
        copies += [
            "ld.param.u64 %pa, [pa]; mad.wide.u32 %pa, %case, 2048, %pa;"
            " mad.wide.u32 %pa, %thread, 4, %pa;",
            *(f"ld.global.b32 %a{i}, [%pa+{512 * i}];" for i in range(4)),
        ]
    lines = [
        f".visible .entry {name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd,"
        " .param .u64 da, .param .u64 db, .param .u32 oa, .param .u32 ob, .param .u32 add"
        f"{last}) {{",
        f".shared .align 1024 .b8 sa[{a_bytes}]; .shared .align 1024 .b8 sb[{b_bytes}];",
        ".reg .b32 %case, %thread, %i, %j, %s, %w, %a<4>; .reg .pred %q, %add;",
        ".reg .b64 %pa, %pb, %pc, %pd, %da, %db, %x;",
        f".reg .{kind} %d<{count}>;",
        "mov.u32 %case, %ctaid.x; mov.u32 %thread, %tid.x;",
        *copies,
        f"ld.param.u64 %pc, [pc]; mad.wide.u32 %pc, %case, {count * 512}, %pc;"
        " mad.wide.u32 %pc, %thread, 4, %pc;",
        f"ld.param.u64 %pd, [pd]; mad.wide.u32 %pd, %case, {count * 512}, %pd;"
        " mad.wide.u32 %pd, %thread, 4, %pd;",
        *(f"ld.global.{kind} %d{i}, [%pc+{512 * i}];" for i in range(count)),
        *(
            [
                ".reg .b32 %e; ld.param.u64 %x, [pe]; mad.wide.u32 %x, %case, 512, %x;"
                " mad.wide.u32 %x, %thread, 4, %x; ld.global.b32 %e, [%x];"
            ]
            if sparse
            else []
        ),
        "ld.param.u32 %i, [add]; setp.ne.u32 %add, %i, 0;",
        "fence.proxy.async; bar.sync 0;",
        "wgmma.fence.sync.aligned;",
        f"{form.opcode} {d}, {a}, %db{sparse}, %add{form.immediates};",
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        *(f"st.global.{kind} [%pd+{512 * i}], %d{i};" for i in range(count)),
        "ret; }",
    ]
    return "\n".join(lines) + "\n"


def _group():
    for shared in (True, False):
        for n in (8, 24, 256):
            for d in ("f16", "f32"):
                yield Group(n, 16, d, "f16", "f16", shared)
                for a in ("e4m3", "e5m2"):
                    for b in ("e4m3", "e5m2"):
                        yield Group(n, 32, d, a, b, shared)
            yield Group(n, 16, "f32", "bf16", "bf16", shared)
            yield Group(n, 8, "f32", "tf32", "tf32", shared)
            for a in ("s8", "u8"):
                for b in ("s8", "u8"):
                    for tail in ("", ".satfinite"):
                        yield Group(min(n, 224), 32, "s32", a, b, shared, tail)
            yield Group(n, 256, "s32", "b1", "b1", shared, ".and.popc")


def _group_sparse():
    for shared in (True, False):
        for n in (8, 24):

            def form(k, d, a, b, selector=0, tail="", shared=shared, n=n):
                return Group(n, k, d, a, b, shared, tail, selector=selector)

            for selector in (0, 1):
                for d in ("f16", "f32"):
                    yield form(32, d, "f16", "f16", selector)
                yield form(32, "f32", "bf16", "bf16", selector)
                yield form(16, "f32", "tf32", "tf32", selector)
            for a, b in (("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")):
                for d in ("f16", "f32"):
                    yield form(64, d, a, b)
            for a, b in (("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")):
                for tail in ("", ".satfinite"):
                    yield form(64, "s32", a, b, tail=tail)


GROUP = list(_group())
GROUP_SPARSE = list(_group_sparse())

"""What each semantics of the table computes, in Python integers and exact fractions.

A reference takes (modifiers, type, second type, *source values) and gives what the destinations
hold, as a tuple of integers; None where any value will do. Values are bit patterns.
"""

import math
from fractions import Fraction

from . import floats as fl

SIZES = {"pred": 1, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "f32": 32, "f64": 64}
SIZES |= {"u16x2": 32, "s16x2": 32, "tf32": 32, "e4m3x2": 16, "e5m2x2": 16}
FUNCTIONS = {}


def size(t):
    return SIZES.get(t) or int(t[1:])


def cut(t, x):
    return x & ((1 << size(t)) - 1)


def value(t, bits):
    """A bit pattern as the number it stands for in an integer type."""
    n = size(t)
    bits &= (1 << n) - 1
    return bits - (1 << n) if t[0] == "s" and bits >> (n - 1) else bits


def limits(t):
    n = size(t)
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == "s" else (0, (1 << n) - 1)


def clamp(t, x):
    low, high = limits(t)
    return min(max(x, low), high)


def define(*names):
    def keep(function):
        for name in names:
            FUNCTIONS[name] = function
        return function

    return keep


def integers(function):
    """A reference whose sources and result are numbers of the first type."""

    def run(m, t, t2, *sources):
        out = function(m, t, *(value(t, s) for s in sources))
        return (cut(t, clamp(t, out) if m.get("sat") or m.get("sat_always") else out),)

    return run


FUNCTIONS["Add"] = integers(lambda m, t, a, b: a + b)
FUNCTIONS["Sub"] = integers(lambda m, t, a, b: a - b)


def part(m, t, a, b):
    return a * b >> size(t) if m.get("low_high") == "hi" or "sat_always" in m else cut(t, a * b)


FUNCTIONS["Mul"] = integers(part)
FUNCTIONS["Mad"] = integers(lambda m, t, a, b, c: part(m, t, a, b) + c)


def part24(m, t, a, b):
    def low24(x):
        x &= 0xFFFFFF
        return x - (1 << 24) if t[0] == "s" and x >> 23 else x

    p = low24(a) * low24(b)
    return value(t, p if m.get("low_high") == "lo" else p >> 16)


FUNCTIONS["Mul24"] = integers(part24)
FUNCTIONS["Mad24"] = integers(lambda m, t, a, b, c: part24(m, t, a, b) + c)
FUNCTIONS["Sad"] = integers(lambda m, t, a, b, c: c + abs(a - b))
FUNCTIONS["Abs"] = integers(lambda m, t, a: abs(a))
FUNCTIONS["Neg"] = integers(lambda m, t, a: -a)
FUNCTIONS["Min"] = integers(lambda m, t, a, b: max(min(a, b), 0) if m.get("relu") else min(a, b))
FUNCTIONS["Max"] = integers(lambda m, t, a, b: max(a, b, 0) if m.get("relu") else max(a, b))


def pairwise(name):
    def run(m, t, t2, a, b):
        half = [
            FUNCTIONS[name](m, t[:-2], t2, a >> n & 0xFFFF, b >> n & 0xFFFF)[0] for n in (0, 16)
        ]
        return (half[1] << 16 | half[0],)

    FUNCTIONS[f"Pairwise<{name}>"] = run


for _name in ("Add", "Min", "Max"):
    pairwise(_name)
FUNCTIONS["And"] = integers(lambda m, t, a, b: a & b)
FUNCTIONS["Or"] = integers(lambda m, t, a, b: a | b)
FUNCTIONS["Xor"] = integers(lambda m, t, a, b: a ^ b)
FUNCTIONS["Not"] = integers(lambda m, t, a: ~a)
FUNCTIONS["Cnot"] = integers(lambda m, t, a: int(a == 0))
FUNCTIONS["Move"] = lambda m, t, t2, a: (cut(t, a),)


@define("MulWide")
def mul_wide(m, t, t2, a, b):
    return (value(t, a) * value(t, b) & ((1 << 2 * size(t)) - 1),)


@define("MadWide")
def mad_wide(m, t, t2, a, b, c):
    return (value(t, a) * value(t, b) + c & ((1 << 2 * size(t)) - 1),)


def divided(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


FUNCTIONS["Div"] = integers(lambda m, t, a, b: -1 if b == 0 else divided(a, b))
FUNCTIONS["Rem"] = integers(lambda m, t, a, b: -1 if b == 0 else a - divided(a, b) * b)


@define("Popc")
def popc(m, t, t2, a):
    return (cut(t, a).bit_count(),)


@define("Clz")
def clz(m, t, t2, a):
    return (size(t) - cut(t, a).bit_length(),)


@define("Bfind")
def bfind(m, t, t2, a):
    a = value(t, a)
    n = (~a if a < 0 else a).bit_length()
    return (0xFFFFFFFF if n == 0 else size(t) - n if m["shiftamt"] else n - 1,)


@define("Fns")
def fns(m, t, t2, mask, base, offset):
    n = value("s32", offset)
    if base > 31 or n == -(1 << 31):
        return (None,)
    if n == 0:
        return (base if mask >> base & 1 else 0xFFFFFFFF,)
    places = range(base, 32) if n > 0 else range(base, -1, -1)
    found = [i for i in places if mask >> i & 1]
    return (found[abs(n) - 1] if len(found) >= abs(n) else 0xFFFFFFFF,)


@define("Brev")
def brev(m, t, t2, a):
    return (int(format(cut(t, a), f"0{size(t)}b")[::-1], 2),)


def field(t, pos, length):
    """The 32-bit forms read one byte of each; the 64-bit forms, on an H200, all of it."""
    return (pos & 0xFF, length & 0xFF) if size(t) == 32 else (pos, length)


@define("Bfe")
def bfe(m, t, t2, a, b, c):
    # The manual's own loop.
    top, pos, length = size(t) - 1, *field(t, b, c)
    a = cut(t, a)
    sign = 0 if t[0] == "u" or length == 0 else a >> min(pos + length - 1, top) & 1
    out = 0
    for i in range(top + 1):
        out |= (a >> (pos + i) & 1 if i < length and pos + i <= top else sign) << i
    return (out,)


@define("Bfi")
def bfi(m, t, t2, a, b, c, d):
    top, pos, length = size(t) - 1, *field(t, c, d)
    out = cut(t, b)
    for i in range(min(length, top + 1)):
        if pos + i <= top:
            out = out & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
    return (out,)


@define("Szext")
def szext(m, t, t2, a, b):
    n = b & 31 if m["funnel"] == "wrap" else min(b, 32)
    low = a & ((1 << n) - 1)
    return (cut(t, low - (1 << n) if t[0] == "s" and n and low >> (n - 1) else low),)


@define("Bmsk")
def bmsk(m, t, t2, a, b):
    if m["bmsk_mode"] == "wrap":
        a, b = a & 31, b & 31
    return (0 if a > 31 else cut(t, ((1 << min(b, 32)) - 1) << a),)


def dot(t, t2, a, b, c, count, width, first=0):
    total = value(t, c)
    for i in range(count):
        x = value(t[0] + str(width), a >> width * i)
        total += x * value(t2[0] + "8", b >> 8 * (first + i))
    return (cut(t, total),)


FUNCTIONS["Dp4a"] = lambda m, t, t2, a, b, c: dot(t, t2, a, b, c, 4, 8)
FUNCTIONS["Dp2aLow"] = lambda m, t, t2, a, b, c: dot(t, t2, a, b, c, 2, 16)
FUNCTIONS["Dp2aHigh"] = lambda m, t, t2, a, b, c: dot(t, t2, a, b, c, 2, 16, 2)


def carrying(name, function):
    """function(type, sources, carry in) gives a sum beyond the type's width."""
    takes, gives = not name.endswith("CarryOut"), not name.endswith("CarryIn")

    def run(m, t, t2, *sources):
        carry = sources[-1] & 1 if takes else 0
        out = function(t, [cut(t, s) for s in sources[: -1 if takes else None]], carry)
        return (cut(t, out), *((out >> size(t) & 1,) if gives else ()))

    FUNCTIONS[name] = run


def high(t, a, b):
    return cut(t, value(t, a) * value(t, b) >> size(t))


for _kind in ("CarryOut", "CarryIn", "Carry"):
    carrying("Add" + _kind, lambda t, s, c: s[0] + s[1] + c)
    # The hardware adds the complement: the condition code says that nothing was borrowed.
    carrying(
        "Sub" + _kind, lambda t, s, c, k=_kind: s[0] + cut(t, ~s[1]) + (1 if k == "CarryOut" else c)
    )
    carrying("MadLow" + _kind, lambda t, s, c: cut(t, s[0] * s[1]) + s[2] + c)
    carrying("MadHigh" + _kind, lambda t, s, c: high(t, s[0], s[1]) + s[2] + c)

FUNCTIONS["AndPredicate"] = lambda m, t, t2, a, b: (a & b,)
FUNCTIONS["OrPredicate"] = lambda m, t, t2, a, b: (a | b,)
FUNCTIONS["XorPredicate"] = lambda m, t, t2, a, b: (a ^ b,)
FUNCTIONS["NotPredicate"] = lambda m, t, t2, a: (a ^ 1,)
FUNCTIONS["MovePredicate"] = lambda m, t, t2, a: (a,)


@define("Lop3")
def lop3(m, t, t2, a, b, c, table):
    out = 0
    for i in range(32):
        out |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i
    return (out,)


def funnel_count(m, c):
    return c & 31 if m["funnel"] == "wrap" else min(c, 32)


@define("FunnelLeft")
def funnel_left(m, t, t2, a, b, c):
    return (((b << 32 | a) << funnel_count(m, c)) >> 32 & 0xFFFFFFFF,)


@define("FunnelRight")
def funnel_right(m, t, t2, a, b, c):
    return ((b << 32 | a) >> funnel_count(m, c) & 0xFFFFFFFF,)


@define("Shl")
def shl(m, t, t2, a, n):
    return (cut(t, a << min(n, size(t))),)


@define("Shr")
def shr(m, t, t2, a, n):
    return (cut(t, value(t, a) >> min(n, size(t))),)


PERMUTE = {  # bytes from the least significant on, for c & 3
    "f4e": ["0123", "1234", "2345", "3456"],
    "b4e": ["0765", "1076", "2107", "3210"],
    "rc8": ["0000", "1111", "2222", "3333"],
    "ecl": ["0123", "1123", "2223", "3333"],
    "ecr": ["0000", "0111", "0122", "0123"],
    "rc16": ["0101", "2323", "0101", "2323"],
}


@define("Prmt")
def prmt(m, t, t2, a, b, c):
    data = (b << 32 | a).to_bytes(8, "little")
    if m["permute"]:
        return (
            int.from_bytes(bytes(data[int(n)] for n in PERMUTE[m["permute"]][c & 3]), "little"),
        )
    out = 0
    for i in range(4):
        n = c >> 4 * i & 15
        byte = data[n & 7]
        out |= ((0xFF if byte & 0x80 else 0) if n & 8 else byte) << 8 * i
    return (out,)


# -- floating point --------------------------------------------------------------------------


def mode_of(m):
    return m.get("rnd") or m.get("rnd_always") or m.get("rn_rz") or "rn"


def source(m, t, bits):
    ftz = (m.get("ftz") or m.get("ftz_always")) and t in ("f32", "f16")
    return fl.flush(t, bits) if ftz else bits


def finish(m, t, bits):
    if t != "f64":
        bits = source(m, t, bits)
    sign, v = fl.decode(t, bits)
    if m.get("sat"):
        return (
            0
            if v == fl.NAN or sign
            else fl.encode(t, 0, 1 if v == fl.INF else min(v, 1) + Fraction(0))
        )
    if m.get("relu") and sign and v != fl.NAN:
        return 0
    return bits


def reals(name, function):
    def run(m, t, t2, *sources):
        values = [fl.decode(t, source(m, t, s)) for s in sources]
        out = function(t, values, mode_of(m))
        if name in ("RcpReal", "SqrtReal") and not m.get("rnd_always"):
            return (Near(t, as_double(t, source(m, t, out)), 2.0**-22),)
        flushes = name in ("MulReal", "FmaReal") and m.get("ftz")
        if flushes and fl.tiny(t, function(t + "+", values, mode_of(m))):
            out &= 1 << (size(t) - 1)
        return (finish(m, t, out),)

    FUNCTIONS[name] = run

    def pair(m, t, t2, *sources):
        half = t[:-2]
        low = run(m, half, t2, *(s & 0xFFFF for s in sources))
        top = run(m, half, t2, *(s >> 16 for s in sources))
        return (top[0] << 16 | low[0],)

    FUNCTIONS[f"Pairwise<{name}>"] = pair


def minus(x):
    return x[0] ^ 1, x[1]


def inside(run, t):
    """A factor that stands for what is outside of a tensor makes +0, in each half by itself."""
    halves = (0, 16) if t.endswith("x2") else (0,)

    def guarded(m, t, t2, *sources):
        (out,) = run(m, t, t2, *sources)
        for at in halves:
            if any(s >> at & 0x7FFF == 0x7FF7 for s in sources[:2]):
                out &= ~(0xFFFF << at)
        return (out,)

    return guarded


ONE = (0, Fraction(1))
reals("AddReal", lambda t, s, r: fl.total(t, s, r))
reals("SubReal", lambda t, s, r: fl.total(t, [s[0], minus(s[1])], r))
reals("MulReal", lambda t, s, r: fl.encode(t, *fl.product(*s), r))
reals("FmaReal", lambda t, s, r: fl.total(t, [fl.product(s[0], s[1]), s[2]], r))
for _name, _type in (("{}", "f16"), ("Pairwise<{}>", "f16x2")):
    FUNCTIONS[_name.format("FmaInside")] = inside(FUNCTIONS[_name.format("FmaReal")], _type)
reals("DivReal", lambda t, s, r: fl.quotient(t, s[0], s[1], r))
reals("RcpReal", lambda t, s, r: fl.quotient(t, ONE, s[0], r))
reals("SqrtReal", lambda t, s, r: fl.root(t, s[0], r))


def sign_only(name, change):
    def run(m, t, t2, a):
        top = 1 << (size(t) - 1)
        if fl.decode(t, a)[1] == fl.NAN:
            return (None,)
        return (change(source(m, t, a), top),)

    FUNCTIONS[name] = run

    def pair(m, t, t2, a):
        low, high_ = run(m, t[:-2], t2, a & 0xFFFF)[0], run(m, t[:-2], t2, a >> 16)[0]
        return (None if low is None or high_ is None else high_ << 16 | low,)

    FUNCTIONS[f"Pairwise<{name}>"] = pair


sign_only("AbsReal", lambda bits, top: bits & ~top)
sign_only("NegReal", lambda bits, top: bits ^ top)


@define("CopySign")
def copy_sign(m, t, t2, a, b):
    top = 1 << (size(t) - 1)
    return (a & top | b & ~top & (1 << size(t)) - 1,)


def ordered(t, bits):
    """A key in which -0 comes before +0."""
    top = 1 << (size(t) - 1)
    return -(bits & ~top) - 1 if bits & top else bits


def extreme(name, pick):
    def run(m, t, t2, a, b):
        a, b = source(m, t, a), source(m, t, b)
        nans = [fl.decode(t, x)[1] == fl.NAN for x in (a, b)]
        top = 1 << (size(t) - 1)
        sign = (a ^ b) & top
        if m.get("xorsign"):
            a, b = a & ~top, b & ~top
        if all(nans) or (m.get("nan") and any(nans)):
            return (fl.nan_bits(t) if not m.get("xorsign") else None,)
        out = b if nans[0] else a if nans[1] else pick((a, b), key=lambda x: ordered(t, x))
        return ((out & ~top | sign) if m.get("xorsign") else out,)

    FUNCTIONS[name] = run

    def pair(m, t, t2, a, b):
        low = run(m, t[:-2], t2, a & 0xFFFF, b & 0xFFFF)[0]
        high_ = run(m, t[:-2], t2, a >> 16, b >> 16)[0]
        return (None if low is None or high_ is None else high_ << 16 | low,)

    FUNCTIONS[f"Pairwise<{name}>"] = pair


extreme("MinReal", min)
extreme("MaxReal", max)


@define("TestProperty")
def test_property(m, t, t2, a):
    _, v = fl.decode(t, a)
    e, mantissa = fl.FORMATS[t]
    exponent = a >> mantissa & ((1 << e) - 1)
    return (
        int(
            {
                "finite": v not in (fl.NAN, fl.INF),
                "infinite": v == fl.INF,
                "number": v != fl.NAN,
                "notanumber": v == fl.NAN,
                "normal": v == 0 or 0 < exponent < (1 << e) - 1,
                "subnormal": exponent == 0 and v != 0,
            }[m["test"]]
        ),
    )


def as_double(t, bits):
    sign, v = fl.decode(t, bits)
    return (
        math.nan
        if v == fl.NAN
        else fl.signed(sign, math.inf if v == fl.INF else float(v)) or (-0.0 if sign else 0.0)
    )


class Near:
    """A result within a bound: relative, absolute, or a few units in the last place."""

    def __init__(self, t, exact, relative, absolute=0.0):
        self.t, self.exact, self.relative, self.absolute = t, exact, relative, absolute

    def accepts(self, bits):
        got = as_double(self.t, bits)
        if math.isnan(self.exact):
            return math.isnan(got)
        if got == self.exact:
            return True
        tiny, huge = {"f16": (6.2e-5, 65504), "f64": (2.3e-308, 1.7e308)}.get(
            self.t, (1.2e-38, 3.4e38)
        )
        if abs(self.exact) >= huge * 0.9999:
            return abs(got) >= huge * 0.999
        if abs(self.exact) <= tiny * 1.0001:  # may be flushed, and keeps few bits
            return abs(got - self.exact) <= tiny
        return abs(got - self.exact) <= max(abs(self.exact) * self.relative, self.absolute)


def near(name, function, relative, absolute=0.0, short=2.0**-9.9):
    def run(m, t, t2, *sources):
        x = [as_double(t, source(m, t, s)) for s in sources]
        bound = relative if t in ("f32", "f64") else 2.0**-6.9 if t == "bf16" else short
        return (Near(t, function(*x), bound, absolute),)

    FUNCTIONS[name] = run

    def pair(m, t, t2, *sources):
        half = t[:-2]
        return (
            (
                run(m, half, t2, *(s & 0xFFFF for s in sources))[0],
                run(m, half, t2, *(s >> 16 for s in sources))[0],
            ),
        )

    FUNCTIONS[f"Pairwise<{name}>"] = pair


def safely(function):
    def run(*x):
        try:
            return function(*x)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    return run


def ratio(a, b):
    if b == 0:
        return (
            math.nan
            if a == 0 or math.isnan(a)
            else math.copysign(math.inf, a) * math.copysign(1, b)
        )
    return a / b


def ratio_small(a, b):
    # div.approx may give 0 for divisors beyond 2^126.
    return ratio(a, b) if not 2.0**126 < abs(b) < math.inf else None


def inverse_root(a):
    return math.copysign(math.inf, a) if a == 0 else math.nan if a < 0 else 1 / math.sqrt(a)


def log2(a):
    return -math.inf if a == 0 else math.nan if a < 0 or math.isnan(a) else math.log2(a)


@define("DivApprox", "DivFull")
def div_approx(m, t, t2, a, b):
    x, y = (as_double(t, source(m, t, s)) for s in (a, b))
    exact = ratio_small(x, y)
    return (None if exact is None else Near(t, exact, 2.0**-22),)


near("RsqrtApprox", safely(inverse_root), 2.0**-22.9)


def coarse(name, function):
    """The f64 forms that look at the upper word alone, and with .ftz at no subnormal."""

    def run(m, t, t2, a):
        if m.get("ftz") or m.get("ftz_always"):
            a = fl.flush("f64", a & 0xFFFFFFFF << 32)
        return (Near(t, safely(function)(as_double(t, a)), 2.0**-19),)

    FUNCTIONS[name] = run


coarse("RsqrtCoarse", inverse_root)
coarse("RcpCoarse", lambda a: ratio(1.0, a))


def circular(name, function):
    """Within 2^-20.5 for -pi to pi; the manual leaves the rest open."""

    def run(m, t, t2, a):
        x = as_double(t, source(m, t, a))
        inside = not abs(x) > math.pi or math.isinf(x)
        return (Near(t, safely(function)(x), 0, 2.0**-20) if inside else None,)

    FUNCTIONS[name] = run


circular("Sin", math.sin)
circular("Cos", math.cos)
near("Log2", safely(log2), 2.0**-21, 2.0**-22)
near("Exp2", safely(lambda a: math.nan if math.isnan(a) else 2.0**a), 2.0**-22)
near("Tanh", safely(math.tanh), 2.0**-10.9)


# -- comparison, selection ---------------------------------------------------------------------


def compare(m, t, a, b):
    op = next(m[k] for k in m if k.startswith("compare"))
    if t in fl.FORMATS:
        x, y = (fl.decode(t, source(m, t, s)) for s in (a, b))
        if fl.NAN in (x[1], y[1]):
            return op.endswith("u") or op == "nan"
        if op in ("num", "nan"):
            return op == "num"
        a, b = (fl.signed(s, math.inf if v == fl.INF else v) for s, v in (x, y))
        op = op.removesuffix("u")
    else:
        a, b = value(t, a), value(t, b)
    op = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(op, op)
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[op]


def combine(m, x, c):
    return {"and": x and c, "or": x or c, "xor": x != c}[m["boolean"]]


@define("SetPredicate")
def set_predicate(m, t, t2, a, b):
    out = compare(m, t, a, b)
    return int(out), int(not out)


def lowered(mnemonic, m, t, t2, *sources):
    if mnemonic == "lop3":
        a, b, c, q, table = sources
        out = FUNCTIONS["Lop3"](m, t, t2, a, b, c, table)[0]
        p = out != 0
        return out, int(p and q if m["boolean_and_or"] == "and" else p or q)
    kind = t2 or t
    if kind not in ("f16x2", "bf16x2"):
        return lowered_compare(mnemonic, m, t, t2, *sources)
    a, b, *c = sources
    halves = [
        lowered_compare(
            mnemonic,
            m,
            t[:-2] if "x2" in t else "u16",
            t2 and t2[:-2],
            a >> n & 0xFFFF,
            b >> n & 0xFFFF,
            *c,
        )
        for n in (0, 16)
    ]
    if mnemonic == "set":
        return (halves[1][0] << 16 | halves[0][0],)
    return halves[0][0], halves[1][0]


TRUTH = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "u16": 0xFFFF, "s16": 0xFFFF}


def lowered_compare(mnemonic, m, t, t2, a, b, c=None):
    x = compare(m, t2 or t, a, b)
    if c is not None:
        x, opposite = combine(m, x, bool(c)), combine(m, not x, bool(c))
    else:
        opposite = not x
    if mnemonic == "set":
        return (TRUTH.get(t, 0xFFFFFFFF) if x else 0,)
    return int(x), int(opposite)


FUNCTIONS["Select"] = lambda m, t, t2, a, b, c: (cut(t, a if c else b),)


@define("SelectSign")
def select_sign(m, t, t2, a, b, c):
    if t2 == "f32":
        sign, v = fl.decode("f32", source(m, "f32", c))
        first = v != fl.NAN and (not sign or v == 0)
    else:
        first = value("s32", c) >= 0
    return (cut(t, a if first else b),)


# -- conversion --------------------------------------------------------------------------------


@define("ConvertInteger")
def convert_integer(m, t, t2, a):
    x = value(t2, a)
    return (cut(t, clamp(t, x) if "sat_always" in m else x),)


@define("IntegerToReal")
def integer_to_real(m, t, t2, a):
    x = value(t2, a)
    return (finish(m, t, fl.encode(t, int(x < 0), Fraction(abs(x)), mode_of(m))),)


def integral(x, mode):
    if mode == "rzi":
        return math.trunc(x)
    return {"rni": round, "rmi": math.floor, "rpi": math.ceil}[mode](x)


@define("RealToInteger")
def real_to_integer(m, t, t2, a):
    sign, v = fl.decode(t2, source(m, t2, a))
    if v == fl.NAN:
        return (1 << (size(t) - 1) if "64" in t + t2 else 0,)
    if v == fl.INF:
        return (cut(t, limits(t)[0 if sign else 1]),)
    return (cut(t, clamp(t, integral(fl.signed(sign, v), m["rnd_integral"]))),)


@define("RoundIntegral")
def round_integral(m, t, t2, a):
    a = source(m, t, a)
    sign, v = fl.decode(t, a)
    if v == fl.NAN:
        return (finish(m, t, fl.nan_bits(t)),)
    if v != fl.INF:
        v = Fraction(abs(integral(fl.signed(sign, v), m["rnd_integral"])))
    return (finish(m, t, fl.encode(t, sign, v)),)


def kept_nan(t, t2, sign, a):
    (e, m), (_, m2) = fl.FORMATS[t], fl.FORMATS[t2]
    payload = a & ((1 << m2) - 1)
    payload = payload >> (m2 - m) if m2 > m else payload << (m - m2)
    return sign << (e + m) | ((1 << e) - 1) << m | 1 << (m - 1) | payload


@define("ConvertReal")
def convert_real(m, t, t2, a):
    # In a conversion, .ftz is about f32 alone; into f16, an H200 minds it not at all.
    sign, v = fl.decode(t2, source(m, t2, a) if t2 == "f32" and t in ("f32", "f64") else a)
    if t == t2 and v == fl.NAN and not m.get("sat"):
        return (None,)
    keeps = t2 == "f64" or ((t2, t) == ("bf16", "f32") and not m.get("ftz"))
    if keeps and v == fl.NAN and not m.get("sat"):
        # The payload's upper bits stay; from other types an H200 makes the canonical NaN.
        return (kept_nan(t, t2, sign, a),)
    ftz = m if t == "f32" else {k: x for k, x in m.items() if k != "ftz"}
    out = finish(ftz, t, fl.encode(t, sign, v, mode_of(m)))
    if m.get("finite") and fl.decode(t, out)[1] == fl.INF:
        out -= 1  # the largest number
    return (out,)


@define("ConvertPair")
def convert_pair(m, t, t2, a, b):
    return (convert_real(m, t[:-2], t2, a)[0] << 16 | convert_real(m, t[:-2], t2, b)[0],)


@define("ConvertPack")
def convert_pack(m, t, t2, a, b):
    return (cut(t, clamp(t, value("s32", a))) << 16 | cut(t, clamp(t, value("s32", b))),)

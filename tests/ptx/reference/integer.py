"""Integers: arithmetic, bits, carries, shifts, permutations."""

from .core import FUNCTIONS, clamp, cut, define, size, value


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


def carryless(high):
    """Half of a product of polynomials over the field of two elements, plus the third source."""

    def run(m, t, t2, a, b, c):
        product = 0
        for n in range(64):
            product ^= a << n if b >> n & 1 else 0
        return ((product >> 64 if high else product & (1 << 64) - 1) ^ c,)

    return run


FUNCTIONS["CarrylessLow"] = carryless(False)
FUNCTIONS["CarrylessHigh"] = carryless(True)


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


def fourwise(name):
    def run(m, t, t2, *sources):
        parts = [
            FUNCTIONS[name](m, t[:-2], t2, *(s >> n & 0xFF for s in sources))[0]
            for n in range(0, 32, 8)
        ]
        return (sum(part << 8 * n for n, part in enumerate(parts)),)

    FUNCTIONS[f"Fourwise<{name}>"] = run


for _name in ("Add", "Sub", "Neg", "Min", "Max"):
    fourwise(_name)
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
    """Wraps function(type, sources, carry in), whose sum is not cut to the type.

    The instruction cuts the sum and, where it has one, returns the carry.
    """
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

"""Floating point with a rounding that the manual defines."""

from fractions import Fraction

from .. import floats as fl
from .bound import Near, as_double
from .core import FUNCTIONS, define, size


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
            if v is fl.NAN or sign
            else fl.encode(t, 0, 1 if v is fl.INF else min(v, 1) + Fraction(0))
        )
    if m.get("relu") and sign and v is not fl.NAN:
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
        n = size(half)
        low = run(m, half, t2, *(s & (1 << n) - 1 for s in sources))
        top = run(m, half, t2, *(s >> n for s in sources))
        return (top[0] << n | low[0],)

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


def mixed(name, function):
    def run(m, t, t2, *sources):
        *factors, addend = sources
        values = [*(fl.decode(t2, f) for f in factors), fl.decode(t, addend)]
        return (finish(m, t, function(t, values, mode_of(m))),)

    FUNCTIONS[name] = run


mixed("AddMixed", lambda t, s, r: fl.total(t, s, r))
mixed("SubMixed", lambda t, s, r: fl.total(t, [s[0], minus(s[1])], r))
mixed("FmaMixed", lambda t, s, r: fl.total(t, [fl.product(s[0], s[1]), s[2]], r))


def sign_only(name, change):
    def run(m, t, t2, a):
        top = 1 << (size(t) - 1)
        if fl.decode(t, a)[1] is fl.NAN:
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
    def run(m, t, t2, a, b, *more):
        if more:
            top = 1 << (size(t) - 1)
            magnitudes = [x & ~top if m.get("magnitude") else x for x in (a, b, *more)]
            two = {k: x for k, x in m.items() if k != "magnitude"}
            first = run(two, t, t2, *magnitudes[:2])[0]
            return run(two, t, t2, first, magnitudes[2])
        a, b = source(m, t, a), source(m, t, b)
        nans = [fl.decode(t, x)[1] is fl.NAN for x in (a, b)]
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
                "finite": v is not fl.NAN and v is not fl.INF,
                "infinite": v is fl.INF,
                "number": v is not fl.NAN,
                "notanumber": v is fl.NAN,
                "normal": v == 0 or 0 < exponent < (1 << e) - 1,
                "subnormal": exponent == 0 and v != 0,
            }[m["test"]]
        ),
    )

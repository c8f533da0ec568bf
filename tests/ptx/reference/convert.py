"""Conversions between integers and floating point."""

import math
from fractions import Fraction

from .. import floats as fl
from .core import clamp, cut, define, limits, size, value
from .real import finish, mode_of, source


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
    if v is fl.NAN:
        return (1 << (size(t) - 1) if "64" in t + t2 else 0,)
    if v is fl.INF:
        return (cut(t, limits(t)[0 if sign else 1]),)
    return (cut(t, clamp(t, integral(fl.signed(sign, v), m["rnd_integral"]))),)


@define("RoundIntegral")
def round_integral(m, t, t2, a):
    a = source(m, t, a)
    sign, v = fl.decode(t, a)
    if v is fl.NAN:
        return (finish(m, t, fl.nan_bits(t)),)
    if v is not fl.INF:
        v = Fraction(abs(integral(fl.signed(sign, v), m["rnd_integral"])))
    return (finish(m, t, fl.encode(t, sign, v)),)


def kept_nan(t, t2, sign, a):
    (e, m), (_, m2) = fl.FORMATS[t], fl.FORMATS[t2]
    payload = a & ((1 << m2) - 1)
    payload = payload >> (m2 - m) if m2 > m else payload << (m - m2)
    return sign << (e + m) | ((1 << e) - 1) << m | 1 << (m - 1) | payload


@define("ConvertReal")
def convert_real(m, t, t2, a):
    # In a conversion, .ftz concerns f32 alone: in a conversion to f16, an H200 ignores it.
    sign, v = fl.decode(t2, source(m, t2, a) if t2 == "f32" and t in ("f32", "f64") else a)
    if t == t2 and v is fl.NAN and not m.get("sat"):
        return (None,)
    keeps = t2 == "f64" or ((t2, t) == ("bf16", "f32") and not m.get("ftz"))
    if keeps and v is fl.NAN and not m.get("sat"):
        # The payload's upper bits stay; from other types an H200 makes the canonical NaN.
        return (kept_nan(t, t2, sign, a),)
    ftz = m if t == "f32" else {k: x for k, x in m.items() if k != "ftz"}
    out = finish(ftz, t, fl.encode(t, sign, v, mode_of(m)))
    if m.get("finite") and fl.decode(t, out)[1] is fl.INF:
        out -= 1  # the largest number
    return (out,)


@define("ConvertPair")
def convert_pair(m, t, t2, a, b):
    return (convert_real(m, t[:-2], t2, a)[0] << 16 | convert_real(m, t[:-2], t2, b)[0],)


@define("ConvertPack")
def convert_pack(m, t, t2, a, b):
    return (cut(t, clamp(t, value("s32", a))) << 16 | cut(t, clamp(t, value("s32", b))),)

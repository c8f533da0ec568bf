"""Floating point within a bound."""

import math

from .. import floats as fl
from .bound import Near, as_double
from .core import FUNCTIONS, define
from .real import source


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


def turning(name, function):
    """Of turns; the whole turns are left out. How exact a GPU is stands nowhere."""

    def of(x):
        return function(2 * math.pi * math.remainder(x, 1))

    def run(m, t, t2, a):
        return (Near(t, safely(of)(as_double(t, fl.flush(t, a))), 0, 2.0**-20),)

    FUNCTIONS[name] = run


turning("SinOfTurns", math.sin)
turning("CosOfTurns", math.cos)
near("Log2", safely(log2), 2.0**-21, 2.0**-22)
near("Exp2", safely(lambda a: math.nan if math.isnan(a) else 2.0**a), 2.0**-22)
near("Tanh", safely(math.tanh), 2.0**-10.9)

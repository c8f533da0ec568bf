"""A result that has to be near the exact result."""

import math

from .. import floats as fl


def as_double(t, bits):
    sign, v = fl.decode(t, bits)
    return (
        math.nan
        if v is fl.NAN
        else fl.signed(sign, math.inf if v is fl.INF else float(v)) or (-0.0 if sign else 0.0)
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
        if abs(self.exact) <= tiny * 1.0001:  # the result may be flushed, and has few bits
            return abs(got - self.exact) <= tiny
        return abs(got - self.exact) <= max(abs(self.exact) * self.relative, self.absolute)

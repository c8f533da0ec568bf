"""Comparison and selection."""

import math
import operator

from .. import floats as fl
from .core import FUNCTIONS, cut, define, value
from .real import source


def compare(m, t, a, b):
    op = next(m[k] for k in m if k.startswith("compare"))
    if t in fl.FORMATS:
        x, y = (fl.decode(t, source(m, t, s)) for s in (a, b))
        if x[1] is fl.NAN or y[1] is fl.NAN:
            return op.endswith("u") or op == "nan"
        if op in ("num", "nan"):
            return op == "num"
        a, b = (fl.signed(s, math.inf if v is fl.INF else v) for s, v in (x, y))
        op = op.removesuffix("u")
    else:
        a, b = value(t, a), value(t, b)
    op = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(op, op)
    return getattr(operator, op)(a, b)


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
        first = v is not fl.NAN and (not sign or v == 0)
    else:
        first = value("s32", c) >= 0
    return (cut(t, a if first else b),)

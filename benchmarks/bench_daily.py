"""Calls that users make daily, on large and on small arrays, beside CuPy and torch

python benchmarks/bench_daily.py [--out FOLDER] [--quick]

The calls were listed from CuPy's and torch's documents before any was measured. Each runs at 2^26
and 2^12 elements, in turns with the same call of the peers. The floor of a row is the faster peer.
Results are compared element by element: with a peer's, or with NumPy's on the CPU device.
"""

import dataclasses
import math
import statistics
from functools import partial

import numpy as np
import records
from bench_elementwise import PEERS
from bench_kernels import Way, timed

import cupola

SIZES = (1 << 26, 1 << 12)
QUICK = (1 << 12, 1 << 10)
FLOOR = "the faster of CuPy and torch"


@dataclasses.dataclass
class Call:
    """A call in NumPy's names, which CuPy shares, and in torch's; operands by their names."""

    name: str
    numpy: object  # takes the library and the operands
    torch: object  # None: torch has no such call
    compared: bool = True  # False: random numbers


def calls():
    """The issue's calls first, then the others."""
    return [
        Call("x[int32 indices]", lambda np, a: a.x[a.i], lambda t, a: a.x[a.i]),
        Call("m.std(axis=1)", lambda np, a: a.m.std(axis=1),
             lambda t, a: a.m.std(1, correction=0)),
        Call("where(x > .5, x, 0)", lambda np, a: np.where(a.x > 0.5, a.x, 0),
             lambda t, a: t.where(a.x > 0.5, a.x, 0)),
        Call("unique of 4,096 values", lambda np, a: np.unique(a.k), lambda t, a: t.unique(a.k)),
        Call("standard_normal(float32)",
             lambda np, a: a.generator.standard_normal(a.x.shape[0], dtype=np.float32),
             lambda t, a: t.randn(a.x.shape[0], device=a.x.device), compared=False),
        Call("random(float32)",
             lambda np, a: a.generator.random(a.x.shape[0], dtype=np.float32),
             lambda t, a: t.rand(a.x.shape[0], device=a.x.device), compared=False),
        Call("f @ f, float64", lambda np, a: a.f @ a.f, lambda t, a: a.f @ a.f),
        Call("h @ h, float16", lambda np, a: a.h @ a.h, lambda t, a: a.h @ a.h),
        Call("p @ p, float32", lambda np, a: a.p @ a.p, lambda t, a: a.p @ a.p),
        Call("cumsum(x)", lambda np, a: np.cumsum(a.x), lambda t, a: t.cumsum(a.x, 0)),
        Call("x[mask]", lambda np, a: a.x[a.mask], lambda t, a: a.x[a.mask]),
        Call("bincount(k)", lambda np, a: np.bincount(a.k), lambda t, a: t.bincount(a.k)),
        Call("w[permutation] = x", put_items, put_items),
        Call("w[permutation] = 0", put_zero, put_zero),
        Call("w[mask] = 0", put_where, put_where),
        Call("argsort(m, axis=0)", lambda np, a: np.argsort(a.m, axis=0, kind="stable"),
             lambda t, a: t.argsort(a.m, dim=0, stable=True)),
        Call("sort(x)", lambda np, a: np.sort(a.x), lambda t, a: t.sort(a.x).values),
        Call("percentile(m, 90, axis=1)",
             lambda np, a: np.percentile(a.m, 90, axis=1).astype(np.float32),
             lambda t, a: t.quantile(a.m, 0.9, dim=1)),
        Call("median(m, axis=1)", lambda np, a: np.median(a.odd, axis=1),
             lambda t, a: t.median(a.odd, dim=1).values),
        Call("var(x)", lambda np, a: a.x.var(), lambda t, a: a.x.var(correction=0)),
        Call("mean(m[:, ::2], axis=0)", lambda np, a: a.m[:, ::2].mean(axis=0),
             lambda t, a: a.m[:, ::2].mean(0)),
        Call("m.sum(axis=0)", lambda np, a: a.m.sum(axis=0), lambda t, a: a.m.sum(0)),
        Call("m.argmax(axis=1)", lambda np, a: a.m.argmax(axis=1), lambda t, a: a.m.argmax(1)),
        Call("concatenate([x, y])", lambda np, a: np.concatenate([a.x, a.y]),
             lambda t, a: t.cat([a.x, a.y])),
        Call("stack([x, y], axis=1)", lambda np, a: np.stack([a.x, a.y], axis=1),
             lambda t, a: t.stack([a.x, a.y], 1)),
        Call("repeat(x, 2)", lambda np, a: np.repeat(a.x, 2),
             lambda t, a: t.repeat_interleave(a.x, 2)),
        Call("tile(x, 2)", lambda np, a: np.tile(a.x, 2), lambda t, a: t.tile(a.x, (2,))),
        Call("roll(m, 3, axis=1)", lambda np, a: np.roll(a.m, 3, axis=1),
             lambda t, a: t.roll(a.m, 3, 1)),
        Call("flip(x), copied", lambda np, a: np.flip(a.x).copy(), lambda t, a: t.flip(a.x, (0,))),
        Call("take_along_axis(m, columns, 1)",
             lambda np, a: np.take_along_axis(a.m, a.columns, axis=1),
             lambda t, a: t.take_along_dim(a.m, a.columns, 1)),
        Call("take(m, rows, axis=0)", lambda np, a: np.take(a.m, a.rows, axis=0),
             lambda t, a: t.index_select(a.m, 0, a.rows)),
        Call("x < y", lambda np, a: a.x < a.y, lambda t, a: a.x < a.y),
        Call("isclose(x, y)", lambda np, a: np.isclose(a.x, a.y), lambda t, a: t.isclose(a.x, a.y)),
        Call("x.astype(float16)", lambda np, a: a.x.astype(np.float16),
             lambda t, a: a.x.to(t.float16)),
        Call("k.astype(float32)", lambda np, a: a.k.astype(np.float32),
             lambda t, a: a.k.to(t.float32)),
        Call("c * c, complex64", lambda np, a: a.c * a.c, lambda t, a: a.c * a.c),
        Call("abs(c)", lambda np, a: abs(a.c), lambda t, a: abs(a.c)),
        Call("s @ s, many of 16 x 16", lambda np, a: a.s @ a.s, lambda t, a: a.s @ a.s),
        Call("m.T, copied", lambda np, a: a.m.T.copy(), lambda t, a: a.m.T.clone(
            memory_format=t.contiguous_format)),
        Call("clip(x, .2, .8)", lambda np, a: np.clip(a.x, 0.2, 0.8),
             lambda t, a: t.clip(a.x, 0.2, 0.8)),
        Call("diff(x)", lambda np, a: np.diff(a.x), lambda t, a: t.diff(a.x)),
        Call("searchsorted(ordered, x)",
             lambda np, a: np.searchsorted(a.ordered, a.x),
             lambda t, a: t.searchsorted(a.ordered, a.x)),
        Call("nonzero(mask)", lambda np, a: np.nonzero(a.mask)[0],
             lambda t, a: t.nonzero(a.mask, as_tuple=True)[0]),
        Call("count_nonzero(mask)", lambda np, a: np.count_nonzero(a.mask),
             lambda t, a: t.count_nonzero(a.mask)),
        Call("tril(m)", lambda np, a: np.tril(a.m), lambda t, a: t.tril(a.m)),
        Call("m + row", lambda np, a: a.m + a.m[0], lambda t, a: a.m + a.m[0]),
        Call("x.max()", lambda np, a: a.x.max(), lambda t, a: a.x.max()),
        Call("x.dot(y)", lambda np, a: a.x.dot(a.y), lambda t, a: a.x.dot(a.y)),
    ]  # fmt: skip


def put_items(library, a):
    a.w[a.permutation] = a.x
    return a.w


def put_zero(library, a):
    a.w[a.permutation] = 0
    return a.w


def put_where(library, a):
    a.w[a.mask] = 0
    return a.w


class Operands:
    """Arrays of about n elements by their names, in host memory."""

    def __init__(self, n):
        rng, side = np.random.default_rng(n), math.isqrt(n)
        self.x, self.y = rng.random(n, np.float32), rng.random(n, np.float32)
        self.w = self.x.copy()  # a call writes it
        self.m = self.x[: side * side].reshape(side, side)
        self.odd = self.m[:, : side - 1 + side % 2].copy()  # a median is an element
        self.mask = self.y > 0.5
        self.k = rng.integers(0, 4096, n, np.int32)
        self.i = rng.integers(0, n, n, np.int32)
        self.permutation = rng.permutation(n).astype(np.int64)
        self.columns = rng.integers(0, side, (side, side))
        self.rows = rng.integers(0, side, side)
        self.c = self.x[: n // 2 * 2].view(np.complex64)
        self.ordered = np.sort(self.y[: max(n >> 4, 1)])
        self.s = self.x[: n >> 8 << 8].reshape(-1, 16, 16)
        # A product's time grows with the third power of its side.
        self.p = self.m[: min(side, 4096), : min(side, 4096)].copy()
        self.h = self.p.astype(np.float16) / np.float16(8)
        self.f = self.p[:1024, :1024].astype(np.float64)
        self.generator = np.random.default_rng(0)


class Taken:
    """Operands as arrays of a library; each has its own `w`."""

    def __init__(self, operands, take, generator):
        for name, value in vars(operands).items():
            if isinstance(value, (np.ndarray, cupola.Array)):
                setattr(self, name, take(value.copy() if name == "w" else value))
        self.generator = generator


def measured(call, n, ours, theirs, host):
    """The row of one call at one size."""
    ways = [Way("cupola", partial(call.numpy, np, ours), [])]
    for name, operands in theirs.items():
        function = call.torch if name == "torch" else call.numpy
        if function is not None:
            ways.append(Way(name, partial(function, PEERS[name][0], operands), []))
    if call.compared:
        compare(call, ways, host)
    timed(ways, rounds=5, warm=3, calls=2 if n > 1 << 20 else 100)
    medians = {way.name: statistics.median(way.seconds) * 1e6 for way in ways}
    mine = medians.pop("cupola")
    best = min(medians.values(), default=None)
    return records.Row(
        f"{call.name}, {n:,} elements", mine, "us",
        floor=None if best is None else FLOOR, floor_value=best,
        ratio=None if best is None else mine / best,
        goal=None if best is None else "ratio <= 1.2",
        note=", ".join(f"{name} {figure:,.1f} us" for name, figure in medians.items()) or None,
    )  # fmt: skip


def compare(call, ways, host):
    """Raise where a result differs from a peer's, or from NumPy's where there is no peer."""
    for way in ways[1:] or [Way("NumPy", partial(call.numpy, np, host), [])]:
        got = cupola.asarray(ways[0].start())
        expected = way.start()
        if way.name == "NumPy":
            expected = np.asarray(expected)
            got = got.get()
        else:
            expected = cupola.asarray(expected)
        if got.shape != expected.shape:
            raise AssertionError(f"{call.name}: {got.shape}, {way.name} has {expected.shape}")
        if got.size == 0:
            continue
        low = np.dtype(got.dtype).itemsize == 2 and got.dtype.kind == "f"
        bound = 2e-2 if low else 2e-3
        if got.dtype.kind in "fc":
            off = abs(got - expected) / (abs(expected) + 1)
            wrong = not float(off.max()) <= bound
        else:
            wrong = bool((got != expected).any())
        if wrong:
            raise AssertionError(f"{call.name}: other elements than {way.name}")


def geometric_means(rows, sizes):
    """A row for each size: the geometric mean of its ratios."""
    made = []
    for n in sizes:
        ratios = [row.ratio for row in rows if row.what.endswith(f" {n:,} elements") and row.ratio]
        if ratios:
            mean = math.exp(statistics.mean(math.log(ratio) for ratio in ratios))
            made.append(records.Row(
                f"geometric mean of {len(ratios)} calls, {n:,} elements", mean, "x",
                goal="value <= 1",
            ))  # fmt: skip
    return made


def run(sizes):
    if "torch" in PEERS:
        PEERS["torch"][0].backends.cuda.matmul.allow_tf32 = False
    made = []
    for n in sizes:
        host = Operands(n)
        ours = Taken(host, cupola.to_device, cupola.random.default_rng(0))
        theirs = {
            name: Taken(
                ours, take, library.random.default_rng(0) if name == "cupy" else None
            )
            for name, (library, take) in PEERS.items()
        }  # fmt: skip
        made += [measured(call, n, ours, theirs, host) for call in calls()]
    return [*made, *geometric_means(made, sizes)]


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="small arrays; figures mean nothing")
    options = parser.parse_args()
    quick = options.quick or cupola.driver.info().kind == "cpu"
    records.publish(options.out, __file__, __doc__, run(QUICK if quick else SIZES))


if __name__ == "__main__":
    main()

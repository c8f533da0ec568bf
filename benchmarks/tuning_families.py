"""The families of bench_tuning.py: a declaration, cases of any size, and the sizes to measure."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cupola

SOURCE = Path(__file__).with_name("tuning.cu")
SIDES = ("rows", "columns")


@dataclass(frozen=True)
class Benchmark:
    """One family. `case` makes a call of it, and the reference, from the sizes of the key."""

    name: str
    tunables: dict
    default: dict
    restrictions: tuple
    grid: tuple  # for each axis: a size, and the tunables that divide it
    case: object
    key: tuple = SIDES
    sizes: tuple = (256, 4096)  # the least and the largest

    def family(self):
        """As a user declares it."""
        return cupola.family(
            SOURCE,
            name=self.name,
            kernel=self.name,
            tunables=self.tunables,
            default=self.default,
            restrictions=self.restrictions,
            macros=list(self.tunables),
            options=[f"-D{self.name.upper()}"],
            grid=[f"ceildiv({size}, {' * '.join(names)})" for size, names in self.grid],
            block=["BX", "BY"],
            key=self.key,
        )


def matrix(order, rows, columns):
    return order.standard_normal((rows, columns), np.float32)


def product(order, m, n, k):
    a, b = matrix(order, m, k), matrix(order, k, n)
    arguments = (a, b, np.zeros((m, n), np.float32), m, n, k)
    return cupola.Case(arguments, {2: a @ b}, rtol=1e-3, atol=1e-3 * k**0.5)


def convolution(order, rows, columns):
    image, taps = matrix(order, rows, columns), matrix(order, 7, 7)
    around = np.pad(image, 3)
    expected = sum(
        taps[v, u] * around[v : v + rows, u : u + columns] for v in range(7) for u in range(7)
    )
    arguments = (image, taps, np.zeros_like(image), rows, columns)
    return cupola.Case(arguments, {2: expected}, rtol=1e-3, atol=1e-3)


def row_sums(order, rows, columns):
    x = matrix(order, rows, columns)
    arguments = (x, np.zeros(rows, np.float32), rows, columns)
    return cupola.Case(arguments, {1: x.sum(1, dtype=np.float64)}, atol=1e-4 * columns**0.5)


def transpose(order, rows, columns):
    x = matrix(order, rows, columns)
    return cupola.Case((x, np.zeros((columns, rows), np.float32), rows, columns), {1: x.T})


def stencil(order, rows, columns):
    x = matrix(order, rows, columns)
    expected = x.copy()
    around = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
    expected[1:-1, 1:-1] = np.float32(0.25) * around
    return cupola.Case((x, np.zeros_like(x), rows, columns), {1: expected}, atol=1e-5)


BENCHMARKS = (
    Benchmark(
        "matmul",
        {"BX": [16, 32], "BY": [8, 16], "TM": [1, 2, 4, 8], "TN": [1, 2, 4], "BK": [8, 16]},
        {"BX": 16, "BY": 16, "TM": 1, "TN": 1, "BK": 16},
        (),
        (("n", ("BX", "TN")), ("m", ("BY", "TM"))),
        product,
        ("m", "n", "k"),
        (64, 1536),
    ),
    Benchmark(
        "convolve",
        {"BX": [16, 32, 64], "BY": [2, 4, 8, 16], "TY": [1, 2, 4], "SHARED": [0, 1]},
        {"BX": 16, "BY": 16, "TY": 1, "SHARED": 0},
        ("BX * BY <= 1024",),
        (("columns", ("BX",)), ("rows", ("BY", "TY"))),
        convolution,
        sizes=(128, 3072),
    ),
    Benchmark(
        "row_sums",
        {"BX": [32, 64, 128, 256, 512], "BY": [1, 2, 4, 8], "UNROLL": [1, 2, 4]},
        {"BX": 256, "BY": 1, "UNROLL": 1},
        ("BX * BY <= 1024",),
        (("rows", ("BY",)),),
        row_sums,
        sizes=(32, 16384),
    ),
    Benchmark(
        "transpose",
        {"BX": [16, 32, 64], "BY": [2, 4, 8, 16], "PAD": [0, 1]},
        {"BX": 16, "BY": 16, "PAD": 0},
        ("BX * BY <= 1024",),
        (("columns", ("BX",)), ("rows", ("BX",))),
        transpose,
    ),
    Benchmark(
        "stencil",
        {"BX": [16, 32, 64, 128, 256], "BY": [1, 2, 4, 8, 16], "TY": [1, 2, 4]},
        {"BX": 16, "BY": 16, "TY": 1},
        ("BX * BY <= 1024",),
        (("columns", ("BX",)), ("rows", ("BY", "TY"))),
        stencil,
    ),
)


def sizes(benchmark, count, seed, largest=None):
    """Keys of random sizes, uniform in their logarithms; at most 2**23 elements."""
    order = np.random.default_rng([seed, len(benchmark.name)])
    least, most = benchmark.sizes
    most = min(most, largest or most)
    found = {}
    while len(found) < count:
        drawn = np.exp(
            order.uniform(np.log(min(least, most / 2)), np.log(most), len(benchmark.key))
        )
        key = tuple(max(4, round(one)) for one in drawn)
        if key[0] * key[1] <= 1 << 23:
            found[key] = None
    return list(found)


def cases(benchmark, keys):
    """Makes the cases of keys."""
    for key in keys:
        yield benchmark.case(np.random.default_rng(0), *key)

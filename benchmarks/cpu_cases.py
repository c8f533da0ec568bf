"""The kernels that the CPU device is measured by: launches, arrays, and how results are compared.

Kernels are in eight.cu and cpu_kernels.cu, the same work as OpenMP loops in the .cpp files beside.
"""

import dataclasses

import numpy as np

SAME = "bit by bit"


@dataclasses.dataclass
class Case:
    """A kernel, its launch and arguments: arrays, "out" for the result, and numbers.

    `loop` are the numbers that the loop takes in place of the kernel's. `initial` is what the
    result's array holds before a run. `finish` makes of a kernel's result what a loop gives.
    """

    file: str
    grid: tuple
    block: tuple
    arguments: list
    initial: np.ndarray
    loop: tuple = None
    loop_initial: np.ndarray = None
    finish: object = None
    tolerance: tuple = (0, SAME)  # ULPs, of each element or "of the largest", and why

    def differing(self, result, expected, peer=False):
        """How many elements of a kernel's result are further than the tolerance from the loop's.

        `peer`: the result of a compiler that fuses other products, or none. Elements may then be
        64 ULP of the largest apart. One in a hundred may be further, since orbits on a border take
        another number of steps.
        """
        result = self.finish(result) if self.finish else result
        if peer:
            loose = dataclasses.replace(
                self, finish=None, tolerance=(max(self.tolerance[0], 64), "of the largest")
            )
            wrong = loose.differing(result, expected)
            return wrong if wrong > expected.size // 100 else 0
        if result.shape != expected.shape:
            raise ValueError(f"shapes {result.shape} and {expected.shape}")
        ulps = self.tolerance[0]
        if not ulps:
            return int(np.count_nonzero(result != expected))
        size = np.maximum(np.abs(result), np.abs(expected))
        if self.tolerance[1].startswith("of the largest"):
            size = np.full_like(size, size.max())
        off = np.abs(result.astype(np.float64) - expected)
        # Written so that a NaN on one side counts.
        return int(np.count_nonzero(~(off <= ulps * np.spacing(size))))


def total(result):
    return result.sum(dtype=np.float64, keepdims=True).astype(np.float32)


def eight(scale, rng):
    side, many, order = 1024 // scale, (1 << 22) // scale**2, 384 // scale
    bodies, blocks = 4096 // scale, 1024 // scale
    x, y = rng.random(many, np.float32), rng.random(many, np.float32)
    picture, weights = rng.random((side, side), np.float32), rng.random(25, np.float32)
    a, b = rng.random((order, order), np.float32), rng.random((order, order), np.float32)
    words = rng.integers(0, 1 << 32, many, np.uint32)
    keys = rng.integers(0, 1 << 32, 256 * blocks, np.uint32)
    points = rng.random((bodies, 4), np.float32)
    i, f = np.int32, np.float32
    square, pixels = ((side // 32, side // 8), (32, 8)), np.zeros((side, side), f)
    floats, matrix = np.zeros(many, f), np.zeros((order, order), f)
    tiles = ((order // 16, order // 16), (16, 16))
    sums = (1 << 12, "4 million numbers are added in another order")
    return {
        "mandelbrot": Case("eight", *square, ["out", i(side), i(256)], pixels),
        "saxpy": Case("eight", many // 256, 256, [x, y, "out", f(2), i(many)], floats),
        "convolution": Case("eight", *square, [picture, weights, "out", i(side)], pixels),
        "product": Case("eight", *tiles, [a, b, "out", i(order)], matrix),
        "reduction": Case(
            *("eight", 256, 256, [x, "out", i(many)], np.zeros(256, f)),
            loop_initial=np.zeros(1, f), finish=total, tolerance=sums,
        ),
        "histogram": Case("eight", 64, 256, [words, "out", i(many)], np.zeros(256, np.uint32)),
        "radix": Case("eight", blocks, 256, [keys, "out"], np.zeros_like(keys), loop=(blocks,)),
        "bodies": Case(
            *("eight", bodies // 256, 256, [points, "out", i(bodies)], np.zeros((bodies, 4), f)),
            tolerance=(64, "of the largest: 4096 forces are added in another order"),
        ),
    }  # fmt: skip


def sparse(rng, rows):
    """Rows of a sparse matrix, of 1 to 63 elements each."""
    first = np.zeros(rows + 1, np.int32)
    first[1:] = np.cumsum(rng.integers(1, 64, rows))
    columns = rng.integers(0, rows, first[-1]).astype(np.int32)
    return first, columns, rng.random(first[-1], np.float32)


def others(scale, rng):
    i, f = np.int32, np.float32
    side, many = 1024 // scale, (1 << 22) // scale**2
    wide, high = 1500 // scale, 1100 // scale  # no multiples of a block
    order, bodies, rows = 400 // scale, 3000 // scale, 100_000 // scale**2
    x, y = rng.random(many, f), rng.random(many, f)
    body = [rng.random(bodies, f) for _ in range(4)]
    price, strike, years = (
        rng.uniform(low, high, many // 4).astype(f) for low, high in ((5, 30), (1, 100), (0.25, 10))
    )
    picture = rng.random((high, wide), f)
    square, weights = rng.random((side, side), f), rng.random(25, f)
    small = (weights[:9] / weights[:9].sum()).astype(f)
    a, b = rng.random((order, order), f), rng.random((order, order), f)
    keys = rng.integers(0, 1 << 32, 512 * (512 // scale), np.uint32)
    numbers = rng.integers(-99, 99, 256 * (4096 // scale)).astype(i)
    pixels, matrix = np.zeros((high, wide), f), np.zeros((order, order), f)
    turned, flat = np.zeros((wide, high), f), np.zeros((side, side), f)

    def cover(width, height, across=32, down=8):
        return ((-(-width // across), -(-height // down)), (across, down))

    def case(*given, **more):
        return Case("cpu_kernels", *given, **more)

    def linear(n):
        return (-(-n // 256), 256)

    sizes = [i(wide), i(high)]
    sums = (1 << 12, "4 million products are added in another order")
    return {
        "escape_times": case(
            *cover(wide, high), ["out", *sizes, i(200)], np.zeros((high, wide), i)
        ),
        "accelerations": case(
            *linear(bodies), [*body, "out", i(bodies)], np.zeros((3, bodies), f),
            tolerance=(64, "of the largest: 3000 forces are added in another order"),
        ),
        "black_scholes": case(
            *linear(many // 4), [price, strike, years, "out", f(0.02), f(0.3), i(many // 4)],
            np.zeros(many // 4, f),
            tolerance=(16, "of the largest: CUDA's exp and log, and the C library's"),
        ),
        "saxpy_in_place": case(512, 256, ["out", x, f(2), i(many)], y),
        "dot": case(512, 256, [x, y, "out", i(many)], np.zeros(1, f), tolerance=sums),
        "blur": case(*cover(wide, high), [picture, small, "out", *sizes], pixels),
        "transpose": case(cover(wide, high, 32, 32)[0], (32, 8), [picture, "out", *sizes], turned),
        "matmul": case(*cover(order, order, 32, 32), [a, b, "out", i(order)], matrix),
        "density": case(512, 256, [x, "out", i(many)], np.zeros(64, i)),
        "jacobi": case(*cover(wide, high), [picture, "out", *sizes], pixels),
        "sparse_rows": case(
            *linear(rows), [*sparse(rng, rows), rng.random(rows, f), "out", i(rows)],
            np.zeros(rows, f),
            tolerance=(32, "of each element: one rounds up to 63 products, the other fuses them"),
        ),
        "scan": case(
            len(numbers) // 256, 256, [numbers, "out"], np.zeros_like(numbers),
            loop=(len(numbers) // 256,),
        ),
        "bitonic": case(
            len(keys) // 512, 256, [keys, "out"], np.zeros_like(keys), loop=(len(keys) // 512,)
        ),
        "convolution_flat": case(*linear(side**2), [square, weights, "out", i(side)], flat),
        "transpose_flat": case(*linear(wide * high), [picture, "out", *sizes], turned),
        "jacobi_flat": case(*linear(wide * high), [picture, "out", *sizes], pixels),
        "matmul_flat": case(*linear(order**2), [a, b, "out", i(order)], matrix),
    }  # fmt: skip


LOOPS = {  # of a kernel whose work is another's, that one's loop
    "convolution_flat": "convolution",
    "transpose_flat": "transpose",
    "jacobi_flat": "jacobi",
    "matmul_flat": "matmul",
}


def cases(scale=1):
    """All of them by name; `scale` makes them smaller."""
    rng = np.random.default_rng(3)
    return {**eight(scale, rng), **others(scale, rng)}

"""The kernels that the CPU device is measured by: launches, arrays, and how results are compared.

Kernels are in eight.cu, cpu_kernels.cu and access_patterns.cu. The .cpp files beside these have the
same work as OpenMP loops.
"""

import dataclasses

import numpy as np

SAME = "bit by bit"


@dataclasses.dataclass
class Written:
    """An array that a kernel writes beside its result, restored before each run."""

    initial: np.ndarray


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
    # ULPs, of each element or "of the largest", and why. Of integers: the largest difference.
    tolerance: tuple = (0, SAME)
    cooperative: bool = False  # blocks wait for each other

    def differing(self, result, expected, peer=False):
        """How many elements of a kernel's result are further than the tolerance from the loop's.

        `peer`: the result of a compiler that fuses other products, or none. Elements may then be
        64 ULP of the largest apart. One in a hundred may be further, since orbits on a border take
        another number of steps.
        """
        result = self.finish(result) if self.finish else result
        if peer:
            ulps = self.tolerance[0] if result.dtype.kind in "iu" else max(self.tolerance[0], 64)
            loose = dataclasses.replace(self, finish=None, tolerance=(ulps, "of the largest"))
            wrong = loose.differing(result, expected)
            return wrong if wrong > expected.size // 100 else 0
        if result.shape != expected.shape:
            raise ValueError(f"shapes {result.shape} and {expected.shape}")
        ulps = self.tolerance[0]
        if not ulps:
            return int(np.count_nonzero(result != expected))
        off = np.abs(result.astype(np.float64) - expected)
        if result.dtype.kind in "iu":
            return int(np.count_nonzero(off > ulps))
        size = np.maximum(np.abs(result), np.abs(expected))
        if self.tolerance[1].startswith("of the largest"):
            size = np.full_like(size, size.max())
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
        "byte_histogram": case(
            512, 256, [rng.integers(0, 256, many, np.uint8), "out", i(many)], np.zeros(256, i)
        ),
        "jacobi": case(*cover(wide, high), [picture, "out", *sizes], pixels),
        "sparse_rows": case(
            *linear(rows), [*sparse(rng, rows), rng.random(rows, f), "out", i(rows)],
            np.zeros(rows, f),
            tolerance=(32, "of each element: one rounds up to 63 products, the other fuses them"),
        ),
        "sparse_warps": case(
            *linear(32 * rows), [*sparse(rng, rows), rng.random(rows, f), "out", i(rows)],
            np.zeros(rows, f),
            tolerance=(64, "of each element: 63 products are added in another order"),
        ),
        "same_colour": case(
            *linear(rows), [*sparse(rng, rows)[:2], rng.integers(0, 8, rows, np.uint8), "out",
                            i(rows)],
            np.zeros(rows, i),
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


def ell(rng, rows, width):
    """Columns and values of rows of 1 to `width` elements; -1 fills a row that is shorter."""
    columns = rng.integers(0, rows, (width, rows)).astype(np.int32)
    columns[np.arange(width)[:, None] >= rng.integers(1, width + 1, rows)] = -1
    return columns, rng.random((width, rows), np.float32)


def graph(rng, vertices):
    """A graph's neighbours by vertex, 1 to 15 of each, and distances up to 3 of half of them."""
    first = np.zeros(vertices + 1, np.int32)
    first[1:] = np.cumsum(rng.integers(1, 16, vertices))
    neighbours = rng.integers(0, vertices, first[-1]).astype(np.int32)
    return first, neighbours, rng.choice(8, vertices).astype(np.int32).clip(None, 4) % 4 - 1


def bfloat16(values):
    """The bits, truncated."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def access_patterns(scale, rng):
    i, f, half = np.int32, np.float32, np.float16
    many = (1 << 22) // scale**2
    box = (192 // scale, 160 // scale, 160 // scale)  # planes, rows, columns
    order, rows, vertices = 512 // scale, 150_000 // scale**2, 300_000 // scale**2
    wide, high = 4000 // scale, 2400 // scale
    blocks, panels, segments = 2048 // scale**2, 2048 // scale**2, many // 32
    solid = rng.random(box, f)
    a, b = rng.random((order, order), f), rng.random((order, order), f)
    x, index = rng.random(many, f), rng.permutation(many).astype(i)
    signal = rng.uniform(-1, 1, (blocks * 1024, 2)).astype(f)
    turns = np.exp(-2j * np.pi * np.arange(512) / 1024).astype(np.complex64).view(f)
    systems = rng.uniform(-1, 1, (panels, 128, 16)).astype(f)
    systems[:, np.arange(16), np.arange(16)] += 16  # no pivots are needed
    photo = rng.integers(0, 256, (high, wide), np.uint8)
    first, neighbours, distance = graph(rng, vertices)
    frontier = np.flatnonzero(distance == 2).astype(i)
    text, pattern = rng.choice(np.frombuffer(b"acgt", np.uint8), 3 * many), b"gattac"
    text[100 : 100 + len(pattern)] = pattern = np.frombuffer(pattern, np.uint8)
    halves = rng.uniform(-1, 1, (8192 // scale, 1024 // scale)).astype(half)
    brains = bfloat16(rng.normal(size=(4096 // scale, 512 // scale)))
    numbers = rng.integers(-99, 99, 2 * many).astype(i)
    words = rng.integers(0, 1 << 32, many, np.uint32)
    rod, noise = rng.random(many // 4, f), rng.random(2 * many, f)

    def case(*given, **more):
        return Case("access_patterns", *given, **more)

    def linear(n, block=256):
        return (-(-n // block), block)

    def cover(shape, block):
        return (tuple(-(-n // b) for n, b in zip(shape[::-1], block, strict=True)), block)

    sizes = [i(n) for n in solid.shape[::-1]]
    picture = [photo, "out", i(wide), i(high)]
    return {
        "stencil_3d": case(*cover(solid.shape, (32, 4, 2)), [solid, "out", *sizes], 0 * solid),
        "stencil_3d_flat": case(*linear(solid.size), [solid, "out", *sizes], 0 * solid),
        "matmul_blocked": case(
            (order // 64, order // 64), (16, 16), [a, b, "out", i(order)], np.zeros_like(a)
        ),
        "sparse_ell": case(
            *linear(rows), [*ell(rng, rows, 24), rng.random(rows, f), "out", i(rows), i(24)],
            np.zeros(rows, f),
        ),
        "monte_carlo": case(
            *linear(many // 256, 128), ["out", i(many // 256), i(256)], np.zeros(many // 256, i),
            tolerance=(1, "of a stream's count: either square of a radius may be fused"),
        ),
        "fft_block": case(
            blocks, 512, [signal, turns, "out"], np.zeros_like(signal), loop=(blocks,),
            tolerance=(16, "of the largest: ten stages, in which either product may be fused"),
        ),
        "fft_stage": case(
            *linear(blocks * 512), [signal, "out", i(blocks * 1024), i(512)],
            np.zeros_like(signal),
            tolerance=(4, "of the largest: CUDA's sine and the C library's"),
        ),
        "lu_panel": case(panels, 128, ["out"], systems, loop=(panels,)),
        "median": case(*cover((high, wide), (32, 8)), picture, np.zeros_like(photo)),
        "sobel": case(*cover((high, wide), (32, 8)), picture, np.zeros_like(photo)),
        "bfs_level": case(
            *linear(vertices), [first, neighbours, "out", i(vertices), i(3)], distance
        ),
        "bfs_frontier": case(
            *linear(len(frontier)),
            [
                *(first, neighbours, frontier, i(len(frontier))),
                *(Written(np.zeros(vertices, i)), Written(np.zeros(1, i)), "out", i(3)),
            ],
            distance,
        ),
        "find_pattern": case(
            *linear(len(text)), [text, np.int64(len(text)), pattern, i(len(pattern)), "out"],
            np.zeros(len(text), np.uint8),
        ),
        "half_axpy": case(
            *linear(halves.size // 2), [halves, "out", f(0.3), i(halves.size // 2)],
            halves[::-1].copy(),
            tolerance=(1, "of each element: the loop rounds to a float first"),
        ),
        "layer_norm": case(
            len(halves), 128,
            [
                halves, *(rng.random(halves.shape[1], f) for _ in range(2)), "out",
                i(halves.shape[1]),
            ],
            np.zeros_like(halves), loop=(len(halves),),
            tolerance=(4, "of the largest: numbers of a row are added in another order"),
        ),
        "softmax_bf16": case(
            *linear(32 * len(brains), 128), [brains, "out", *map(i, brains.shape)],
            np.zeros_like(brains),
            tolerance=(1, "of each element: CUDA's exp and the C library's"),
        ),
        "row_sums": case(
            *linear(32 * (many // 128)), [noise, "out", i(many // 128), i(256)],
            np.zeros(many // 128, f),
            tolerance=(16, "of each element: 256 numbers are added in another order"),
        ),
        "tile_sums": case(
            *linear(16 * segments), [numbers, "out", i(segments)], np.zeros(segments, i)
        ),
        "heat_steps": case(
            16, 256, ["out", Written(np.zeros_like(rod)), i(len(rod)), i(8)], rod,
            cooperative=True,
        ),
        "permute": case(*linear(many), [x, index, "out", i(many)], np.zeros_like(x)),
        "few_bins": case(*linear(many), [words, "out", i(many)], np.zeros(8, np.uint32)),
    }  # fmt: skip


LOOPS = {  # kernels that compute what another kernel computes, and the loop of that kernel
    "convolution_flat": "convolution",
    "transpose_flat": "transpose",
    "jacobi_flat": "jacobi",
    "matmul_flat": "matmul",
    "stencil_3d_flat": "stencil_3d",
    "sparse_warps": "sparse_rows",
}


def cases(scale=1):
    """All of them by name; `scale` makes them smaller."""
    rng = np.random.default_rng(3)
    return {**eight(scale, rng), **others(scale, rng), **access_patterns(scale, rng)}

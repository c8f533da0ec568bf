"""Reductions of arrays of 1 GiB beside a kernel that only reads, and host time of small arrays

python benchmarks/bench_reduce.py [--out FOLDER] [--quick]

CuPy and torch are measured in the same rounds, on the same memory, where they are installed.
"""

import statistics
import time
from functools import partial

import bench_elementwise
import numpy as np
import records
from bench_elementwise import PEERS, SMALL
from bench_kernels import Way, rows, timed

import cupola

FIRST = ["x.sum()", "x.max()", "x.dot(x)", "x.argmax()", "x.reshape(10, 100).sum(0)"]

# The speed of reading memory: a use of each element keeps the compiler from removing its load.
READ = r"""
extern "C" __global__ void __launch_bounds__(256) read_all(const uint4* x, size_t n, unsigned* out)
{
    const size_t step = size_t(gridDim.x) * blockDim.x;
    unsigned all = 0;
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step) {
        const uint4 a = __ldcs(x + i), b = __ldcs(x + i + step);
        const uint4 c = __ldcs(x + i + 2 * step), d = __ldcs(x + i + 3 * step);
        all ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
        all ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    for (; i < n; i += step) {
        const uint4 a = __ldcs(x + i);
        all ^= a.x ^ a.y ^ a.z ^ a.w;
    }
    if (all == 0x9e3779b9u) *out = all;
}
"""


def reading(array):
    """The best of several grids, as one way: it reads the array's memory once."""
    kernel = cupola.compile(READ)["read_all"]
    hole = cupola.zeros(1, np.uint32)
    words, packs = array.reshape(-1).view(np.uint32), array.nbytes // 16
    multiprocessors = cupola.Device().multiprocessor_count
    launches = [
        kernel.prepare(multiprocessors * each, 256, words, packs, hole) for each in (8, 16, 32, 128)
    ]
    ways = [Way("", launch, []) for launch in launches]
    timed(ways, rounds=5, warm=2)
    best = min(ways, key=lambda way: statistics.median(way.seconds))
    return Way("a kernel that only reads", best.start, [])


def measure(name, inputs, call, floor, read=None):
    """`call(library, *arrays)` of each library; a ratio is to the kernel that only reads."""
    expected = call(np, *[array.get() for array in inputs]) if inputs[0].size < 1 << 20 else None
    floor.seconds.clear()
    ways = [floor, Way("cupola", partial(call, np, *inputs), [])]
    for peer, (library, take) in PEERS.items():
        ways.append(Way(peer, partial(call, library, *[take(array) for array in inputs]), []))
    if expected is not None:
        np.testing.assert_allclose(ways[1].start().get(), expected, rtol=1e-4)
    timed(ways, rounds=9, calls=4)
    read = read or sum(array.nbytes for array in inputs)
    floor_bytes = inputs[0].nbytes
    # The floor reads the first array's bytes; of what reads another number, only GB/s compare.
    goals = {"cupola": "ratio <= 1.05"} if name == "sum" else None
    found = rows(ways, lambda way: floor_bytes if way is floor else read, goals)
    return records.titled(name, found)


def large(n):
    """n float32, 1 GiB of them; ratios are to the kernel that only reads the array."""
    random = np.random.default_rng(0)
    x = cupola.to_device(random.random(n, dtype=np.float32))
    y = cupola.to_device(random.random(n, dtype=np.float32))
    floor = reading(x)
    side = int(n**0.5)
    square, tall, flat = x.reshape(side, side), x.reshape(-1, 64), x.reshape(64, -1)
    box = x.reshape(64, -1, side)
    found = measure("sum", [x], lambda lib, a: a.sum(), floor)
    found += measure("max", [x], lambda lib, a: a.max(), floor)
    found += measure("argmax", [x], lambda lib, a: a.argmax(), floor)
    found += measure("sum from the second element on", [x[1:]], lambda lib, a: a.sum(), floor)
    found += measure("dot", [x, y], lambda lib, a, b: lib.dot(a, b), floor)
    for name, array in (("square", square), ("(n, 64)", tall), ("(64, n)", flat)):
        for axis in (1, 0):
            found += measure(
                f"sum of {name} along axis {axis}", [array], lambda lib, a, k=axis: a.sum(k), floor
            )
    found += measure("sum of a box along (0, 2)", [box], lambda lib, a: a.sum((0, 2)), floor)
    for kind in (np.int8, np.int32, np.float16, np.float64):
        view = x.view(kind)
        name = np.dtype(kind).name
        if kind in (np.int8, np.int32):
            found += measure(f"max, {name}", [view], lambda lib, a: a.max(), floor)
        found += measure(f"sum, {name}", [view], lambda lib, a: a.sum(), floor)
    found += measure("x[::2].sum()", [x[::2]], lambda lib, a: a.sum(), floor, x.nbytes)
    return found


def small():
    """Nanoseconds of the host for a call, whatever the device still does."""
    calls = {}
    for n in (32, 1 << 20):
        host = np.ones(n, np.float32)
        arrays = {"cupola": (cupola.to_device(host), np)}
        for name, (library, take) in PEERS.items():
            arrays[name] = (take(cupola.to_device(host)), library)
        for name, (x, library) in arrays.items():
            calls[f"{n} elements, x.sum(): {name}"] = x.sum
            calls[f"{n} elements, x.reshape(4, -1).sum(1): {name}"] = partial(
                x.reshape(4, -1).sum, 1
            )
            calls[f"{n} elements, dot(x, x): {name}"] = partial(library.dot, x, x)
            if name == "cupola":
                calls[f"{n} elements, x + x: {name}"] = lambda x=x: x + x
    times = {name: [] for name in calls}
    for round_ in range(7):
        for name, call in calls.items():
            cupola.Device().synchronize()
            start = time.perf_counter()
            for _ in range(SMALL // 5):
                call()
            if round_ >= 2:
                times[name].append((time.perf_counter() - start) / (SMALL // 5))
    cupola.Device().synchronize()
    return bench_elementwise.beside_peer(times)


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="small arrays; figures mean nothing")
    options = parser.parse_args()
    quick = options.quick or cupola.driver.info().kind == "cpu"
    bench_elementwise.FIRST, bench_elementwise.FIRST_OF_CUPY = FIRST, FIRST
    made = large(2**14 if quick else 2**28)
    made += records.titled("host time", small())
    made += records.titled("first use in a process", bench_elementwise.first())
    records.publish(options.out, __file__, __doc__, made)


if __name__ == "__main__":
    main()

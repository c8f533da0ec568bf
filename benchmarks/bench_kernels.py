"""The shipped kernels beside the plain way to write each

python benchmarks/bench_kernels.py [--out FOLDER] [--quick]

Wants nvcc, which compiles benchmarks/kernels.cu for the device that there is.
"""

import ctypes
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import records

import cupola
from cupola.build import toolkit

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 15


def compiled():
    """benchmarks/kernels.cu as a module."""
    device = cupola.Device()
    major, minor = device.compute_capability
    cpu = cupola.driver.info().kind == "cpu"
    code = "compute_75" if cpu else f"sm_{major}{minor}"
    how = "-ptx" if cpu else "-cubin"
    target = Path(tempfile.mkdtemp(prefix="cupola-kernels-")) / ("kernels" + how.replace("-", "."))
    command = [toolkit.find().nvcc, "-std=c++17", "--expt-relaxed-constexpr", "-I.", how]
    command += [f"-arch={code}", "-o", target, "benchmarks/kernels.cu"]
    subprocess.run(command, cwd=ROOT, check=True)
    return cupola.load(target)


def blocks(items, threads=256):
    """Blocks that have a thread for each item."""
    return max(1, -(-items // threads))


@dataclass
class Way:
    """One way to do the work: what starts it, and how much time it took."""

    name: str
    start: object
    seconds: list


def timed(ways, rounds=ROUNDS, warm=3, calls=1):
    """Fills each way's seconds, by events, round by round.

    Of several calls in a row the host's part is over while the device is still at those before.
    """
    begin, end = cupola.Event(), cupola.Event()
    for round_ in range(warm + rounds):
        for way in ways:
            begin.record()
            for _ in range(calls):
                way.start()
            end.record()
            end.synchronize()
            if round_ >= warm:
                way.seconds.append(end.elapsed_since(begin) / calls)


def rows(ways, moved=None, goals=None):
    """Milliseconds, with ratios to the first way, and GB/s of the bytes that a way moves."""
    made = records.medians({way.name: way.seconds for way in ways}, "ms", goals)
    for row, way in zip(made, ways, strict=True):
        if moved:
            row.note = f"{moved(way) / statistics.median(way.seconds) / 1e9:,.0f} GB/s"
    return made


def copying(out, source, nbytes):
    """A device-to-device copy by the driver."""
    driver = ctypes.CDLL(cupola.driver.info().path)
    stream = ctypes.c_void_p(cupola.Stream.current().handle)
    to, of, size = (ctypes.c_void_p(out), ctypes.c_void_p(source), ctypes.c_size_t(nbytes))

    def start():
        assert driver.cuMemcpyDtoDAsync_v2(to, of, size, stream) == 0

    return start


def saxpy(module, quick):
    """1 GiB arrays; correctness also where they lie differently, and for odd sizes."""
    rng = np.random.default_rng(1)
    host = rng.standard_normal((2, 5000), dtype=np.float32)
    x, y, out = (cupola.to_device(np.pad(row, 8)) for row in (*host, host[0]))
    kernels = {"plain": module["saxpy_plain"], "shipped": cupola.shipped_kernels()["saxpy"]}
    for name, kernel in kernels.items():
        for at in [(0, 0, 0), (1, 1, 1), (3, 3, 3), (0, 1, 0), (1, 2, 3)]:
            for n in (0, 1, 3, 4, 5, 31, 1000, 4999):
                fresh = np.full(5016, 7, np.float32)
                out.set(fresh)
                pointers = [
                    array.address + 4 * off for array, off in zip((x, y, out), at, strict=True)
                ]
                if n:
                    kernel[blocks(n, 32), 32](2.5, *pointers, n)
                a, b = x.get()[at[0] :][:n], y.get()[at[1] :][:n]
                fresh[at[2] : at[2] + n] = np.float32(2.5) * a + b
                np.testing.assert_array_equal(out.get(), fresh, err_msg=f"{name}, {n}, {at}")

    n = 2**14 if quick else 2**28
    x, y = (cupola.to_device(rng.random(n, dtype=np.float32)) for _ in range(2))
    out = cupola.empty_like(x)
    expected = np.float32(2.5) * x.get() + y.get()
    ways = [Way("device-to-device copy", copying(out.address, x.address, out.nbytes), [])]
    for name, each, threads in [("plain", 1, 256), ("shipped", 4, 512)]:
        launch = kernels[name].prepare(blocks(n, each * threads), threads, 2.5, x, y, out, n)
        out.set(np.zeros(n, np.float32))
        launch()
        np.testing.assert_array_equal(out.get(), expected, err_msg=name)
        ways.append(Way(f"{name}, {threads} threads", launch, []))
    ways.append(Way("cupola.saxpy", lambda: cupola.saxpy(2.5, x, y, out=out), []))
    timed(ways)
    copy = ways[0]
    # 102 % of a copy's bandwidth, for three arrays where a copy has two.
    goals = {"cupola.saxpy": "ratio <= 1.471"}
    return rows(ways, lambda way: out.nbytes * (2 if way is copy else 3), goals)


def mandelbrot(module, quick):
    """8192 x 8192, 256 iterations.

    `full` is the shipped kernel without a shortcut: each orbit that stays is followed to its end.
    `trap` has another one: it sees where an orbit has come to a cycle of one or two points.
    """
    plain = module["mandelbrot_plain"]
    kernels = {name: module[f"mandelbrot_{name}"] for name in ("full", "trap")}
    kernels["shipped"] = cupola.shipped_kernels()["mandelbrot_ker"]

    def lattices():
        yield np.linspace(-2, 2, 64, dtype=np.float32), 256
        yield np.linspace(-2, 2, 33, dtype=np.float32), 1000
        yield np.linspace(-1.5, 0.3, 45, dtype=np.float32), 100
        yield np.linspace(-0.8, 0.4, 61, dtype=np.float32), 77
        special = [0, -0.0, np.inf, -np.inf, np.nan, 1e38, 1e-45, -1, 1e-30, 2, -2, 0.25, -1.25]
        yield np.array(special, np.float32), 300
        if not quick:
            yield np.linspace(-0.75, 0.05, 2048, dtype=np.float32), 5000
            yield np.linspace(0.24, 0.26, 1024, dtype=np.float32) * np.float32(-1), 5000

    for lattice, iterations in lattices():
        n = lattice.size
        points, graph = cupola.to_device(lattice), cupola.empty((n, n), np.float32)
        for bound in (4.0, 0.25, 4.5, 1600.0, np.inf):
            for steps in (0, 1, 2, 5, iterations):
                plain[blocks(n * n, 32), 32](points, graph, steps, bound, n)
                expected = graph.get()
                for name, kernel in kernels.items():
                    graph.set(np.full((n, n), 7, np.float32))
                    many = n * n // (20 if steps % 2 else 1)
                    kernel[blocks(many, 64), 64](points, graph, steps, bound, n)
                    wrong = np.count_nonzero(graph.get() != expected)
                    assert not wrong, f"{name}: {wrong}, {n}, {bound}, {steps}"

    n = 128 if quick else 8192
    points = cupola.to_device(np.linspace(-2, 2, n, dtype=np.float32))
    graph = cupola.empty((n, n), np.float32)
    launches = {}
    for threads in (32, 256):
        launches[f"plain, {threads} threads"] = plain.prepare(
            blocks(n * n, threads), threads, points, graph, 256, 4.0, n
        )
    for name, kernel in kernels.items():
        items = blocks(n, 32) * blocks(n, 4) * 32
        for rows_each in (1, 2, 4) if name == "shipped" else (2,):
            launches[f"{name}, 128 threads, {rows_each} rows"] = kernel.prepare(
                blocks(items, 128 * rows_each), 128, points, graph, 256, 4.0, n
            )
    ways, first = [], None
    for name, launch in launches.items():
        graph.set(np.full((n, n), 7, np.float32))
        launch()
        picture = graph.get()
        first = picture if first is None else first
        wrong = np.count_nonzero(picture != first)
        ways.append(Way(name + (f" ({wrong} points differ)" if wrong else ""), launch, []))
    ways.append(Way("cupola.mandelbrot", lambda: cupola.mandelbrot(lattice=points, out=graph), []))
    timed(ways)
    return rows(ways, goals={"cupola.mandelbrot": "ratio <= 0.2"})


def convolve(module, quick):
    """5 x 5 on 8192 x 8192."""
    plain, shipped = module["convolve_plain"], cupola.shipped_kernels()["convolve_5"]
    rng = np.random.default_rng(2)
    weights = cupola.to_device(rng.standard_normal((5, 5), dtype=np.float32))

    def plainly(height, width, border, image, out):
        grid = (blocks(width, 32), blocks(height, 8))
        plain[grid, (32, 8)](image, weights, out, height, width, 5, border)

    def strips(height, width, down):
        return blocks(width, 4) * blocks(height, down)

    shapes = [(1, 1), (2, 3), (5, 4), (7, 8), (40, 12), (33, 64), (64, 33), (70, 128)]
    for height, width in shapes:
        data = rng.standard_normal((height, width), dtype=np.float32)
        image, out = cupola.to_device(data), cupola.empty((height, width), np.float32)
        for border in (0, 1):
            plainly(height, width, border, image, out)
            expected = out.get()
            for down in (4, 31):
                out.set(np.full((height, width), 7, np.float32))
                grid = blocks(strips(height, width, down), 32)
                shipped[grid, 32](image, weights, out, height, width, 1, border)
                message = f"{down} rows, {height} x {width}, {border}"
                np.testing.assert_array_equal(out.get(), expected, err_msg=message)

    n = 64 if quick else 8192
    image = cupola.to_device(rng.standard_normal((n, n), dtype=np.float32))
    out = cupola.empty_like(image)
    plainly(n, n, 0, image, out)
    expected = out.get()
    grid = (blocks(n, 32), blocks(n, 8))
    ways = [
        Way(
            "plain, 32 x 8 threads",
            plain.prepare(grid, (32, 8), image, weights, out, n, n, 5, 0),
            [],
        )
    ]
    for threads in (32, 128):
        for down in (31, 46):
            launch = shipped.prepare(
                blocks(strips(n, n, down), threads),
                threads,
                *(image, weights, out, n, n, 1, 0),
            )
            out.set(np.zeros((n, n), np.float32))
            launch()
            np.testing.assert_array_equal(out.get(), expected)
            ways.append(Way(f"shipped, {threads} threads, {down} rows", launch, []))
    ways.append(Way("cupola.convolve", lambda: cupola.convolve(image, weights, out=out), []))
    timed(ways)
    return rows(ways, lambda way: 2 * out.nbytes, {"cupola.convolve": "ratio <= 0.333"})


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; figures mean nothing")
    options = parser.parse_args()
    quick = options.quick or cupola.driver.info().kind == "cpu"
    module, made = compiled(), []
    for name, measure in (
        ("saxpy of 1 GiB arrays", saxpy),
        ("Mandelbrot 8192 x 8192, 256 iterations", mandelbrot),
        ("convolution 5 x 5 of 8192 x 8192", convolve),
    ):
        made += records.titled(name, measure(module, quick))
    records.publish(options.out, __file__, __doc__, made)


if __name__ == "__main__":
    main()

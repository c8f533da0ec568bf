"""Algorithms on arrays beside CUB from C++, CuPy and torch; on the CPU device beside NumPy

python benchmarks/bench_algorithms.py [--out FOLDER] [--quick]

CUB's own functions are compiled by nvcc. CuPy and torch are measured in the same rounds, where they
are installed. Results are compared element by element.
"""

import ctypes
import statistics
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from unittest import mock

import bench_elementwise
import numpy as np
import records
from bench_elementwise import PEERS
from bench_kernels import Way, rows, timed

import cupola
from cupola.arrays import cublas
from cupola.build import toolkit

ROOT = Path(__file__).resolve().parent.parent
FIRST = ["numpy.sort(x)", "numpy.cumsum(x)", "x[x > 0]"]
BINS = 256


def cub_library():
    """benchmarks/cub.cu for the device that there is."""
    major, minor = cupola.Device().compute_capability
    target = Path(tempfile.mkdtemp(prefix="cupola-cub-")) / "libcub_floor.so"
    command = [toolkit.find().nvcc, "-std=c++17", "-O3", "-shared", "-Xcompiler=-fPIC"]
    command += [f"-arch=sm_{major}{minor}", "-o", target, "benchmarks/cub.cu"]
    subprocess.run(command, cwd=ROOT, check=True)
    return ctypes.CDLL(str(target))


class Cub:
    """Calls of CUB's functions, whose temporary memory is allocated before."""

    def __init__(self):
        self.library, self.kept = cub_library(), []

    def way(self, name, source, out, flags=None):
        """The work as a way, and the number of elements that it selects."""
        function = getattr(self.library, f"cub_{name}")
        function.restype = ctypes.c_size_t
        count = cupola.zeros(1, np.int64)
        stream = ctypes.c_void_p(cupola.Stream.current().handle)
        used = [source, out, count] if flags is None else [source, flags, out, count]
        arrays = [ctypes.c_void_p(array.address) for array in used]
        arguments = [*arrays, ctypes.c_longlong(source.size), stream]
        size = function(None, ctypes.c_size_t(0), *arguments)
        temporary = cupola.empty(size, np.uint8)
        self.kept += [temporary, *used]
        where = ctypes.c_void_p(temporary.address)

        def start():
            if function(where, ctypes.c_size_t(size), *arguments) != size:
                raise RuntimeError(f"CUB's {name} failed")

        return Way(f"CUB from C++: {name}", start, []), count


def beside(name, cub, source, calls, out, counted=False, goal="ratio <= 1.053", flags=None):
    """CUB first, then cupola and its peers by `calls`: library's name to a call."""
    floor, count = cub.way(name, source, out, flags)
    floor.start()
    expected = out.get()
    if counted:
        expected = expected[: int(count.item())]
    got = calls["cupola"]()
    np.testing.assert_allclose(got.get(), expected, rtol=1e-3 if name == "scan" else 0)
    ways = [floor, *(Way(one, call, []) for one, call in calls.items())]
    timed(ways, rounds=7, warm=2, calls=4)
    peers = [statistics.median(way.seconds) for way in ways[2:]]
    made = rows(ways, lambda way: source.nbytes, {"cupola": goal})
    if peers:
        made.append(
            records.Row(
                "cupola beside the faster of CuPy and torch",
                statistics.median(ways[1].seconds) * 1e3,
                "ms",
                "the faster of CuPy and torch",
                min(peers) * 1e3,
                statistics.median(ways[1].seconds) / min(peers),
                "ratio <= 1",
            )
        )
    return records.titled(name, made)


def on_a_gpu(n):
    """n float32 of 0 to 1; GB/s are of the bytes that are read once."""
    cub, found = Cub(), []
    x = cupola.to_device(np.random.default_rng(0).random(n, dtype=np.float32))
    # Few different values: the sorted array of these is what CUB's unique reads.
    coarse = np.floor(x * np.float32(1000))
    ordered, out = np.sort(coarse), cupola.empty_like(x)
    np.testing.assert_array_equal(ordered.get(), np.sort(coarse.get()))
    counts = cupola.empty(BINS, np.int32)
    theirs = {name: (library, take(x)) for name, (library, take) in PEERS.items()}
    few = {name: (library, take(coarse)) for name, (library, take) in PEERS.items()}

    def calls(ours, cupy, torch, given=theirs):
        chosen = {"cupola": ours}
        for name, call in (("cupy", cupy), ("torch", torch)):
            if name in given and call is not None:
                chosen[name] = partial(call, *given[name])
        return chosen

    found += beside(
        "sort", cub, x,
        calls(lambda: np.sort(x), lambda lib, a: lib.sort(a), lambda lib, a: lib.sort(a).values),
        out,
    )  # fmt: skip
    found += beside(
        "scan", cub, x,
        calls(lambda: np.cumsum(x), lambda lib, a: lib.cumsum(a), lambda lib, a: lib.cumsum(a, 0)),
        out,
    )  # fmt: skip
    mask = x > 0.5
    masks = {name: take(mask) for name, (_, take) in PEERS.items()}
    found += beside(
        "select", cub, x,
        calls(
            lambda: x[mask], lambda lib, a: a[masks["cupy"]], lambda lib, a: a[masks["torch"]],
        ),
        out, counted=True, flags=mask,
    )  # fmt: skip
    found += beside(
        "histogram", cub, x,
        calls(
            lambda: np.histogram(x, BINS, (0, 1))[0],
            lambda lib, a: lib.histogram(a, BINS, (0, 1))[0],
            lambda lib, a: lib.histc(a, BINS, 0, 1),
        ),
        counts,
    )  # fmt: skip
    found += beside(
        "unique", cub, ordered,
        calls(
            lambda: np.unique(coarse), lambda lib, a: lib.unique(a),
            lambda lib, a: lib.unique(a), few,
        ),
        out, counted=True, goal="ratio <= 100",
    )  # fmt: skip
    return [*found, *products(), *random_numbers(n)]


def own_product(x):
    """A product by cupola's own kernels."""
    with mock.patch.object(cublas, "usable", lambda device: None):
        return np.matmul(x, x)


def products():
    """Products of square matrices; the floor is the peers' cuBLAS."""
    found, side = [], 4096
    for kind, goal in (("float32", "ratio <= 1.43"), ("float16", "ratio <= 1.67")):
        host = np.random.default_rng(1).random((side, side), dtype=np.float32).astype(kind)
        x = cupola.to_device(host)
        ways = [
            Way(f"{name} (cuBLAS)", partial(library.matmul, take(x), take(x)), [])
            for name, (library, take) in PEERS.items()
        ]
        if "torch" in PEERS:
            PEERS["torch"][0].backends.cuda.matmul.allow_tf32 = False
        ways.append(Way("cupola without cuBLAS", partial(own_product, x), []))
        goals = {"cupola without cuBLAS": goal, "cupola with cuBLAS": "ratio <= 1.05"}
        if cublas.usable(0):
            ways.append(Way("cupola with cuBLAS", partial(np.matmul, x, x), []))
        exact = ways[0].start()
        for way in ways[1:]:
            assert float(abs(cupola.asarray(way.start()) / cupola.asarray(exact) - 1).max()) < 0.01
        timed(ways, rounds=7, warm=2, calls=4)
        made = records.medians({way.name: way.seconds for way in ways}, "ms", goals)
        for row, way in zip(made, ways, strict=True):
            row.note = f"{2 * side**3 / statistics.median(way.seconds) / 1e12:.1f} TFLOP/s"
        found += records.titled(f"matmul of {side} x {side}, {kind}", made)
    return found


def random_numbers(n):
    """Uniform float32 beside a fill of the same memory, which only writes."""
    out = cupola.empty(n, np.float32)
    bytes_ = out.view(np.uint8)
    generator = cupola.random.default_rng(0)
    ways = [Way("fill of the same memory", partial(bytes_.fill, 1), [])]
    ways.append(Way("cupola", partial(generator.random, dtype=np.float32, out=out), []))
    if "cupy" in PEERS:
        theirs = PEERS["cupy"][0].random.default_rng(0)
        ways.append(Way("cupy", partial(theirs.random, n, dtype=np.float32), []))
    if "torch" in PEERS:
        torch = PEERS["torch"][0]
        tensor = torch.empty(n, device="cuda")
        ways.append(Way("torch", tensor.uniform_, []))
    timed(ways, rounds=7, warm=2, calls=4)
    made = rows(ways, lambda way: out.nbytes, {"cupola": "ratio <= 1.11"})
    return records.titled("random.random, float32", made)


def on_the_cpu_device(n):
    """Beside NumPy, which uses one core; the CPU device uses all. Kernels are compiled before."""
    host = np.random.default_rng(0).random(n, dtype=np.float32)
    x = cupola.to_device(host)
    calls = {
        "sort": (lambda: np.sort(host), lambda: np.sort(x)),
        "argsort": (lambda: np.argsort(host, kind="stable"), lambda: np.argsort(x)),
        "cumsum": (lambda: np.cumsum(host), lambda: np.cumsum(x)),
        "x[x > 0.5]": (lambda: host[host > 0.5], lambda: x[x > 0.5]),
        "histogram": (
            lambda: np.histogram(host, BINS, (0, 1))[0],
            lambda: np.histogram(x, BINS, (0, 1))[0],
        ),
    }
    found = []
    for name, (theirs, ours) in calls.items():
        np.testing.assert_allclose(ours().get(), theirs(), rtol=1e-3 if name == "cumsum" else 0)
        time.sleep(10)  # until the kernels are compiled
        times = {"NumPy": [], "cupola": []}
        for _ in range(5):
            for way, call in zip(times, (theirs, ours), strict=True):
                start = time.perf_counter()
                call()
                cupola.Device().synchronize()
                times[way].append(time.perf_counter() - start)
        goals = {"cupola": "ratio <= 0.5"} if name in ("sort", "cumsum") else None
        found += records.titled(f"{name} of {n}", records.medians(times, "ms", goals))
    return found


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="small arrays; figures mean nothing")
    options = parser.parse_args()
    if cupola.driver.info().kind == "cpu":
        made = on_the_cpu_device(2**12 if options.quick else 2**24)
    else:
        made = on_a_gpu(2**16 if options.quick else 2**28)
        bench_elementwise.FIRST, bench_elementwise.FIRST_OF_CUPY = FIRST, FIRST[:2]
        made += records.titled("first use in a process", bench_elementwise.first("value <= 5"))
    records.publish(options.out, __file__, __doc__, made)


if __name__ == "__main__":
    main()

"""Pipelines beside pinned copies both ways at once, and beside their kernel alone

python benchmarks/bench_pipeline.py [--out FOLDER] [--mib N] [--rounds N]

The arrays are four times as large as what may be kept on the device. The heavy kernel wants nvcc.
"""

import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import records

import cupola
from cupola import Chunk
from cupola.build import toolkit
from cupola.build.error import BuildError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples/schedulers"))
import schedulers

# A kernel whose time the argument `steps` sets.
HEAVY = r"""
extern "C" __global__ void heavy(const float* x, float* out, unsigned n, unsigned steps) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (unsigned k = 0; k < steps; ++k) value = value * 0.999f + 0.25f;
    out[i] = value;
}
"""


def heavy():
    """The kernel, or None where there is no compiler."""
    folder = Path(tempfile.mkdtemp(prefix="cupola-pipeline-"))
    (folder / "heavy.cu").write_text(HEAVY)
    try:
        nvcc = toolkit.find().nvcc
    except BuildError:
        return None
    target = folder / "heavy.ptx"
    command = [nvcc, "-ptx", "-arch=compute_75", "-o", target, folder / "heavy.cu"]
    subprocess.run(command, check=True)
    return cupola.load(target)["heavy"]


def copies(x, out, length, directions="both"):
    """Seconds of pinned copies alone, chunk by chunk, each way on two streams."""
    chunks = [slice(at, at + length) for at in range(0, len(x), length)]
    streams = [cupola.Stream(non_blocking=True) for _ in range(4)]
    there = [cupola.empty(length, x.dtype) for _ in streams]
    cupola.Device().synchronize()
    start = time.perf_counter()
    for i, rows in enumerate(chunks):
        size = len(x[rows])
        if directions in ("in", "both"):
            there[i % 2][:size].set(x[rows], stream=streams[i % 2])
        if directions in ("out", "both"):
            there[2 + i % 2][:size].get(out=out[rows], stream=streams[2 + i % 2])
    cupola.Device().synchronize()
    return time.perf_counter() - start


def kernel_alone(launch, count):
    """Seconds of the kernel over one chunk, as often as there are chunks."""
    cupola.Device().synchronize()
    start = time.perf_counter()
    for _ in range(count):
        launch()
    cupola.Device().synchronize()
    return time.perf_counter() - start


def locking(array):
    """Seconds that it takes to page-lock a host array where it is, and to let go of it."""
    start = time.perf_counter()
    cupola.register_host(array).release()
    return time.perf_counter() - start


def chosen(**given):
    """Rows of a chunk and how many there are, as cupola chooses them."""
    sizes = []

    def schedule(pipeline):
        sizes.extend((pipeline.length, pipeline.chunk_count))
        pipeline.run()

    cupola.pipeline(schedule=schedule, **given)
    return sizes


def measure(ways, check, rounds):
    """Rows: milliseconds, and times the first way's of the same round."""
    seconds = {name: [] for name in ways}
    for round_ in range(rounds + 1):
        for name, way in ways.items():
            elapsed = way()
            if round_:
                seconds[name].append(elapsed)
            elif not name.startswith("floor"):
                check(name)
    goals = {name: "ratio <= 1.05" for name in seconds if "page-locked arrays" in name}
    return records.medians(seconds, "ms", goals)


def timed(*arguments, **given):
    start = time.perf_counter()
    cupola.pipeline(*arguments, **given)
    return time.perf_counter() - start


def run(mib=None, rounds=7):
    """Rows of milliseconds and ratios to the floor, above 1 is slower."""
    cpu = cupola.driver.info().kind == "cpu"
    n = (mib or (16 if cpu else 2048)) << 18  # elements of each array
    memory = 2 * n  # bytes, a quarter of both arrays
    orders = {
        "": None,
        ", schedule in Python": schedulers.first_come,
        ", schedule in a .pyx": schedulers.build().schedule,
    }
    pinned_x, pinned_out = (cupola.empty_pinned(n, np.float32) for _ in range(2))
    pinned_x[:] = np.arange(n, dtype=np.float32) % 1000
    pinned_out[:] = 0
    x, out, expected = pinned_x.copy(), pinned_out.copy(), 3 * pinned_x
    saxpy = cupola.shipped_kernels()["saxpy"]

    def light(x, out):
        return dict(
            kernel=saxpy, inputs=x, outputs=out, memory=memory,
            arguments=(2.0, x, x, out, Chunk.length),
        )  # fmt: skip

    def check_light(name):
        where = out if "pageable" in name else pinned_out
        assert np.array_equal(where, expected), name
        where[:] = 0

    length, count = chosen(**light(pinned_x, pinned_out))
    pinned_out[:] = 0
    ways = {"floor: pinned copies both ways at once": lambda: copies(pinned_x, pinned_out, length)}
    for name, order in orders.items():
        ways[f"saxpy, page-locked arrays{name}"] = lambda order=order: timed(
            **light(pinned_x, pinned_out), schedule=order
        )
    if len(cupola.devices()) > 1:
        ways[f"saxpy, page-locked arrays, {len(cupola.devices())} devices"] = lambda: timed(
            **light(pinned_x, pinned_out), devices=cupola.devices()
        )
    for name, order in orders.items():
        ways[f"saxpy, pageable arrays{name}"] = lambda order=order: timed(
            **light(x, out), schedule=order, staging=True
        )
    here, there = cupola.to_device(x[:length]), cupola.empty(length, np.float32)
    work = saxpy.forall(length)
    alone = saxpy.prepare(work.grid, work.block, 2.0, here, here, there, length)
    ways["floor: saxpy alone"] = lambda: kernel_alone(alone, count)
    ways["floor: pinned copies to the device alone"] = lambda: copies(
        pinned_x, pinned_out, length, "in"
    )
    ways["floor: pinned copies to the host alone"] = lambda: copies(
        pinned_x, pinned_out, length, "out"
    )
    rows = measure(ways, check_light, rounds)
    part = x[: min(n, 64 << 20)]
    took = locking(part)
    name = f"page-locking {part.nbytes >> 20} MiB in place, and unlocking it"
    note = f"{part.nbytes / took / 1e9:.1f} GB/s"
    rows.append(records.Row(name, took * 1e3, "ms", note=note))

    kernel, steps = heavy(), 8 if cpu else 3000
    if kernel is None:
        return rows
    block = kernel.max_potential_block_size()
    launch = kernel.prepare(-(-length // block), block, here, there, length, steps)
    launch()
    heavily_expected = there.get()
    results = {"page-locked": (pinned_x, pinned_out), "pageable": (x, out)}

    def check_heavy(name):
        where = out if "pageable" in name else pinned_out
        assert np.array_equal(where[:length], heavily_expected), name
        where[:] = 0

    def heavily(x, out, order):
        arguments = (x, out, Chunk.length, steps)
        given = dict(arguments=arguments, memory=memory, schedule=order, staging=True)
        return timed(kernel, x, out, **given)

    ways = {"floor: heavy kernel alone": lambda: kernel_alone(launch, count)}
    for kind, (source, target) in results.items():
        for name, order in orders.items():
            ways[f"heavy kernel, {kind} arrays{name}"] = lambda s=source, t=target, o=order: (
                heavily(s, t, o)
            )
    rows += measure(ways, check_heavy, rounds)
    gc.collect()
    return rows


if __name__ == "__main__":
    parser = records.parser(__doc__)
    parser.add_argument("--mib", type=int, help="of each of the two arrays")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    records.publish(given.out, __file__, __doc__, run(given.mib, given.rounds))

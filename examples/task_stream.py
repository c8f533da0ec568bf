# examples/task_stream.py - device arrays on a Dask cluster of this machine, and its tasks in time.
"""A kernel and Dask's own algorithms over the blocks of a device array.

python examples/task_stream.py [PICTURE.png]

The picture shows the tasks of each worker in time, as Dask's dashboard does.
"""

import sys

import dask.array as da
import distributed
import matplotlib.pyplot as plt
import numpy as np

import cupola
from cupola.distributed import LocalDeviceCluster, map_blocks

WORKERS = 4
SIDE, BLOCK = 2048, 512  # elements
COLORS = {
    "damp": "#4477aa",
    "a neighbour's edge": "#66ccee",
    "sum": "#228833",
    "transfer": "#ee6677",
    "other": "#bbbbbb",
}


def title(key):
    """The work of a key, in the words of COLORS."""
    name = str(key[0] if isinstance(key, tuple) else key)
    if "damp" in name:
        return "damp"
    if any(word in name for word in ("overlap", "getitem", "concatenate", "trim")):
        return "a neighbour's edge"
    return "sum" if "sum" in name else "other"


def blurred(x):
    """The mean of each element and its four neighbours; zeros beyond the edge."""

    def block(a):
        inner = a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        return inner / np.float32(5)

    return da.map_overlap(block, x, depth=1, boundary=0, trim=False, dtype=x.dtype)


def draw(tasks, picture):
    """A bar for each task and transfer; a row for each worker."""
    workers = sorted({task["worker"] for task in tasks})
    begin = min(span["start"] for task in tasks for span in task["startstops"])
    figure, axes = plt.subplots(figsize=(9, 0.5 * len(workers) + 1.2), layout="constrained")
    seen = set()
    for task in tasks:
        for span in task["startstops"]:
            kind = span["action"] if span["action"] == "transfer" else title(task["key"])
            if span["action"] not in ("compute", "transfer"):
                continue
            axes.barh(
                workers.index(task["worker"]),
                (span["stop"] - span["start"]) * 1e3,
                left=(span["start"] - begin) * 1e3,
                color=COLORS[kind],
                edgecolor="white",
                linewidth=0.2,
                label=None if kind in seen else kind,
            )
            seen.add(kind)
    axes.set_yticks(range(len(workers)), [f"worker {i}" for i in range(len(workers))])
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    figure.legend(loc="outside upper center", ncols=len(seen), frameon=False)
    figure.savefig(picture, dpi=120)


def main(picture):
    module = cupola.compile(r"""
    extern "C" __global__ void damp(const float* x, float* out, unsigned n) {
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = x[i] * 0.5f;
    }
    """)
    host = np.random.default_rng(1).random((SIDE, SIDE), np.float32)
    with (
        LocalDeviceCluster(devices=[0] * WORKERS, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        x = client.persist(da.from_array(host, chunks=BLOCK).map_blocks(cupola.to_device))
        distributed.wait(x)
        y = x
        for _ in range(3):
            y = blurred(map_blocks(module["damp"], y))
        y.sum().compute()  # the first time, each worker loads and compiles its kernels
        with distributed.get_task_stream(client) as stream:
            total = float(y.sum().compute())
        draw(stream.data, picture)
        moved = sum(
            span["stop"] - span["start"]
            for task in stream.data
            for span in task["startstops"]
            if span["action"] == "transfer"
        )
    expected = host
    for _ in range(3):
        padded = np.pad(expected * np.float32(0.5), 1)
        expected = (
            padded[1:-1, 1:-1] + padded[:-2, 1:-1] + padded[2:, 1:-1]
            + padded[1:-1, :-2] + padded[1:-1, 2:]
        ) / np.float32(5)  # fmt: skip
    assert np.isclose(total, expected.sum(dtype=np.float64), rtol=1e-4)
    print(f"{len(stream.data)} tasks on {WORKERS} workers, sum {total:.0f}")
    print(f"transfers took {moved:.2f} s of all workers' time")
    print(f"written: {picture}")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["task-stream.png"]))

"""Strong and weak scaling over 1, 2 and 4 workers: a pipeline and heat by Dask, heat by MPI

python benchmarks/bench_scaling.py [--out FOLDER]

Each worker has one thread of the CPU device. Strong: the same work for all numbers of workers.
Weak: the same work for each worker. With more workers than cores, no more speed is possible.
"""

import contextlib
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_heat
import bench_ranks
import distributed
import numpy as np
import records

import cupola

WORKERS = 1, 2, 4
ROUNDS = 3
ROWS = 1 << 21  # rows of the pipeline's input, for one worker
SIDE, STEPS = 2048, 100  # points along a side of the plate, and its steps, for one worker
SOURCE = r"""
extern "C" __global__ void logistic(const float* x, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (int k = 0; k < 8000; ++k) value = 3.7f * value * (1.0f - value);
    out[i] = value;
}
"""
# The time between barriers, and that of exchanges, which wait for the edges' rows.
RANKS = """
import json, sys, time
import numpy as np, cupola
from cupola.mpi import Communicator
from heat.ranks import Band
from mpi4py import MPI

with Communicator(MPI.COMM_WORLD) as comm:
    plate = np.load(sys.argv[1], mmap_mode="r")
    band = Band(comm, plate, halo=1)
    exchange, spent, found = band._exchange, [], []

    def timed():
        start = time.perf_counter()
        rows = exchange()
        spent.append(time.perf_counter() - start)
        return rows

    band._exchange = timed
    band.advance(5)
    for _ in range(int(sys.argv[3])):
        cupola.Device().synchronize()
        comm.Barrier()
        spent.clear()
        start = time.perf_counter()
        band.advance(int(sys.argv[2]))
        cupola.Device().synchronize()
        comm.Barrier()
        whole = time.perf_counter() - start
        found.append((whole, sum(spent) / whole))
    if comm.rank == 0:
        print(json.dumps(found))
"""


@contextlib.contextmanager
def cluster(count, environment):
    with (
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            env={"CUPOLA_CPU_THREADS": "1", "PYTHONPATH": environment["PYTHONPATH"]},
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


def timed(client, work):
    """Seconds of a call, and the share of its workers' time that is no computing."""
    workers = len(client.scheduler_info()["workers"])
    with distributed.get_task_stream(client) as stream:
        start = time.perf_counter()
        work()
        whole = time.perf_counter() - start
    computing = sum(
        span["stop"] - span["start"]
        for task in stream.data
        for span in task["startstops"]
        if span["action"] == "compute"
    )
    return whole, 1 - computing / (whole * workers)


def by_dask(environment):
    """(name, kind, workers) with seconds and shares of each round."""
    heat_blocks = importlib.import_module("heat.blocks")
    kernel = cupola.compile(SOURCE)["logistic"]
    found = {}
    for count in WORKERS:
        with cluster(count, environment) as client:
            for kind, times in (("strong", 1), ("weak", count)):
                x = np.random.default_rng(3).random(ROWS * times, np.float32)
                plate = np.random.default_rng(4).random((SIDE * times, SIDE), np.float32)
                for _ in range(ROUNDS + 1):
                    for name, work in (
                        ("pipeline", lambda x=x: cupola.pipeline(
                            kernel, x, np.empty_like(x), client=client)),
                        ("heat by Dask", lambda plate=plate: heat_blocks.spread(
                            plate, STEPS, client, out=np.empty_like(plate))),
                    ):  # fmt: skip
                        found.setdefault((name, kind, count), []).append(timed(client, work))
    return found


def by_mpi(folder, environment):
    found = {}
    for count in WORKERS:
        for kind, times in (("strong", 1), ("weak", count)):
            path = folder / "plate.npy"
            np.save(path, np.random.default_rng(4).random((SIDE * times, SIDE), np.float32))
            command = [bench_ranks.mpiexec(), "-n", count, sys.executable, "-c", RANKS]
            command += [path, STEPS, ROUNDS + 1]
            done = subprocess.run(
                [*map(str, command)],
                env={**environment, "CUPOLA_CPU_THREADS": "1"},
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            found["heat by MPI", kind, count] = json.loads(done.stdout)
    return found


def rows_of(found):
    """A row for each case, with the time of one worker as its floor."""
    rows, base = [], {}
    for (name, kind, count), rounds in found.items():
        seconds, shares = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
        base.setdefault((name, kind), seconds)
        what = "not computing" if "Dask" in name or name == "pipeline" else "in exchanges"
        rows.append(
            records.Row(
                f"{name}, {kind}, {count} worker{'s' * (count > 1)}",
                seconds,
                "s",
                None if count == 1 else f"{name}, {kind}, 1 worker",
                None if count == 1 else base[name, kind],
                None if count == 1 else seconds / base[name, kind],
                note=f"{shares * 100:.0f} % of the workers' time {what}",
            )
        )
    return rows


def run():
    with tempfile.TemporaryDirectory() as folder:
        environment = bench_heat.built(Path(folder))
        sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
        return rows_of(by_dask(environment)) + rows_of(by_mpi(Path(folder), environment))


if __name__ == "__main__":
    records.main(__file__, __doc__, run)

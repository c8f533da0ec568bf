"""Messages of device arrays between two MPI ranks, beside mpi4py's of NumPy arrays

python benchmarks/bench_ranks.py [--out FOLDER]

Both ranks are processes of this host. `mpiexec` is that of the environment, or the system's.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import records

PROGRAM = """
import json, sys, time
import numpy as np, cupola
from cupola.mpi import Communicator
from mpi4py import MPI

world = MPI.COMM_WORLD
device = Communicator(world)
other = 1 - world.rank

def echo(comm, array, count):
    world.Barrier()
    start = time.perf_counter()
    for _ in range(count):
        if world.rank:
            comm.Recv(array, other); comm.Send(array, other)
        else:
            comm.Send(array, other); comm.Recv(array, other)
    if isinstance(array, cupola.Array):
        cupola.Device().synchronize()
    return (time.perf_counter() - start) / count / 2

found = {}
for title, size, count in (("8 bytes", 2, 2000), ("64 KiB", 1 << 14, 500), ("64 MiB", 1 << 24, 5)):
    host = np.ones(size, np.float32)
    there = cupola.to_device(host)
    for name, comm, array in (("NumPy, mpi4py", world, host), ("device arrays", device, there)):
        echo(comm, array, 2)
    for _ in range(5):
        for name, comm, array in (("NumPy, mpi4py", world, host), ("device arrays", device, there)):
            spans = found.setdefault(title, {}).setdefault(name, [])
            spans.append(echo(comm, array, count))
if world.rank == 0:
    print(json.dumps(found))
"""
TRANSPORTS = {"pointers": {}, "staged": {"CUPOLA_MPI_DEVICE_POINTERS": "0"}}


def mpiexec():
    """The path of mpiexec, that of the environment before the system's; None if there is none."""
    return shutil.which("mpiexec", path=f"{Path(sys.prefix, 'bin')}:{os.environ['PATH']}")


def run():
    rows = []
    for transport, variables in TRANSPORTS.items():
        done = subprocess.run(
            [mpiexec(), "-n", "2", sys.executable, "-c", PROGRAM],
            env={**os.environ, **variables},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        for title, spans in json.loads(done.stdout).items():
            rows += records.titled(
                f"a message of {title}, {transport}", records.medians(spans, "us")
            )
    return rows


if __name__ == "__main__":
    records.main(__file__, __doc__, run)

"""examples/heat on two ranks of MPI, a device each, beside one device

python benchmarks/bench_heat_ranks.py [--out FOLDER] [--rounds N]

The bits of both are compared. Where mpi4py or mpiexec is not installed, nothing is measured, and
the exit status is 77.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import records
from bench_heat import ROOT, built
from bench_ranks import mpiexec

import cupola

NOT_RUN = 77  # exit status
RANKS = 2
PROGRAM = """
import json, sys, time
import numpy as np
from mpi4py import MPI
import cupola, heat
from cupola.mpi import Communicator
from heat.ranks import Band

size, steps, rounds = map(int, sys.argv[1:])
plate = np.random.default_rng(1).random((size, size), np.float32)
device = cupola.Device(MPI.COMM_WORLD.rank % len(cupola.devices()))
with device, Communicator(MPI.COMM_WORLD) as comm:
    whole, band = heat.Plate(plate), Band(comm, plate)
    def one():
        if comm.rank == 0:
            whole.advance(steps)
        device.synchronize()
    def both():
        band.advance(steps)
        device.synchronize()
    for call in (one, both):
        call()
    if comm.rank:
        whole.advance(steps)
    expected = whole.temperatures.get()[band.first : band.last]
    assert np.array_equal(band.temperatures.get(), expected), f"rank {comm.rank} differs"
    seconds = {"one device": [], "ranks": []}
    for _ in range(rounds):
        for name, call in zip(seconds, (one, both)):
            comm.Barrier()
            start = time.perf_counter()
            call()
            comm.Barrier()
            seconds[name].append((time.perf_counter() - start) / steps)
    if comm.rank == 0:
        print(json.dumps({"seconds": seconds, "transport": comm.transport.name}), flush=True)
"""


def launcher():
    """The path of mpiexec; the program ends where MPI is not installed."""
    found = mpiexec()
    if found is None or importlib.util.find_spec("mpi4py") is None:
        print("not run: mpi4py or mpiexec is not installed")
        sys.exit(NOT_RUN)
    return found


def measured(place, environment, size, steps, rounds):
    program = place / "program.py"
    program.write_text(PROGRAM)
    command = [launcher(), "-n", str(RANKS), sys.executable, "-m", "mpi4py", program]
    done = subprocess.run(
        [*command, *map(str, (size, steps, rounds))], cwd=place, env=environment,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"the ranks ended with the status {done.returncode}: {done.stdout[-1000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def run(rounds):
    """Rows of a step, and the way of messages."""
    cpu = cupola.driver.info().kind == "cpu"
    rows, ways = [], set()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        environment = built(place)
        for size, steps in ((256, 20),) if cpu else ((1024, 1000), (8192, 200), (16384, 100)):
            answer = measured(place, environment, size, steps, rounds)
            ways.add(answer["transport"])
            one, ranks = answer["seconds"].values()
            seconds = {"one device": one, f"{RANKS} ranks": ranks}
            made = records.medians(seconds, "us")
            rows += records.titled(f"{size} x {size} points of float32, a step", made)
    return rows, ways


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not (ROOT / "examples/heat/heat/ranks.py").is_file():
        sys.exit("heat.ranks does not exist: examples/heat has no ranks.py")
    launcher()
    if len(cupola.devices()) < RANKS:
        sys.exit(f"{RANKS} devices are needed, and there is {len(cupola.devices())}")
    rows, ways = run(options.rounds)
    name, about = records.cupola_device()
    records.publish(
        options.out, __file__, __doc__, rows, [*records.RUNTIME, "examples/heat"],
        device=f"{RANKS} x {name}", extra={**about, "messages": ", ".join(sorted(ways))},
    )  # fmt: skip


if __name__ == "__main__":
    main()

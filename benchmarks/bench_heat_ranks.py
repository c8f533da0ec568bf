"""examples/heat on two ranks of MPI, a device each, beside one device

python benchmarks/bench_heat_ranks.py [--out FOLDER] [--rounds N]

The bits of both are compared. Where the MPI library takes the device's memory as it is, ranks that
stage their messages are measured, too. Where mpi4py or mpiexec is not installed, nothing is
measured, and the exit status is 77.
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

def main(size, steps, rounds):
    plate = np.random.default_rng(1).random((size, size), np.float32)
    device = cupola.Device(MPI.COMM_WORLD.rank % len(cupola.devices()))
    with device, Communicator(MPI.COMM_WORLD) as comm:
        comms = [comm]
        if not comm.transport.staged:
            comms.append(Communicator(MPI.COMM_WORLD, device_pointers=False))
        whole, calls = heat.Plate(plate), {}
        def one():
            if comm.rank == 0:
                whole.advance(steps)
            device.synchronize()
        calls["one device"] = one
        one()
        if comm.rank:
            whole.advance(steps)
        for each in comms:
            band = Band(each, plate)
            def both(band=band):
                band.advance(steps)
                device.synchronize()
            calls[each.transport.name] = both
            both()
            expected = whole.temperatures.get()[band.first : band.last]
            right = np.array_equal(band.temperatures.get(), expected)
            assert right, f"rank {comm.rank} differs, {each.transport.name}"
        seconds = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                comm.Barrier()
                start = time.perf_counter()
                call()
                comm.Barrier()
                seconds[name].append((time.perf_counter() - start) / steps)
        if comm.rank == 0:
            print(json.dumps([comm.transport.library, seconds]), flush=True)

main(*map(int, sys.argv[1:]))
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
    """Rows of a step, of one device and of the ranks by transport; and the MPI library."""
    cpu = cupola.driver.info().kind == "cpu"
    rows = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        environment = built(place)
        for size, steps in ((256, 20),) if cpu else ((1024, 1000), (8192, 200), (16384, 100)):
            library, spans = measured(place, environment, size, steps, rounds)
            seconds = {
                name if name == "one device" else f"{RANKS} ranks, {name}": times
                for name, times in spans.items()
            }
            made = records.medians(seconds, "us")
            rows += records.titled(f"{size} x {size} points of float32, a step", made)
    return rows, library


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not (ROOT / "examples/heat/heat/ranks.py").is_file():
        sys.exit("heat.ranks does not exist: examples/heat has no ranks.py")
    launcher()
    if len(cupola.devices()) < RANKS:
        sys.exit(f"{RANKS} devices are needed, and there is {len(cupola.devices())}")
    rows, library = run(options.rounds)
    name, about = records.cupola_device()
    records.publish(
        options.out, __file__, __doc__, rows,
        device=f"{RANKS} x {name}", extra={**about, "MPI": library},
    )  # fmt: skip


if __name__ == "__main__":
    main()

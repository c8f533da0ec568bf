"""examples/heat on two workers of Dask, a device each, beside one device

python benchmarks/bench_heat_blocks.py [--out FOLDER] [--rounds N]

Both begin and end with a plate of the host, and their bits are compared. Where Dask is not
installed, nothing is measured, and the exit status is 77.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import records
from bench_heat import ROOT, built

import cupola

NOT_RUN = 77  # exit status
WORKERS = 2
PROGRAM = """
import json, sys, time
import numpy as np
import heat
from distributed import Client
from cupola.distributed import LocalDeviceCluster
from heat import blocks

def main(size, steps, rounds):
    plate = np.random.default_rng(1).random((size, size), np.float32)
    with (
        LocalDeviceCluster(devices=[0, 1], dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        def one():
            return heat.spread(plate, steps)
        def both():
            return blocks.spread(plate, steps, client, rows=size // 4, out=np.empty_like(plate))
        assert np.array_equal(one(), both()), "the plates differ"
        seconds = {"one device": [], "workers": []}
        for _ in range(rounds):
            for name, call in zip(seconds, (one, both)):
                start = time.perf_counter()
                call()
                seconds[name].append((time.perf_counter() - start) / steps)
    print(json.dumps(seconds), flush=True)

if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
"""


def measured(place, environment, size, steps, rounds):
    """Seconds of a step, by device and workers."""
    program = place / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, program, *map(str, (size, steps, rounds))]
    done = subprocess.run(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"the program ended with the status {done.returncode}: {done.stdout[-1000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def run(rounds):
    cpu = cupola.driver.info().kind == "cpu"
    rows = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        environment = built(place)
        for size, steps in ((256, 16),) if cpu else ((4096, 128), (16384, 128)):
            one, both = measured(place, environment, size, steps, rounds).values()
            made = records.medians({"one device": one, f"{WORKERS} workers": both}, "us")
            rows += records.titled(f"{size} x {size} points of float32, a step", made)
    return rows


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not (ROOT / "examples/heat/heat/blocks.py").is_file():
        sys.exit("heat.blocks does not exist: examples/heat has no blocks.py")
    if importlib.util.find_spec("distributed") is None:
        print("not run: dask and distributed are not installed")
        sys.exit(NOT_RUN)
    if len(cupola.devices()) < WORKERS:
        sys.exit(f"{WORKERS} devices are needed, and there is {len(cupola.devices())}")
    rows = run(options.rounds)
    name, about = records.cupola_device()
    records.publish(
        options.out, __file__, __doc__, rows, [*records.RUNTIME, "examples/heat"],
        device=f"{WORKERS} x {name}", extra=about,
    )  # fmt: skip


if __name__ == "__main__":
    main()

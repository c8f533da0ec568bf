"""examples/heat on two workers of Dask, a device each, beside one device

python benchmarks/bench_heat_blocks.py [--out FOLDER] [--rounds N]

Rows "from the host and back" begin and end with a plate of the host, and their bits are compared.
Rows "steps alone" begin and end with a plate on the device or the workers. Where Dask is not
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
import cupola, heat
import numpy as np
from cupola.distributed import LocalDeviceCluster
from distributed import Client, wait
from heat import blocks

def main(size, steps, rounds):
    host = np.random.default_rng(1).random((size, size), np.float32)
    with (
        LocalDeviceCluster(devices=[0, 1], dashboard_address=None) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        def one():
            return heat.spread(host, steps)
        def both(on_device):
            out = np.empty_like(host)
            return blocks.spread(host, steps, client, on_device=on_device, out=out)
        def steps_of_one():
            there.advance(steps)
            cupola.Device().synchronize()
        def steps_of_both(plate):
            wait(blocks.spread(plate, steps, client))
            client.run(lambda: cupola.Device().synchronize())
        calls = {
            "from the host and back": {
                "one device": one,
                "workers, device blocks": lambda: both(True),
                "workers, host blocks": lambda: both(False),
            },
            "steps alone": {
                "one device": steps_of_one,
                "workers, device blocks": lambda: steps_of_both(on_devices),
                "workers, host blocks": lambda: steps_of_both(on_hosts),
            },
        }
        expected, *others = (call() for call in calls["from the host and back"].values())
        assert all(np.array_equal(expected, other) for other in others), "the plates differ"
        del expected, others
        there = heat.Plate(host)
        on_devices, on_hosts = (
            blocks.spread(host, 0, client, on_device=kind) for kind in (True, False)
        )
        seconds = {what: {name: [] for name in each} for what, each in calls.items()}
        for _ in range(rounds):
            for what, each in calls.items():
                for name, call in each.items():
                    start = time.perf_counter()
                    call()
                    seconds[what][name].append((time.perf_counter() - start) / steps)
    print(json.dumps(seconds), flush=True)

if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
"""


def measured(place, environment, size, steps, rounds):
    """Seconds of a step, by where the plate begins and ends, and by who computes."""
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
            for what, each in measured(place, environment, size, steps, rounds).items():
                times = {
                    name.replace("workers", f"{WORKERS} workers"): spans
                    for name, spans in each.items()
                }
                title = f"{size} x {size} points of float32, {what}, a step"
                rows += records.titled(title, records.medians(times, "us"))
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
        options.out, __file__, __doc__, rows,
        device=f"{WORKERS} x {name}", extra=about,
    )  # fmt: skip


if __name__ == "__main__":
    main()

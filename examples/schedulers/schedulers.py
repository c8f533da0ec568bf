# examples/schedulers/schedulers.py - two orders of work of one's own for cupola.pipeline.
"""One schedule in Python alone, one in ring.pyx without Python's lock, beside cupola's own.

python examples/schedulers/schedulers.py [--elements N]
"""

import argparse
import importlib
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import cupola

HERE = pathlib.Path(__file__).parent


def first_come(pipeline):
    """Each chunk goes into the slot whose work is done first, rather than into the next in turn.

    Python decides the order alone: every step is a call that lets go of its lock, and returns
    at once but for `fill` and `drain`, where memory is not page-locked.
    """
    free, busy = list(pipeline.slots), []
    for chunk in pipeline.chunks:
        if not free:
            # Where none is done yet, the one that has waited longest is nearest to it.
            slot = next((slot for slot in busy if slot.ready), busy[0])
            slot.drain()
            busy.remove(slot)
            free.append(slot)
        slot = free.pop()
        slot.fill(chunk)
        slot.upload()
        slot.launch()
        slot.download()
        busy.append(slot)
    for slot in busy:
        slot.drain()


def build():
    """ring.pyx as a module, by `cythonize -i` in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="cupola-schedulers-")
    shutil.copy(HERE / "ring.pyx", folder)
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "-i", "ring.pyx"]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}")
    sys.path.insert(0, folder)
    module = importlib.import_module("ring")
    shutil.rmtree(folder)
    return module


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=1 << 24)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()

    rng = np.random.default_rng(0)
    x, y = (rng.random(given.elements, np.float32) for _ in range(2))
    out = np.empty_like(x)
    saxpy = cupola.shipped_kernels()["saxpy"]
    schedules = {
        "cupola's own": None,
        "first_come, in Python": first_come,
        "ring.pyx, without Python's lock": build().schedule,
    }
    seconds = {name: [] for name in schedules}
    for _ in range(given.rounds):
        for name, schedule in schedules.items():
            out[:] = 0
            start = time.perf_counter()
            cupola.pipeline(
                saxpy,
                (x, y),
                out,
                arguments=(2.0, x, y, out, cupola.Chunk.length),
                schedule=schedule,
                memory=2 * x.nbytes,  # bytes of device memory: less than the arrays take
            )
            seconds[name].append(time.perf_counter() - start)
            assert np.array_equal(out, np.float32(2) * x + y)

    print(f"{given.elements} elements of two arrays through {cupola.Device().name}, checked\n")
    print("| schedule | ms | of cupola's own, % |")
    print("| --- | ---: | ---: |")
    own = seconds["cupola's own"]
    for name, all_of_them in seconds.items():
        speed = statistics.median(o / s for o, s in zip(own, all_of_them, strict=True))
        print(f"| {name} | {statistics.median(all_of_them) * 1e3:.1f} | {100 * speed:.1f} |")


if __name__ == "__main__":
    main()

# tests/test_ranks.py - bands of a plate on ranks of MPI, against the solver in NumPy, bit by bit.
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from heat import kernels
from test_heat import plate, solved

import cupola

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
from cupola.mpi import Communicator
from heat.ranks import Band

plates = np.load("plates.npz")
comm = Communicator(MPI.COMM_WORLD, piece=64)
for name in plates.files:
    whole = plates[name]
    for halo in (1, 2, 5):
        if len(whole) // comm.size < halo:
            continue
        band = Band(comm, whole, 0.23, halo)
        for steps in (7, 0, 6):
            band.advance(steps)
        own = comm.comm.gather(band.temperatures.get())
        if own is not None:
            np.save(f"{name}-{halo}.npy", np.concatenate(own))
"""

# A limit of memory that the whole plate exceeds, from when everything is loaded and has run once.
LIMITED = """
import resource, runpy, sys
import numpy as np
import cupola
from mpi4py import MPI
from cupola.mpi import Communicator
from heat.ranks import Band, write

comm = Communicator(MPI.COMM_WORLD)
small = Band(comm, np.zeros((64, 64)))
small.advance(3)
small.temperatures.get()
whole = np.load("large.npy", mmap_mode="r")
used = next(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith("VmData"))
limit = int(0.9 * whole.nbytes)
resource.setrlimit(resource.RLIMIT_DATA, (used * 1024 + limit,) * 2)
try:
    np.ones(whole.shape)
except MemoryError:
    pass
else:
    raise AssertionError("the whole plate fits")
band = Band(comm, whole)
band.advance(2)
write(band, "out.npy")
"""

WRONG = """
import numpy as np
from mpi4py import MPI
from cupola.mpi import Communicator
from heat.ranks import Band

def refused(text, function, *arguments):
    try:
        function(*arguments)
    except (TypeError, ValueError) as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no error: {text}")

comm = Communicator(MPI.COMM_WORLD)
plate = np.zeros((8, 8))
refused("got halo 1, and 2 rows on 3 ranks", Band, comm, plate[:2])
refused("got halo 3, and 8 rows on 3 ranks", Band, comm, plate, 0.2, 3)
refused("got halo 0", Band, comm, plate, 0.2, 0)
refused("rate is 0 to 0.25, got 0.3", Band, comm, plate, 0.3)
refused("two-dimensional float32 or float64, got int32", Band, comm, plate.astype(np.int32))
refused("float64 of shape (8,)", Band, comm, plate[0])
refused("steps is 0 or more, got -1", Band(comm, plate).advance, -1)
"""


def ranks(count, *arguments, folder):
    """Run Python on so many ranks; what it prints, and whether it succeeds."""
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.prefix) / "bin" / "mpiexec"
    command = [str(mpiexec), "-n", str(count), sys.executable, "-m", "mpi4py", *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "CUPOLA_CPU_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_by_themselves(dtype):
    start = plate((33, 41), dtype)
    kernel = getattr(kernels, f"advance_rows_{'float' if dtype == np.float32 else 'double'}")
    now = cupola.to_device(start)
    next_ = now.copy()
    for first, rows in ((1, 10), (11, 1), (12, 20)):
        kernel[(2, 3), (32, 8)](next_, now, first, rows, 41, 0.23)
    np.testing.assert_array_equal(next_.get(), solved(start, 1, 0.23))


@pytest.mark.parametrize("count", [1, 3])
def test_bands_are_what_numpy_computes(tmp_path, count):
    shapes = [(48, 64), (17, 9), (7, 5), (3, 3)]
    starts = {
        f"{rows}x{columns}{np.dtype(dtype).char}": plate((rows, columns), dtype)
        for rows, columns in shapes
        for dtype in (np.float32, np.float64)
    }
    np.savez(tmp_path / "plates.npz", **starts)
    done = ranks(count, "-c", PROGRAM, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = sorted(tmp_path.glob("*.npy"))
    assert len(found) == {1: 22, 3: 18}[count]
    for path in found:
        start = starts[path.stem.rpartition("-")[0]]
        np.testing.assert_array_equal(np.load(path), solved(start, 13, 0.23), path.stem)


@pytest.mark.skipif(cupola.driver.info().kind != "cpu", reason="a GPU's memory has no such limit")
def test_a_plate_larger_than_the_memory_of_a_rank(tmp_path):
    start = plate((4001, 2000), np.float64)
    np.save(tmp_path / "large.npy", start)
    done = ranks(3, "-c", LIMITED, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), solved(start, 2, 0.2))


def test_the_program(tmp_path):
    start = plate((50, 30), np.float32)
    np.save(tmp_path / "plate.npy", start)
    program = "-m", "heat.ranks", "plate.npy", "--steps", "10", "--halo", "3"
    done = ranks(3, *program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("10 steps of 50 x 30 points on 3 ranks in "), done.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), solved(start, 10, 0.2))


def test_wrong_plates(tmp_path):
    done = ranks(3, "-c", WRONG, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_error_ends_all_ranks(tmp_path):
    np.save(tmp_path / "plate.npy", np.zeros((2, 8), np.float32))
    done = ranks(3, "-m", "heat.ranks", "plate.npy", folder=tmp_path)
    assert done.returncode != 0 and "got halo 1, and 2 rows on 3 ranks" in done.stderr

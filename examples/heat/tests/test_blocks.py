# tests/test_blocks.py - plates in blocks on a cluster against a solver in NumPy, bit by bit.
import numpy as np
import pytest
from test_heat import ON_CPU, plate, solved

pytest.importorskip("distributed", reason="pip install 'heat[cluster]'")

import dask.array as da
from distributed import Client, LocalCluster
from heat import blocks

# Python with NumPy, Dask and cupola takes some 100 MB of it.
LIMIT = 200 << 20

pytestmark = pytest.mark.skipif(not ON_CPU, reason="each worker has a thread of the CPU device")


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=LIMIT,
            env={"CUPOLA_CPU_THREADS": "1"},
        ) as cluster,
        Client(cluster) as made,
    ):
        yield made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("depth", "steps"), [(1, 3), (4, 11), (8, 8), (8, 0)])
def test_it_is_what_numpy_computes(client, dtype, depth, steps):
    start = plate((70, 33), dtype)
    after = blocks.spread(start, steps, client, 0.23, rows=16, depth=depth)
    assert isinstance(after, da.Array) and after.dtype == dtype
    assert after.chunks[0] == (16, 16, 16, 22)
    np.testing.assert_array_equal(after.compute(), solved(start, steps, 0.23))


def test_dask_arrays(client):
    start = plate((64, 40), np.float32)
    after = blocks.spread(da.from_array(start, chunks=(16, 10)), 9, client, depth=4)
    np.testing.assert_array_equal(after.compute(), solved(start, 9, 0.2))


def test_what_is_refused(client):
    start = plate((64, 40), np.float32)
    for wrong in (dict(rows=4, depth=8), dict(depth=0)):
        with pytest.raises(ValueError, match="depth is"):
            blocks.spread(start, 9, client, **wrong)
    with pytest.raises(ValueError, match="time does not run back"):
        blocks.spread(start, -1, client)
    with pytest.raises(TypeError, match="two-dimensional"):
        blocks.spread(start[0], 1, client)


def test_a_plate_larger_than_a_workers_memory(client, tmp_path):
    limits = [
        one["memory_limit"] for one in client.scheduler_info(n_workers=-1)["workers"].values()
    ]
    shape = (13_000, 4_200)
    start = np.lib.format.open_memmap(tmp_path / "start.npy", "w+", np.float32, shape)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float32, shape)
    assert len(limits) == 2 and start.nbytes > max(limits)
    for row in range(0, shape[0], 1000):
        start[row : row + 1000] = np.random.default_rng(row).random((1000, shape[1]), np.float32)
    steps, ghosts = 2, 2
    assert blocks.spread(start, steps, client, rows=500, depth=2, out=out) is out
    for row in range(0, shape[0], 1000):
        low, high = max(row - ghosts, 0), min(row + 1000 + ghosts, shape[0])
        expected = solved(np.asarray(start[low:high]), steps, 0.2)[row - low :][:1000]
        np.testing.assert_array_equal(out[row : row + 1000], expected)

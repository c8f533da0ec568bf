# tests/test_blocks.py - plates in blocks on a cluster against a solver in NumPy, bit by bit.
import numpy as np
import pytest
from test_heat import ON_CPU, plate, solved

pytest.importorskip("distributed", reason="pip install 'heat[cluster]'")

import dask
import dask.array as da
from distributed import Client, wait
from heat import blocks

import cupola
from cupola.distributed import LocalDeviceCluster

# Python with NumPy, Dask and cupola takes some 100 MB of it.
LIMIT = 256 << 20
DEVICE_LIMIT = 24 << 20
# Values go to disk early: on the CPU device, those of the device are host memory, too.
EARLY = {"distributed.worker.memory.target": 0.25, "distributed.worker.memory.spill": 0.6}
KINDS = {True: cupola.Array, False: np.ndarray}


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set(EARLY),
        LocalDeviceCluster(
            devices=[0, 0],
            dashboard_address=":0",
            device_memory_limit=DEVICE_LIMIT,
            memory_limit=LIMIT if ON_CPU else "4GiB",
        ) as cluster,
        Client(cluster, direct_to_workers=True) as made,
    ):
        yield made


def on_host(after, on_device):
    """The plate as a NumPy array, after a look at the kind of its blocks."""
    found = after.compute()
    assert type(after._meta) is type(found) is KINDS[on_device]
    return found.get() if on_device else found


@pytest.mark.parametrize("on_device", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("depth", "steps"), [(1, 3), (4, 11), (8, 8), (8, 0)])
def test_it_is_what_numpy_computes(client, dtype, depth, steps, on_device):
    start = plate((70, 33), dtype)
    after = blocks.spread(start, steps, client, 0.23, rows=16, depth=depth, on_device=on_device)
    assert isinstance(after, da.Array) and after.dtype == dtype
    assert after.chunks[0] == (16, 16, 16, 22)
    np.testing.assert_array_equal(on_host(after, on_device), solved(start, steps, 0.23))


@pytest.mark.parametrize("on_device", [True, False])
def test_dask_arrays_stay_where_their_blocks_are(client, on_device):
    start = plate((64, 40), np.float32)
    given = da.from_array(start, chunks=(16, 10)).to_backend("cupola" if on_device else "numpy")
    after = blocks.spread(given, 9, client, depth=4)
    np.testing.assert_array_equal(on_host(after, on_device), solved(start, 9, 0.2))
    # The result goes on, in other blocks, and on the other side.
    after = blocks.spread(after, 9, client, rows=32, on_device=not on_device)
    assert after.chunks[0] == (32, 32)
    np.testing.assert_array_equal(on_host(after, not on_device), solved(start, 18, 0.2))


def test_a_host_array_is_split_over_the_workers_devices(client):
    start = plate((50, 20), np.float64)
    after = blocks.spread(start, 40, client)
    assert after.chunks[0] == (25, 25)
    np.testing.assert_array_equal(on_host(after, True), solved(start, 40, 0.2))
    small = plate((5, 20), np.float64)
    assert blocks.spread(small, 40, client).chunks[0] == (5,)
    out = np.empty_like(start)
    assert blocks.spread(start[:, ::-1], 40, client, depth=1, out=out) is out  # in several graphs
    np.testing.assert_array_equal(out, solved(start[:, ::-1], 40, 0.2))


def received(client):
    """The names of all tasks whose results came from another worker."""
    logs = client.run(
        lambda dask_worker: [
            key for one in dask_worker.transfer_incoming_log for key in one["keys"]
        ]
    )
    return {key if isinstance(key, str) else key[0] for log in logs.values() for key in log}


@pytest.mark.parametrize("on_device", [True, False])
def test_only_ghost_rows_travel(client, on_device):
    before = received(client)
    start = plate((128, 20), np.float32)
    after = blocks.spread(start, 30, client, rows=16, depth=3, on_device=on_device)
    wait(after)
    assert {name.split("-")[0] for name in received(client) - before} == {"top", "bottom"}
    np.testing.assert_array_equal(on_host(after, on_device), solved(start, 30, 0.2))


def test_what_is_refused(client):
    start = plate((64, 40), np.float32)
    for given in (start, da.from_array(start, chunks=(4, 40))):
        with pytest.raises(ValueError, match="depth is at most the rows of a block, got 8"):
            blocks.spread(given, 9, client, rows=4, depth=8)
    with pytest.raises(ValueError, match="depth is 1 or more"):
        blocks.spread(start, 9, client, depth=0)
    with pytest.raises(ValueError, match="time does not run back"):
        blocks.spread(start, -1, client)
    with pytest.raises(ValueError, match=r"rate is 0 to 0\.25, got 0\.3"):
        blocks.spread(start, 1, client, 0.3)
    for wrong in (start[0], start.astype(int), da.from_array(start.astype(int))):
        with pytest.raises(TypeError, match="two-dimensional float32 or float64"):
            blocks.spread(wrong, 1, client)


def test_an_error_of_a_block_is_raised(client):
    def fails(block):
        raise ArithmeticError("no such block")

    wrong = da.map_blocks(fails, da.zeros((64, 8), chunks=32), dtype=float)
    with pytest.raises(ArithmeticError, match="no such block"):
        blocks.spread(wrong, 9, client, out=np.empty((64, 8)))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Files of a plate before and after two steps."""
    shape, folder = (17_000, 4_000), tmp_path_factory.mktemp("large")
    start, after = (
        np.lib.format.open_memmap(folder / name, "w+", np.float32, shape)
        for name in ("start.npy", "after.npy")
    )
    for row in range(0, shape[0], 1000):
        start[row : row + 1000] = np.random.default_rng(row).random((1000, shape[1]), np.float32)
    for row in range(0, shape[0], 1000):
        low = max(row - 2, 0)
        after[row : row + 1000] = solved(start[low : row + 1002], 2, 0.2)[row - low :][:1000]
    return start, after


@pytest.mark.skipif(not ON_CPU, reason="the memory of workers is that of the CPU device")
@pytest.mark.parametrize("on_device", [True, False])
def test_a_plate_larger_than_a_workers_memory(client, large, tmp_path, on_device):
    def spilled():
        counts = client.run(lambda dask_worker: dask_worker.data.statistics().spilled)
        return sum(counts.values())

    start, expected = large
    limits = [
        one["memory_limit"] for one in client.scheduler_info(n_workers=-1)["workers"].values()
    ]
    assert len(limits) == 2 and start.nbytes > max(limits) > DEVICE_LIMIT
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", start.dtype, start.shape)
    before = spilled()
    given = dict(rows=250, depth=1, on_device=on_device, out=out)
    assert blocks.spread(start, 2, client, **given) is out
    assert (spilled() > before) == on_device
    np.testing.assert_array_equal(out, expected)

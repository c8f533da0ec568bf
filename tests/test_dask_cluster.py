"""Workers in processes of their own with a device each: blocks, transfers, spilling, launches."""

import asyncio
import contextlib
import os
import time

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, wait

import cupola
from cupola.distributed import Block, DevicePlugin, LocalDeviceCluster, map_blocks
from cupola.distributed.workers import worker_environment
from cupola.exceptions import ArgumentError, Error, LibraryError, OutOfMemoryError, UnknownNameError

MIB = 1 << 20
SOURCE = r"""
extern "C" __global__ void add(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
"""


@pytest.fixture(scope="module")
def cluster():
    """Two workers on the first device, which is the only one of a GPU's machine that is needed."""
    with LocalDeviceCluster(
        devices=[0, 0], device_memory_limit=4 * MIB, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def test_each_worker_has_one_device(client):
    def about():
        return len(cupola.devices()), cupola.Device().index, os.getpid()

    found = client.run(about)
    assert len(found) == 2 and len({pid for *_, pid in found.values()}) == 2
    assert all(one[:2] == (1, 0) for one in found.values())


def test_workers_import_nothing_of_their_own(client):
    """The serializers come by the entry point, in a worker's process, too."""

    def names():
        from distributed.protocol.serialize import dask_serialize

        return dask_serialize.dispatch(cupola.Array).__module__

    assert set(client.run(names).values()) == {"cupola.distributed.serialization"}


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_travel(client, order):
    host = np.array(np.arange(60.0).reshape(3, 4, 5), order=order)
    array = cupola.empty(host.shape, order=order)
    array.set(host)
    one, other = client.scheduler_info()["workers"]
    there = client.submit(lambda: array[:, ::2], workers=[one], pure=False)
    moved = client.submit(lambda x: (x + 1, x.flags), there, workers=[other])
    found, flags = moved.result()
    assert isinstance(found, cupola.Array)
    assert np.array_equal(found.get(), host[:, ::2] + 1)
    assert flags.c_contiguous  # packed on the way
    sent = client.scatter(array, workers=[one])
    (again,) = client.gather([client.submit(lambda x: x, sent, workers=[other])])
    assert np.array_equal(again.get(), host)
    assert again.flags.f_contiguous == (order == "F")


def test_sizes_reach_the_scheduler(client):
    future = client.submit(cupola.zeros, 100_000, pure=False)
    wait(future)
    assert client.run_on_scheduler(
        lambda dask_scheduler: dask_scheduler.tasks[future.key].nbytes
    ) == 800_000  # fmt: skip


def test_algorithms_between_workers(client):
    host = np.random.default_rng(1).normal(size=(60, 70))
    x = da.from_array(host, chunks=(20, 25)).to_backend("cupola").persist()
    for found, expected in [
        ((x - x.mean(axis=0)).std(axis=1), (host - host.mean(axis=0)).std(axis=1)),
        (x @ x.T, host @ host.T),
        (x.argmin(axis=0), host.argmin(axis=0)),
        (x.rechunk((7, 70)).cumsum(axis=0), host.cumsum(axis=0)),
        (da.median(x, axis=1), np.median(host, axis=1)),
    ]:
        result = found.compute()
        assert isinstance(result, cupola.Array)
        np.testing.assert_allclose(result.get(), expected, rtol=1e-12, atol=1e-12)


def test_the_backend_draws_on_the_workers(client):
    with dask.config.set({"array.backend": "cupola"}):
        x = da.random.default_rng(3).normal(size=(200, 200), chunks=100)
        found = x.map_blocks(lambda block: cupola.full((1, 1), type(block) is cupola.Array))
        assert found.compute().get().all()
        assert abs(float(x.mean().compute())) < 0.05


def test_more_than_the_devices_limit(client):
    """16 MiB of blocks where two workers keep 4 MiB each; the rest is on the host."""
    x = da.arange(2 * MIB, chunks=MIB // 8, dtype="f8").to_backend("cupola").persist()
    wait(x)
    statistics = client.run(lambda dask_worker: dask_worker.data.statistics()).values()
    assert sum(one.spilled for one in statistics) >= 6
    assert all(one.device_bytes <= 4 * MIB for one in statistics)
    assert int((x + 1).sum().compute()) == MIB * (2 * MIB + 1)
    statistics = client.run(lambda dask_worker: dask_worker.data.statistics()).values()
    assert sum(one.restored for one in statistics) > 0


def test_a_full_device_names_the_worker(client):
    with pytest.raises(OutOfMemoryError, match=r"worker tcp://.* use smaller chunks"):
        client.submit(cupola.empty, 1 << 45, pure=False).result()


def test_launches_on_blocks(client):
    add = cupola.compile(SOURCE)["add"]
    host = np.arange(100_000, dtype="f4")
    x = da.from_array(host, chunks=9_000)
    y = x.to_backend("cupola").persist()
    found = map_blocks(add, x, y).compute()
    assert np.array_equal(found.get(), 2 * host)
    z = map_blocks(add, x, y, arguments=[x, y, Block.output, lambda block: None])
    with pytest.raises(Error, match=r"add: block \(\d+,\) on worker tcp://.*argument 3"):
        z.compute()


def test_a_worker_with_another_cupola(client):
    plugin = DevicePlugin()
    client.register_plugin(plugin, name="again")
    plugin.expected["version"] = "0.0.1"
    with pytest.raises(LibraryError, match=r"worker tcp://.* install cupola==0\.0\.1"):
        client.register_plugin(plugin, name="other")
    client.unregister_worker_plugin("other")
    client.unregister_worker_plugin("again")


FAULT = """
extern "C" __global__ void fault(const float* x, float* out, int n) { *(volatile int*)16 = 1; }
extern "C" __global__ void twice(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}
"""


@pytest.mark.cpu_only("a fault ends the context of a GPU that other tests use")
def test_a_worker_whose_device_is_lost_restarts(client):
    module = cupola.compile(FAULT)
    before = set(client.run(os.getpid).values())
    x = da.ones(100, dtype="f4", chunks=100)
    with pytest.raises(cupola.exceptions.Error, match=r"fault: block \(0,\) on worker"):
        map_blocks(module["fault"], x).compute()
    cluster_processes(client, before)
    found = map_blocks(module["twice"], da.ones(400, dtype="f4", chunks=50)).compute()
    assert (found.get() == 2).all()


def cluster_processes(client, before):
    """Wait until one of the processes has been replaced."""
    end = time.monotonic() + 60
    while True:
        assert time.monotonic() < end, "no worker was restarted"
        with contextlib.suppress(OSError):
            now = set(client.run(os.getpid).values())
            if len(now) == len(before) and now != before:
                return
        time.sleep(0.1)


def test_wrong_options():
    for options, message in [
        ({"devices": 2}, "a list of device numbers"),
        ({"devices": []}, "names no device"),
        ({"n_workers": 2}, "choose the workers with devices="),
        ({"device_memory_limit": 0}, "at least 1 byte"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            LocalDeviceCluster(**options)
    with pytest.raises(UnknownNameError, match="there is no device 77"):
        LocalDeviceCluster(devices=[0, 77])


def test_new_workers_take_free_devices(cluster):
    names = list(cluster.worker_spec)
    first = {name: cluster._places[name] for name in names}
    assert sorted(first.values()) == [0, 1]
    specs = dict(cluster.worker_spec)
    del cluster.worker_spec[names[0]]  # as when it is scaled down
    try:
        ((name, _),) = cluster.new_worker_spec().items()
        assert cluster._places[name] == first[names[0]]
    finally:
        cluster.worker_spec.clear()
        cluster.worker_spec.update(specs)


def test_a_cluster_in_a_coroutine():
    async def run():
        options = {"dashboard_address": ":0", "asynchronous": True}
        async with (
            LocalDeviceCluster(devices=[0], **options) as cluster,
            Client(cluster, asynchronous=True) as client,
        ):
            return await client.submit(lambda: float(cupola.ones(10).sum()))

    assert asyncio.run(run()) == 10


@pytest.mark.parametrize("threads", [None, "7"])
def test_the_environment_of_a_worker_on_the_cpu_device(monkeypatch, threads):
    info = cupola.driver.info()._replace(kind="cpu")
    monkeypatch.setattr("cupola.distributed.workers.driver.info", lambda: info)
    monkeypatch.delenv("CUPOLA_CPU_THREADS", raising=False)
    if threads:
        monkeypatch.setenv("CUPOLA_CPU_THREADS", threads)
    expected = threads or str(max(1, len(os.sched_getaffinity(0)) // 2))
    found = worker_environment(1, 2)
    assert found == {"CUPOLA_CPU_DEVICES": "1", "CUPOLA_CPU_THREADS": expected}


@pytest.mark.parametrize(
    ("visible", "expected"), [(None, "1"), ("", "1"), ("3, 5", "5"), ("GPU-a,GPU-b", "GPU-b")]
)
def test_the_visible_device_of_a_worker_on_a_gpu(monkeypatch, visible, expected):
    info = cupola.driver.info()._replace(kind="cuda")
    monkeypatch.setattr("cupola.distributed.workers.driver.info", lambda: info)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert worker_environment(1, 2) == {"CUDA_VISIBLE_DEVICES": expected}

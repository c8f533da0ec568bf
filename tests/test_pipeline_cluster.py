"""Pipelines on a Dask cluster: the same results as here, whatever happens to the workers."""

import dataclasses
import logging
import os
import pickle
import random
import signal
import sys
import threading
import time
from pathlib import Path

import cluster
import distributed
import images
import numpy as np
import pytest
from distributed import get_worker
from pipeline_kernels import SOURCE, numbers
from working import refused

import cupola
import cupola.distributed
from cupola import Chunk
from cupola.chunks.file_parts import FilePart, OtherFileError, file_part

BENCHMARKS = str(Path(__file__).resolve().parents[1] / "benchmarks")
sys.path.append(BENCHMARKS)
import cluster_memory  # noqa: E402

pytestmark = pytest.mark.cpu_only("workers that are killed hold no GPU")
# Workers that are killed; the long run of 20 sets the variable.
KILLS = int(os.environ.get("CUPOLA_TEST_KILLS", "3"))


@pytest.fixture(scope="module")
def client(driver):
    with cluster.client(2) as made:
        yield made


@pytest.fixture(scope="module")
def odd(driver, tmp_path_factory):
    """A client of one worker with another device and another version of a package."""
    folder = tmp_path_factory.mktemp("newer")
    package(folder, "3.1")
    variables = {"CUPOLA_SYNC": "1", "CUPOLA_CPU_COMPUTE_CAPABILITY": "7.5"}
    with cluster.client(1, env=variables) as made:
        made.register_plugin(OnPath(str(folder)))
        yield made


class OnPath(distributed.WorkerPlugin):
    """Puts a folder on each worker's path."""

    def __init__(self, folder):
        self.folder = folder

    def setup(self, worker):
        sys.path.insert(0, self.folder)


def package(folder, version):
    """A package that has the kernel `scale`."""
    there = folder / "tests_client_package"
    there.mkdir()
    (there / "__init__.py").write_text(f"__version__ = {version!r}\n")
    (there / "scale.ptx").write_text(f"{images.SCALE.read_text()}// {version}\n")


@pytest.fixture(scope="module")
def module(driver):
    return cupola.load(images.compiled("pipeline.ptx", SOURCE, "-ptx", "-arch=compute_75"))


def test_results_are_those_of_one_process(client, module):
    for rows, chunk in ((1000, 100), (1001, 70), (1, 5), (5000, None)):
        x, out = numbers(rows), np.zeros(rows, np.int32)
        assert cupola.pipeline(module["add"], x, out, chunk=chunk, client=client) is out
        np.testing.assert_array_equal(out, x + 1)
    empty = np.zeros(0, np.int32)
    assert cupola.pipeline(module["add"], empty, empty.copy(), client=client).size == 0


def test_an_array_is_changed_in_place(client, module):
    x = numbers(1000)
    before = x.copy()
    cupola.pipeline(module["add_in_place"], x, x, chunk=30, client=client)
    np.testing.assert_array_equal(x, before + 1)


def test_arguments_are_those_of_the_whole_pipeline(client, module):
    rows, width = 301, 3
    x = np.random.default_rng(2).normal(size=(rows, width)).astype(np.float32)
    mask, weights = np.arange(rows) % 3 > 0, np.array([2, 3, 5], np.float32)
    there, results = cupola.to_device(weights), []
    for given in ({}, {"client": client}):
        sums, counts = np.empty(rows), np.empty((rows, 2), np.int16)
        cupola.pipeline(
            module["rows"],
            (x, mask),
            (sums, counts),
            arguments=(x, mask, there, sums, counts, Chunk.length, width, Chunk.start),
            chunk=20,
            threads=lambda chunk: chunk.stop - chunk.start,
            **given,
        )
        results.append((sums, counts))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(results[1][1][:, 1], np.arange(rows) % 1000)


def test_functions_get_chunks_of_the_whole_pipeline(client):
    x, out = numbers(400, 2).T[::-1].T, np.zeros((400, 3), np.int64)  # x is in no C order

    def work(chunk, stream, inputs, outputs):
        assert cupola.Stream.current() == stream and inputs[0].shape == (chunk.length, 2)
        outputs[0][:, 0].fill(chunk.index)
        outputs[0][:, 1].fill(chunk.start)
        outputs[0][:, 2].set(inputs[0][:, 1].astype(np.int64))

    cupola.pipeline(work, x, out, chunk=30, client=client)
    np.testing.assert_array_equal(out[:, 0], np.arange(400) // 30)
    np.testing.assert_array_equal(out[:, 1], np.arange(400) // 30 * 30)
    np.testing.assert_array_equal(out[:, 2], x[:, 1])


def test_files_are_inputs_and_outputs(client, module, tmp_path):
    x = np.memmap(tmp_path / "in", np.int32, "w+", shape=10_000)
    x[:] = numbers(10_000)
    out = np.memmap(tmp_path / "out", np.int32, "w+", shape=10_000)
    cupola.pipeline(module["add"], x, out, chunk=900, client=client)
    np.testing.assert_array_equal(out, np.asarray(x) + 1)


@pytest.mark.parametrize("first", [0, 3])
def test_rows_of_a_mapped_file_are_a_place_in_it(first, tmp_path):
    x = np.memmap(tmp_path / "in", np.int32, "w+", offset=4096 * first + 12, shape=(2000, 3))
    x[:] = np.arange(6000).reshape(2000, 3)
    for array in (x, x[5:], np.asarray(x)[1500:], x.reshape(-1)):
        found = file_part(array).rows(2, 5).open()
        assert isinstance(found, np.memmap) and not found.flags.writeable
        np.testing.assert_array_equal(found, array[2:5])
    with pytest.raises(OtherFileError):
        dataclasses.replace(file_part(x), changed=1).open()
    with pytest.raises(OtherFileError):
        dataclasses.replace(file_part(x), path=str(tmp_path / "none")).open()
    assert file_part(x[:, :2]) is None and file_part(x[::2]) is None
    assert file_part(np.zeros(5)) is None and file_part(x[:0]) is None
    private = np.memmap(tmp_path / "in", np.int32, "c", shape=(100,))
    assert file_part(private) is None
    (tmp_path / "in").rename(tmp_path / "moved")
    (tmp_path / "in").write_bytes((tmp_path / "moved").read_bytes())
    assert file_part(x) is None


def test_a_mapped_input_is_sent_as_a_place(client, module, tmp_path, monkeypatch):
    x = np.memmap(tmp_path / "in", np.int32, "w+", shape=10_000)
    x[:] = numbers(10_000)
    sent, scattered = [], []
    scatter, submit = distributed.Client.scatter, distributed.Client.submit

    def noted(self, data, **options):
        scattered.extend(data)
        return scatter(self, data, **options)

    def submitted(self, function, published, span, given, **options):
        sent.append(given)
        return submit(self, function, published, span, given, **options)

    monkeypatch.setattr(distributed.Client, "scatter", noted)
    monkeypatch.setattr(distributed.Client, "submit", submitted)
    out = np.zeros(10_000, np.int32)
    cupola.pipeline(module["add"], x, out, chunk=900, client=client)
    np.testing.assert_array_equal(out, np.asarray(x) + 1)
    assert sent and all(type(one[0]) is FilePart for one in sent) and not scattered
    del sent[:]
    # A worker that does not see this file gets the elements.
    monkeypatch.setattr(
        "cupola.chunks.cluster.file_part",
        lambda array: dataclasses.replace(file_part(array), path=str(tmp_path / "none")),
    )
    out = np.zeros(10_000, np.int32)
    cupola.pipeline(module["add"], x, out, chunk=900, client=client)
    np.testing.assert_array_equal(out, np.asarray(x) + 1)
    assert type(sent[0][0]) is FilePart and isinstance(scattered[-1][0], np.ndarray)
    # In place, a worker must not read what the chunk of another worker changed.
    cupola.pipeline(module["add_in_place"], x, x, chunk=900, client=client)
    np.testing.assert_array_equal(x, out)


def test_a_chunk_longer_than_the_arrays(client, module):
    x, out = numbers(1000), np.zeros(1000, np.int32)
    cupola.pipeline(module["add"], x, out, chunk=10**20, client=client)
    np.testing.assert_array_equal(out, x + 1)


def test_progress_is_that_of_the_first_rows(client, module):
    x, out, seen = numbers(1050), np.zeros(1050, np.int32), []

    def progress(done, rows):
        np.testing.assert_array_equal(out[:done], x[:done] + 1)
        seen.append((done, rows))

    cupola.pipeline(module["add"], x, out, chunk=100, streams=1, progress=progress, client=client)
    assert seen == [(min(100 * i, 1050), 1050) for i in range(1, 12)]


class Enough(Exception):
    pass


@pytest.mark.parametrize("error", [Enough, KeyboardInterrupt])
def test_what_was_sent_is_cancelled(client, error):
    x, out = numbers(1000), np.zeros(1000, np.int32)

    def slow(chunk, stream, inputs, outputs):
        time.sleep(0.05)
        outputs[0].set(inputs[0])

    def progress(done, rows):
        raise error

    with pytest.raises(error):
        cupola.pipeline(slow, x, out, chunk=10, streams=1, progress=progress, client=client)
    end = time.monotonic() + 20
    while any(client.processing().values()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(client.processing().values())
    plugins = client.run(lambda dask_worker: list(dask_worker.plugins))
    assert not [name for names in plugins.values() for name in names if "cupola" in name]


# -- errors -----------------------------------------------------------------------------------


def test_an_error_names_chunk_and_worker(client, tmp_path):
    x, out, runs = numbers(100), np.zeros(100, np.int32), tmp_path / "runs"

    def fails(chunk, stream, inputs, outputs):
        if chunk.index == 6:
            with open(runs, "a") as file:
                file.write("run\n")
            raise OSError("no more")

    with refused(cupola.ChunkError, saying=("chunk 6 (rows 60 to 69)", "no more")) as caught:
        cupola.pipeline(fails, x, out, chunk=10, client=client)
    assert caught.value.first == caught.value.last == Chunk(6, 60, 70)
    assert type(caught.value.__cause__) is OSError
    assert any(address in str(caught.value) for address in client.nthreads())
    pids = client.run(os.getpid).values()
    assert any(f"(process {number} on " in str(caught.value) for number in pids)
    assert runs.read_text() == "run\n"  # an error of the work is not retried


def test_a_fault_of_a_kernel_is_one_of_a_chunk(odd, module):
    x, out = numbers(100), np.zeros(100, np.int32)
    arguments = (x, out, Chunk.start, Chunk.length, 55)
    with refused(cupola.ChunkError, saying=("rows 50 to 59", "worker")) as caught:
        cupola.pipeline(module["fault"], x, out, arguments=arguments, chunk=10, client=odd)
    assert isinstance(caught.value.__cause__, cupola.DriverError)


def test_wrong_arguments_are_refused(client, module):
    x, out = numbers(10), np.zeros(10, np.int32)
    add = module["add"]
    for arguments in ((x, out), (x, out, 1.5), (x, numbers(10), 5)):
        with refused(cupola.ArgumentError, saying="argument"):
            cupola.pipeline(add, x, out, arguments=arguments, client=client)
    for given, words in (
        (dict(devices=0), "devices="),
        (dict(schedule=print), "schedule="),
        (dict(retries=-1), "retries="),
        (dict(retries=True), "retries="),
        (dict(worker_timeout="long"), "worker_timeout="),
        (dict(worker_timeout=-1), "worker_timeout="),
        (dict(chunk=0), "chunk="),
        (dict(streams=0), "streams="),
        (dict(memory=0), "memory="),
        (dict(staging="no"), "staging="),
        (dict(progress=5), "progress="),
        (dict(client=5), "distributed.Client"),
    ):
        with refused(cupola.ArgumentError, saying=words):
            cupola.pipeline(add, x, out, **{"client": client, **given})
    for given in (dict(retries=1), dict(worker_timeout=1)):
        with refused(cupola.ArgumentTypeError, saying="client="):
            cupola.pipeline(add, x, out, **given)


def test_a_full_device(client):
    x, out = numbers(100), np.zeros(100, np.int32)

    def greedy(chunk, stream, inputs, outputs):
        cupola.empty(1 << 46, np.uint8)

    with refused(cupola.ChunkError, saying=("worker tcp://", "smaller chunk=")) as caught:
        cupola.pipeline(greedy, x, out, chunk=10, client=client)
    assert isinstance(caught.value.__cause__, cupola.OutOfMemoryError)


# -- workers that end -------------------------------------------------------------------------


def slow(chunk, stream, inputs, outputs):
    time.sleep(0.02)
    outputs[0][...] = inputs[0] * 2 + chunk.start


def test_workers_are_killed(client):
    """Each time one, at a random moment of a pipeline; its nanny starts another."""
    moments, victim = random.Random(34), None
    for number in range(KILLS):
        victim = moments.choice(cluster.processes(client, 2, without=victim))
        x = numbers(2000 + number)
        result = x if number % 2 else np.zeros_like(x)  # in place, too
        expected = 2 * x + np.arange(len(x)) // 40 * 40
        seen, at = [], moments.randrange(0, 1800)
        timer = threading.Timer(moments.uniform(0, 0.03), os.kill, (victim, signal.SIGKILL))

        def progress(done, rows, seen=seen, at=at, timer=timer):
            seen.append(done)
            if done >= at and not timer.ident:
                timer.start()

        given = dict(chunk=40, streams=1, client=client, progress=progress)
        cupola.pipeline(slow, x, result, **given)
        assert timer.finished.is_set()
        np.testing.assert_array_equal(result, expected)
        assert seen == [min(40 * i, len(x)) for i in range(1, -(-len(x) // 40) + 1)]
    cluster.processes(client, 2, without=victim)


def test_a_killed_worker_loses_no_places_in_files(client, tmp_path):
    """The scheduler logs an error where scattered data is lost; a place in a file is not."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger("distributed.scheduler")
    x = np.memmap(tmp_path / "in", np.int32, "w+", shape=2000)
    x[:] = numbers(2000)
    out, victim = np.zeros(2000, np.int32), None
    logger.addHandler(handler)
    try:
        for _ in range(3):
            victim = random.choice(cluster.processes(client, 2, without=victim))
            timer = threading.Timer(0.05, os.kill, (victim, signal.SIGKILL))

            def progress(done, rows, timer=timer):
                if done >= 200 and not timer.ident:
                    timer.start()

            cupola.pipeline(slow, x, out, chunk=40, streams=1, client=client, progress=progress)
            np.testing.assert_array_equal(out, 2 * x + np.arange(2000) // 40 * 40)
    finally:
        logger.removeHandler(handler)
    assert not [line for line in lines if "lose scattered data" in line], lines
    assert any("Remove worker" in line or "Removing worker" in line for line in lines), lines


@pytest.fixture(scope="module")
def breaking(driver):
    """A client of workers that Dask does not start again, since they end at once or lose it."""
    with cluster.client(2) as made:
        yield made


def test_no_worker_is_left(odd):
    x, out = numbers(100), np.zeros(100, np.int32)
    odd.cluster.scale(0)
    while odd.nthreads():
        time.sleep(0.1)
    with refused(cupola.ChunkError, saying=("has had no worker for 1 s", "start workers")):
        cupola.pipeline(copied, x, out, client=odd, worker_timeout=1)
    threading.Timer(1, odd.cluster.scale, (1,)).start()  # a worker that joins later
    cupola.pipeline(copied, x, out, client=odd)
    np.testing.assert_array_equal(out, x)


def test_connections_break(breaking, tmp_path):
    """Of a worker to the scheduler, while results are on their way: Dask starts it again."""
    x, out = numbers(2000, 500), np.zeros((2000, 500), np.int32)
    marker = tmp_path / "broken"

    def breaks(chunk, stream, inputs, outputs):
        outputs[0].set(inputs[0])
        if chunk.index == 20 and not marker.exists():
            marker.touch()
            worker = get_worker()
            worker.loop.add_callback(worker.batched_stream.comm.abort)

    cupola.pipeline(breaks, x, out, chunk=40, streams=1, client=breaking)
    assert marker.exists()
    np.testing.assert_array_equal(out, x)


def test_a_result_is_cut_off_on_its_way(breaking, tmp_path):
    """The connection breaks when a worker sends a result: the client asks for it again."""
    x, out, marker = numbers(500, 500), np.zeros((500, 500), np.int32), tmp_path / "cut"

    def patch():
        from distributed.comm.tcp import TCP

        write = TCP.write

        async def broken(self, message, *rest, **more):
            if isinstance(message, dict) and "data" in message and not marker.exists():
                marker.touch()
                self.abort()
            return await write(self, message, *rest, **more)

        TCP.write = broken

    breaking.run(patch)
    cupola.pipeline(copied, x, out, chunk=40, streams=1, client=breaking)
    assert marker.exists()
    np.testing.assert_array_equal(out, x)


def test_a_chunk_that_kills_its_workers_is_given_up(breaking):
    def deadly(chunk, stream, inputs, outputs):
        os.kill(os.getpid(), signal.SIGKILL)

    x, out, scheduler = numbers(10), np.zeros(10, np.int32), breaking.cluster.scheduler
    scheduler.allowed_failures = 0
    with refused(cupola.ChunkError, saying=("chunk 0 ", "1 times", "retries=")):
        cupola.pipeline(deadly, x, out, chunk=10, retries=0, client=breaking)


def copied(chunk, stream, inputs, outputs):
    outputs[0].set(inputs[0])


# -- what differs between workers -------------------------------------------------------------


def test_another_version_of_cupola(client, module):
    x, out = numbers(100), np.zeros(100, np.int32)

    def becomes(version):
        def change():
            cupola.__version__ = version
            cupola.distributed.published.__version__ = version

        return change

    here = cupola.__version__
    victim = sorted(client.nthreads())[0]
    client.run(becomes("0.0.1"), workers=[victim])
    try:
        with refused(cupola.LibraryError, ImportError, saying=("0.0.1", victim, here, "install")):
            cupola.pipeline(module["add"], x, out, client=client)
    finally:
        client.run(becomes(here), workers=[victim])
    published = cupola.distributed.publish(module["add"], client)
    client.run(becomes("0.0.2"), workers=[victim])  # the version of a worker that joined later
    try:
        with refused(cupola.LibraryError, saying=("process ", "0.0.2", here, "add")):
            client.submit(lambda one: one.get(), published, workers=[victim]).result()
    finally:
        client.run(becomes(here), workers=[victim])
        published.withdraw()


def test_packages_that_workers_lack_or_have_in_another_version(client, odd, tmp_path, monkeypatch):
    package(tmp_path, "3.0")
    monkeypatch.syspath_prepend(tmp_path)
    scale = cupola.load("scale", "tests_client_package")["scale"]
    x = np.ones(100, np.float32)
    for where, error, words in (
        (client, cupola.NotFoundError, "No module named"),
        (odd, cupola.ImageError, "tests_client_package 3.1"),
    ):
        saying = ("worker tcp://", "tests_client_package 3.0", "install the same version", words)
        with refused(cupola.ChunkError, saying=saying) as caught:
            cupola.pipeline(scale, x, x, arguments=(x, 2.0, Chunk.length), client=where)
        assert isinstance(caught.value.__cause__, error)
        np.testing.assert_array_equal(x, 1)


def test_a_device_of_another_architecture(odd):
    x, out = numbers(100), np.zeros(100, np.int32)
    newer = images.compiled("pipeline.90.ptx", SOURCE, "-ptx", "-arch=compute_90")
    with refused(cupola.ChunkError, saying=("worker tcp://", "pipeline.90.ptx")) as caught:
        cupola.pipeline(cupola.load(newer)["add"], x, out, client=odd)
    assert isinstance(caught.value.__cause__, cupola.ImageError)


# -- what each worker has once ----------------------------------------------------------------


def test_a_kernel_is_published_once(client, module):
    add = module["add"]
    with cupola.distributed.publish(add, client) as published:
        assert len(pickle.dumps(published)) < 200 < len(pickle.dumps(add))

        def sums(published, start):
            x = cupola.to_device(np.arange(start, start + 4, dtype=np.int32))
            published.get()[1, 4](x, x, 4)
            return x.get().tolist(), id(published.get()), os.getpid()

        found = client.gather(client.map(sums, [published] * 8, range(8)))
        assert [values for values, _, _ in found] == [list(range(i + 1, i + 5)) for i in range(8)]
        kernels = {(kernel, pid) for _, kernel, pid in found}
        assert len(kernels) == len({pid for _, pid in kernels})  # each process has its own kernels
        victim = found[0][2]
        os.kill(victim, signal.SIGKILL)
        cluster.processes(client, 2, without=victim)  # a worker that joined later has it, too
        assert len(client.gather(client.map(sums, [published] * 8, range(8, 16)))) == 8
    with refused(cupola.NotFoundError, saying=("withdrawn", "process ")):
        client.submit(sums, published, 99).result()
    with pytest.raises(cupola.ArgumentTypeError, match=r"distributed\.Client"):
        cupola.distributed.publish(add, None)


def test_memory_stays_flat(client):
    """The data of all tasks is many times the memory that may remain."""
    cluster.processes(client, 2)
    client.run(sys.path.append, BENCHMARKS)  # else workers could not import their functions
    found = cluster_memory.memory_of_tasks(client, 240, row_bytes=400_000, rounds=4)
    for where in ("client", "workers"):
        assert found[where][-1] - found[where][0] < 20 << 20 < found["bytes_through"] / 8

"""Pipelines: chunks, functions and grids, memory limits, progress, and what is refused."""

import os
import subprocess
import sys

import images
import numpy as np
import pytest
from pipeline_kernels import add, module, numbers
from working import assert_works, refused

import cupola
from cupola import Chunk

__all__ = ["add", "module"]


@pytest.mark.parametrize("staging", [True, False, None])
@pytest.mark.parametrize(
    ("rows", "chunk", "streams"),
    [
        (1000, 100, 3),
        (1001, 100, 4),
        (1, 1, 4),
        (7, 100, 4),
        (5, 2, 16),
        (64, 1, 1),
        (3000, None, 2),
    ],
)
def test_every_chunk_goes_through(add, rows, chunk, streams, staging):
    x, out = numbers(rows), np.zeros(rows, np.int32)
    answer = cupola.pipeline(add, x, out, chunk=chunk, streams=streams, staging=staging)
    assert answer is out
    np.testing.assert_array_equal(out, x + 1)


def test_a_large_array_is_cut_into_default_chunks(add):
    x = numbers(6_000_001)
    out = np.zeros_like(x)
    seen = []
    cupola.pipeline(add, x, out, progress=lambda done, rows: seen.append((done, rows)))
    np.testing.assert_array_equal(out, x + 1)
    assert len(seen) > 10 and seen[-1] == (len(x), len(x))
    assert seen == sorted(seen)


def test_an_empty_array_runs_no_chunk(add):
    x, out = numbers(0), np.zeros(0, np.int32)
    assert cupola.pipeline(add, x, out) is out
    with refused(cupola.ArgumentError, TypeError, saying="argument"):
        cupola.pipeline(add, x, out, arguments=(x, out, 1.5))


def test_several_pipelines_run_at_the_same_time(add):
    """They share the threads that fill and drain."""
    from concurrent.futures import ThreadPoolExecutor

    def one(seed):
        x = np.random.default_rng(seed).integers(0, 1000, 1_500_000).astype(np.int32)
        out = np.zeros_like(x)
        cupola.pipeline(add, x, out, chunk=100_000 + seed, staging=True)
        return np.array_equal(out, x + 1)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(one, range(12)))


def test_staging_threads_serve_pipelines_and_arrays(driver):
    """Four staging threads on any machine copy for pipelines and for arrays."""
    code = """
import threading
import numpy as np, cupola
def pipelines():
    for i in range(10):
        x = np.arange(3_000_000 + i, dtype=np.float32)
        out = np.zeros_like(x)
        cupola.pipeline(
            lambda chunk, stream, inputs, outputs: outputs[0].set(inputs[0]), x, out,
            chunk=500_000, staging=True)
        assert (out == x).all()
        done.append(1)
def arrays():
    for i in range(10):
        x = np.arange(2_000_000 + i, dtype=np.int64)
        with cupola.Stream(non_blocking=True) as stream:
            there = cupola.to_device(x, stream=stream)
            assert (there.get(stream=stream) == x).all()
        done.append(1)
done = []
threads = [threading.Thread(target=each) for each in (pipelines, arrays) * 3]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done))
"""
    variables = {
        **os.environ, "CUPOLA_DRIVER": driver, "CUPOLA_STAGING_THREADS": "5",
        "CUPOLA_STAGING_BYTES": "100000",
    }  # fmt: skip
    answer = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=300
    )
    assert (answer.stdout, answer.returncode) == ("60\n", 0), answer.stderr


def test_a_function_queues_the_work(add):
    x, y, out = numbers(1000, 3), numbers(1000), np.zeros((1000, 3), np.int32)
    seen = []

    def work(chunk, stream, inputs, outputs):
        assert cupola.Stream.current() == stream and len(inputs) == 2 and len(outputs) == 1
        assert inputs[0].shape == outputs[0].shape == (chunk.length, 3)
        assert inputs[1].shape == (chunk.length,)
        seen.append(chunk)
        between = cupola.empty_like(inputs[0])
        add.forall(between.size)(inputs[0], between, between.size)
        add.forall(between.size)(between, outputs[0], between.size)

    cupola.pipeline(work, (x, y), out, chunk=64, streams=3)
    np.testing.assert_array_equal(out, x + 2)
    assert [chunk.index for chunk in seen] == list(range(16))
    assert seen[-1] == Chunk(15, 960, 1000) and seen[-1].length == 40
    assert x[seen[2].rows].shape == (64, 3)


def test_a_pipeline_may_lack_inputs_or_outputs(module):
    out = np.ones(100, np.int32)
    cupola.pipeline(
        lambda chunk, stream, inputs, outputs: outputs[0].fill(chunk.index), (), out, chunk=30
    )
    np.testing.assert_array_equal(out, np.arange(100) // 30)
    total = cupola.zeros(4, np.int32)

    def keep(chunk, stream, inputs, outputs):
        total[chunk.index : chunk.index + 1].set(inputs[0][:1])

    assert cupola.pipeline(keep, out, chunk=30) == ()
    np.testing.assert_array_equal(total.get(), [0, 1, 2, 3])
    with refused(cupola.ArgumentValueError, saying="at least one"):
        cupola.pipeline(keep)


def test_arguments_and_grids_may_be_functions_of_the_chunk(module):
    x, out = numbers(1000), np.zeros(1000, np.int32)
    calls = []

    def length(chunk):
        calls.append(chunk)
        return chunk.length

    cupola.pipeline(
        module["add"],
        x,
        out,
        arguments=(x, out, length),
        grid=lambda chunk: (-(-chunk.length // 32), 1),
        block=32,
        chunk=300,
    )
    np.testing.assert_array_equal(out, x + 1)
    assert calls == [Chunk(0, 0, 300), Chunk(1, 300, 600), Chunk(2, 600, 900), Chunk(3, 900, 1000)]


def test_a_pipeline_launches_as_many_threads_as_given(module):
    x, add = numbers(1000), module["add_in_place"]
    before = x.copy()
    cupola.pipeline(add, x, x, threads=0, chunk=100)  # launches nothing
    np.testing.assert_array_equal(x, before)
    cupola.pipeline(add, x, x, threads=lambda chunk: chunk.index, block=1, chunk=100)
    before += np.arange(1000) % 100 < np.arange(1000) // 100
    np.testing.assert_array_equal(x, before)


def test_chunks_wait_for_the_current_stream(module):
    """Work of the current stream ends before the first chunk."""
    from gate import Gate

    stream = cupola.Stream(non_blocking=True)
    x, mask = np.ones((50, 2), np.float32), np.ones(50, bool)
    sums, counts = np.empty(50), np.empty((50, 2), np.int16)
    with stream:
        weights = cupola.zeros(2, np.float32)
        gate = Gate(stream)
        with gate:
            weights.fill(3)
            timer = _later(gate.open)
            cupola.pipeline(
                module["rows"],
                (x, mask),
                (sums, counts),
                arguments=(x, mask, weights, sums, counts, Chunk.length, 2, Chunk.start),
                chunk=10,
            )
        timer.join()
    np.testing.assert_array_equal(sums, 6)


def _later(call):
    import threading

    timer = threading.Timer(0.2, call)
    timer.start()
    return timer


# -- sizes ------------------------------------------------------------------------------------


def test_a_pipeline_stays_within_its_memory(add):
    x, out = numbers(100_000, 3), np.zeros((100_000, 3), np.int32)
    for memory in (24, 1000, 1 << 16, 1 << 20):
        sizes = []

        def schedule(pipeline, sizes=sizes):
            sizes.append((pipeline.length, pipeline.slot_count))
            pipeline.run()

        rows = 200 if memory < 1000 else len(x)
        cupola.pipeline(add, x[:rows], out[:rows], memory=memory, schedule=schedule)
        np.testing.assert_array_equal(out[:rows], x[:rows] + 1)
        ((length, slots),) = sizes
        assert length * slots * 24 <= memory
    with refused(cupola.ArgumentValueError, saying=["23", "24"]):
        cupola.pipeline(add, x, out, memory=23)
    for chunk in (1001, 10**9, 10**20):  # cut to the rows
        out[:] = 0
        cupola.pipeline(add, x, out, chunk=chunk)
        np.testing.assert_array_equal(out, x + 1)
    with refused(cupola.ArgumentValueError, saying="smaller chunk="):
        cupola.pipeline(add, x, out, memory=1000, chunk=100)


def test_default_chunks_are_neither_small_nor_few(add):
    sizes = []

    def schedule(pipeline):
        sizes.append((pipeline.length, pipeline.chunk_count))
        pipeline.run()

    x = np.ones(40 << 20, np.uint8).view(np.int32)
    cupola.pipeline(add, x, np.empty_like(x), schedule=schedule)
    ((length, count),) = sizes
    assert 4 * length >= 1 << 20 and count >= 32


# -- what is refused --------------------------------------------------------------------------


def test_wrong_arrays_are_refused(add):
    x, out = numbers(10), np.zeros(10, np.int32)
    frozen = out.copy()
    frozen.flags.writeable = False
    for inputs, outputs, words in (
        (x[:5], out, ["(5,)", "(10,)"]),
        (np.int32(5), out, ["input 0", "no axis"]),
        (x, frozen, ["output 0", "read-only"]),
        (x, out.astype(object), ["output 0", "objects"]),
        (x, out.astype(">i4"), ["output 0", "byte order", "array[...] = native"]),
        (cupola.to_device(x), out, ["input 0", "arguments="]),
    ):
        with refused(cupola.ArgumentError, saying=words):
            cupola.pipeline(add, inputs, outputs)


def test_wrong_arguments_are_refused(add):
    x, out = numbers(10), np.zeros(10, np.int32)
    other = numbers(10)
    for arguments, words in (
        ((x, other, 5), ["argument 1", "to_device"]),
        ((x, out), ["3"]),
        ((x, out, 1.5), ["argument 2"]),
        ((x, out, cupola.In(x)), ["argument 2"]),
        ((cupola.In(other), out, 5), ["In, Out and InOut"]),
        ((x, out, lambda chunk: 1 << 40), ["argument 2"]),
    ):
        with refused(cupola.ArgumentError, saying=words):
            cupola.pipeline(add, x, out, arguments=arguments)
    with refused(cupola.ArgumentTypeError, saying="argument 0"):
        cupola.pipeline(images.module()["accumulate"], x.astype(np.float32), out)
    for given, words in (
        (dict(threads=1, grid=1, block=1), "threads="),
        (dict(grid=1), "block="),
        (dict(threads=1.5), "threads="),
        (dict(chunk=0), "chunk="),
        (dict(streams=0), "streams="),
        (dict(streams=True), "streams="),
        (dict(devices=[0, 0]), "twice"),
        (dict(progress=5), "progress="),
        (dict(schedule=5), "schedule="),
        (dict(block=100_000), "block"),
        (dict(staging="no"), "staging="),
        (dict(arguments="abc"), "arguments="),
        (dict(arguments=5), "arguments="),
        (dict(arguments=x), "arguments="),
        (dict(grid=None, threads=lambda chunk: "many"), "threads="),
        (dict(block=lambda chunk: (1, "a")), "block="),
    ):
        with refused(cupola.ArgumentError, saying=words):
            cupola.pipeline(add, x, out, **given)
    of_another_type = ["a", 1.5, True, object(), {}, b"x", np.arange(2), (1, "a"), lambda chunk: {}]
    for name in ("block", "grid", "shared", "threads", "chunk", "streams", "memory", "devices"):
        for value in of_another_type:
            given = {"block": 32} if name == "grid" else {}
            if name == "devices" and isinstance(value, tuple):
                continue  # some of these arguments name a device that does not exist
            with refused(cupola.ArgumentTypeError, saying=name.removesuffix("s")):
                cupola.pipeline(add, x, out, **{**given, name: value})
    with refused(cupola.ArgumentTypeError, saying="kernel or a function"):
        cupola.pipeline("add", x, out)
    with refused(cupola.ArgumentTypeError, saying="for kernels"):
        cupola.pipeline(print, x, out, shared=4)
    with pytest.raises(cupola.UnknownNameError):
        cupola.pipeline(add, x, out, devices=[99])


def test_a_pipeline_is_refused_in_a_capture(add):
    x, out = numbers(10), np.zeros(10, np.int32)
    there = cupola.zeros(4, np.int32)
    cupola.Stream.current().synchronize()  # else the zeros may come after what `stream` writes
    stream = cupola.Stream(non_blocking=True)
    with stream.capture() as graph:
        there.fill(3)
        with pytest.raises(cupola.ArgumentValueError, match=r"captured.*to_device"):
            cupola.pipeline(add, x, out)
    graph.instantiate()(stream=stream)  # the capture went on
    stream.synchronize()
    assert there.get().tolist() == [3] * 4
    cupola.pipeline(add, x, out)
    np.testing.assert_array_equal(out, x + 1)


# -- progress ---------------------------------------------------------------------------------


def test_progress_counts_rows(add):
    x, out = numbers(105), np.zeros(105, np.int32)
    seen = []

    def progress(done, rows):
        np.testing.assert_array_equal(out[:done], x[:done] + 1)  # in order, and complete
        seen.append((done, rows))

    cupola.pipeline(add, x, out, chunk=10, progress=progress)
    assert seen == [(min(10 * i, 105), 105) for i in range(1, 12)]


def test_progress_can_stop(add):
    x, out = numbers(1000), np.zeros(1000, np.int32)

    class Enough(Exception):
        pass

    def progress(done, rows):
        if done >= 300:
            raise Enough

    with pytest.raises(Enough):
        cupola.pipeline(add, x, out, chunk=100, streams=2, progress=progress)
    np.testing.assert_array_equal(out[:300], x[:300] + 1)
    assert not out[600:].any()
    assert_works()


def test_progress_may_be_a_bar(add, capsys):
    pytest.importorskip("tqdm")
    x, out = numbers(1000), np.zeros(1000, np.int32)
    cupola.pipeline(add, x, out, chunk=100, progress=True)
    assert "1.00k/1.00k" in capsys.readouterr().err


def test_a_bar_needs_tqdm(add, monkeypatch):
    x, out = numbers(10), np.zeros(10, np.int32)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        cupola.pipeline(add, x, out, progress=True)


def test_a_pipeline_keeps_page_locked_memory_and_frees_device_memory(add):
    """The next pipeline uses the page-locked memory."""
    x, out = numbers(100_000), np.zeros(100_000, np.int32)
    for _ in range(3):
        cupola.pipeline(add, x, out, chunk=1000, staging=True)
    cupola.Device().synchronize()
    pool = cupola.Device().pool
    before = pool.used
    for _ in range(20):
        cupola.pipeline(add, x, out, chunk=1000, staging=True)
    cupola.Device().synchronize()
    assert pool.used <= before

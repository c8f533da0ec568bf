"""Pipelines that end early, schedules of one's own, and several devices."""

import contextlib
import os
import subprocess
import sys
import textwrap
import threading
import time

import images
import numpy as np
import pytest
from pipeline_kernels import add, module, numbers
from working import assert_works, refused

import cupola
from cupola import Chunk
from cupola.pipelines import Pipeline

__all__ = ["add", "module"]


# -- errors on the way ------------------------------------------------------------------------


def test_the_first_error_stops_the_rest_and_names_the_chunk(add):
    x, out = numbers(1000), np.zeros(1000, np.int32)
    calls = []

    def work(chunk, stream, inputs, outputs):
        calls.append(chunk.index)
        if chunk.index == 3:
            raise ZeroDivisionError("by zero")
        add.forall(chunk.length)(*inputs, *outputs, chunk.length)

    with pytest.raises(
        cupola.ChunkError, match=r"^chunk 3 \(rows 300 to 399\): Zero.*: by zero"
    ) as caught:
        cupola.pipeline(work, x, out, chunk=100, streams=2)
    assert caught.value.first == caught.value.last == Chunk(3, 300, 400)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert calls == [0, 1, 2, 3]
    assert not out[300:].any()
    cupola.pipeline(add, x, out, chunk=100, streams=2)
    np.testing.assert_array_equal(out, x + 1)
    assert_works()


@pytest.mark.parametrize("sync", ["0", "1"])
def test_a_fault_names_the_chunk(driver, module, sync):
    """In a process of its own: a fault ends all that a context does."""
    code = f"""
import numpy as np, cupola
from cupola import Chunk
module = cupola.load({str(images.folder() / "pipeline.ptx")!r})
x, out = np.zeros(1000, np.int32), np.zeros(1000, np.int32)
try:
    cupola.pipeline(
        module["fault"], x, out, arguments=(x, out, Chunk.start, Chunk.length, 555), chunk=100,
        streams=3)
except cupola.ChunkError as error:
    assert error.first.start <= 555 < error.last.stop, error
    assert isinstance(error.__cause__, cupola.DriverError), error.__cause__
    assert "fault" in str(error)
    print(error.first.index, error.last.index)
    print(str(error).splitlines()[0])
"""
    variables = {**os.environ, "CUPOLA_DRIVER": driver, "CUPOLA_SYNC": sync}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    answer = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    first, last = map(int, answer.stdout.splitlines()[0].split())
    assert last - first < 3
    if sync == "1":
        assert answer.stdout.splitlines()[1].startswith("chunk 5 (rows 500 to 599): ")


def test_ctrl_c_stops(driver, module):
    code = f"""
import os, signal, threading
import numpy as np, cupola
module = cupola.load({str(images.folder() / "pipeline.ptx")!r})
x, out = np.zeros(100_000_000, np.int32), np.zeros(100_000_000, np.int32)
threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        cupola.pipeline(module["add"], x, out)
except KeyboardInterrupt:
    x = cupola.to_device(np.arange(3))
    assert x.get().tolist() == [0, 1, 2]
    print("stopped")
"""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    variables = {**os.environ, "CUPOLA_DRIVER": driver}
    answer = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert (answer.stdout, answer.returncode) == ("stopped\n", 0), answer.stderr


# -- schedules --------------------------------------------------------------------------------


def test_a_schedule_decides_the_order(add):
    x, out = numbers(1000), np.zeros(1000, np.int32)

    def backwards(pipeline):
        assert isinstance(pipeline, Pipeline)
        assert (pipeline.rows, pipeline.length, pipeline.chunk_count) == (1000, 100, 10)
        assert pipeline.slot_count == len(pipeline.slots) == 2
        for chunk in reversed(pipeline.chunks):
            slot = pipeline.slots[chunk.index % 2]
            if slot.chunk is not None:
                slot.drain()
            assert slot.chunk is None
            slot.fill(chunk)
            assert slot.chunk == chunk and slot.inputs[0].shape == (chunk.length,)
            slot.upload()
            slot.launch()
            slot.download()
            assert slot.ready in (True, False) and slot.device.index == 0
        for slot in pipeline.slots:
            slot.drain()

    seen = []
    cupola.pipeline(
        add, x, out, chunk=100, streams=2, schedule=backwards, staging=True,
        progress=lambda done, rows: seen.append(done),
    )  # fmt: skip
    np.testing.assert_array_equal(out, x + 1)
    assert seen == list(range(100, 1001, 100))


def test_a_schedule_of_several_threads(add):
    from concurrent.futures import ThreadPoolExecutor

    x, out = numbers(100_000), np.zeros(100_000, np.int32)

    def each_slot_its_own(pipeline):
        chunks = iter(pipeline.chunks)

        def work(slot):
            for chunk in chunks:
                slot.fill(chunk)
                slot.upload()
                slot.launch()
                slot.download()
                slot.drain()

        with ThreadPoolExecutor() as threads:
            list(threads.map(work, pipeline.slots))

    cupola.pipeline(add, x, out, chunk=999, schedule=each_slot_its_own, staging=True)
    np.testing.assert_array_equal(out, x + 1)


def test_schedules_that_are_wrong(add):
    x, out = numbers(40), np.zeros(40, np.int32)
    kept = []

    def run(schedule):
        cupola.pipeline(add, x, out, chunk=10, streams=2, schedule=schedule)

    def one(slot, chunk):
        slot.fill(chunk)
        slot.upload()
        slot.launch()
        slot.download()
        slot.drain()

    def leaves_some_out(pipeline):
        one(pipeline.slots[0], 2)

    def does_not_drain(pipeline):
        for chunk in pipeline.chunks[:3]:
            one(pipeline.slots[0], chunk)
        pipeline.slots[0].fill(3)

    def does_one_twice(pipeline):
        one(pipeline.slots[0], 1)
        one(pipeline.slots[0], 1)

    def goes_beyond(pipeline):
        pipeline.slots[0].fill(4)

    def is_out_of_turn(pipeline):
        pipeline.slots[1].launch()

    def keeps_it(pipeline):
        pipeline.run()
        kept.extend([pipeline, pipeline.slots[0]])

    for schedule, words in (
        (leaves_some_out, ["1 of 4 chunks", "missing one is 0"]),
        (does_not_drain, ["3 of 4 chunks"]),
        (does_one_twice, ["chunk 1", "once"]),
        (goes_beyond, ["no chunk 4"]),
        (is_out_of_turn, ["slot 1", "expected its step fill, got launch"]),
    ):
        with refused(cupola.ArgumentValueError, saying=words):
            run(schedule)
    run(keeps_it)
    pipeline, slot = kept
    for late in (lambda: slot.fill(0), lambda: slot.inputs, pipeline.run):
        with refused(cupola.ArgumentValueError, saying="has ended"):
            late()

    def fails(pipeline):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        run(fails)
    with pytest.raises(TypeError):
        type(slot)()


def one_step_after_another(slot, chunks, refusals):
    try:
        for chunk in chunks:
            slot.fill(chunk)
            slot.upload()
            slot.launch()
            slot.download()
            slot.drain()
    except cupola.ArgumentValueError as error:
        refusals.append(str(error))


def test_threads_that_a_schedule_leaves_behind(add):
    """The end waits for the step that each is in; the next step is refused."""
    x, out = numbers(400_000), np.zeros(400_000, np.int32)
    for _ in range(10):
        refusals, threads = [], []

        def leaves(pipeline, refusals=refusals, threads=threads):
            chunks = iter(pipeline.chunks)
            for slot in pipeline.slots:
                given = (slot, chunks, refusals)
                threads.append(threading.Thread(target=one_step_after_another, args=given))
                threads[-1].start()
            raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            cupola.pipeline(add, x, out, chunk=10, schedule=leaves, staging=True)
        for thread in threads:
            thread.join()
        assert len(refusals) == len(threads) == 4
        assert all("ended" in refusal for refusal in refusals)
    assert_works()


def test_the_end_waits_for_a_step(driver):
    x, out = numbers(10), np.zeros(10, np.int32)
    begun, go_on, seen = threading.Event(), threading.Event(), []

    def work(chunk, stream, inputs, outputs):
        with pytest.raises(cupola.ArgumentValueError, match="own steps"):
            kept[0].finish(False)
        begun.set()
        go_on.wait()
        outputs[0].fill(3, stream)
        seen.append("queued")

    kept, threads = [], []

    def leaves(pipeline):
        kept.append(pipeline)
        slot = pipeline.slots[0]
        slot.fill(0)
        slot.upload()
        threads.append(threading.Thread(target=slot.launch))
        threads[0].start()
        begun.wait()
        for step in (slot.launch, slot.download, slot.drain, lambda: slot.fill(1)):
            with refused(cupola.ArgumentValueError, saying=["slot 0", "one thread at a time"]):
                step()
        threading.Timer(0.2, go_on.set).start()
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):  # steps that were refused are no chunk's failure
        cupola.pipeline(work, x, out, chunk=5, schedule=leaves)
    assert seen == ["queued"]
    threads[0].join()
    assert kept[0].slots == ()


def test_who_only_looks_is_in_nobodys_way(add):
    x, out = numbers(4000), np.zeros(4000, np.int32)
    over, seen = threading.Event(), set()

    def looks(slot):
        while not over.is_set():
            with contextlib.suppress(cupola.ArgumentValueError):  # the pipeline has no work now
                seen.add(slot.ready)

    def watched(pipeline):
        slot = pipeline.slots[0]
        thread = threading.Thread(target=looks, args=(slot,))
        thread.start()
        try:
            for chunk in pipeline.chunks:
                slot.fill(chunk)
                slot.upload()
                slot.launch()
                slot.download()
                time.sleep(0)
                slot.drain()
        finally:
            over.set()
            thread.join()

    cupola.pipeline(add, x, out, chunk=10, schedule=watched, staging=True)
    np.testing.assert_array_equal(out, x + 1)
    assert seen


# -- devices ----------------------------------------------------------------------------------

TWO = """
import numpy as np, cupola
from cupola import Chunk
module = cupola.load({path!r}, device=1)
x = np.random.default_rng(3).normal(size=(1000, 4)).astype(np.float32)
mask = np.ones(1000, bool)
weights = cupola.to_device(np.array([1, 2, 3, 4], np.float32), device=0)
used = set()
def schedule(pipeline):
    used.update(slot.device.index for slot in pipeline.slots)
    pipeline.run()
for devices in (cupola.devices(), [1], 1, None, [1, 0]):
    sums, counts = np.zeros(1000), np.zeros((1000, 2), np.int16)
    cupola.pipeline(
        module["rows"], (x, mask), (sums, counts),
        arguments=(x, mask, weights, sums, counts, Chunk.length, 4, Chunk.start),
        threads=Chunk.length, chunk=30, devices=devices, schedule=schedule, staging=True)
    expected = np.zeros(1000)
    for i in range(4):
        expected += x[:, i].astype(float) * (i + 1)
    np.testing.assert_array_equal(sums, expected)
    print(sorted(used))
    used.clear()
on = module.on(0)
assert on.device_index == 0 and module.on(0) is on and on["rows"].device_index == 0
assert cupola.shipped_kernels().on(1).device_index == 1 and module.on(1) is module
def where(chunk, stream, inputs, outputs):
    assert cupola.Device() == stream.device == inputs[0].device
    outputs[0].fill(stream.device.index)
few = np.zeros(3, np.int32)
cupola.pipeline(where, np.arange(3), few, devices=[0, 1])
assert few.tolist() == [0, 0, 1]
out = np.zeros(100, np.int32)
cupola.pipeline(where, np.arange(100), out, chunk=10, devices=[0, 1])
assert out.reshape(10, 10)[:, 0].tolist() == [0, 1] * 5
"""


@pytest.mark.several_devices
def test_two_devices(driver, module):
    variables = {**os.environ, "CUPOLA_CPU_DEVICES": "2", "CUPOLA_DRIVER": driver}
    code = textwrap.dedent(TWO).replace("{path!r}", repr(str(images.folder() / "pipeline.ptx")))
    answer = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True
    )
    assert (answer.stderr, answer.returncode) == ("", 0)
    assert answer.stdout.splitlines() == ["[0, 1]", "[1]", "[1]", "[1]", "[0, 1]"]

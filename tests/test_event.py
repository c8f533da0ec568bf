"""Events: what they wait for, and the times between them."""

import pickle
import subprocess
import sys
import time

import images
import numpy as np
import pytest
from gate import Gate
from working import refused

import cupola

STEPS = {"cpu": 100_000, "cuda": 5_000_000}  # some milliseconds at least


@pytest.fixture
def work(driver):
    """Queues work on a stream that takes a while."""
    values = cupola.zeros((), np.uint32)
    launch = images.module()["congruential"].prepare(1, 1, values, STEPS[driver])
    launch()
    cupola.Device().synchronize()
    return launch


def test_done_when_all_before_it_is(driver):
    stream, event = cupola.Stream(non_blocking=True), cupola.Event()
    assert event.done  # never recorded
    event.record(stream)
    event.synchronize()
    assert event.done
    with Gate(stream) as gate:
        event.record(stream)
        assert not event.done
        gate.open()
        event.synchronize()
        assert event.done


def test_recorded_again_it_marks_the_later_place(driver):
    stream, event = cupola.Stream(non_blocking=True), cupola.Event()
    event.record(stream)
    with Gate(stream):
        event.record(stream)
        assert not event.done


@pytest.mark.parametrize("blocking", [False, True])
def test_elapsed_is_within_what_the_clock_says(driver, work, blocking):
    stream = cupola.Stream()
    start, stop = cupola.Event(blocking=blocking), cupola.Event(blocking=blocking)
    before = time.perf_counter()
    start.record(stream)
    work(stream=stream)
    stop.record(stream)
    elapsed = stop.elapsed_since(start)
    wall = time.perf_counter() - before
    assert stop.done and start.done  # synchronize() waited for both
    assert 1e-4 < elapsed <= 1.02 * wall


def test_elapsed_adds_up(driver, work):
    marks = [cupola.Event() for _ in range(3)]
    with cupola.Stream():
        for mark in marks:
            mark.record()
            work()
    first, second, third = marks
    one, two = second.elapsed_since(first), third.elapsed_since(second)
    assert one > 1e-4 and two > 1e-4
    assert third.elapsed_since(first) == pytest.approx(one + two, rel=1e-3, abs=5e-6)
    assert first.elapsed_since(third) == pytest.approx(-(one + two), rel=1e-3, abs=5e-6)
    assert first.elapsed_since(first) == 0


def test_elapsed_waits_for_the_end(driver):
    stream, start, stop = cupola.Stream(non_blocking=True), cupola.Event(), cupola.Event()
    start.record(stream)
    with Gate(stream) as gate:
        stop.record(stream)
        gate.open()
        assert stop.elapsed_since(start) > 0


def test_events_of_two_streams(driver, work):
    one, two = cupola.Stream(), cupola.Stream()
    start = one.record()
    work(stream=one)
    two.wait(one)
    assert two.record().elapsed_since(start) > 1e-4


def test_unrecorded_events_have_no_times(driver):
    recorded = cupola.Stream.current().record()
    for start, stop in [(cupola.Event(), recorded), (recorded, cupola.Event())]:
        with refused(cupola.DriverError) as caught:
            stop.elapsed_since(start)
        assert caught.value.code == 400 and caught.value.name == "CUDA_ERROR_INVALID_HANDLE"
    with pytest.raises(TypeError):
        recorded.elapsed_since(None)


def test_events_without_timing_have_no_times(driver):
    stream, plain = cupola.Stream(), cupola.Event(timing=False)
    plain.record(stream)
    timed = stream.record()
    for start, stop in [(plain, timed), (timed, plain)]:
        with refused(cupola.DriverError):
            stop.elapsed_since(start)
    plain.synchronize()
    assert plain.done


def test_waiting_for_an_unrecorded_event_is_nothing(driver):
    stream, event = cupola.Stream(), cupola.Event()
    stream.wait(event)
    event.synchronize()
    stream.synchronize()
    assert stream.done


def test_an_event_outlives_its_stream_and_may_go_before_it(driver):
    event = cupola.Stream().record()
    event.synchronize()
    stream, other = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    with Gate(stream):
        event = stream.record()
        other.wait(event)
        del event  # the stream still waits for the event's work
        assert not other.done
    assert other.done


def test_what_is_no_stream(driver):
    for wrong in (5, "s", object(), cupola.Event()):
        with refused(cupola.ArgumentError, TypeError, saying="stream"):
            cupola.Event().record(wrong)


def test_properties(driver):
    event = cupola.Event()
    assert event.device == cupola.Device() and event.handle != 0
    assert repr(event) == f"<cupola.Event {event.handle:#x} on device 0>"


def test_an_event_without_ipc_stays_in_its_process(driver):
    event = cupola.Event()
    with refused(cupola.DriverError):
        event.ipc_handle()
    with pytest.raises(TypeError, match="ipc=True"):
        pickle.dumps(event)
    with refused(cupola.ArgumentError, ValueError, saying="timing"):
        cupola.Event(ipc=True, timing=True)
    with refused(cupola.ArgumentError, ValueError, saying="64"):
        cupola.Event.from_ipc_handle(b"short")


@pytest.mark.cpu_only(reason="NVIDIA's driver is not asked what it makes of bytes it never gave")
def test_an_event_that_no_process_has(driver):
    event = cupola.Event(ipc=True)
    for wrong in (bytes(64), event.ipc_handle()):
        with refused(cupola.DriverError, saying="another process"):
            cupola.Event.from_ipc_handle(wrong)


CHILD = """
import pickle, sys
import cupola
event = pickle.loads(bytes.fromhex(sys.argv[1]))
stream = cupola.Stream(non_blocking=True)
stream.wait(event)
print(event.done, stream.done, flush=True)
sys.stdin.readline()
event.synchronize()
stream.synchronize()
print(event.done, stream.done, flush=True)
"""


def test_another_process_waits_for_an_event(driver):
    event, stream = cupola.Event(ipc=True), cupola.Stream(non_blocking=True)
    with Gate(stream) as gate:
        event.record(stream)
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, pickle.dumps(event).hex()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout.readline() == "False False\n"
        gate.open()
        stream.synchronize()
        answer, _ = child.communicate("\n", timeout=60)
    assert (child.returncode, answer) == (0, "True True\n")

"""Python functions that run in a stream's order: when, how often, and that nothing stands still."""

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import images
import numpy as np
import pytest
from gate import Gate
from working import refused

import cupola

ROOT = os.path.dirname(__file__)


@pytest.fixture(autouse=True)
def everything_is_done(driver):
    yield
    cupola.Device().synchronize()


def pending():
    library = ctypes.CDLL(cupola.paths.library())
    return library.cupola_callbacks_pending()


def until(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.001)


def script(text, **environment):
    """The text in a Python of its own, which must end by itself."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, *sys.path]), **environment},
    )


def test_it_runs_in_the_order_of_the_stream():
    stream, seen = cupola.Stream(non_blocking=True), []
    x = cupola.to_device(np.zeros(1, np.uint32))
    back = cupola.empty_pinned(1, np.uint32)
    cupola.Device().synchronize()
    with Gate(stream) as gate:
        for number in range(5):
            images.module()["congruential"][1, 1, stream](x, 1)
            x.get(out=back, stream=stream)
            stream.launch_host_func(lambda n: seen.append((n, int(back[0]))), number)
        assert seen == [] and pending() == 5
        gate.open()
        stream.synchronize()
    expected, value = [], 0
    for number in range(5):
        value = (value * 1664525 + 1013904223) % 2**32
        expected.append((number, value))
    assert seen == expected
    until(lambda: pending() == 0)


def test_what_comes_after_waits_for_it():
    stream, order = cupola.Stream(non_blocking=True), []

    def slow():
        time.sleep(0.05)
        order.append("called")

    stream.launch_host_func(slow)
    event = stream.record()
    assert not event.done
    event.synchronize()
    order.append("after")
    assert order == ["called", "after"]


def test_arguments_arrive_and_are_held_until_it_ran():
    class Held:
        pass

    stream, seen, held = cupola.Stream(non_blocking=True), [], Held()
    alive = weakref.ref(held)
    with Gate(stream) as gate:
        stream.launch_host_func(
            lambda *args: seen.append([type(a).__name__ for a in args]), held, 2, None
        )
        del held
        gc.collect()
        assert alive() is not None
        gate.open()
        stream.synchronize()
    assert seen == [["Held", "int", "NoneType"]]
    until(lambda: pending() == 0 and alive() is None)


def test_it_runs_though_the_stream_is_let_go():
    stream, seen = cupola.Stream(non_blocking=True), []
    gate = Gate(stream)
    with gate:
        stream.launch_host_func(seen.append, 1)
        del stream, gate.stream
        gc.collect()
    until(lambda: seen == [1])


def test_what_it_raises_is_reported_and_goes_no_further(monkeypatch):
    reports, stream = [], cupola.Stream()

    def broken():
        raise KeyError("broken")

    monkeypatch.setattr(
        sys,
        "unraisablehook",
        lambda report: reports.append((report.exc_type, str(report.exc_value), report.object)),
    )
    stream.launch_host_func(broken)
    stream.launch_host_func(sys.exit, 3)
    stream.synchronize()
    until(lambda: pending() == 0)
    assert [kind for kind, _, _ in reports] == [KeyError, SystemExit]
    assert reports[0][1:] == ("'broken'", broken)


def test_it_is_another_thread_and_not_this_one():
    stream, seen = cupola.Stream(), []
    stream.launch_host_func(lambda: seen.append(threading.get_ident()))
    stream.synchronize()
    assert seen and seen[0] != threading.get_ident()


def test_what_can_not_be_called():
    for wrong in (None, 5, "f"):
        with refused(cupola.ArgumentError, TypeError, saying="callable"):
            cupola.Stream().launch_host_func(wrong)
    assert pending() == 0


def test_arrays_that_end_in_a_call_are_freed():
    """The last reference ends in a callback, where the driver must not be called."""
    stream, nbytes = cupola.Stream(non_blocking=True), 64 << 20
    cupola.Device().synchronize()
    before = cupola.memory_info().free
    for _ in range(40):  # freed memory is used again
        box = [cupola.empty(nbytes, np.uint8, stream=stream)]
        stream.launch_host_func(box.clear)
        del box
        stream.synchronize()
        time.sleep(0.02)  # another thread frees it
    assert cupola.memory_info().free > before - 20 * nbytes


def test_threads_that_launch_and_call_do_not_stand_still():
    """Full queues, the GIL, and callables that need the GIL: all at once."""

    def work(number):
        stream = cupola.Stream(non_blocking=True)
        x = cupola.zeros(1, np.uint32, stream=stream)
        kernel, called = images.module()["increment"], []
        values = cupola.zeros(32, np.int32, stream=stream)
        for i in range(1500):
            kernel[1, 32, stream](values, 32)
            if i % 10 == 0:
                stream.launch_host_func(called.append, i)
            if i % 97 == 0:
                event = stream.record()
                stream.wait(event)
                stream.done  # noqa: B018 - asks the driver
        stream.synchronize()
        results[number] = (called == list(range(0, 1500, 10)), values.get(stream=stream).tolist())
        del x

    results = {}
    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive(), "two threads wait for each other"
    assert results == {n: (True, [1500] * 32) for n in range(4)}


def test_a_launch_behind_a_callable_that_wants_the_lock():
    """The stream is full behind a callable: a thread that queues more must not hold the GIL."""
    stream, kernel = cupola.Stream(non_blocking=True), images.module()["increment"]
    values = cupola.zeros(32, np.int32, stream=stream)
    launch = kernel.prepare(1, 32, values, 32)
    begun = threading.Event()

    def slow():
        begun.set()
        time.sleep(0.2)

    stream.launch_host_func(slow)
    assert begun.wait(20)
    for _ in range(5000):
        launch(stream=stream)
    stream.synchronize()
    assert values.get(stream=stream).tolist() == [5000] * 32


EXIT = """
    import sys, threading, time
    import numpy as np
    import cupola
    stream = cupola.Stream(non_blocking=True)
"""


def test_exit_waits_for_what_has_begun():
    done = script(
        EXIT
        + """
    begun = threading.Event()
    def slow():
        begun.set()
        time.sleep(0.3)
        print("finished", flush=True)
    stream.launch_host_func(slow)
    begun.wait()
    """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "finished\n", "")


def test_exit_with_calls_in_the_queue():
    done = script(
        EXIT
        + """
    def slow(n):
        time.sleep(0.01)
    for n in range(300):
        stream.launch_host_func(slow, n)
    """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_with_a_call_that_is_queued_without_end():
    """Each callable is followed by the next while the interpreter goes."""
    done = script(
        EXIT
        + """
    stop = False
    def again():
        while True:
            stream.launch_host_func(int)
    for _ in range(3):
        threading.Thread(target=again, daemon=True).start()
    time.sleep(0.2)
    """
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_exit_of_a_forked_child_while_a_call_runs():
    done = script(
        EXIT
        + """
    import os
    begun = threading.Event()
    def slow():
        begun.set()
        time.sleep(0.5)
    stream.launch_host_func(slow)
    begun.wait()
    child = os.fork()
    if child == 0:
        sys.exit(7)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status))
    stream.synchronize()
    """,
        PYTHONWARNINGS="ignore::DeprecationWarning",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")


def test_after_a_fault_it_does_not_run():
    done = script(
        EXIT
        + """
    import images
    ran = []
    stream.wait(cupola.Stream.current())
    module = images.module()
    module["increment"][1, 32, stream](64, 32)  # no such memory
    try:
        stream.launch_host_func(ran.append, 1)
        stream.synchronize()
    except cupola.DriverError as error:
        print(error.name, ran)
    """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "CUDA_ERROR_ILLEGAL_ADDRESS []"

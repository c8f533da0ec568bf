"""Profiles: what ran, where and when, over threads, exceptions, graphs and pipelines."""

import contextlib
import itertools
import threading

import images
import numpy as np
import pytest
from gate import Gate
from profiles import MATCH, SLACK, N, increment, run
from working import assert_works, refused

import cupola
from cupola import profiler

__all__ = ["increment"]


def kinds(operations):
    return [operation.kind for operation in operations if operation.kind != "wait"]


def test_queued_operations_are_reported(increment):
    stream = cupola.Stream(non_blocking=True)
    host = cupola.empty_pinned(N, np.int32)
    host[:] = 1
    array = cupola.empty(N, np.int32, stream=stream)
    with cupola.profile() as p:
        array.set(host, stream=stream)
        increment.launch((N // 128, 1), 128, array, N, stream=stream, shared=64)
        with stream:
            array[: N // 2].fill(5)
        array.get(out=host, stream=stream)
        stream.synchronize()
    assert host[0] == 5 and host[-1] == 2
    queued = [o for o in p.operations if o.kind != "wait"]
    assert kinds(queued) == ["copy to the device", "launch", "fill", "copy to the host"]
    assert [o.bytes for o in queued] == [4 * N, 0, 2 * N, 4 * N]
    launch = queued[1]
    assert launch.name == "increment" and launch.shared == 64
    assert launch.grid == (N // 128, 1, 1) and launch.block == (128, 1, 1)
    (waited,) = [o for o in p.operations if o.kind == "wait"]
    assert waited.device is None and waited.begin is None and waited.call_end > waited.call_begin
    for o in queued:
        assert o.device == 0 and o.stream == stream.handle
        assert o.thread == threading.get_native_id()
        assert 0 <= o.call_begin <= o.call_end <= waited.call_end
        assert o.call_begin - SLACK <= o.begin <= o.end <= waited.call_end + MATCH
    for before, after in itertools.pairwise(queued):
        assert before.end <= after.begin + SLACK  # a stream is in order
        assert before.call_end <= after.call_begin


def test_operations_outside_a_profile_are_not_reported(increment):
    array = cupola.zeros(N, np.int32)
    increment.forall(N)(array, N)
    with cupola.profile() as p:
        pass
    increment.forall(N)(array, N)
    assert p.operations == []
    with cupola.profile() as p:
        array.fill(1)
    assert kinds(p.operations) == ["fill"]


def test_device_time_differs_from_call_time(increment):
    """The kernel waits for the host, so its call returns long before it ends."""
    stream = cupola.Stream(non_blocking=True)
    array = cupola.zeros(4, np.int32)
    increment[1, 4](array, 4)  # the first launch may load code, which waits for a kernel that runs
    with cupola.profile() as p:
        with Gate(stream) as gate:
            increment[1, 4, stream](array, 4)
            timer = threading.Timer(0.05, gate.open)
            timer.start()
            stream.synchronize()
        timer.join()
    gate, after = [o for o in p.operations if o.kind == "launch" and o.stream == stream.handle]
    assert gate.name == "gate" and gate.end - gate.begin >= 0.045
    assert gate.call_end - gate.call_begin < 0.045
    assert after.call_end < gate.end + MATCH and gate.end <= after.begin + SLACK


@pytest.mark.parametrize("nbytes", [1000, 8 << 20])
def test_each_kind_of_copy_is_reported(driver, nbytes):
    host = np.zeros((nbytes // 8, 2), np.int32)
    array = cupola.to_device(host)
    other = cupola.empty_like(array)
    cupola.Device().synchronize()
    with cupola.profile() as p:
        array.set(host)
        other.set(array)
        array.get(out=host)
        array[:, 0].set(np.zeros(len(host), np.int32))
        array[:, 1].copy()
    told = [o for o in p.operations if o.kind != "wait"]
    assert kinds(told[:3]) == ["copy to the device", "copy on the device", "copy to the host"]
    assert [o.bytes for o in told[:3]] == [host.nbytes] * 3
    assert len(told) >= 5
    assert all(o.begin is not None and o.end >= o.begin for o in told)


def test_profiles_nest_and_overlap(increment):
    array = cupola.zeros(4, np.int32)
    with cupola.profile() as outer:
        array.fill(1)
        with cupola.profile() as inner:
            increment[1, 4](array, 4)
        array.fill(2)
    assert kinds(inner.operations) == ["launch"]
    assert kinds(outer.operations) == ["fill", "launch", "fill"]
    first, second = cupola.profile(), cupola.profile()
    first.__enter__()
    array.fill(1)
    second.__enter__()
    increment[1, 4](array, 4)
    first.__exit__(None, None, None)
    array.fill(2)
    second.__exit__(None, None, None)
    assert kinds(first.operations) == ["fill", "launch"]
    assert kinds(second.operations) == ["launch", "fill"]
    with refused(cupola.ArgumentValueError, saying="another"):
        first.__enter__()


def test_operations_of_all_threads_are_reported(increment):
    def work():
        with cupola.Stream(non_blocking=True) as stream:
            array = cupola.zeros(4, np.int32)
            for _ in range(20):
                increment[1, 4](array, 4)
            stream.synchronize()
            assert array.get().tolist() == [20] * 4
            all_done.wait(60)  # the handle of a destroyed stream may come again

    all_done = threading.Barrier(4)
    threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(4)]
    with cupola.profile() as p:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    launches = [o for o in p.operations if o.kind == "launch"]
    assert len(launches) == 80 and len({o.stream for o in launches}) == 4
    for thread in threads:
        mine = [o for o in launches if o.thread == thread.native_id]
        assert len(mine) == 20
        assert all(a.end <= b.begin + SLACK for a, b in itertools.pairwise(mine))


def test_a_profile_stops_while_other_threads_work(increment):
    """Threads launch all the time while profiles start and stop."""
    stop = threading.Event()
    errors = []

    def work():
        try:
            array = cupola.zeros(4, np.int32)
            with cupola.Stream(non_blocking=True) as stream:
                while not stop.is_set():
                    increment[1, 4](array, 4)
                stream.synchronize()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        with cupola.profile() as p:
            pass
        assert all(o.call_begin >= 0 for o in p.operations)
        assert all(o.begin is None or o.end >= o.begin for o in p.operations)
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_profile_reports_more_operations_than_its_queue_holds(increment):
    array = cupola.zeros(4, np.int32)
    launch = increment.prepare(1, 4, array, 4)
    with cupola.profile() as p:
        for _ in range(10_000):
            launch()
    assert array.get().tolist() == [10_000] * 4
    launches = [o for o in p.operations if o.kind == "launch"]
    assert len(launches) == 10_000
    assert all(o.begin is not None for o in launches)
    assert all(a.end <= b.begin + SLACK for a, b in itertools.pairwise(launches))


def test_a_profile_ends_after_an_exception(increment, tmp_path):
    array = cupola.zeros(4, np.int32)
    with (
        pytest.raises(ZeroDivisionError),
        cupola.profile(tmp_path / "trace.json") as p,
        p.range("outer"),
    ):
        with pytest.raises(cupola.ArgumentError):
            increment[1, 4](array, "4")
        increment[1, 4](array, 4)
        raise ZeroDivisionError
    assert kinds(p.operations) == ["launch", "range"]
    assert (tmp_path / "trace.json").exists()
    with cupola.profile() as p:
        array.fill(0)
    assert kinds(p.operations) == ["fill"]
    assert_works()


def test_the_blocks_own_exception_comes_first(increment, tmp_path):
    nowhere = tmp_path / "missing" / "trace.json"
    array = cupola.zeros(4, np.int32)
    with pytest.raises(FileNotFoundError), cupola.profile(nowhere):
        increment[1, 4](array, 4)
    notes = contextlib.nullcontext() if hasattr(Exception, "add_note") else pytest.warns(
        RuntimeWarning, match="FileNotFoundError"
    )  # fmt: skip
    with notes, pytest.raises(ZeroDivisionError) as caught, cupola.profile(nowhere) as p:
        increment[1, 4](array, 4)
        raise ZeroDivisionError
    assert kinds(p.operations) == ["launch"]
    for note in getattr(caught.value, "__notes__", []):
        assert "profile" in note and "FileNotFoundError" in note and str(nowhere) in note
    assert hasattr(Exception, "add_note") == hasattr(caught.value, "__notes__")
    assert_works()


def test_ranges_nest(increment):
    array = cupola.zeros(4, np.int32)
    with cupola.profile() as p, p.range("outer"):
        with p.range("inner"):
            increment[1, 4](array, 4)
        array.fill(0)
    by_name = {o.name: o for o in p.operations}
    assert list(by_name) == ["increment", "inner", "fill", "outer"]
    outer, inner, launch = by_name["outer"], by_name["inner"], by_name["increment"]
    assert outer.call_begin <= inner.call_begin <= launch.call_begin
    assert launch.call_end <= inner.call_end <= outer.call_end
    with p.range("afterwards"):  # harmless
        pass
    with refused(cupola.ArgumentValueError, saying="no range"):
        profiler.end()


def test_a_graph_is_one_operation(increment):
    stream, array = cupola.Stream(non_blocking=True), cupola.zeros(4, np.int32)
    cupola.Device().synchronize()
    with cupola.profile() as p:
        with stream.capture() as graph:
            increment[1, 4](array, 4)
            increment[1, 4](array, 4)
        run = graph.instantiate()
        run(stream=stream)
        stream.synchronize()
    assert array.get().tolist() == [2] * 4
    captured = [o for o in p.operations if o.kind == "launch"]
    assert len(captured) == 2 and all(o.begin is None and o.end is None for o in captured)
    (launched,) = [o for o in p.operations if o.kind == "graph"]
    assert launched.begin is not None and launched.end > launched.begin
    assert "2 nodes" in launched.name


def test_operations_of_a_pipeline_are_reported(driver):
    x, out = np.ones(100_000, np.float32), np.zeros(100_000, np.float32)
    with cupola.profile() as p:
        cupola.pipeline(
            lambda chunk, stream, inputs, outputs: cupola.saxpy(2, *inputs, *inputs, *outputs),
            x, out, chunk=10_000, streams=3, staging=True,
        )  # fmt: skip
    assert out.tolist() == [3] * 100_000
    names = [o.name for o in p.operations if o.kind == "host"]
    assert names.count("fill") == names.count("drain") == 10
    for kind, nbytes in (("copy to the device", 40_000), ("copy to the host", 40_000)):
        assert [o.bytes for o in p.operations if o.kind == kind] == [nbytes] * 10
    assert len({o.stream for o in p.operations if o.kind == "launch"}) == 3


# -- in processes of their own ----------------------------------------------------------------


def test_a_profile_is_written_after_a_fault(driver, tmp_path):
    images.ptx()
    code = f"""
import json, numpy as np, cupola
module = cupola.load({str(images.ptx())!r})
try:
    with cupola.profile({str(tmp_path / "trace.json")!r}) as p:
        module["increment"][1, 4](16, 4)
        cupola.Device().synchronize()
except cupola.DriverError as error:
    assert "increment" in str(error)
launches = [o for o in p.operations if o.kind == "launch"]
assert len(launches) == 1, p.operations
print(len(json.load(open({str(tmp_path / "trace.json")!r}))["traceEvents"]) > 0)
"""
    answer = run(code, driver)
    assert (answer.stdout, answer.returncode) == ("True\n", 0), answer.stderr

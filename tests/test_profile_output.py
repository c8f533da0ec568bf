"""A profile writes a trace in Chrome's format, and a picture."""

import json
import os
import sys
import threading

import numpy as np
import pytest
from profiles import SLACK, N, increment

import cupola

__all__ = ["increment"]

# -- the trace --------------------------------------------------------------------------------


def test_the_trace_is_in_chromes_format(increment, tmp_path):
    stream = cupola.Stream(non_blocking=True)
    array = cupola.zeros(N, np.int32)
    cupola.Device().synchronize()
    with cupola.profile(tmp_path / "trace.json") as p, p.range("work"):
        increment[N // 256, 256, stream](array, N)
        array.get(stream=stream)
        array.fill(3)
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace == json.loads(json.dumps(p.trace()))
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    names = {
        (event["name"], event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["ph"] == "M"
    }
    host, device = names["process_name", 0, 0], names["process_name", 1, 0]
    assert str(os.getpid()) in host and cupola.Device().name in device
    assert names["thread_name", 0, threading.get_native_id()] == "MainThread"
    streams = sorted(
        name for (what, pid, _), name in names.items() if pid == 1 and "thread" in what
    )
    assert streams == ["default stream", f"stream 0 ({stream.handle:#x})"]
    complete = [event for event in events if event["ph"] == "X"]
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in complete)
    assert all((event["pid"], event["tid"]) in {key[1:] for key in names} for event in complete)
    call, work = [event for event in complete if event["name"] == "increment"]
    assert (call["pid"], work["pid"]) == (0, 1) and call["cat"] == work["cat"] == "launch"
    assert call["args"]["number"] == work["args"]["number"]
    assert work["args"]["grid"] == [N // 256, 1, 1] and work["args"]["block"] == [256, 1, 1]
    assert work["ts"] >= call["ts"] - 1e6 * SLACK
    copies = [event for event in complete if event["cat"] == "copy to the host"]
    assert {event["args"]["bytes"] for event in copies} == {4 * N}
    rate = 4 * N / copies[1]["dur"] * 1e-3  # bytes a microsecond
    # The rate is printed with three decimals: for a slow copy, an error below 1 %.
    assert copies[1]["args"]["GB/s"] == pytest.approx(rate, rel=0.01, abs=0.0005)


def test_the_summary_adds_up_equal_operations(increment):
    array = cupola.zeros(N, np.int32)
    with cupola.profile() as p, p.range("work"):
        for _ in range(3):
            increment[N // 256, 256](array, N)
        array.get()
    summary = p.summary()
    by_name = {(one.kind, one.name): one for one in summary}
    assert len(by_name) == len(summary) == len({(one.kind, one.name) for one in p.operations})
    assert sum(one.calls for one in summary) == len(p.operations)
    launches = [one for one in p.operations if one.kind == "launch"]
    launch = by_name["launch", launches[0].name]
    times = [one.end - one.begin for one in launches]
    assert (launch.calls, launch.timed) == (3, 3)
    assert launch.device == pytest.approx(sum(times)) and launch.longest == max(times)
    assert launch.mean == pytest.approx(launch.device / 3)
    (copy,) = [one for one in summary if one.kind == "copy to the host"]
    assert copy.bytes == 4 * N and copy.calls == 1
    (work,) = [one for one in summary if one.kind == "range"]
    assert (work.name, work.timed, work.device, work.mean) == ("work", 0, 0, 0)
    assert [one.device for one in summary] == sorted((one.device for one in summary), reverse=True)
    head, *rows = str(summary).splitlines()
    assert head.split()[:2] == ["operation", "calls"] and len(rows) == len(summary)
    assert any(row.startswith(f"launch {launch.name} ") and " 3 " in row for row in rows)
    # The profile of a block that has not run.
    assert str(cupola.profile().summary()).split() == head.split()


def test_default_streams_of_threads_have_their_own_tracks(increment):
    def work():
        with cupola.Stream.per_thread() as stream:
            array = cupola.zeros(4, np.int32)
            increment[1, 4](array, 4)
            stream.synchronize()

    with cupola.profile() as p:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    names = [e["args"]["name"] for e in p.trace()["traceEvents"] if e["name"] == "thread_name"]
    assert len([name for name in names if name.startswith("default stream of ")]) == 2


# -- the picture ------------------------------------------------------------------------------


def test_a_picture_shows_streams_and_ranges(increment, tmp_path):
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    streams = [cupola.Stream(non_blocking=True) for _ in range(3)]
    with cupola.profile(picture=tmp_path / "p.png") as p, p.range("all"):
        for stream in streams:
            with stream:
                array = cupola.to_device(np.zeros(N, np.int32))
                for _ in range(5):
                    increment.forall(N)(array, N)
                array.get(stream=stream)
    picture = np.asarray(image.open(tmp_path / "p.png").convert("RGB"))
    height, width, _ = picture.shape
    assert width == 12 * 120 and height > 200

    def rows_of(colour):
        found = (np.abs(picture.astype(int) - colour) < 8).all(axis=2)
        found[:60] = False  # the legend
        return np.count_nonzero(np.diff(found.any(axis=1).astype(int)) == 1)

    assert rows_of((0xD5, 0x5E, 0x00)) >= 3  # a row of launches for each stream
    assert rows_of((0xE6, 0x9F, 0x00)) >= 1  # the range
    p.save_png(tmp_path / "small.png", width=6, dpi=50)
    assert image.open(tmp_path / "small.png").width == 300
    with cupola.profile(picture=tmp_path / "empty.png"):
        pass
    assert (tmp_path / "empty.png").exists()


def test_a_picture_needs_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        cupola.profile(picture=tmp_path / "p.png")

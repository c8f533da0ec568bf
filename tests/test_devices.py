"""Work on two devices: the order of copies between them, and what belongs to which."""

import pytest
from test_driver import good

pytestmark = pytest.mark.several_devices
BOTH_WAYS = pytest.mark.parametrize("devices", [(0, 1), (1, 0)], ids=["0 to 1", "1 to 0"])

SETUP = """
    import ctypes, threading, numpy as np, cupola
    one, other = {devices}
    here, there = cupola.Device(one), cupola.Device(other)
    n, opened = 1 << 16, threading.Event()
    first = cupola.Stream(non_blocking=True, device=one)
    second = cupola.Stream(non_blocking=True, device=other)
    source = cupola.to_device(np.full(n, 5, np.int32), device=one)
    target = cupola.to_device(np.zeros(n, np.int32), device=other)
    raw_source, raw_target = cupola.alloc(n, device=one), cupola.alloc(n, device=other)
    raw_source.fill(5), raw_target.fill(0)
    def finish():
        here.synchronize(), there.synchronize()
    def refused(call, *words):
        try:
            call()
        except cupola.ArgumentValueError as error:
            assert all(word in str(error) for word in words), error
        else:
            raise AssertionError(words)
    finish()
"""


def on_two_devices(driver, code, devices=(0, 1)):
    setup = SETUP.replace("{devices}", str(devices))
    return good(setup + code, CUPOLA_DRIVER=driver, CUPOLA_CPU_DEVICES=2)


@BOTH_WAYS
@pytest.mark.parametrize("copy", ["target.set(source)", "target[...] = source"])
def test_a_copy_reads_what_was_queued_on_the_other_device_before(driver, copy, devices):
    on_two_devices(
        driver,
        f"""
    with first, second:
        first.launch_host_func(opened.wait, 60)
        source.fill(7)
        {copy}
    opened.set()
    finish()
    assert (target.get() == 7).all()
    """,
        devices,
    )


@BOTH_WAYS
@pytest.mark.parametrize("copy", ["target.set(source)", "target[...] = source"])
def test_a_copy_is_done_before_the_other_device_changes_its_source(driver, copy, devices):
    on_two_devices(
        driver,
        f"""
    with first, second:
        second.launch_host_func(opened.wait, 60)
        {copy}
        source.fill(7)
    opened.set()
    finish()
    assert (target.get() == 5).all()
    """,
        devices,
    )


@BOTH_WAYS
@pytest.mark.parametrize(
    "copy",
    [
        "raw_target.copy_from(raw_source, stream=second)",
        "raw_source.copy_to(raw_target, stream=first)",
    ],
    ids=["copy_from", "copy_to"],
)
def test_raw_memory_is_copied_in_the_order_of_both_devices(driver, copy, devices):
    on_two_devices(
        driver,
        f"""
    scratch = cupola.alloc(n, device=other)
    def held(memory):
        out = bytearray(n)
        memory.copy_to(out)
        return set(out)
    with first, second:
        for stream in (first, second):
            opened.clear()
            stream.launch_host_func(opened.wait, 60)
            raw_source.fill(7)
            {copy}
            raw_source.fill(9)
            scratch.copy_from(raw_target, stream=second)
            opened.set()
            finish()
            assert held(raw_target) == held(scratch) == {{7}}
            raw_target.fill(0, stream=second)
            finish()
    """,
        devices,
    )


def test_a_copy_to_another_device_becomes_a_part_of_a_graph(driver):
    """In a graph there is no order with other streams."""
    on_two_devices(
        driver,
        """
    with second.capture() as graph:
        raw_target.copy_from(raw_source)
    graph.instantiate()(second)
    second.synchronize()
    out = bytearray(n)
    raw_target.copy_to(out)
    assert set(out) == {5}
    """,
    )


def test_an_event_is_not_recorded_on_another_devices_stream(driver):
    """The default streams of all devices have one handle."""
    on_two_devices(
        driver,
        """
    library = ctypes.CDLL(cupola.paths.library())
    library.cupola_last_error.restype = ctypes.c_char_p
    event, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.cupola_event_create(0, 0, ctypes.byref(event)) == 0
    assert library.cupola_stream_current(1, ctypes.byref(stream)) == 0
    assert library.cupola_event_record(event, stream) != 0
    said = library.cupola_last_error().decode()
    assert said == "the event is of device 0, the stream of device 1", said
    library.cupola_event_release(event)
    """,
    )


@BOTH_WAYS
def test_a_capture_that_crosses_devices(driver, devices):
    """Another device's stream joins, works, and is waited for; the graph repeats all of it."""
    on_two_devices(
        driver,
        """
    saxpy = cupola.shipped_kernels().on(other)["saxpy"]
    x = cupola.to_device(np.arange(n, dtype=np.float32), device=one)
    y = cupola.zeros(n, np.float32, device=other)
    out = cupola.zeros(n, np.float32, device=one)
    finish()
    with first.capture() as graph:
        second.wait(first)
        with second:
            y.set(x, stream=second)
            saxpy.forall(n)(2.0, y, y, y, n)
        first.wait(second)
        out.set(y, stream=first)
    ready = graph.instantiate()
    del graph, y
    for times in range(1, 4):
        x.fill(times, stream=first)
        ready(first)
        first.synchronize()
        assert (out.get() == 3 * times).all()
    """,
        devices,
    )


@BOTH_WAYS
def test_arrays_on_the_wrong_device(driver, devices):
    on_two_devices(
        driver,
        """
    module = cupola.shipped_kernels()
    x = cupola.ones(8, np.float32, device=one)
    y = cupola.ones(8, np.float32, device=other)
    name = f"device {other}"
    refused(lambda: x + y, "device")
    refused(lambda: np.add(x, x, out=y), "device")
    refused(lambda: cupola.concatenate([x, y]), "device")
    refused(lambda: x.fill(1, stream=second), name)
    kernel = module.on(one)["saxpy"]
    with here:
        refused(lambda: kernel[1, 8, second](1.0, x, x, x, 8), "device")
    finish()
    assert (x.get() == 1).all() and (y.get() == 1).all()
    """,
        devices,
    )


@BOTH_WAYS
def test_a_made_kernel_refuses_a_stream_of_the_other_device(driver, devices):
    on_two_devices(
        driver,
        """
    twice = cupola.elementwise("int *out, const int *x", "out[i] = 2 * x[i]", name="twice")
    for _ in range(3):
        twice(source, source, stream=first)
        refused(lambda: twice(source, source, stream=second), "twice: argument stream", "device")
        refused(lambda: twice.prepare(source, source, stream=second), "twice: argument stream")
    finish()
    assert (source.get() == 40).all() and not target.get().any()
    """,
        devices,
    )

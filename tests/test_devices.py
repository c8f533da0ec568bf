"""Work on two devices: the order of copies between them, and what belongs to which."""

import pytest
from test_driver import good

pytestmark = pytest.mark.cpu_only("two devices are wanted, which the CPU device has on request")

SETUP = """
    import ctypes, threading, numpy as np, cupola
    here, there = cupola.Device(0), cupola.Device(1)
    n, opened = 1 << 16, threading.Event()
    first = cupola.Stream(non_blocking=True, device=0)
    second = cupola.Stream(non_blocking=True, device=1)
    source = cupola.to_device(np.full(n, 5, np.int32), device=0)
    target = cupola.to_device(np.zeros(n, np.int32), device=1)
    raw_source, raw_target = cupola.alloc(n, device=0), cupola.alloc(n, device=1)
    raw_source.fill(5), raw_target.fill(0)
    def finish():
        here.synchronize(), there.synchronize()
    finish()
"""


def on_two_devices(code):
    return good(SETUP + code, CUPOLA_DRIVER="cpu", CUPOLA_CPU_DEVICES=2)


@pytest.mark.parametrize("copy", ["target.set(source)", "target[...] = source"])
def test_a_copy_reads_what_was_queued_on_the_other_device_before(copy):
    on_two_devices(f"""
    with first, second:
        first.launch_host_func(opened.wait, 60)
        source.fill(7)
        {copy}
    opened.set()
    finish()
    assert (target.get() == 7).all()
    """)


@pytest.mark.parametrize("copy", ["target.set(source)", "target[...] = source"])
def test_a_copy_is_done_before_the_other_device_changes_its_source(copy):
    on_two_devices(f"""
    with first, second:
        second.launch_host_func(opened.wait, 60)
        {copy}
        source.fill(7)
    opened.set()
    finish()
    assert (target.get() == 5).all()
    """)


@pytest.mark.parametrize(
    "copy",
    [
        "raw_target.copy_from(raw_source, stream=second)",
        "raw_source.copy_to(raw_target, stream=first)",
    ],
    ids=["copy_from", "copy_to"],
)
def test_raw_memory_is_copied_in_the_order_of_both_devices(copy):
    on_two_devices(f"""
    scratch = cupola.alloc(n, device=1)
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
    """)


def test_a_copy_to_another_device_becomes_a_part_of_a_graph():
    """In a graph there is no order with other streams."""
    on_two_devices("""
    with second.capture() as graph:
        raw_target.copy_from(raw_source)
    graph.instantiate()(second)
    second.synchronize()
    out = bytearray(n)
    raw_target.copy_to(out)
    assert set(out) == {5}
    """)


def test_an_event_is_not_recorded_on_another_devices_stream():
    """The default streams of all devices have one handle."""
    on_two_devices("""
    library = ctypes.CDLL(cupola.paths.library())
    library.cupola_last_error.restype = ctypes.c_char_p
    event, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.cupola_event_create(0, 0, ctypes.byref(event)) == 0
    assert library.cupola_stream_current(1, ctypes.byref(stream)) == 0
    assert library.cupola_event_record(event, stream) != 0
    said = library.cupola_last_error().decode()
    assert said == "the event is of device 0, the stream of device 1", said
    library.cupola_event_release(event)
    """)

"""Requests for more memory than there is: the error, and what stays usable."""

import images
import numpy as np
import pytest
from working import refused

import cupola


def in_own_stream(nbytes):
    with cupola.Stream.per_thread():  # its allocations are not from the pool
        cupola.empty(nbytes, np.uint8)


@pytest.mark.parametrize(
    "ask",
    [
        cupola.alloc,
        lambda nbytes: cupola.alloc(nbytes, exportable=True),
        lambda nbytes: cupola.empty((2, nbytes // 2), np.uint8),
        lambda nbytes: cupola.zeros(nbytes // 4, np.float32),
        lambda nbytes: cupola.full(nbytes // 8, 1.0),
        in_own_stream,
    ],
    ids=["alloc", "exportable", "empty", "zeros", "full", "per-thread stream"],
)
def test_a_request_beyond_the_device_is_refused(driver, ask):
    info = cupola.memory_info()
    before = cupola.to_device(np.arange(5))
    with refused(cupola.OutOfMemoryError, MemoryError, saying=("requested", "free:")) as caught:
        ask(2 * info.total)
    assert str(2 * info.total) in str(caught.value) and str(info.total) in str(caught.value)
    assert caught.value.code == 2
    np.testing.assert_array_equal(before.get(), np.arange(5))


@pytest.mark.parametrize("place", ["managed", "page-locked", "write-combined"])
def test_a_request_beyond_any_machine_is_refused(driver, place):
    """Managed memory may exceed the memory of the device."""
    nbytes, kept = 1 << 50, cupola.empty_pinned(5, np.int32)
    kept[:] = 7
    with refused(cupola.OutOfMemoryError, MemoryError, saying=("requested", "free:")) as caught:
        if place == "managed":
            cupola.managed(nbytes, np.uint8)
        else:
            cupola.empty_pinned(nbytes, np.uint8, write_combined=place == "write-combined")
    assert str(nbytes) in str(caught.value) and caught.value.code == 2
    assert ("on the host" in str(caught.value)) == (place != "managed")
    assert (kept == 7).all()


@pytest.mark.cpu_only(reason="a compiler for GPUs may refuse so large a variable in its own way")
def test_an_image_with_too_large_variables_is_refused(driver):
    total = cupola.memory_info().total
    text = images.SCALE.read_bytes() + b"\n.visible .global .align 4 .b8 big[%d];\n" % (2 * total)
    with refused(cupola.OutOfMemoryError, MemoryError, saying=("free:", total)):
        cupola.load(text)


def test_a_refused_request_leaves_the_capture_valid(driver):
    x, stream = cupola.zeros(4, np.int32), cupola.Stream()
    total = cupola.memory_info().total
    cupola.Device().synchronize()
    with stream.capture() as graph:
        x.fill(1)
        with pytest.raises(cupola.OutOfMemoryError, match="free:"):
            cupola.empty(2 * total, np.uint8)
        x[2:].fill(2)
    graph.instantiate()(stream)
    assert x.get(stream=stream).tolist() == [1, 1, 2, 2]

"""Values of a worker that move from the device to the host, to disk, and back."""

import gc
import pickle
import threading

import numpy as np
import pytest
from dask.sizeof import sizeof

import cupola
from cupola.distributed import DeviceSpillBuffer
from cupola.distributed.host_copy import HostCopy, device_bytes
from cupola.distributed.plugin import DevicePlugin
from cupola.exceptions import ArgumentError, LibraryError, OutOfMemoryError
from cupola.memory import set_out_of_memory_handler

MIB = 1 << 20


def block(number, nbytes=MIB):
    return cupola.full(nbytes // 8, float(number))


@pytest.fixture
def buffer(tmp_path):
    return DeviceSpillBuffer(str(tmp_path), device_memory_limit=3 * MIB)


def test_the_oldest_values_go_to_the_host(buffer):
    for number in range(5):
        buffer[number] = block(number)
    found = buffer.statistics()
    assert (found.on_device, found.device_bytes, found.on_host) == (3, 3 * MIB, 2)
    assert found.spilled == 2 and found.spilled_bytes >= 2 * MIB
    assert set(buffer) == set(range(5)) and len(buffer) == 5
    for number in range(5):  # each of them, though only three are on the device at once
        assert isinstance(buffer[number], cupola.Array)
        assert (buffer[number].get() == number).all()
    assert buffer.statistics().restored > 0
    assert buffer.statistics().device_bytes <= 3 * MIB


def test_spilled_memory_is_free(buffer):
    gc.collect()
    cupola.Device().synchronize()
    pool = cupola.Device().pool
    before = pool.used
    for number in range(20):
        buffer[number] = block(number)
    gc.collect()
    cupola.Device().synchronize()
    assert pool.used - before <= 4 * MIB
    for number in range(20):
        del buffer[number]
    assert len(buffer) == 0 and not buffer._host
    cupola.Device().synchronize()
    assert pool.used - before < MIB  # no block is left; threads of earlier tests may hold arrays


def test_a_value_above_the_limit_is_kept_on_the_host(buffer):
    buffer["large"] = block(1, 5 * MIB)
    assert buffer.statistics()[:3] == (0, 0, 1)
    assert (buffer["large"].get() == 1).all()
    assert buffer.statistics().on_device == 0


def test_replaced_values(buffer):
    for value in (block(1), 3, block(2), "text", block(4)):
        buffer["key"] = value
    assert len(buffer) == 1 and (buffer["key"].get() == 4).all()
    buffer["key"] = None
    assert buffer.statistics().device_bytes == 0 and buffer["key"] is None
    del buffer["key"]
    assert "key" not in buffer
    with pytest.raises(KeyError):
        buffer["key"]


def test_values_on_the_host_go_to_disk(tmp_path):
    buffer = DeviceSpillBuffer(str(tmp_path), device_memory_limit=2 * MIB, memory_limit=4 * MIB)
    for number in range(10):
        buffer[number] = block(number)
    buffer["host"] = np.arange(MIB)
    assert buffer.statistics().disk_bytes > 4 * MIB
    assert any(path.is_file() for path in tmp_path.rglob("*"))
    for number in range(10):
        assert (buffer[number].get() == number).all()
    assert np.array_equal(buffer["host"], np.arange(MIB))


def test_the_memory_monitor_evicts(tmp_path):
    """`distributed` calls evict() while `fast` is not empty."""
    buffer = DeviceSpillBuffer(str(tmp_path), device_memory_limit=2 * MIB, memory_limit=1 << 30)
    for number in range(4):
        buffer[number] = block(number)
    buffer["host"] = np.ones(1000)
    rounds = 0
    while buffer.fast:
        assert buffer.evict() > 0
        rounds += 1
        assert rounds < 20
    # On the CPU device, device memory is memory of the process, which the monitor watches.
    assert buffer.statistics().on_device == (0 if cupola.driver.info().kind == "cpu" else 2)
    assert all((buffer[number].get() == number).all() for number in range(4))


def test_a_value_that_cannot_be_copied_stays(buffer, caplog):
    lock = threading.Lock()
    buffer["locked"] = [block(1), lock]
    assert buffer.spill() == 0 and buffer.spill(1) == -1
    assert "can't be copied to the host" in caplog.text
    assert buffer["locked"][1] is lock and buffer.statistics().on_device == 1


class Pair:
    def __init__(self, one, other):
        self.one, self.other = one, other


def test_values_of_any_type_are_copied():
    x = cupola.to_device(np.asfortranarray(np.arange(12.0).reshape(3, 4)))
    fortran = cupola.empty((3, 4), order="F")
    fortran[...] = x
    value = {"x": fortran, "pair": Pair(x, x), "function": lambda y: y + 1, "n": [1, (x[0], None)]}
    copy = HostCopy.of(value)
    assert sizeof(copy) >= copy.nbytes > 3 * 96
    again = pickle.loads(pickle.dumps(copy)).restore()
    assert again["x"].flags.f_contiguous and np.array_equal(again["x"].get(), fortran.get())
    assert again["pair"].one is again["pair"].other
    assert again["function"](1) == 2
    assert np.array_equal(again["n"][1][0].get(), [0, 1, 2, 3])
    again["x"] += 1  # in memory of its own
    assert HostCopy.of(cupola.empty((0, 3))).restore().shape == (0, 3)


def test_sizes_of_values():
    x = cupola.zeros(100)
    assert device_bytes(x) == device_bytes(x[:3]) == 800
    assert device_bytes({"a": [x, (x, 3)], "b": np.ones(100)}) == 1600
    assert device_bytes("text") == device_bytes(Pair(x, x)) == 0


@pytest.mark.parametrize("limit", [True, None, "much", 0, -1, 0.0, [1]])
def test_a_wrong_limit(limit):
    with pytest.raises(ValueError if limit == "much" else ArgumentError):
        DeviceSpillBuffer(device_memory_limit=limit)


@pytest.mark.parametrize(
    ("limit", "expected"), [(1000, 1000), ("2MiB", 2 * MIB), (0.25, None), (1.0, None)]
)
def test_limits(limit, expected):
    expected = expected or int(limit * cupola.memory_info().total)
    assert DeviceSpillBuffer(device_memory_limit=limit).device_memory_limit == expected


# -- a device that is full


class Worker:
    """The attributes of a worker that the plugin uses."""

    def __init__(self, data):
        self.address, self.data = "tcp://here:1", data


@pytest.fixture
def plugin(tmp_path):
    """A plugin that was set up in this process, with a buffer of 64 MiB."""
    plugin = DevicePlugin()
    worker = Worker(DeviceSpillBuffer(str(tmp_path), device_memory_limit=0.9))
    for number in range(4):
        worker.data[number] = block(number, 16 * MIB)
    plugin.setup(worker)
    yield worker
    plugin.teardown(worker)
    assert set_out_of_memory_handler(None) is None


def fill_device():
    """Leave less than 40 MiB free. The CPU device takes memory of the host when it is written."""
    cupola.Device().synchronize()
    cupola.Device().pool.trim()
    return cupola.alloc(cupola.memory_info().free - 40 * MIB)


@pytest.mark.cpu_only(reason="takes all memory of the device")
def test_a_failed_allocation_spills_and_is_tried_again(plugin):
    filler = fill_device()
    x = cupola.ones(50 * MIB // 8)
    assert plugin.data.statistics().on_device == 0
    assert plugin.data.statistics().spilled == 4
    filler.release()
    assert float(x.sum()) == x.size
    assert all((plugin.data[number].get() == number).all() for number in range(4))


@pytest.mark.cpu_only(reason="takes all memory of the device")
def test_an_allocation_that_fails_again_names_the_worker(plugin):
    filler = fill_device()
    with pytest.raises(OutOfMemoryError) as caught:
        cupola.empty(500 * MIB)
    filler.release()
    for text in (
        "requested",
        "worker tcp://here:1",
        f"after {64 * MIB} bytes",
        "use smaller chunk",
    ):
        assert text in str(caught.value)
    assert caught.value.name == "CUDA_ERROR_OUT_OF_MEMORY"


def test_without_a_handler_the_error_is_as_before():
    with pytest.raises(OutOfMemoryError) as caught:
        cupola.empty(1 << 45)
    assert "worker" not in str(caught.value)
    with pytest.raises(ArgumentError, match="a handler is a function or None"):
        set_out_of_memory_handler(3)


def test_a_handler_that_allocates_itself():
    calls = []

    def handler(device, nbytes):
        calls.append((device, nbytes))
        if len(calls) < 3:
            with pytest.raises(OutOfMemoryError):
                cupola.empty(1 << 44)
        return "the end"

    previous = set_out_of_memory_handler(handler)
    try:
        with pytest.raises(OutOfMemoryError, match="; the end"):
            cupola.empty(1 << 45, np.uint8)
    finally:
        assert set_out_of_memory_handler(previous) is handler
    assert calls[0] == (0, 1 << 45) and len(calls) == 3


@pytest.mark.parametrize(
    ("what", "remedy"),
    [("version", "install cupola==0.0.1"), ("build", "the same wheel"), ("driver", "same_driver")],
)
def test_another_cupola_is_an_error(what, remedy):
    plugin = pickle.loads(pickle.dumps(DevicePlugin()))
    plugin.check("tcp://here:1")
    plugin.expected[what] = "0.0.1"
    with pytest.raises(LibraryError) as caught:
        plugin.setup(Worker({}))
    assert f"worker tcp://here:1: cupola's {what} is " in str(caught.value)
    assert "the client's is 0.0.1" in str(caught.value) and remedy in str(caught.value)
    assert "driver" not in DevicePlugin(same_driver=False).expected

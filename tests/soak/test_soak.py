"""Many calls leave nothing behind: neither host nor device memory grows.

A short slice of what `make sweep` does, which sets CUPOLA_SOAK=full: 10^6 launches, 10^5
allocations, 10^4 module loads, and a minute of eight threads. There each part says how long it
took and what it left; `make sweep PYTEST="-k launches"` is one part alone.
"""

import contextlib
import ctypes
import gc
import os
import sys
import threading
import time

import images
import numpy as np
import pytest

import cupola

FULL = os.environ.get("CUPOLA_SOAK") == "full"
LAUNCHES = 10**6 if FULL else 10**4
ALLOCATIONS = 10**5 if FULL else 12_000
LOADS = 10**4 if FULL else 150
PIPELINES = 10**4 if FULL else 500
SECONDS = 60 if FULL else 3
# Bytes that the system's allocator and pools may keep of what was freed.
HOST_GROWTH, DEVICE_GROWTH = 2 * 2**20, 8 * 2**20
# Allocations are counted exactly. In a part of the work without a leak they may differ by this, and
# by no more for each call. The smallest leak is one block, of 32 bytes of malloc's.
SLACK_BYTES, SLACK_BLOCKS = 4096, 10  # a look's own record is 7 blocks
BYTES_A_CALL, BLOCKS_A_CALL = 1, 0.05
PARTS = 5  # parts of the work; the first part fills pools and caches


def host_bytes():
    """Memory of this process, as far as it is its own."""
    gc.collect()
    with open("/proc/self/statm") as file:
        _, resident, shared = file.read().split()[:3]
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


class MallocInfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def allocated():
    """(bytes by malloc, blocks of Python's own allocator) that are in use."""
    info = ctypes.CDLL(None).mallinfo2
    info.restype = MallocInfo
    gc.collect()
    now = info()
    return now.uordblks + now.hblkhd, sys.getallocatedblocks()


def device_bytes():
    """Device memory in use, the driver's pools included."""
    cupola.Device().synchronize()
    driver = ctypes.CDLL(cupola.driver.info().path)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    assert driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
    return total.value - free.value


class Watch:
    """How the memory in use changes from one measurement (a look) to the next.

    A leak grows between all looks; memory that an allocator keeps permanently does not. So the
    smallest growth between two looks, times the number of parts, counts as the leak.
    """

    def __init__(self, say):
        self.say = say
        self.begin = time.monotonic()
        self.looks = []
        self.look()

    def look(self):
        device = device_bytes()  # waits for the work first
        self.looks.append((host_bytes(), device, *allocated()))

    def check(self, what, calls=None, host_growth=HOST_GROWTH):
        """`calls` is the number of calls in each part, where only the work allocates."""
        self.look()
        first, last = self.looks[0], self.looks[-1]
        self.say(
            f"{what} in {time.monotonic() - self.begin:.1f} s: "
            f"host {(last[0] - first[0]) / 1024:+.0f} KiB to {last[0] / 2**20:.1f} MiB, "
            f"device {(last[1] - first[1]) / 1024:+.0f} KiB to {last[1] / 2**20:.1f} MiB"
        )
        steps = list(zip(self.looks, self.looks[1:], strict=False))
        least = [min(after[n] - before[n] for before, after in steps) for n in range(4)]
        host, device = least[0] * len(steps), least[1] * len(steps)
        if calls:
            assert least[2] <= SLACK_BYTES + calls * BYTES_A_CALL, self.looks
            assert least[3] <= SLACK_BLOCKS + calls * BLOCKS_A_CALL, self.looks
        # A GPU is shared with other tests of the same time, unless this is the long run.
        if FULL or cupola.driver.info().kind == "cpu":
            assert device < DEVICE_GROWTH, self.looks
        assert host < host_growth, self.looks


@pytest.fixture
def say(capsys):
    """Prints a line: directly in a long run, else into the output that pytest captures."""

    def say(line):
        with capsys.disabled() if FULL else contextlib.nullcontext():
            print(f"\n{line}", end=" ", flush=True)

    return say


@pytest.fixture
def stays_flat(say):
    """Does the work so many times; the memory of its first part is not counted."""

    def stays_flat(work, count, what, parts=PARTS):
        part = count // parts
        work(part)
        watch = Watch(say)
        for _ in range(parts - 2):
            work(part)
            watch.look()
        work(count - (parts - 1) * part)
        watch.check(f"{count - part} {what}", part)

    return stays_flat


def test_the_smallest_leak_is_seen(driver, stays_flat):
    malloc, kept = ctypes.CDLL(None).malloc, []

    def leak(count):
        for _ in range(count):
            malloc(1)

    def keep(count):
        kept.extend(object() for _ in range(count))

    for work in (leak, keep):
        with pytest.raises(AssertionError):
            stays_flat(work, 5000, "leaks")


def test_launches(driver, stays_flat):
    x = cupola.to_device(np.zeros(64, np.float32))
    one = cupola.to_device(np.ones(64, np.float32))
    kernel = cupola.shipped_kernels()["saxpy"]
    prepared = kernel.prepare(1, 64, 0.0, x, x, x, 64)

    def launches(count):
        for i in range(count // 2):
            kernel[1, 64](1.0, x, one, x, 64)
            prepared()
            if i % 1000 == 999:
                cupola.Device().synchronize()

    stays_flat(launches, LAUNCHES, "launches")
    np.testing.assert_array_equal(x.get(), LAUNCHES // 2)


def test_allocations(driver, stays_flat):
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 100_000, 512).tolist()

    def allocations(count):
        held = []
        for i in range(count):
            array = cupola.empty(sizes[i % len(sizes)], np.float32)
            held.append(array)
            if len(held) == 20:
                held = held[10:]

    # A pool of random sizes may grow a little in each of a few parts, until its blocks fit all.
    stays_flat(allocations, ALLOCATIONS, "allocations", parts=20)


def test_operations(driver, stays_flat):
    x, y = cupola.ones(1000, np.float32), cupola.ones(1000)
    large = cupola.ones(40_000, np.float32)  # reduced in pieces

    def operations(count):
        for i in range(count // 5):
            z = 2 * x + y
            z = np.sin(x[::2]) + 1
            z = z.astype(np.int32) < 3
            np.add(x, 1, out=x)
            if i % 10 == 0:
                z = y.reshape(20, 50).sum(0) * x.dot(x)
                z = large.max()

    stays_flat(operations, LAUNCHES, "operations")


def test_pipelines_and_profiles(driver, stays_flat):
    """Some end by an error. The page-locked memory and events that they cache do not grow."""
    x = np.ones((1000, 4), np.float32)
    out = np.empty_like(x)

    def work(chunk, stream, inputs, outputs):
        outputs[0].set(inputs[0])
        if chunk.index == 7:
            raise ZeroDivisionError

    def pipelines(count):
        for i in range(count):
            with cupola.profile() as profile, profile.range("one"):
                length = 100 if i % 2 else 200
                try:
                    cupola.pipeline(work, x, out, chunk=length, staging=True)
                except cupola.ChunkError:
                    assert length == 100
            assert len(profile.operations) > 20

    stays_flat(pipelines, PIPELINES, "pipelines")


@pytest.mark.parametrize("form", ["ptx", "fatbin"])
def test_module_loads(driver, stays_flat, form):
    image, out = images.FORMS[form](), cupola.empty(5, np.int32)

    def loads(count):
        for _ in range(count):
            kernel = cupola.load(image)["odd"]
            kernel[1, 1](b"abcde", out)

    stays_flat(loads, LOADS // 2, f"loads of {form}")


def test_streams_and_events(driver, stays_flat):
    def events(count):
        for _ in range(count):
            stream, event = cupola.Stream(), cupola.Event()
            event.record(stream)
            stream.wait(event)

    stays_flat(events, LOADS, "streams and events")


def test_eight_threads_on_eight_streams(driver, say):
    kernel = cupola.shipped_kernels()["saxpy"]
    end = time.monotonic() + SECONDS
    rounds, failures = [], []

    def work(seed):
        n, done = 1000 + 37 * seed, 0
        values = np.random.default_rng(seed).integers(0, 1000, n).astype(np.float32)
        try:
            with cupola.Stream():
                while time.monotonic() < end:
                    x, total = cupola.to_device(values), cupola.to_device(np.zeros(n, np.float32))
                    for _ in range(20):
                        kernel[4, 256](1.0, x, total, total, n)
                    np.testing.assert_array_equal(total.get(), 20 * values)
                    done += 1
        except BaseException as error:
            failures.append(error)
        rounds.append(done)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS / 3)
    watch = Watch(say)
    for _ in range(3):
        time.sleep(SECONDS / 6)
        watch.look()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert len(rounds) == 8 and min(rounds) > 0
    watch.check(f"{sum(rounds)} rounds of eight threads", host_growth=8 * HOST_GROWTH)

"""Host cost of a launch with five arguments, beside a C++ loop over cuLaunchKernel

python benchmarks/bench_launch.py [--out FOLDER]
"""

import ctypes
import time

import floor
import numpy as np
import records

import cupola

BATCH = 500  # launches between two synchronisations: fewer than a driver's queue holds
ROUNDS = 60
GRID, BLOCK, N = 1, 32, 32
GOALS = {
    "prepared launch()": "ratio <= 1.03",
    "bound = kernel[grid, block]; bound(...)": "ratio <= 1.10",
    "kernel[grid, block](...)": "ratio <= 1.10",
    "kernel[grid, block, stream](...), arrays of that stream": "ratio <= 1.15",
    "kernel[grid, block, stream](...), of the default stream": "ratio <= 1.6",
}


def timed(call, batch=BATCH):
    """Seconds of so many calls; the device's work is waited for outside."""
    start = time.perf_counter()
    for _ in range(batch):
        call()
    elapsed = time.perf_counter() - start
    cupola.Device().synchronize()
    return elapsed


def in_turns(calls, batch=BATCH):
    """Seconds of a launch by call, one for each round.

    Each call gives the seconds of `batch` launches.
    """
    times = {name: [] for name in calls}
    for round_ in range(ROUNDS + 5):
        for name, call in calls.items():
            elapsed = call()
            if round_ >= 5:
                times[name].append(elapsed / batch)
    return times


def interleaved(calls, batch=BATCH, goals=None):
    """Rows of nanoseconds a launch, medians; ratios are to the first call, round by round."""
    return records.medians(in_turns(calls, batch), "ns", goals)


def driver_call(name):
    """The address of a driver's function."""
    return ctypes.cast(getattr(ctypes.CDLL(cupola.driver.info().path), name), ctypes.c_void_p)


def packed(x, y, out):
    """saxpy's arguments as cuLaunchKernel takes them, and what they point to."""
    values = [
        ctypes.c_float(2.0),
        ctypes.c_uint64(x.address),
        ctypes.c_uint64(y.address),
        ctypes.c_uint64(out.address),
        ctypes.c_uint64(N),
    ]
    return (ctypes.c_void_p * 5)(*[ctypes.addressof(value) for value in values]), values


def floor_calls(kernel, x, y, out):
    """A function that launches so many times, from C++; it gives the seconds that took."""
    library = floor.build()
    launch = driver_call("cuLaunchKernel")
    parameters, values = packed(x, y, out)
    stream = cupola.Stream.current().handle

    def calls(count):
        elapsed = library.floor_launch(
            launch, kernel.handle, stream, GRID, BLOCK, parameters, count
        )
        assert elapsed > 0 and values  # the parameters point to them
        return elapsed

    return calls


def ways(kernel, x, y, out):
    """Each way's function: seconds of BATCH launches."""
    prepared = kernel.prepare(GRID, BLOCK, 2.0, x, y, out, N)
    bound = kernel[GRID, BLOCK]
    queue = cupola.Stream()
    with queue:
        own = [cupola.zeros(N, np.float32) for _ in range(3)]
    calls = floor_calls(kernel, x, y, out)
    parameters, values = packed(x, y, out)
    stream = cupola.Stream.current().handle
    bare = floor.bare().bare_launch(
        driver_call("cuLaunchKernel"), kernel.handle, stream, GRID, BLOCK, parameters
    )

    def bare_calls():
        assert parameters and values  # the launch points to them
        return timed(bare)

    def bound_calls():
        start = time.perf_counter()
        for _ in range(BATCH):
            bound(2.0, x, y, out, N)
        elapsed = time.perf_counter() - start
        cupola.Device().synchronize()
        return elapsed

    def checked_calls():
        grid, block = GRID, BLOCK
        start = time.perf_counter()
        for _ in range(BATCH):
            kernel[grid, block](2.0, x, y, out, N)
        elapsed = time.perf_counter() - start
        cupola.Device().synchronize()
        return elapsed

    def streamed(*arrays):
        grid, block = GRID, BLOCK
        start = time.perf_counter()
        for _ in range(BATCH):
            kernel[grid, block, queue](2.0, *arrays, N)
        elapsed = time.perf_counter() - start
        cupola.Device().synchronize()
        return elapsed

    def cpp():
        elapsed = calls(BATCH)
        cupola.Device().synchronize()
        return elapsed

    return {
        "C++ loop over cuLaunchKernel": cpp,
        "the driver's call alone, from Python": bare_calls,
        "prepared launch()": lambda: timed(prepared),
        "bound = kernel[grid, block]; bound(...)": bound_calls,
        "kernel[grid, block](...)": checked_calls,
        "kernel[grid, block, stream](...), arrays of that stream": lambda: streamed(*own),
        "kernel[grid, block, stream](...), of the default stream": lambda: streamed(x, y, out),
        "empty Python call": lambda: timed(lambda: None),
    }


def run():
    """Nanoseconds a launch and the ratio to the C++ loop, medians of interleaved rounds."""
    x = cupola.to_device(np.arange(N, dtype=np.float32))
    y = cupola.to_device(np.ones(N, dtype=np.float32))
    out = cupola.empty_like(x)
    kernel = cupola.shipped_kernels()["saxpy"]
    calls = ways(kernel, x, y, out)
    rows = interleaved(calls, goals=GOALS)
    np.testing.assert_array_equal(out.get(), 2 * np.arange(N, dtype=np.float32) + 1)
    return rows


if __name__ == "__main__":
    records.main(__file__, __doc__, run)

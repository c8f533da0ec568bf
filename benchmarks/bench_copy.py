"""Copies between host and device, and allocation, beside a C++ loop over the driver

python benchmarks/bench_copy.py [--out FOLDER]
"""

import ctypes
import time

import floor
import numpy as np
import records

import cupola

SIZES = (64 << 10, 1 << 20, 16 << 20, 256 << 20)  # bytes
ROUNDS = 15
ALLOCATIONS = 1000  # in each round
ALLOCATED = 1 << 20  # bytes
LARGE = 16 << 20  # bytes; smaller copies have no goals


def text(nbytes):
    return f"{nbytes >> 20} MiB" if nbytes >= 1 << 20 else f"{nbytes >> 10} KiB"


def driver_function(driver, name):
    return ctypes.cast(getattr(driver, name), ctypes.c_void_p)


def floors():
    """The compiled floor and the driver, which answers the calls that it makes."""
    library, driver = floor.build(), ctypes.CDLL(cupola.driver.info().path)
    library.floor_copy.restype = library.floor_allocate.restype = ctypes.c_double
    library.floor_copy.argtypes = [
        *[ctypes.c_void_p] * 2,
        *[ctypes.c_uint64] * 2,
        ctypes.c_size_t,
        ctypes.c_void_p,
        ctypes.c_int,
    ]
    library.floor_allocate.argtypes = [
        *[ctypes.c_void_p] * 2,
        ctypes.c_size_t,
        ctypes.c_void_p,
        ctypes.c_int,
    ]
    return library, driver


def interleaved(calls):
    """Seconds by name, one for each round; each call gives seconds."""
    times = {name: [] for name in calls}
    for round_ in range(ROUNDS + 2):
        for name, call in calls.items():
            elapsed = call()
            assert elapsed > 0, name
            if round_ >= 2:
                times[name].append(elapsed)
    return times


def timed(call, repeat):
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def copies(library, driver, nbytes, to_device):
    """Each way's function: seconds of a copy, waited for."""
    array = cupola.empty(nbytes, np.uint8)
    pinned, pageable = cupola.empty_pinned(nbytes, np.uint8), np.empty(nbytes, np.uint8)
    pinned[:] = pageable[:] = np.arange(nbytes, dtype=np.uint8)
    array.set(pinned)
    stream, repeat = cupola.Stream(), max(1, (32 << 20) // nbytes)
    name = "cuMemcpyHtoD" if to_device else "cuMemcpyDtoH"
    copy = driver_function(driver, f"{name}Async_v2")
    wait = driver_function(driver, "cuStreamSynchronize")

    def cpp(host):
        pair = (array.address, host.ctypes.data)
        to, source = pair if to_device else pair[::-1]
        return library.floor_copy(copy, wait, to, source, nbytes, stream.handle, repeat) / repeat

    def ours(host):
        def call():
            if to_device:
                array.set(host, stream=stream)
            else:
                array.get(out=host, stream=stream)
            stream.synchronize()

        return timed(call, repeat)

    return {
        f"pinned, C++ loop over {name}Async": lambda: cpp(pinned),
        "pinned, cupola": lambda: ours(pinned),
    }, {
        f"pageable, C++ loop over {name}Async": lambda: cpp(pageable),
        "pageable, cupola": lambda: ours(pageable),
    }


def allocations(library, driver):
    stream = cupola.Stream.current()
    pool_call = driver_function(driver, "cuMemAllocAsync")
    free = driver_function(driver, "cuMemFreeAsync")

    def round_of(make, *arguments):
        start = time.perf_counter()
        for _ in range(ALLOCATIONS):
            make(*arguments)
        elapsed = time.perf_counter() - start
        cupola.Device().synchronize()
        return elapsed / ALLOCATIONS

    def cpp():
        elapsed = library.floor_allocate(pool_call, free, ALLOCATED, stream.handle, ALLOCATIONS)
        cupola.Device().synchronize()
        return elapsed / ALLOCATIONS

    alloc, empty, shape = cupola.alloc, cupola.empty, (1 << 18,)
    dtype = np.dtype(np.float32)
    return {
        "allocate and free, C++ loop over cuMemAllocAsync and cuMemFreeAsync": cpp,
        "allocate and free, cupola.alloc": lambda: round_of(alloc, ALLOCATED),
        "allocate and free, cupola.empty": lambda: round_of(empty, shape, dtype),
    }


def run():
    """Rows of milliseconds a copy (nanoseconds an allocation) and ratios to C++."""
    library, driver = floors()
    rows = []
    for nbytes in SIZES:
        for to_device in (True, False):
            where = f"{text(nbytes)} to the {'device' if to_device else 'host'}, "
            for calls in copies(library, driver, nbytes, to_device):
                times = {where + name: values for name, values in interleaved(calls).items()}
                rows += records.medians(times, "ms", goals(where) if nbytes >= LARGE else None)
    allocated = interleaved(allocations(library, driver))
    return rows + records.medians(
        allocated, "ns", {"allocate and free, cupola.alloc": "ratio <= 1.36"}
    )


def goals(where):
    return {
        f"{where}pinned, cupola": "ratio <= 1.02",
        f"{where}pageable, cupola": "ratio <= 0.5",
    }


if __name__ == "__main__":
    records.main(__file__, __doc__, run)

"""Eight threads at once; and Python goes on where one of them waits."""

import ctypes
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import images
import numpy as np
import pytest
from gate import Gate, congruential

import cupola

THREADS = 8


def at_once(function):
    """The results of function(0) ... function(7), started together."""
    barrier = threading.Barrier(THREADS, timeout=60)

    def one(index):
        barrier.wait()
        return function(index)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def test_copies_and_launches_on_streams_of_their_own(driver):
    kernel = images.module()["axpy"]

    def one(index):
        rng = np.random.default_rng(index)
        with cupola.Stream(non_blocking=index % 2 == 0):
            for n in (1, 1000, 4099, 77):
                x, y = rng.standard_normal((2, n)).astype(np.float32)
                there, out = cupola.to_device(x), cupola.empty(n, np.float32)
                kernel.forall(n)(0.5 + index, there, cupola.In(y), out, n)
                expected = np.float32(0.5 + index) * x + y
                if not np.array_equal(out.get(), expected):
                    return f"thread {index}, n = {n}"
        return "right"

    assert at_once(one) == ["right"] * THREADS


def test_one_prepared_launch_on_one_array(driver):
    """All on one stream, so that the increments don't race."""
    stream, values = cupola.Stream(), cupola.zeros(64, np.int32)
    stream.wait(cupola.Stream.current())
    launch = images.module()["increment"].prepare(1, 64, values, 64)
    at_once(lambda _: [launch(stream=stream) for _ in range(50)])
    stream.synchronize()
    np.testing.assert_array_equal(values.get(), [50 * THREADS] * 64)


def test_arguments_replaced_by_several_threads(driver):
    """Each launch sends one of the whole argument lists, never a mixture."""
    kernel, out = images.module()["store<unsigned long long>"], cupola.zeros((), np.uint64)
    stream = cupola.Stream()
    stream.wait(cupola.Stream.current())
    launch = kernel.prepare(1, 1, out, 0, stream=stream)
    patterns = {n * 0x0101010101010101 for n in range(THREADS)}
    lock = threading.Lock()

    def one(index):
        seen = set()
        for _ in range(30):
            launch[1] = index * 0x0101010101010101
            with lock:
                launch()
                seen.add(int(out.get(stream=stream)))
        return seen

    seen = set().union(*at_once(one))
    assert seen <= patterns and seen


@pytest.mark.parametrize("form", ["ptx", "described"])
def test_loading_and_finding_kernels(driver, form):
    content, shared = images.FORMS[form]().read_bytes(), images.module(form)

    def one(index):
        module = cupola.load(content) if index % 2 else shared
        kernels = [module[name] for name in ("congruential", "inside", "store<int>")]
        x = cupola.to_device(np.array(index, np.uint32))
        kernels[0][1, 1, cupola.Stream.current()](x, 100)
        return x.get() == congruential(index, 100), id(shared["scale<2>"])

    right, ids = zip(*at_once(one), strict=True)
    assert all(right) and len(set(ids)) == 1


def test_wrong_arguments_beside_right_ones(driver):
    """Each thread gets the text of its own failure."""
    kernel = images.module()["increment"]

    def one(index):
        values = cupola.zeros(4, np.int32)
        for repeat in range(50):
            number = 2**33 + 100 * index + repeat
            with pytest.raises(ValueError, match=f"got the integer {number},"):
                kernel[1, 4](values, number)
            kernel[1, 4](values, 4)
        return values.get().tolist()

    assert at_once(one) == [[50] * 4] * THREADS


def test_allocation_and_freeing(driver):
    def one(index):
        rng = np.random.default_rng(index)
        with cupola.Stream():
            kept = []
            for _ in range(60):
                host = np.full(int(rng.integers(1, 5000)), index, np.int16)
                kept.append((host, cupola.to_device(host)))
                if len(kept) > 5:
                    host, there = kept.pop(int(rng.integers(0, len(kept))))
                    assert np.array_equal(there.get(), host)
                    there.free()
        return all(np.array_equal(there.get(), host) for host, there in kept)

    assert all(at_once(one))


WAITS = {
    "stream.synchronize": lambda things: things["stream"].synchronize(),
    "event.synchronize": lambda things: things["event"].synchronize(),
    "event.elapsed_since": lambda things: things["event"].elapsed_since(things["start"]),
    "device.synchronize": lambda things: cupola.Device().synchronize(),
    "array.get": lambda things: things["array"].get(stream=things["stream"]),
    "Out": lambda things: things["kernel"][1, 4, things["stream"]](
        cupola.InOut(np.zeros(4, np.int32)), 4
    ),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_other_threads_run_while_one_waits(driver, wait):
    """The gate is opened by another Python thread: were the GIL kept, it would stay shut."""
    stream = cupola.Stream(non_blocking=True)
    things = {"stream": stream, "start": stream.record(), "array": cupola.zeros(4, np.int32)}
    things["kernel"] = images.module()["increment"]
    about_to_wait = threading.Event()
    with Gate(stream) as gate:
        things["event"] = stream.record()

        def other():
            about_to_wait.wait(60)
            time.sleep(0.02)  # the wait has begun; a wait that keeps the GIL is not survived
            gate.open()

        thread = threading.Thread(target=other)
        thread.start()
        about_to_wait.set()
        wait(things)
        thread.join()


def test_kernels_are_found_while_their_module_is_described_and_unloaded(driver):
    """By the C functions, which run without the GIL."""
    library, text = ctypes.CDLL(cupola.paths.library()), images.ptx().read_bytes()
    names = [b"axpy", b"increment", b"is_null", b"congruential", b"lookup", b"weigh"]
    cupola.Device().synchronize()
    for _ in range(5):
        module = ctypes.c_void_p()
        size = ctypes.c_size_t(len(text))
        assert library.cupola_module_load(0, text, size, ctypes.byref(module)) == 0

        def one(index, module=module, size=size):
            found, count = ctypes.c_void_p(), ctypes.c_size_t()
            for repeat in range(40):
                if index == 0:
                    library.cupola_module_describe(module, text, size)
                    library.cupola_module_kernel_count(module, ctypes.byref(count))
                elif index == 1 and repeat == 20:
                    library.cupola_module_unload(module)
                else:
                    name = names[(index + repeat) % len(names)]
                    if library.cupola_module_kernel(module, name, ctypes.byref(found)) == 0:
                        library.cupola_kernel_parameter_count(found)
                        library.cupola_kernel_release(found)
            return library.cupola_module_kernel(module, names[0], ctypes.byref(found)) != 0

        assert at_once(one)[1]  # the module was unloaded
        assert library.cupola_module_loaded(module) == 0
        library.cupola_module_release(module)

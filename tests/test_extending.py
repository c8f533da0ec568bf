"""Third-party modules use cupola's .pxd files without linking: tests/extending.pyx."""

import importlib.util
import os
import pickle
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import build_cache
import images
import numpy as np
import pytest
from hooks import search_path
from test_driver import compile_library, good

import cupola

SOURCE = Path(__file__).with_name("extending.pyx")


def cythonize(folder):
    """The module, by `cythonize -i` alone."""
    (folder / SOURCE.name).write_text(SOURCE.read_text())
    unset = {"CPATH", "LIBRARY_PATH", "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [sys.executable, "-m", "Cython.Build.Cythonize", "-i", SOURCE.name],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name not in unset},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def extending():
    cython = pytest.importorskip("Cython")
    package = Path(cupola.__file__).parent
    declarations = sorted([*package.glob("*.pxd"), *(package / "include").rglob("*.h*")])
    settings = [sys.version, cython.__version__, sysconfig.get_config_var("CXX")]
    settings += [os.environ.get(name, "") for name in ("CC", "CXX", "CFLAGS", "CXXFLAGS")]
    folder = build_cache.entry([*settings, SOURCE, *declarations], cythonize)
    (made,) = folder.glob("extending*.so")
    needed = subprocess.run(["readelf", "-d", made], capture_output=True, text=True, check=True)
    assert "cupola" not in needed.stdout and "cuda" not in needed.stdout
    spec = importlib.util.spec_from_file_location("extending", made)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def saxpy(driver):
    return cupola.shipped_kernels()["saxpy"]


def arrays(n=1000):
    host = np.arange(n, dtype=np.float32)
    return host, cupola.to_device(host), cupola.empty_like(cupola.to_device(host))


def test_launches_without_the_lock(extending, saxpy):
    host, x, out = arrays()
    out.set(np.zeros_like(host))
    launch = saxpy.prepare(4, 256, 1.0, x, out, out, x.size)
    extending.queue(launch, None, 1000)
    np.testing.assert_array_equal(out.get(), 1000 * host)
    # Where the lock is held, too, and on streams: the arrays' own, and others'.
    stream, own = cupola.Stream(), cupola.Stream()
    extending.queue_each([launch, launch], stream)
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), 1002 * host)
    bound = saxpy.prepare(4, 256, 1.0, x, out, out, x.size, stream=own)
    extending.queue(bound, None, 3)
    own.synchronize()
    with stream:
        extending.queue(launch, None, 5)
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), 1010 * host)


def test_memory_learns_of_the_stream(extending, saxpy):
    """Memory freed while another stream uses it is not reused before that work is done."""
    stream = cupola.Stream()
    host, x, out = arrays(1 << 20)
    wanted = 3 * host
    for _ in range(20):
        source = cupola.to_device(host)
        cupola.Device().synchronize()
        launch = saxpy.prepare(512, 256, 2.0, source, source, out, x.size)
        extending.queue(launch, stream, 2)
        del launch, source
        cupola.full_like(x, -1.0)
        stream.synchronize()
        np.testing.assert_array_equal(out.get(), wanted)


def test_arguments_are_replaced(extending, saxpy):
    host, x, out = arrays()
    launch = saxpy.prepare(4, 256, 0.0, x, x, out, x.size)
    extending.set_float(launch, 0, 2.5)
    extending.set_uint(launch, 4, 10)
    extending.queue(launch, None, 1)
    np.testing.assert_array_equal(out.get()[:10], np.float32(3.5) * host[:10])
    other = cupola.zeros_like(x)
    extending.set_pointer(launch, 3, other.address)
    extending.set_int(launch, 4, 5)
    extending.set_float(launch, 0, 1)
    launch()
    np.testing.assert_array_equal(other.get()[:6], [0, 2, 4, 6, 8, 0])


def test_a_struct_is_replaced(extending, driver):
    unpack = cupola.load(images.ptx())["unpack"]
    out = cupola.zeros(3, np.float64)
    box = np.dtype([("a", np.int32), ("b", np.float32), ("c", np.float64)])
    launch = unpack.prepare(1, 1, np.array((1, 2, 3), box)[()], out)
    extending.set_bytes(launch, 0, np.array((4, 5, 6), box).tobytes())
    extending.queue(launch, None, 1)
    np.testing.assert_array_equal(out.get(), [4, 5, 6])
    with pytest.raises(cupola.ArgumentError, match=r"argument 0.*16 bytes"):
        extending.set_bytes(launch, 0, bytes(15))


def test_what_is_refused_leaves_the_argument(extending, saxpy):
    host, x, out = arrays()
    launch = saxpy.prepare(4, 256, 1.0, x, x, out, x.size)
    with pytest.raises(cupola.ArgumentValueError, match=r"saxpy: argument 0 \(a\): .*1e\+300"):
        extending.set_float(launch, 0, 1e300)
    with pytest.raises(cupola.ArgumentError, match="argument 1"):
        extending.set_float(launch, 1, 1.0)
    with pytest.raises(cupola.ArgumentValueError, match="argument 4"):
        extending.set_int(launch, 4, -1)
    with pytest.raises(cupola.ArgumentError, match="5 arguments"):
        extending.set_int(launch, 5, 1)
    with pytest.raises(cupola.ArgumentError, match="argument 0"):
        extending.set_bytes(launch, 0, b"12345678")
    extending.queue(launch, None, 1)
    np.testing.assert_array_equal(out.get(), 2 * host)


def test_replaced_arguments_are_not_shown_as_the_old_ones(extending, saxpy):
    _, x, out = arrays()
    launch = saxpy.prepare(4, 256, 1.0, x, x, out, x.size)
    assert launch[0] == 1.0
    extending.set_float(launch, 0, 2.0)
    with pytest.raises(cupola.ArgumentTypeError, match="compiled code replaced"):
        _ = launch[0]
    with pytest.raises(cupola.ArgumentTypeError, match="compiled code replaced"):
        pickle.dumps(launch)


def test_freed_arrays_are_refused(extending, saxpy):
    _, x, out = arrays()
    launch = saxpy.prepare(4, 256, 1.0, x, x, out, x.size)
    extending.queue(launch, None, 1)
    out.free()
    with pytest.raises(cupola.ArgumentValueError, match="memory of this launch was freed"):
        extending.queue(launch, None, 1)
    blank = cupola.PreparedLaunch.__new__(cupola.PreparedLaunch)
    with pytest.raises(TypeError, match="never initialized"):
        extending.queue(blank, None, 1)
    with pytest.raises(TypeError, match="never initialized"):
        extending.set_int(blank, 0, 1)


def test_captured_launches_become_a_graph(extending, saxpy):
    host, x, out = arrays()
    out.set(np.zeros_like(host))
    launch = saxpy.prepare(4, 256, 1.0, x, out, out, x.size)
    stream = cupola.Stream()
    with stream.capture() as graph:
        extending.queue(launch, stream, 3)
    assert len(graph.nodes) == 3
    run = graph.instantiate()
    run(stream=stream)
    run(stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), 6 * host)


FULL = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
typedef int (*Lookup)(const char*, void**, int, unsigned long long, void*);
typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**, void**);
typedef int (*Synchronize)(void*);
static Launch real_launch;
static void* real(const char* name) {
    static void* driver;
    if (!driver) driver = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    return dlsym(driver, name);
}
static int launch(void* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void* stream, void** arguments, void** extra) {
    ((Synchronize)real("cuStreamSynchronize"))(stream);
    return real_launch(kernel, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
}
int cuInit(unsigned flags) { return ((int (*)(unsigned))real("cuInit"))(flags); }
int cuGetProcAddress_v2(const char* name, void** address, int asked, unsigned long long flags,
                        void* found) {
    int code = ((Lookup)real("cuGetProcAddress_v2"))(name, address, asked, flags, found);
    if (code || strcmp(name, "cuLaunchKernel")) return code;
    real_launch = (Launch)*address;
    *address = (void*)launch;
    return 0;
}
"""


@pytest.mark.cpu_only("a driver whose streams take one launch at a time stands before it")
def test_with_the_lock_held_a_launch_waits_for_no_function_that_wants_it(extending, tmp_path):
    """NVIDIA's driver waits so where some thousand launches are queued."""
    flags = [f'-DREAL="{cupola.paths.cpu_driver()}"', "-ldl"]
    library = compile_library(tmp_path, "libcuda.so.1", FULL, *flags)
    code = """
    import faulthandler, time
    import numpy as np, cupola, extending
    faulthandler.dump_traceback_later(30, exit=True)  # prints the stacks if the test hangs
    x = cupola.ones(10, np.float32)
    out = cupola.zeros_like(x)
    stream, seen = cupola.Stream(), []
    launch = cupola.shipped_kernels()["saxpy"].prepare(1, 32, 1.0, x, out, out, 10)
    extending.queue_each([launch], stream)  # memory has been told of the stream
    stream.synchronize()
    stream.launch_host_func(lambda: (time.sleep(0.1), seen.append(True)))
    extending.queue_each([launch, launch], stream)
    assert seen
    stream.synchronize()
    assert (out.get() == 3).all()
    """
    good(code, CUPOLA_DRIVER=library, PYTHONPATH=search_path(Path(extending.__file__).parent))


def test_launches_of_several_threads(extending, saxpy):
    def work(results, index):
        stream = cupola.Stream()
        host, x, out = arrays()
        out.set(np.zeros_like(host), stream=stream)
        launch = saxpy.prepare(4, 256, 1.0, x, out, out, x.size)
        extending.queue(launch, stream, 200)
        stream.synchronize()
        results[index] = np.array_equal(out.get(stream=stream), 200 * host)

    results = [None] * 4
    threads = [threading.Thread(target=work, args=(results, index)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_a_buffer_of_ones_own(extending, saxpy):
    host, x, out = arrays()
    extending.packed(saxpy, 2.0, x, out, None, 256)
    np.testing.assert_array_equal(out.get(), 3 * host)
    with pytest.raises(cupola.ArgumentValueError, match="block"):
        extending.packed(saxpy, 2.0, x, out, None, 4096)


def test_a_signed_integer_in_a_buffer(extending, driver):
    """At its place, in its size, and no other byte is written."""
    kernel = cupola.load(images.SCALE)["scale"]
    [offset] = [4 * n for n in range(16) if not extending.packed_int(kernel, 2, 0)[4 * n]]
    for value in (-3, 2**31 - 1, -(2**31)):
        data = extending.packed_int(kernel, 2, value)
        assert data[offset : offset + 4] == value.to_bytes(4, "little", signed=True)
        assert set(data[:offset] + data[offset + 4 :]) == {0x55}
    for value in (2**33, -(2**33)):
        with pytest.raises(cupola.ArgumentError, match="32-bit integer"):
            extending.packed_int(kernel, 2, value)
    with pytest.raises(cupola.ArgumentError):
        extending.packed_int(kernel, 9, 1)


def test_copies(extending, driver):
    stream = cupola.Stream()
    values = bytes(range(256)) * 4
    first, second = cupola.alloc(1024, stream=stream), cupola.alloc(1024, stream=stream)
    came = extending.there_and_back(values, first, second, stream)
    assert came == values[:-4] + bytes([4, 3, 2, 1])
    with pytest.raises(cupola.ArgumentError, match="width"):
        extending.refused_fill(first, 3, stream)


def test_events(extending, saxpy):
    _, x, out = arrays()
    launch = saxpy.prepare(4, 256, 1.0, x, x, out, x.size)
    stream, other = cupola.Stream(), cupola.Stream()
    seconds, done = extending.marks(cupola.Event(), cupola.Event(), launch, stream, other)
    assert 0 <= seconds < 60 and done is True
    with pytest.raises(cupola.DriverError):  # the events have no timing
        extending.marks(
            cupola.Event(timing=False), cupola.Event(timing=False), launch, stream, other
        )


def test_handles(extending, saxpy):
    stream, event = cupola.Stream(), cupola.Event()
    assert extending.handles(stream, event, saxpy) == (stream.handle, event.handle, saxpy.handle)
    assert extending.index_of(cupola.Device(0)) == 0


def test_the_drivers_functions(extending, driver):
    assert extending.device_count() == len(cupola.devices())
    with pytest.raises(cupola.DriverError, match="cuDeviceGet") as caught:
        extending.refused_device()
    assert (caught.value.code, caught.value.name) == (101, "CUDA_ERROR_INVALID_DEVICE")


def test_statuses(extending, driver):
    assert extending.status(0) is None
    with pytest.raises(cupola.Error):
        extending.status(9)

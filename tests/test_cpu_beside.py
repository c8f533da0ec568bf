"""The CPU device beside another driver, in one process."""

import os
import subprocess
import sys

import pytest
from beside import both, good, gpu_driver, other_driver

from cupola import paths


@pytest.fixture(scope="module")
def other(driver, tmp_path_factory):
    return other_driver(driver, tmp_path_factory.mktemp("driver"))


def test_it_is_another_device(other):
    both(
        """
        assert cpu.index == 64 and main.index == 0 and main in cupola.devices()
        assert cpu not in cupola.devices() and repr(cpu).startswith("<cupola.Device cpu: ")
        assert cupola.Device("cpu") == cpu == cupola.Device(64)
        assert hash(cpu) == hash(cupola.Device(cpu))
        assert cupola.zeros(3, device="cpu").device == cpu and cupola.zeros(3).device == main
        assert "device='cpu')" in repr(cupola.zeros(3, device=cpu))
        assert repr(cupola.Stream(device=cpu)).endswith("on the CPU device>")
        """,
        other,
    )


def test_it_loads_no_other_driver(other):
    good(
        """
        import os, numpy as np, cupola
        cpu = cupola.Device("cpu")
        with cpu:
            x = cupola.to_device(np.arange(10.0))
            assert cupola.Device() == cpu == x.device and (x + 1).sum() == 55
            kernel = cupola.shipped_kernels()["saxpy"]
            a = cupola.full(10, 2, np.float32)
            kernel[1, 32](3.0, a, a, a, 10)
            assert (a.get() == 8).all()
        assert not cupola.driver.loaded()
        maps = open("/proc/self/maps").read()
        assert "libcupola_cpu.so.1" in maps and "libcuda.so" not in maps
        assert cupola.Device(0) != cpu and cupola.driver.loaded()
        """,
        other,
    )


def test_another_driver_in_the_global_scope_is_not_taken_for_it(other, driver):
    """Its functions have the same names."""
    name = "libcuda.so.1" if driver == "cuda" else other
    good(
        f"""
        import ctypes
        ctypes.CDLL({name!r}, mode=ctypes.RTLD_GLOBAL)
        import cupola
        x, y = (cupola.ones(3, device=device) + 1 for device in ("cpu", 0))
        assert x.device.index == 64 and y.device.index == 0
        assert (x.get() == 2).all() and (y.get() == 2).all()
        assert x.device.name.startswith("cupola CPU device")
        """,
        other,
    )


def test_it_works_where_the_main_driver_is_not_usable():
    good(
        """
        import cupola
        assert cupola.ones(3, device="cpu").sum(dtype=float) == 3
        try:
            cupola.ones(3)
        except cupola.DriverError as error:
            assert "/nowhere/libcuda.so.1 cannot be used" in str(error)
        else:
            raise AssertionError
        """,
        "/nowhere/libcuda.so.1",
    )


@pytest.mark.cpu_only("the main driver is the CPU device")
@pytest.mark.parametrize("choice", ["cpu", "auto", "the drop-in", "the library"])
@pytest.mark.parametrize("first", ["0", "'cpu'"])
def test_where_the_main_driver_is_the_cpu_device_it_is_that_device(choice, first):
    named = {"the drop-in": paths.cpu_driver(), "the library": paths.cpu_library()}
    good(
        f"""
        import cupola
        x = cupola.ones(3, device={first})
        cpu, main = cupola.Device("cpu"), cupola.Device(0)
        assert cpu == main and hash(cpu) == hash(main) and cpu.index == main.index
        assert cupola.devices() == (cpu,)
        y = cupola.ones(3, device=0) + cupola.ones(3, device="cpu") + x
        assert y.device == cpu and (y.get() == 3).all()
        cupola.driver.info()
        assert open("/proc/self/maps").read().count("libcupola_cpu") > 0
        """,
        named.get(choice, choice),
    )


def test_the_same_kernel_on_both(other):
    both(
        """
        results = []
        for device in (cpu, main):
            saxpy = cupola.shipped_kernels(device)["saxpy"]
            assert saxpy.device == device
            x = cupola.arange(1000, dtype=np.float32, device=device)
            y = cupola.ones_like(x)
            stream = cupola.Stream(device=device)
            saxpy[4, 256, stream](2.0, x, y, y, 1000)
            assert y.device == device
            stream.synchronize()
            results.append(y.get())
        np.testing.assert_array_equal(*results)
        np.testing.assert_array_equal(results[0], 2 * np.arange(1000, dtype=np.float32) + 1)
        """,
        other,
    )


def test_sources_are_compiled_for_their_device(driver, tmp_path):
    both(
        """
        twice = 'extern "C" __global__ void twice(int* x) { x[threadIdx.x] *= 2; }'
        times = 'extern "C" __device__ int times(int x) { return 3 * x; }'
        thrice = '''
        extern "C" __device__ int times(int);
        extern "C" __global__ void thrice(int* x) { x[threadIdx.x] = times(x[threadIdx.x]); }'''
        kernels = [
            cupola.compile(twice, device=cpu)["twice"],
            cupola.link([times, thrice], device=cpu)["thrice"],
        ]
        for kernel, factor in zip(kernels, (2, 3)):
            x = cupola.array(np.arange(4, dtype=np.int32), device=cpu)
            kernel[1, 4](x)
            np.testing.assert_array_equal(x.get(), factor * np.arange(4))
        """,
        gpu_driver(driver, tmp_path),
    )


def test_copies(other):
    both(
        """
        host = np.arange(6000.0).reshape(60, 100)
        for one, two in ((cpu, main), (main, cpu)):
            a = cupola.to_device(host, device=one)
            b = cupola.to_device(a, device=two)
            assert b.device == two
            np.testing.assert_array_equal(b.get(), host)
            b[...] = 0
            b[::2, ::-1] = a[:30]  # a strided copy
            np.testing.assert_array_equal(b.get()[::2], host[:30, ::-1])
            b.set(a)
            np.testing.assert_array_equal(b.get(), host)
            m, n = cupola.alloc(100, device=one), cupola.alloc(100, device=two)
            m.fill(7), n.fill(8)
            n.copy_from(m, 10, 50)
            m.copy_to(n, 90, 10)  # to its beginning
            out = bytearray(100)
            n.copy_to(out)
            assert out == bytes([7] * 60 + [8] * 40)
        large = np.random.default_rng(1).random(3 << 20)  # staged on the way
        np.testing.assert_array_equal(
            cupola.to_device(cupola.to_device(large, device=cpu), device=main).get(), large)
        """,
        other,
    )


def test_copies_wait_for_both_streams(other):
    both(
        """
        import threading, time
        n = 1 << 20
        for one, two in ((cpu, main), (main, cpu)):
            source = cupola.zeros(n, np.float32, device=one)
            target = cupola.zeros(n, np.float32, device=two)
            here, there = cupola.Stream(device=one), cupola.Stream(device=two)
            reads = np.empty(n, np.float32)
            for stream in (here, there):
                stream.launch_host_func(time.sleep, 0.2)
            with here, there:
                source.fill(3)  # after the sleep
                target.fill(5)  # before the copy, which it must not overwrite
                target.set(source)
                source.fill(9)  # after the copy
                assert (target.get() == 3).all()
        """,
        other,
    )


def test_streams_wait_for_events_of_the_other_driver(other):
    both(
        """
        import time
        for one, two in ((cpu, main), (main, cpu)):
            done = []
            here, there = cupola.Stream(device=one), cupola.Stream(device=two)
            here.launch_host_func(lambda: (time.sleep(0.2), done.append(1)))
            there.wait(here)
            there.launch_host_func(lambda: done.append(2))
            there.synchronize()
            assert done == [1, 2]
            event = here.record()
            there.wait(event)
            assert event.done and event.device == one
        """,
        other,
    )


def test_host_tensors_are_shared(other):
    good(
        """
        import numpy as np, cupola
        host = np.arange(12.0).reshape(3, 4)
        x = cupola.from_dlpack(host[:, 1:], device="cpu")
        assert x.device == cupola.Device("cpu") and x.address == host[:, 1:].ctypes.data
        assert not cupola.driver.loaded()  # the main driver is not loaded
        x.fill(5)
        x.device.synchronize()
        assert (host[:, 1:] == 5).all() and (host[:, 0] == [0, 4, 8]).all()
        assert x.__dlpack_device__() == (1, 0)
        back = np.from_dlpack(x)
        assert back.ctypes.data == x.address
        assert cupola.Device(0) != x.device
        assert x.__dlpack_device__() == (1, 0) and np.from_dlpack(x).ctypes.data == x.address
        theirs = cupola.ones(3, device=0)
        if cupola.driver.info().kind == "cuda":
            assert theirs.__dlpack_device__() == (2, 0)
            try:
                cupola.from_dlpack(host)
            except cupola.Error as error:
                assert "type 1" in str(error)
            else:
                raise AssertionError
        """,
        other,
    )


def test_the_current_device(other):
    both(
        """
        import threading
        assert cupola.Device() == main
        with cpu:
            assert cupola.Device() == cpu
            with main:
                assert cupola.Device() == main and cupola.zeros(1).device == main
                with cpu:
                    assert cupola.zeros(1).device == cpu
                    seen = []
                    thread = threading.Thread(target=lambda: seen.append(cupola.Device()))
                    thread.start(), thread.join()
                    assert seen == [main]  # each thread has its own
                assert cupola.Device() == main
            assert cupola.Device() == cpu and cupola.Stream().device == cpu
        assert cupola.Device() == main
        """,
        other,
    )


def test_threads_that_begin_at_once(other):
    good(
        """
        import threading, numpy as np, cupola
        barrier, failed = threading.Barrier(8), []
        def work(number):
            try:
                barrier.wait()
                device = cupola.Device("cpu" if number % 2 else 0)
                for i in range(20):
                    x = cupola.full(1000, i, np.float32, device=device)
                    y = cupola.to_device(x, device=0 if number % 2 else "cpu")
                    assert ((x + x).get() == 2 * i).all() and (y.get() == i).all()
            except BaseException as error:
                failed.append(error)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not failed, failed
        """,
        other,
    )


@pytest.mark.parametrize("used", ['"cpu"', '0, "cpu"', '"cpu", 0'])
def test_a_forked_child_uses_neither(other, used):
    good(
        f"""
        import os, warnings, numpy as np, cupola
        warnings.simplefilter("ignore", DeprecationWarning)
        arrays = [cupola.ones(10, device=device) for device in ({used},)]
        child = os.fork()
        if not child:
            for call in (
                lambda: arrays[0].get(), lambda: arrays[-1] + 1, lambda: cupola.ones(1),
                lambda: cupola.ones(1, device="cpu"),
                lambda: cupola.Stream(device=arrays[0].device),
            ):
                try:
                    call()
                except cupola.DriverError as error:
                    if "does not survive fork()" in str(error):
                        continue
                os._exit(1)
            arrays.clear()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert all((x.get() == 1).all() for x in arrays)
        """,
        other,
    )


def test_objects_live_until_the_process_exits(other):
    both(
        """
        import atexit, sys
        kept = [(cupola.ones(10, device=d), cupola.Stream(device=d), cupola.Event(device=d),
                 cupola.shipped_kernels(d)) for d in (cpu, main)]
        graph = cupola.Graph(device=cpu)
        sys.kept = kept, graph
        """,
        other,
    )


def test_pickles_and_profiles(other):
    both(
        """
        import pickle
        x = cupola.arange(10, device=cpu)
        again = pickle.loads(pickle.dumps(x))
        assert again.device == cpu and (again.get() == np.arange(10)).all()
        assert pickle.loads(pickle.dumps(cpu)) == cpu
        assert pickle.loads(pickle.dumps(cupola.shipped_kernels(cpu)["saxpy"])).device == cpu
        with cupola.profile() as profile:
            saxpy = [cupola.shipped_kernels(d)["saxpy"] for d in (cpu, main)]
            for kernel in saxpy:
                y = cupola.ones(10, np.float32, device=kernel.device)
                kernel[1, 32](2.0, y, y, y, 10)
                kernel.device.synchronize()
        launched = {o.device for o in profile.operations if "saxpy" in o.name}
        assert launched == {0, 64}, profile.operations
        """,
        other,
    )


def test_the_report_and_the_information_name_it(other):
    for command in ("paths", "info"):
        answer = subprocess.run(
            [sys.executable, "-m", "cupola", command],
            env={**os.environ, "CUPOLA_DRIVER": other},
            capture_output=True,
            text=True,
        )
        assert paths.cpu_library() in answer.stdout, command

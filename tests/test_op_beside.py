"""Operations on host arrays beside a GPU: computed by the CPU device, where that is chosen."""

import pytest
from beside import BEGIN, good, gpu_driver, run, with_operations

CHOSEN = {"CUPOLA_CPU_TENSORS": "1"}
HOST = "u = np.arange(35, dtype=np.float32).reshape(5, 7)\n"


@pytest.fixture(scope="module")
def gpu(driver, tmp_path_factory):
    return gpu_driver(driver, tmp_path_factory.mktemp("driver"))


def program(code, gpu, begin=BEGIN + HOST, **variables):
    return good(with_operations(code, begin), gpu, **variables)


def test_they_are_an_error_without_a_choice(gpu):
    program(
        """
        step = made(operations.PLANE)
        for call in (
            lambda: step(u),
            lambda: operations.native(operations.PLANE).launch(
                ((u.ctypes.data, 2, 32, 1, 0, u.shape, None),) * 2, (2.0,)),
        ):
            try:
                call()
            except cupola.ArgumentValueError as error:
                assert "host memory" in str(error) and "CUPOLA_CPU_TENSORS=1" in str(error)
            else:
                raise AssertionError
        assert (step(u, device=0) == 2 * u).all()  # copies
        assert cupola.driver.info().kind == "cuda"
        """,
        gpu,
        CUPOLA_CPU_TENSORS="",
    )


def test_a_choice_that_is_none(gpu):
    answer = run(
        with_operations("made(operations.PLANE, 'cpu')(np.ones((2, 2), np.float32))"),
        gpu,
        CUPOLA_CPU_TENSORS="yes",
    )
    assert 'ArgumentValueError: CUPOLA_CPU_TENSORS is "yes"; expected 0 or 1' in answer.stderr


def test_the_same_on_both(gpu):
    """The kernels were loaded on either device; they are loaded on the other one when needed."""
    program(
        """
        for first in (cpu, main):
            step = made(operations.PLANE, first)
            for dtype in (np.float32, np.float64):
                x = u.astype(dtype)
                here, there = step(x, 3), step(cupola.to_device(x, device=main), 3)
                assert type(here) is np.ndarray and there.device == main
                np.testing.assert_array_equal(here, there.get())
                np.testing.assert_array_equal(here, 3 * x)
                beside = step(cupola.from_dlpack(x, device=cpu), 3)
                assert beside.device == cpu and (beside.get() == here).all()
            assert (step(u.T, 3) == 3 * u.T).all()  # not in C order: a copy
            assert (step(u, 3, device=main) == 3 * u).all()
        """,
        gpu,
        **CHOSEN,
    )


@pytest.mark.parametrize(
    ("scope", "options", "chosen"),
    [
        ("nothing", "", "1"),
        ("cpu", "", "0"),
        ("nothing", "device='cpu'", ""),
        ("main", "device=cpu", ""),
    ],
)
def test_each_choice_uses_the_memory_in_place(gpu, scope, options, chosen):
    program(
        f"""
        import contextlib
        nothing = contextlib.nullcontext()
        step, accumulate = made(operations.PLANE), made(operations.ACCUMULATE)
        out, cache = np.zeros_like(u), np.zeros(100, np.float32)
        x = np.arange(100, dtype=np.float32)
        with {scope}, cupola.profile() as profile:
            assert (step(u, {options}) == 2 * u).all()
            assert step(u, 4, out=out, {options}) is out
            total = accumulate(cache, x, {options})
        assert (out == 4 * u).all() and (cache == x).all() and total.tolist() == [4950]
        kinds = [one.kind for one in profile.operations]
        assert kinds.count("launch") == 3 and set(kinds) <= {{"launch", "wait"}}, kinds
        assert {{one.device for one in profile.operations if one.kind == "launch"}} == {{64}}
        try:
            assert (step(u) == 2 * u).all() and {chosen!r} == "1"
        except cupola.ArgumentValueError as error:
            assert {chosen!r} != "1" and "CUPOLA_CPU_TENSORS=1" in str(error)
        """,
        gpu,
        CUPOLA_CPU_TENSORS=chosen,
    )


def test_host_arrays_alone_load_no_gpu_library(gpu):
    program(
        """
        step = made(operations.PLANE, "cpu")
        assert (step(u, 3) == 3 * u).all() and not cupola.driver.loaded()
        maps = open("/proc/self/maps").read()
        assert "libcupola_cpu.so.1" in maps
        assert "libcuda.so" not in maps and "libnvidia" not in maps
        assert (step(cupola.to_device(u, device=0), 3).get() == 3 * u).all()
        assert cupola.driver.loaded() and cupola.driver.info().kind == "cuda"
        assert (step(u, 3) == 3 * u).all()
        """,
        gpu,
        "import numpy as np, cupola\n" + HOST,
        **CHOSEN,
    )


@pytest.mark.several_devices
def test_host_arrays_and_two_devices_in_one_process(gpu):
    """Each result is where its argument is, in turns and from threads at once."""
    program(
        """
        from concurrent.futures import ThreadPoolExecutor
        step = made(operations.PLANE)
        there = [cupola.to_device(u, device=index) for index in (0, 1)]
        def check(alpha):
            here = step(u, alpha)
            assert type(here) is np.ndarray and (here == alpha * u).all()
            for x in there:
                with cupola.Device(x.device):
                    found = step(x, alpha)
                    assert found.device == x.device and (found.get() == alpha * u).all()
        check(3)
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(check, range(30)))
        """,
        gpu,
        CUPOLA_CPU_DEVICES="2",
        **CHOSEN,
    )


@pytest.mark.cpu_only("the main driver is the CPU device")
@pytest.mark.parametrize("chosen", ["", "0", "1"])
@pytest.mark.parametrize("choice", ["cpu", "auto"])
def test_without_a_gpu_nothing_is_chosen(choice, chosen):
    program(
        """
        step = made(operations.PLANE)
        assert (step(u, 3) == 3 * u).all() and (step(u, 3, device=0) == 3 * u).all()
        x = cupola.to_device(u)
        assert (step(x, 3).get() == 3 * u).all() and x.device == cupola.Device("cpu")
        assert (step(u, 3, device="cpu") == 3 * u).all()
        """,
        choice,
        "import numpy as np, cupola\n" + HOST,
        CUPOLA_CPU_TENSORS=chosen,
    )


def test_arrays_of_both(gpu):
    program(
        """
        both = made(operations.BOTH)
        x = u[0].copy()
        native = operations.native(operations.BOTH)
        host = lambda a: (a.ctypes.data, 2, 32, 1, 0, a.shape, None)
        device = operations.tensor(cupola.to_device(x, device=main))
        for tensors, text in (
            ((host(x), device), "the memory of device 0, an argument before it in host memory"),
            ((device, host(x)), "in host memory, an argument before it in the memory of device 0"),
            ((host(x), operations.tensor(cupola.to_device(x, device=cpu))), "of the CPU device, "),
        ):
            try:
                native.launch((*tensors, tensors[0], tensors[1]), ())
            except cupola.ArgumentValueError as error:
                assert text in str(error), error
            else:
                raise AssertionError
        """,
        gpu,
        **CHOSEN,
    )


def test_threads_that_begin_at_once(gpu):
    program(
        """
        import threading
        step, barrier, failed = made(operations.PLANE), threading.Barrier(8), []
        def work(number):
            try:
                barrier.wait()
                for i in range(20):
                    there = cupola.to_device(u, device=0) if number % 2 else u
                    found = step(there, i)
                    assert ((found.get() if number % 2 else found) == i * u).all()
            except BaseException as error:
                failed.append(error)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not failed, failed
        """,
        gpu,
        "import numpy as np, cupola\n" + HOST,
        **CHOSEN,
    )


def test_a_forked_child_computes_nothing(gpu):
    program(
        """
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        step = made(operations.PLANE, "cpu")
        step(u)
        child = os.fork()
        if not child:
            try:
                step(u)
            except cupola.DriverError as error:
                os._exit("does not survive fork()" not in str(error))
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """,
        gpu,
        "import numpy as np, cupola\n" + HOST,
        **CHOSEN,
    )


@pytest.mark.parametrize("chosen", ["", "1"])
def test_jax(gpu, chosen):
    pytest.importorskip("jax")
    program(
        f"""
        import os
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        step = made(operations.PLANE, cpu)
        x = jax.numpy.asarray(u)
        try:
            assert (np.asarray(jax.jit(lambda x: step(x, 3.0))(x)) == 3 * u).all()
            assert (np.asarray(jax.vmap(step)(x[None])) == 2 * u).all()
        except Exception as error:
            assert not {chosen!r} and "CUPOLA_CPU_TENSORS=1" in str(error), error
        else:
            assert {chosen!r}
        """,
        gpu,
        CUPOLA_CPU_TENSORS=chosen,
    )

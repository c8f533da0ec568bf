"""Small memory that was freed lately: a stream allocates it again without asking the driver."""

from pathlib import Path

import pytest
from test_driver import compile_library, good

import cupola

pytestmark = pytest.mark.cpu_only("the CPU device stands for the driver whose calls are counted")

BEGIN = """
import ctypes, gc
import numpy as np, cupola
driver = ctypes.CDLL({path!r})
def count(name):
    return ctypes.c_int.in_dll(driver, name).value
def calls():
    return count("allocations"), count("frees")
gc.disable()
x = cupola.ones(1000, np.float32)
"""


@pytest.fixture
def counting(tmp_path):
    source = Path(__file__).with_name("counting.c").read_text()
    flags = [f'-DREAL="{cupola.paths.cpu_driver()}"', "-ldl"]
    library = compile_library(tmp_path, "libcuda.so.1", source, *flags)

    def run(code, **variables):
        begin = BEGIN.format(path=str(library))
        good(begin + code.replace("\n    ", "\n"), CUPOLA_DRIVER=library, **variables)

    return run


def test_expressions_ask_the_driver_once(counting):
    counting("""
    2 * x + x
    before = calls()
    for _ in range(100):
        assert ((2 * x + x).get() == 3).all()
    assert calls() == before, (before, calls())
    with cupola.Stream():  # each stream has its own
        2 * x
        before = calls()
        for _ in range(100):
            2 * x
        assert calls() == before
    """)


def test_there_are_bounds(counting):
    counting("""
    arrays = [cupola.empty(500) for _ in range(100)]
    before = calls()
    del arrays
    assert calls() == (before[0], before[1] + 92)  # eight are kept
    before = calls()
    for size in range(1, 50):  # the latest ones stay; older, unused ones are freed
        cupola.empty(size)
    assert cupola.empty(49).size == 49
    assert calls() == (before[0] + 49, before[1] + 49)
    before = calls()
    cupola.alloc((1 << 20) + 1), cupola.alloc((1 << 20) + 1)  # large ones are the pool's
    assert calls() == (before[0] + 2, before[1] + 2)
    """)


def test_what_several_streams_have_used_is_not_kept(counting):
    counting("""
    y = cupola.empty(77)
    with cupola.Stream(non_blocking=True) as stream:
        y.fill(3)
    before = calls()
    del y
    assert calls() == (before[0], before[1] + 1)
    """)


def test_a_stream_gives_it_back_at_its_end(counting):
    counting("""
    with cupola.Stream() as stream:
        cupola.empty(123), cupola.empty(124)
    before = calls()
    del stream
    assert calls() == (before[0], before[1] + 2)
    """)


def test_in_a_forked_child_a_stream_ends_while_another_thread_gave_it_back(counting):
    counting("""
    import os, signal, threading, time
    def has_come(true):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if true():
                return True
            time.sleep(0.001)
        return False
    closed, frees = ctypes.c_int.in_dll(driver, "frees_closed"), count("frees")
    stream = cupola.Stream()
    with stream:
        cupola.empty(123)
    closed.value = 1
    trim = threading.Thread(target=cupola.Device().pool.trim, daemon=True)
    trim.start()
    assert has_come(lambda: count("frees") > frees)  # the thread is inside the driver's function
    child = os.fork()
    if not child:
        del stream
        os._exit(0)
    ended = has_come(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT))
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    closed.value = 0
    trim.join()
    assert ended and status == 0, (ended, status)
    """)


def test_it_is_not_handed_out(counting):
    counting("""
    pool = cupola.Device().pool
    used = pool.used
    y = cupola.empty(8000, np.uint8)
    assert pool.used >= used + 8000
    before = calls()
    del y
    assert pool.used < used + 8000 and calls() == before
    pool.trim()
    assert calls()[1] > before[1]
    y = cupola.empty(8000, np.uint8)
    assert calls()[0] == before[0] + 1
    """)


def test_before_an_allocation_fails_it_is_given_back(counting):
    counting("""
    left = ctypes.c_int.in_dll(driver, "allocations_left")
    with cupola.Stream() as stream:
        cupola.empty(50)
    left.value = 0
    y = cupola.empty(51)  # in place of what the other stream had
    left.value = 0
    try:
        cupola.empty(52)
    except MemoryError as error:
        assert error.code == 2
    else:
        raise SystemExit("there was memory")
    """)


def test_a_capture_takes_no_part(counting):
    counting("""
    2 * x
    with cupola.Stream() as stream:
        2 * x
        with stream.capture() as graph:
            y = 2 * x
        run = graph.instantiate()
        before = y.address
        z = 2 * x
        assert z.address != before
        run()
        assert (y.get() == 2).all() and (z.get() == 2).all()
        del y
        assert all((2 * x).address != before for _ in range(20))  # the graph has it
        run()
        stream.synchronize()
    """)


def test_nor_does_another_librarys(counting):
    counting("""
    native = ctypes.CDLL(cupola.paths.cpu_driver())
    graph = ctypes.c_void_p()
    with cupola.Stream() as stream:
        y = cupola.empty(50)
        cupola.empty(51)
        cupola.Device().synchronize()
        handle = ctypes.c_void_p(stream.handle)
        assert native.cuStreamBeginCapture_v2(handle, 2) == 0
        before = calls()
        cupola.Device().pool.trim()
        assert calls() == before  # the memory to free became a part of the graph
        del y
        assert calls() == (before[0], before[1] + 1)
        cupola.empty(51)  # new memory, which is not kept: nodes of the graph
        assert calls() == (before[0] + 1, before[1] + 2)
        before = calls()
        with cupola.Stream():  # other streams are not blocked
            cupola.empty(52)
            assert calls() == (before[0] + 1, before[1])
            cupola.empty(52)
            assert calls() == (before[0] + 1, before[1])
        assert native.cuStreamEndCapture(handle, ctypes.byref(graph)) == 0
        before = calls()
        cupola.empty(51)
        assert calls() == before
    """)


@pytest.mark.parametrize("variable", [{"CUPOLA_SYNC": "1"}])
def test_who_looks_for_mistakes_sees_each_free(counting, variable):
    counting(
        """
    before = calls()
    for _ in range(10):
        2 * x
    assert calls() == (before[0] + 10, before[1] + 10)
    """,
        **variable,
    )

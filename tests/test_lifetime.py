"""Garbage in any order, exit with work in flight, fork, threads that outlive what they use."""

import os
import subprocess
from pathlib import Path

import pytest
from test_driver import good, run

SETUP = """
import gc, cupola, numpy as np
host = np.arange(1000, dtype=np.float32)
def things():
    stream = cupola.Stream()
    module = cupola.load({ptx!r})
    kernel = module["scale"]
    array = cupola.to_device(host)
    event = cupola.Event()
    launch = kernel.prepare(8, 128, array, 2.0, 1000)
    names = ("stream", "module", "kernel", "array", "event", "launch")
    return dict(zip(names, (stream, module, kernel, array, event, launch)))
"""


@pytest.fixture
def setup(request):
    return SETUP.format(ptx=str(request.path.with_name("scale.ptx")))


def test_garbage_in_any_order(setup, driver):
    """All 720 orders of letting go, with work in flight, in one process."""
    code = setup + (
        "import itertools\n"
        "for order in itertools.permutations(things()):\n"
        "    t = things()\n"
        "    t['launch'](stream=t['stream'])\n"
        "    t['event'].record(t['stream'])\n"
        "    for name in order:\n"
        "        del t[name]\n"
        "gc.collect()\n"
        "cupola.Device().synchronize()\n"
        "print('done')\n"
    )
    answer = good(code, CUPOLA_DRIVER=driver)
    assert (answer.stdout, answer.stderr) == ("done\n", "")


@pytest.mark.parametrize("name", ["stream", "module", "kernel", "array", "event", "launch"])
def test_each_keeps_what_it_depends_on(setup, driver, name):
    """One owner is kept, all others are gone: it still works."""
    use = {
        "stream": "t.synchronize(); assert t.done",
        "module": "a = cupola.to_device(host); t['scale'][8, 128](a, 3.0, 1000); a.get()",
        "kernel": "a = cupola.to_device(host); t[8, 128](a, 3.0, 1000); a.get()",
        "array": "np.testing.assert_array_equal(t.get(), host)",
        "event": "t.record(); t.synchronize()",
        "launch": "t(); cupola.Device().synchronize()",
    }[name]
    code = setup + f"t = things()['{name}']\ngc.collect()\n{use}\nprint('done')"
    answer = good(code, CUPOLA_DRIVER=driver)
    assert (answer.stdout, answer.stderr) == ("done\n", "")


@pytest.mark.parametrize("when", ["module level", "atexit", "thread", "cycle"])
def test_exit_with_work_in_flight(setup, driver, when):
    """No message, no crash, no hang."""
    start = "t = things()\nfor _ in range(200): t['launch'](stream=t['stream'])\n"
    code = {
        "module level": start,
        "atexit": "import atexit\natexit.register(lambda: t['launch']())\n" + start,
        "thread": "import threading\n"
        "def work():\n"
        "    global t\n"
        "    t = things()\n"
        "    while True: t['launch']()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "import time; time.sleep(0.2)\n",
        "cycle": start + "t['self'] = t\n",
    }[when]
    answer = good(setup + code, CUPOLA_DRIVER=driver)
    assert (answer.stdout, answer.stderr) == ("", "")


def test_forked_child_is_told(setup, driver):
    code = setup + (
        "import os, sys\n"
        "t = things()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    calls = [lambda: cupola.to_device(host), lambda: t['launch'](),\n"
        "             lambda: t['array'].get(), lambda: t['stream'].synchronize(),\n"
        "             lambda: t['kernel'][1, 1](t['array'], 1.0, 1),\n"
        "             lambda: cupola.Event(), lambda: cupola.load(open({0!r}, 'rb').read()),\n"
        "             lambda: cupola.saxpy(1.0, host, host), lambda: cupola.memory_info()]\n"
        "    for call in calls:\n"
        "        try:\n"
        "            call()\n"
        "        except cupola.DriverError as error:\n"
        "            assert 'does not survive fork' in str(error), error\n"
        "        else:\n"
        "            os._exit(1)\n"
        "    del t, calls\n"
        "    gc.collect()\n"
        "    sys.exit(0)\n"
        "_, status = os.waitpid(pid, 0)\n"
        "t['launch'](); t['array'].get()\n"
        "print('child', os.waitstatus_to_exitcode(status))\n"
    ).replace("{0!r}", repr(str(Path(__file__).with_name("scale.ptx"))))
    # from 3.12 on Python itself warns of fork() in a process with threads
    answer = good(code, CUPOLA_DRIVER=driver, PYTHONWARNINGS="ignore::DeprecationWarning")
    assert (answer.stdout, answer.stderr) == ("child 0\n", "")


def test_fork_before_the_first_use_is_fine(setup, driver):
    code = setup + (
        "import os\n"
        "pid = os.fork()\n"
        "t = things(); t['launch'](); t['array'].get()\n"
        "if pid: print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert good(code, CUPOLA_DRIVER=driver).stdout == "0\n"


def test_memory_is_given_back(setup, driver):
    """Free memory is the same after a thousand arrays and modules."""
    code = setup + (
        "def round(n):\n"
        "    for _ in range(n): things()\n"
        "    gc.collect(); cupola.Device().synchronize()\n"
        "    return cupola.memory_info().free\n"
        "before = round(50)\n"
        "after = round(1000)\n"
        "assert abs(before - after) <= 32 << 20, (before, after)\n"
    )
    good(code, CUPOLA_DRIVER=driver)


def test_out_of_memory_leaves_everything_usable(setup, driver):
    code = setup + (
        "free, total = cupola.memory_info()\n"
        "for _ in range(3):\n"
        "    try:\n"
        "        cupola.empty(total + (1 << 30), np.uint8)\n"
        "    except MemoryError as error:\n"
        "        assert isinstance(error, cupola.OutOfMemoryError)\n"
        "        text = str(error)\n"
        "    else:\n"
        "        raise SystemExit('there was memory')\n"
        "assert f'requested {total + (1 << 30)} bytes' in text and 'free: ' in text, text\n"
        "t = things(); t['launch'](); np.testing.assert_array_equal(t['array'].get(), 2 * host)\n"
    )
    good(code, CUPOLA_DRIVER=driver)


def test_a_fault_is_an_error_and_the_process_says_so(setup, driver):
    code = setup + (
        "t = things()\n"
        "try:\n"
        "    t['kernel'][1, 32](16, 1.0, 32)\n"
        "    cupola.Device().synchronize()\n"
        "except cupola.DriverError as error:\n"
        "    print(error.name)\n"
    )
    answer = run(code, CUPOLA_DRIVER=driver)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "CUDA_ERROR_ILLEGAL_ADDRESS\n"


def test_a_forked_child_lets_go_while_the_parent_looks_through_all_memory(driver):
    """Another thread has the lock of all memory most of the time, and is not in the child."""
    code = """
    import ctypes, os, threading, time
    import cupola
    library = ctypes.CDLL(cupola.paths.library())
    graph = ctypes.c_void_p()
    assert library.cupola_graph_create(0, ctypes.byref(graph)) == 0
    kept = [cupola.alloc(1) for _ in range(20_000)]
    stop = threading.Event()
    def work():
        node, at = ctypes.c_void_p(), ctypes.c_uint64(kept[0].address)
        while not stop.is_set():
            for _ in range(50):
                library.cupola_graph_add_fill(
                    graph, None, ctypes.c_size_t(0), at, 0, 1, ctypes.c_size_t(1),
                    ctypes.byref(node))
    thread = threading.Thread(target=work)
    thread.start()
    children = []
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            kept.pop()
            os._exit(0)
        children.append(pid)
        time.sleep(0.01)
    stop.set()
    thread.join()
    library.cupola_graph_release(graph)
    end = time.monotonic() + 20
    while children and time.monotonic() < end:
        children = [pid for pid in children if os.waitpid(pid, os.WNOHANG) == (0, 0)]
        time.sleep(0.01)
    for pid in children:
        os.kill(pid, 9)
    assert not children, f"{len(children)} wait for ever"
    """
    good(code, CUPOLA_DRIVER=driver, PYTHONWARNINGS="ignore::DeprecationWarning")


FAILING_NEW = """
#include <cstdlib>
#include <new>
static thread_local int left = -1;
extern "C" void fail_after(int calls) { left = calls; }
void* operator new(std::size_t bytes) {
    if (left == 0) {
        left = -1;
        throw std::bad_alloc();
    }
    if (left > 0) --left;
    if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
"""


def test_host_memory_that_runs_out_where_memory_is_kept_for_a_graph(driver, tmp_path):
    library = tmp_path / "failing.so"
    (tmp_path / "failing.cpp").write_text(FAILING_NEW)
    compiler = os.environ.get("CXX", "c++").split()
    command = [*compiler, "-shared", "-fPIC", tmp_path / "failing.cpp", "-o", library]
    subprocess.run(command, check=True)
    code = f"""
    import ctypes, gc, numpy as np, cupola
    failing = ctypes.CDLL({str(library)!r})
    stream = cupola.Stream()
    arrays = [cupola.zeros(64, np.int32) for _ in range(100)]
    cupola.Device().synchronize()
    with stream.capture() as graph:
        while arrays:
            arrays[-1].fill(1)
            failing.fail_after(0)
            del arrays[-1]
            failing.fail_after(-1)
    graph.instantiate()(stream)
    stream.synchronize()
    print("done")
    """
    answer = good(code, CUPOLA_DRIVER=driver, LD_PRELOAD=library)
    assert answer.stdout == "done\n"

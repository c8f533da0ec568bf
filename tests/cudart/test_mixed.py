"""Libraries of the runtime API beside cupola, the driver API and each other in one process."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import images
import pytest

import cupola.paths

from .places import PACKAGED, RUNTIME

SOURCE = Path(__file__).with_name("library.cu")
HEAD = """
import ctypes, os, subprocess, sys, threading
def load(path):
    return ctypes.CDLL(path)
def ints(n):
    return (ctypes.c_int * n)()
def counted(library):
    numbers = ints(2)
    assert library.counted(numbers, ctypes.byref(numbers, 4)) == 0
    return list(numbers)
"""


@pytest.fixture(scope="module")
def libraries():
    """Two libraries of one source, whose variables begin at 0 and at 100."""
    toolkit = images.nvcc()
    options = ["-shared", "-Xcompiler", "-fPIC", "-cudart=none", "-cudadevrt=none"]
    options += ["-gencode=arch=compute_75,code=compute_75"]
    options += [f"-I{path}" for path in toolkit.include]
    options += ["-Xlinker", PACKAGED / f"libcudart.so.{toolkit.version[0]}"]
    return [
        os.fspath(images.compiled(f"from{start}.so", SOURCE, f"-DSTART={start}", *options))
        for start in (0, 100)
    ]


@pytest.fixture
def script(driver, libraries):
    """Runs Python code in a new process that finds cupola's runtime."""

    def run(code):
        folders = [os.fspath(RUNTIME)]
        if driver == "cpu":
            folders.append(os.path.dirname(cupola.paths.cpu_driver()))
        path = os.pathsep.join([*folders, os.environ.get("LD_LIBRARY_PATH", "")])
        done = subprocess.run(
            # Python warns of fork where a driver has threads.
            [
                sys.executable,
                "-W",
                "ignore::DeprecationWarning",
                "-c",
                HEAD + textwrap.dedent(code),
                *libraries,
            ],
            env={**os.environ, "CUPOLA_DRIVER": driver, "LD_LIBRARY_PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout.split()

    return run


@pytest.mark.parametrize("first", ["cupola", "library"])
def test_cupola_and_a_library_share_a_context(script, first):
    """Memory of either is used by the other, whichever comes first."""
    said = script(f"""
    import numpy as np, cupola
    library = load(sys.argv[1])
    if {first!r} == "library":
        assert library.sum_of(1, ints(1)) == 0
    x = cupola.to_device(np.arange(4, dtype=np.int32))
    assert library.add_all(ctypes.c_void_p(x.address), 4, 10) == 0
    print(*(2 * x).get())
    """)
    assert said == ["20", "22", "24", "26"]


def test_libraries_have_variables_of_their_own(script):
    said = script("""
    first, second = map(load, sys.argv[1:])
    print(*counted(first), *counted(second), *counted(first))
    """)
    assert said == ["1", "1", "101", "201", "2", "3"]


def test_a_library_that_is_loaded_again_begins_anew(script):
    said = script("""
    close = ctypes.CDLL(None).dlclose
    for _ in range(3):
        library = load(sys.argv[1])
        print(*counted(library), *counted(library))
        handle = library._handle
        del library
        assert close(ctypes.c_void_p(handle)) == 0
    other = load(sys.argv[2])
    print(*counted(other))
    """)
    assert said == ["1", "1", "2", "3"] * 3 + ["101", "201"]


def test_a_library_that_is_never_used_loads_no_driver(script):
    """Neither when it is loaded nor when it is closed."""
    said = script("""
    handle = load(sys.argv[1])._handle
    assert ctypes.CDLL(None).dlclose(ctypes.c_void_p(handle)) == 0
    print("libcuda.so" in open("/proc/self/maps").read())
    """)
    assert said == ["False"]


def test_threads_call_libraries_at_once(script):
    said = script("""
    libraries, wrong = [load(path) for path in sys.argv[1:]], []
    def work(k):
        for n in range(20):
            total = ctypes.c_int()
            code = libraries[k % 2].sum_of(k * n, ctypes.byref(total))
            if (code, total.value) != (0, 32 * (k * n + 1)):
                wrong.append((k, n, code, total.value))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(wrong)
    """)
    assert said == ["[]"]


def test_a_forked_child_is_refused_and_an_executed_one_is_not(script):
    said = script("""
    library, total = load(sys.argv[1]), ctypes.c_int()
    assert library.sum_of(1, ctypes.byref(total)) == 0
    if os.fork() == 0:
        os._exit(library.sum_of(1, ctypes.byref(total)))
    print(os.waitstatus_to_exitcode(os.wait()[1]))
    text = "import ctypes, sys; n = ctypes.c_int(); library = ctypes.CDLL(sys.argv[1])"
    text += "; print(library.sum_of(2, ctypes.byref(n)), n.value)"
    subprocess.run([sys.executable, "-c", text, sys.argv[1]], check=True)
    print(library.sum_of(3, ctypes.byref(total)), total.value, flush=True)
    """)
    assert sorted(said) == sorted(["3", "0", "96", "0", "128"])


def test_a_context_of_the_driver_api_is_used(script):
    """Memory that the runtime allocates belongs to the context that is current."""
    said = script("""
    driver, library = ctypes.CDLL("libcuda.so.1"), load(sys.argv[1])
    context, current, pointer = (ctypes.c_void_p() for _ in range(3))
    assert driver.cuInit(0) == 0
    assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    assert library.sum_of(1, ints(1)) == 0
    assert driver.cuCtxGetCurrent(ctypes.byref(current)) == 0
    assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(16)) == 0
    assert library.add_all(pointer, 4, 1) == 0
    print(current.value == context.value)
    """)
    assert said == ["True"]

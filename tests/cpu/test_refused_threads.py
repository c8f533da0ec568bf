"""A system that refuses threads: those that there are do the work, and no process ends."""

import os
import subprocess
import textwrap
from pathlib import Path

import pytest

REFUSING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
int refuse = 0, refused = 0;
int pthread_create(pthread_t* a, const pthread_attr_t* b, void* (*c)(void*), void* d) {
    int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
        dlsym(RTLD_NEXT, "pthread_create");
    if (refuse) return ++refused, EAGAIN;
    return real(a, b, c, d);
}
"""
HEAD = """
refusing = ctypes.CDLL(os.environ["LD_PRELOAD"].split(":")[0])
refuse, refused = (ctypes.c_int.in_dll(refusing, name) for name in ("refuse", "refused"))
pointer, stream, module = cuda.alloc(4 << 20), cuda.stream(), cuda.module()
store, add = cuda.function(module, "store"), cuda.function(module, "add1")
"""


@pytest.fixture
def starved(passes, own, tmp_path):
    """Runs a script in which `refuse.value = 1` lets no thread begin."""
    library = tmp_path / "refusing.so"
    command = ["cc", "-x", "c", "-w", "-shared", "-fPIC", "-", "-o", library, "-ldl"]
    subprocess.run(command, input=REFUSING, text=True, check=True)
    first = Path(library).as_posix()
    others = os.environ.get("LD_PRELOAD")
    preload = f"{first}:{others}" if others else first
    settings = {"CUPOLA_CPU_THREADS": "4", "CUPOLA_CPU_MODE": "interpret", "LD_PRELOAD": preload}
    return lambda text, **more: passes(HEAD + textwrap.dedent(text), **settings, **more)


def test_a_grid_goes_on_with_fewer_workers(starved):
    """The stream has its thread; the blocks of a long grid get none beside it."""
    starved("""
        cuda.cuMemsetD32_v2(pointer, 0, 512000)
        cuda.launch(store, 1, 1, c_uint64(pointer), c_uint(0), stream=stream)
        cuda.cuStreamSynchronize(stream)
        time.sleep(0.1)  # the stream's thread is idle, and will be used again
        refuse.value = 1
        for _ in range(3):
            cuda.launch(add, 2000, 256, c_uint64(pointer), stream=stream)
        cuda.cuStreamSynchronize(stream)
        assert refused.value > 0
        refuse.value = 0
        cuda.launch(add, 2000, 256, c_uint64(pointer), stream=stream)
        cuda.cuStreamSynchronize(stream)
        assert set(cuda.read(pointer, 512000)) == {4}
    """)


def test_queued_work_waits_for_a_thread_that_waits(starved):
    starved("""
        refuse.value = 1
        cuda.launch(store, 1, 1, c_uint64(pointer), c_uint(7), stream=stream)
        assert refused.value > 0
        seen = []
        call = HostFunction(lambda data: seen.append(data))
        cuda.cuLaunchHostFunc(stream, call, 5)
        cuda.launch(store, 1, 1, c_uint64(pointer + 4), c_uint(8), stream=stream)
        cuda.cuStreamSynchronize(stream)
        assert list(cuda.read(pointer, 2)) == [7, 8] and seen == [5]
    """)


def test_polling_begins_what_was_queued(starved):
    starved("""
        refuse.value = 1
        cuda.launch(store, 1, 1, c_uint64(pointer), c_uint(7), stream=stream)
        event = cuda.event()
        cuda.cuEventRecord(event, stream)
        assert cuda.code("cuStreamQuery", stream) == cuda.code("cuEventQuery", event) == 600
        refuse.value = 0
        assert cuda.code("cuEventQuery", event) in (0, 600)
        eventually(lambda: cuda.code("cuEventQuery", event) == 0)
        assert list(cuda.read(pointer, 1)) == [7]
    """)


def test_a_limit_of_time_that_cannot_be_watched_is_an_error(starved):
    starved(
        """
        refuse.value = 1
        cuda.launch(store, 1, 1, c_uint64(pointer), c_uint(7), stream=stream)
        assert cuda.code("cuStreamSynchronize", stream) == 2
    """,
        CUPOLA_CPU_TIMEOUT="5",
    )

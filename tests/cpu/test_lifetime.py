"""The end of processes, forks and threads: no crash, no hang, no message."""

import threading
from ctypes import byref, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *


@pytest.mark.parametrize("name, grid", [("spin", 1), ("spin", 64), ("wait_flag", 8)])
def test_exit_while_a_kernel_runs(passes, own, name, grid):
    passes(f"""
        flag = cuda.pinned(4)
        cuda.launch(cuda.function(cuda.module(), {name!r}), {grid}, 32, c_uint64(flag))
        time.sleep(0.02)
    """)


def test_exit_while_copies_are_queued(passes):
    passes("""
        pointer, pinned, stream = cuda.alloc(64 << 20), cuda.pinned(64 << 20), cuda.stream()
        for _ in range(50):
            cuda.cuMemcpyHtoDAsync_v2(pointer, pinned, 64 << 20, stream)
    """)


def test_exit_while_a_host_function_runs_python(script, own):
    done = script("""
        stream = cuda.stream()
        keep = HostFunction(lambda data: time.sleep(0.3))
        for _ in range(20):
            cuda.cuLaunchHostFunc(stream, keep, 0)
        time.sleep(0.05)
    """)
    assert done.returncode == 0, done.stderr


def test_exit_from_another_thread_while_work_is_submitted(script, own):
    done = script("""
        function = cuda.function(cuda.module(), "empty")
        def work():
            cuda.cuCtxSetCurrent(context)
            while cuda.launch_code(function, 100, 32) == SUCCESS:
                pass
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
    """)
    assert done.returncode == 0, done.stderr


def test_unloading_the_library_while_a_kernel_runs(passes, own):
    passes("""
        import _ctypes
        cuda.launch(cuda.function(cuda.module(), "spin"), 4, 32)
        handle = cuda.library._handle
        _ctypes.dlclose(handle)
        time.sleep(0.05)
    """)


def test_calls_at_exit_are_refused_not_served(passes, own):
    passes(
        """
        import subprocess, tempfile
        # Registered before cuInit registers the driver's own handler, hence run after it.
        source = '''
            #include <stdlib.h>
            #include <unistd.h>
            static int (*call)(void);
            static void late(void) { if (call() != 4) _exit(9); }
            int arrange(int (*of)(void)) { call = of; return atexit(late); }
        '''
        with tempfile.TemporaryDirectory() as folder:
            name = folder + "/late.so"
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", name], check=True,
                           input=source.encode())
            late = ctypes.CDLL(name)
        assert late.arrange(cuda.library.cuCtxSynchronize) == 0
        cuda.start()
        cuda.launch(cuda.function(cuda.module(), "spin"), 4, 32)
    """,
        start=False,
    )


def test_a_forked_child_is_told_and_does_not_hang(passes, own):
    passes("""
        stream, module = cuda.stream(), cuda.module()
        cuda.launch(cuda.function(module, "spin"), 4, 32, stream=stream)
        child = os.fork()
        if child == 0:
            codes = {
                cuda.code("cuInit", 0),
                cuda.code("cuCtxSynchronize"),
                cuda.code("cuStreamSynchronize", stream),
                cuda.code("cuMemAlloc_v2", byref(c_uint64()), 4),
                cuda.code("cuCtxDestroy_v2", context),
            }
            sys.exit(0 if codes == {NOT_INITIALIZED} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        cuda.code("cuDevicePrimaryCtxReset_v2", 0)
    """)


def test_fork_before_init_leaves_the_child_whole(passes):
    passes(
        """
        child = os.fork()
        if child == 0:
            cuda.start()
            cuda.launch(cuda.function(cuda.module(), "empty"), 10, 32)
            cuda.cuCtxSynchronize()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """,
        start=False,
    )


def test_eight_threads(cuda, kernel):
    context, failures = c_void_p(), []
    cuda.cuCtxGetCurrent(byref(context))
    add1 = kernel("add1")

    def work(number):
        try:
            cuda.cuCtxSetCurrent(context)
            stream = cuda.stream(NON_BLOCKING)
            for _turn in range(40):
                pointer, pooled, event = cuda.alloc(4096), c_uint64(), cuda.event()
                cuda.cuMemAllocAsync(byref(pooled), 4096, stream)
                cuda.cuMemsetD32Async(pointer, number, 1024, stream)
                cuda.launch(add1, 8, 128, c_uint64(pointer), stream=stream)
                cuda.cuMemcpyDtoDAsync_v2(pooled, pointer, 4096, stream)
                cuda.cuEventRecord(event, stream)
                cuda.cuEventSynchronize(event)
                assert cuda.read(pooled.value, 1024) == [number + 1] * 1024
                cuda.cuMemFreeAsync(pooled, stream)
                cuda.cuEventDestroy_v2(event)
                cuda.cuMemFree_v2(pointer)
            cuda.cuStreamDestroy_v2(stream)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_eight_threads_load_and_unload(cuda):
    context, failures = c_void_p(), []
    cuda.cuCtxGetCurrent(byref(context))

    def work():
        try:
            cuda.cuCtxSetCurrent(context)
            for _ in range(5):
                module, pointer = cuda.module(), cuda.alloc(256)
                cuda.launch(
                    cuda.function(module, "store"),
                    1,
                    64,
                    c_uint64(pointer),
                    c_uint(8),
                    stream=PER_THREAD,
                )
                cuda.cuStreamSynchronize(PER_THREAD)
                assert cuda.read(pointer, 64) == [8] * 64
                cuda.cuModuleUnload(module)
                cuda.cuMemFree_v2(pointer)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_threads_that_end_leave_their_streams_working(cuda, kernel):
    pointer, context = cuda.pinned(4), c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    store = kernel("store")

    def work(value):
        cuda.cuCtxSetCurrent(context)
        cuda.launch(store, 1, 1, c_uint64(pointer), c_uint(value), stream=PER_THREAD)

    for value in range(20):
        thread = threading.Thread(target=work, args=(value,))
        thread.start()
        thread.join()
        cuda.cuCtxSynchronize()
        assert word(pointer).value == value
    cuda.cuMemFreeHost(pointer)

"""The driver's log: messages beside the result codes of calls."""

import ctypes
import threading
import time
from ctypes import byref, c_size_t, c_uint, c_void_p

import pytest
from driver_abi import *

LogCallback = ctypes.CFUNCTYPE(None, c_void_p, ctypes.c_int, c_void_p, c_size_t)
BAD = b".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k() { %s; ret; }\0"


def refused(cuda, what=b"frobnicate"):
    assert cuda.code("cuModuleLoadData", byref(c_void_p()), BAD % what) != SUCCESS


def dumped(cuda, iterator, room=4096):
    text, size = ctypes.create_string_buffer(room), c_size_t(room)
    code = cuda.code("cuLogsDumpToMemory", iterator, text, byref(size), 0)
    assert code == INVALID_VALUE or len(text.value) == size.value
    return code, text.value.decode(errors="replace")


def test_lines_go_on_from_an_iterator(cuda, own):
    iterator = c_uint()
    cuda.cuLogsCurrent(byref(iterator), 0)
    assert dumped(cuda, byref(iterator)) == (SUCCESS, "")
    refused(cuda, b"frobnicate")
    refused(cuda, b"twiddle")
    again = c_uint(iterator.value)
    code, text = dumped(cuda, byref(iterator))
    assert code == SUCCESS and text.count("\n") == 2
    first, second = text.splitlines()
    assert "line 4" in first and "frobnicate" in first and "[CUDA][E]" in first
    assert "twiddle" in second
    assert dumped(cuda, byref(iterator)) == (SUCCESS, "")
    # A buffer that is too small for all lines receives the latest ones.
    code, text = dumped(cuda, byref(again), len(second) + 40)
    assert code == SUCCESS and text.splitlines()[1:] == [second]
    cuda.cuLogsCurrent(byref(again), 0)
    refused(cuda)
    assert dumped(cuda, byref(again), 8) == (INVALID_VALUE, "")
    assert "frobnicate" in dumped(cuda, byref(again))[1]  # the failed read did not skip this line
    assert "twiddle" in dumped(cuda, None, 30000)[1]


def test_lines_go_to_a_file(cuda, own, tmp_path):
    iterator, path = c_uint(), tmp_path / "log"
    cuda.cuLogsCurrent(byref(iterator), 0)
    refused(cuda)
    cuda.cuLogsDumpToFile(byref(iterator), str(path).encode(), 0)
    assert path.read_text().count("[E]") == 1
    cuda.cuLogsDumpToFile(byref(iterator), str(path).encode(), 0)
    assert path.read_text() == ""


def test_a_file_without_room(cuda, own):
    """Lines that could not be written can still be read."""
    iterator = c_uint()
    cuda.cuLogsCurrent(byref(iterator), 0)
    refused(cuda)
    assert cuda.code("cuLogsDumpToFile", byref(iterator), b"/dev/full", 0) == INVALID_VALUE
    assert "frobnicate" in dumped(cuda, byref(iterator))[1]


def test_older_lines_go(cuda, own):
    iterator = c_uint()
    cuda.cuLogsCurrent(byref(iterator), 0)
    for n in range(400):
        refused(cuda, b"twiddle%d" % n)
    code, text = dumped(cuda, byref(iterator), 1 << 16)
    lines = text.splitlines()
    assert code == SUCCESS and len(text) < 26000
    assert "left out" in lines[0] and "twiddle399" in lines[-1] and len(lines) < 400


def test_callbacks(cuda, own):
    heard, handle = [], c_void_p()

    @LogCallback
    def listen(data, level, message, length):
        heard.append((data, level, ctypes.string_at(message, length).decode()))

    cuda.cuLogsRegisterCallback(listen, c_void_p(42), byref(handle))
    refused(cuda)
    cuda.cuLogsUnregisterCallback(handle)
    refused(cuda)
    ((data, level, message),) = heard
    assert (data, level) == (42, 0) and "frobnicate" in message
    assert cuda.code("cuLogsUnregisterCallback", handle) == INVALID_VALUE


def test_a_callback_may_call_the_driver(cuda, own):
    """The driver holds no lock then; the callback's own line is delivered when its call ends."""
    heard, handle = [], c_void_p()

    @LogCallback
    def listen(data, level, message, length):
        heard.append(ctypes.string_at(message, length))
        cuda.cuCtxSynchronize()
        cuda.cuModuleUnload(cuda.module())
        if len(heard) < 3:
            refused(cuda, b"twiddle")
        else:
            cuda.cuLogsUnregisterCallback(handle)  # from within: it does not wait for itself

    cuda.cuLogsRegisterCallback(listen, None, byref(handle))
    refused(cuda)
    refused(cuda)
    assert [b"twiddle" in line for line in heard] == [False, True, True]


def test_a_callback_that_runs_is_waited_for(cuda, own):
    handle, entered, ended = c_void_p(), threading.Event(), []

    @LogCallback
    def listen(data, level, message, length):
        entered.set()
        time.sleep(0.2)
        ended.append(1)

    def work():
        cuda.cuCtxSetCurrent(context)
        refused(cuda)

    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    cuda.cuLogsRegisterCallback(listen, None, byref(handle))
    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(20)
    cuda.cuLogsUnregisterCallback(handle)
    assert ended == [1]
    thread.join()


def test_callbacks_that_remove_each_other(passes, own):
    """Each is in its own callback, and neither waits for the other to leave."""
    passes(
        """
from cpu.test_logs import LogCallback, refused
handles, meeting = [c_void_p(), c_void_p()], threading.Barrier(2)

def callback(mine):
    def listen(data, level, message, length):
        if threading.current_thread() is threads[mine]:
            meeting.wait(20)
            cuda.cuLogsUnregisterCallback(handles[1 - mine])
            meeting.wait(20)  # both threads are still inside of their calls
    return LogCallback(listen)

def work():
    cuda.cuCtxSetCurrent(context)
    refused(cuda)

callbacks = [callback(n) for n in range(2)]
threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for listen, handle in zip(callbacks, handles):
    cuda.cuLogsRegisterCallback(listen, None, byref(handle))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(30)
    assert not thread.is_alive()
for handle in handles:
    assert cuda.code("cuLogsUnregisterCallback", handle) == INVALID_VALUE
"""
    )


def test_an_exception_of_a_callback_goes_nowhere(passes, own):
    """Nor does it change the result of the call, or keep a line from other callbacks."""
    passes(
        """
from cpu.test_logs import BAD, LogCallback
throws = ctypes.CDLL("libstdc++.so.6")._ZSt17__throw_bad_allocv
heard, handles = [], [c_void_p() for _ in range(3)]
listen = LogCallback(lambda *_: heard.append(1))
for callback, handle in zip((throws, listen, throws), handles):
    cuda.cuLogsRegisterCallback(callback, None, byref(handle))
first = cuda.code("cuModuleLoadData", byref(c_void_p()), BAD % b"frobnicate")
for handle in handles:
    cuda.cuLogsUnregisterCallback(handle)
assert heard == [1]
assert first == cuda.code("cuModuleLoadData", byref(c_void_p()), BAD % b"frobnicate")

cuda.cuLogsRegisterCallback(throws, None, byref(handles[0]))
cuda.launch(cuda.function(cuda.module(), "store"), 1, 1, c_uint64(64), c_uint(1))
assert cuda.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
time.sleep(0.2)  # a stream's thread has told it
"""
    )


def test_a_fault_is_told_to_one_who_waits_for_the_stream(passes, own):
    passes(
        """
from cpu.test_logs import LogCallback
told = threading.Event()
@LogCallback
def listen(data, level, message, length):
    cuda.code("cuCtxSynchronize")
    told.set()
cuda.cuLogsRegisterCallback(listen, None, byref(c_void_p()))
cuda.launch(cuda.function(cuda.module(), "store"), 1, 1, c_uint64(64), c_uint(1))
cuda.code("cuCtxSynchronize")
assert told.wait(20)
"""
    )


def test_refusals_of_links_are_told(cuda, own):
    iterator, state, none = c_uint(), c_void_p(), c_void_p()
    cuda.cuLogsCurrent(byref(iterator), 0)
    cuda.cuLinkCreate_v2(0, none, none, byref(state))
    assert cuda.code("cuLinkAddData_v2", state, 1, b"none", 5, b"a", 0, none, none) != SUCCESS
    cuda.cuLinkDestroy(state)
    assert "a: it is not PTX text" in dumped(cuda, byref(iterator))[1]


def test_faults_of_kernels_are_told(passes, own):
    passes(
        """
from ctypes import create_string_buffer
kernel = cuda.function(cuda.module(), "store")
cuda.launch(kernel, 1, 1, c_uint64(64), c_uint(1))
cuda.code("cuCtxSynchronize")
text, size = create_string_buffer(4096), c_size_t(4096)
assert cuda.code("cuLogsDumpToMemory", None, text, byref(size), 0) == SUCCESS
assert b"kernel store" in text.value, text.value
"""
    )


@pytest.mark.parametrize("flags", [0, 1])
def test_mistakes(cuda, flags):
    wrong = {"cuLogsCurrent": (None, flags), "cuLogsRegisterCallback": (None, None, None)}
    wrong["cuLogsDumpToMemory"] = (None, None, byref(c_size_t(5)), flags)
    wrong["cuLogsDumpToFile"] = (None, None, flags)
    for name, arguments in wrong.items():
        assert cuda.code(name, *arguments) == INVALID_VALUE, name
    assert cuda.code("cuLogsCurrent", byref(c_uint()), flags) == SUCCESS

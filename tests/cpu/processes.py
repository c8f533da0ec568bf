"""Another process that shares memory and events with a test."""

import ctypes
import pathlib
import subprocess
import sys
import textwrap
from ctypes import byref, c_int, c_uint64, c_void_p

import pytest
from driver_abi import *

INTERPROCESS, DISABLE_TIMING = 4, 2
LAZY_PEER = 1
LEGACY_IPC_CAPABLE, IPC_EVENT_SUPPORTED = 10, 125
EXTERNAL_DEVICE = 911


class Handle(ctypes.Structure):
    """CUipcMemHandle or CUipcEventHandle, which are passed by value."""

    _fields_ = (("bytes", ctypes.c_ubyte * 64),)

    @classmethod
    def of(cls, data):
        return cls.from_buffer_copy(data)


HEAD = """
import ctypes, os, sys, threading, time
from ctypes import byref, c_size_t, c_uint64
from driver_abi import *
from cpu.processes import DISABLE_TIMING, INTERPROCESS, Handle, opened, opened_event
cuda = Driver()
context = cuda.start()
handle = Handle.of(bytes.fromhex(sys.argv[1])) if len(sys.argv) > 1 else None
def say(*words):
    print(*words, flush=True)
def hear():
    return sys.stdin.readline().strip()
"""


class Other:
    """Another process; test and process exchange lines over pipes."""

    def __init__(self, text, handle=None):
        argument = [] if handle is None else [bytes(handle).hex()]
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD + textwrap.dedent(text), *argument],
            cwd=pathlib.Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self):
        return self.process.stdout.readline().strip()

    def say(self, word="go"):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def end(self, timeout=60):
        rest, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0
        return rest.strip()


@pytest.fixture
def other(cuda):
    made = []

    def start(text, handle=None):
        made.append(Other(text, handle))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.fixture
def shared(cuda):
    """Returns a function that makes memory and its handle; skips if the system shares none."""
    made = []

    def make(size):
        made.append(cuda.alloc(size))
        handle = Handle()
        if (
            cuda.code("cuIpcGetMemHandle", byref(handle), made[-1]) == NOT_SUPPORTED
            and cuda.on_hardware
        ):
            pytest.skip("this system shares no device memory")
        cuda.cuIpcGetMemHandle(byref(handle), made[-1])
        return made[-1], handle

    yield make
    for pointer in made:
        cuda.cuMemFree_v2(pointer)


def opened(cuda, handle, code=SUCCESS):
    pointer = c_uint64()
    assert cuda.code("cuIpcOpenMemHandle_v2", byref(pointer), handle, LAZY_PEER) == code
    return pointer.value


def shared_event(cuda, events):
    value = c_int()
    cuda.cuDeviceGetAttribute(byref(value), IPC_EVENT_SUPPORTED, 0)
    if not value.value:
        pytest.skip("the device has no events for other processes")
    event = events(INTERPROCESS | DISABLE_TIMING)
    handle = Handle()
    cuda.cuIpcGetEventHandle(byref(handle), event)
    return event, handle


def opened_event(cuda, handle):
    event = c_void_p()
    cuda.cuIpcOpenEventHandle(byref(event), handle)
    return event.value


OWNER = """
pointer, handle = cuda.alloc(5000), Handle()
cuda.cuMemsetD8_v2(pointer, 3, 5000)
cuda.cuCtxSynchronize()  # a memset does not wait for its work
cuda.cuIpcGetMemHandle(byref(handle), pointer)
event, mark = cuda.event(INTERPROCESS | DISABLE_TIMING), Handle()
cuda.cuIpcGetEventHandle(byref(mark), event)
say(bytes(handle).hex())
say(bytes(mark).hex())
while word := hear():
    eval(word)
    say("done")
"""

"""Random options of loads and links: logs stay within their buffers, whatever is asked for."""

import ctypes
import random
from ctypes import byref, c_int, c_uint, c_void_p

import pytest

from .abi import *

INFO, INFO_SIZE, ERRORS, ERRORS_SIZE, WALL_TIME, COUNT = 3, 4, 5, 6, 2, 35
LOGS = ((INFO, INFO_SIZE), (ERRORS, ERRORS_SIZE))
HEAD = b".version 7.8\n.target sm_75\n.address_size 64\n"
IMAGES = {
    HEAD + b".visible .entry k() { ret; }\0": {SUCCESS},
    HEAD + b".visible .entry k() { frobnicate; ret; }\0": {INVALID_PTX},
    b".version 99.8\n.target sm_75\n.address_size 64\n\0": {INVALID_PTX, UNSUPPORTED_PTX_VERSION},
    b"no image\0": {INVALID_IMAGE, INVALID_PTX},
}
GUARD = b"\xa5" * 32


class Options:
    """Arrays of options and values; each log has one buffer, however often it is named."""

    def __init__(self, rng):
        self.rooms = {buffer: rng.choice((0, 1, 2, 7, 64, 1000)) for buffer, _ in LOGS}
        self.buffers = {
            buffer: ctypes.create_string_buffer(b"\xa5" * room + GUARD, room + len(GUARD))
            for buffer, room in self.rooms.items()
        }
        self.kinds = [
            rng.choice((*sum(LOGS, ()), WALL_TIME, rng.randrange(COUNT)))
            for _ in range(rng.randrange(12))
        ]
        if rng.random() < 0.1:
            self.kinds.append(rng.choice((-1, COUNT, 1000, -(2**31), 2**31 - 1)))
        self.known = all(0 <= kind < COUNT for kind in self.kinds)
        self.options = (c_int * len(self.kinds))(*self.kinds)
        self.values = (c_void_p * len(self.kinds))(*(self.value(k, rng) for k in self.kinds))

    def value(self, kind, rng):
        for buffer, size in LOGS:
            if kind == buffer:
                return rng.choice((0, *[ctypes.addressof(self.buffers[buffer])] * 4))
            if kind == size:  # an unsigned int, whatever is above it
                return self.rooms[buffer] | rng.getrandbits(32) << 32
        return rng.choice((0, 1, 2, 16, rng.getrandbits(64)))

    def check(self):
        for buffer, size in LOGS:
            raw, room = self.buffers[buffer].raw, self.rooms[buffer]
            assert raw[room:] == GUARD
            if not self.known or size not in self.kinds:
                continue
            told = self.values[self.kinds.index(size)] or 0
            assert told <= room and (not told or raw[told - 1] == 0)


def loaded(cuda, image, options):
    module = c_void_p()
    count = c_uint(len(options.kinds))
    code = cuda.code(
        "cuModuleLoadDataEx", byref(module), image, count, options.options, options.values
    )
    if code == SUCCESS:
        cuda.cuModuleUnload(module)
    return code


def library(cuda, image, options):
    made, count = c_void_p(), c_uint(len(options.kinds))
    jit = options.options, options.values, count
    code = cuda.code("cuLibraryLoadData", byref(made), image, *jit, None, None, 0)
    if code == SUCCESS:
        cuda.cuLibraryUnload(made)
    return code


def linked(cuda, image, options):
    """The array of options is the caller's again at once, that of values stays."""
    state, count = c_void_p(), c_uint(len(options.kinds))
    code = cuda.code("cuLinkCreate_v2", count, options.options, options.values, byref(state))
    if code != SUCCESS:
        return code
    ctypes.memset(options.options, 0xFF, ctypes.sizeof(options.options))
    code = cuda.code("cuLinkAddData_v2", state, 1, image, len(image), b"input", 0, None, None)
    if code == SUCCESS:
        code = cuda.code("cuLinkComplete", state, byref(c_void_p()), byref(c_size_t()))
    cuda.cuLinkDestroy(state)
    return code


@pytest.mark.parametrize("call", [loaded, library, linked])
def test_any_options(cuda, own, call):
    rng = random.Random(call.__name__)
    for _ in range(1500):
        image, options = rng.choice(list(IMAGES)), Options(rng)
        code = call(cuda, image, options)
        assert code in (IMAGES[image] if options.known else {INVALID_VALUE}), options.kinds
        options.check()


def test_a_link_tells_its_log_when_its_options_are_gone(cuda, own):
    log = ctypes.create_string_buffer(512)
    options = (c_int * 2)(ERRORS, ERRORS_SIZE)
    values = (c_void_p * 2)(ctypes.addressof(log), 512)
    state, image = c_void_p(), HEAD + b".visible .entry k() { frobnicate; ret; }\0"
    cuda.cuLinkCreate_v2(2, options, values, byref(state))
    ctypes.memset(options, 0xFF, ctypes.sizeof(options))
    assert cuda.code("cuLinkAddData_v2", state, 1, image, len(image), b"x", 0, None, None) != 0
    cuda.cuLinkDestroy(state)
    assert b"frobnicate" in log.value and values[1] == len(log.value) + 1

"""Settings of core dumps: what a program can ask. The CPU device writes none."""

import ctypes
import struct
from ctypes import byref, c_size_t

import pytest
from driver_abi import *

(ON_EXCEPTION, TRIGGER_HOST, LIGHTWEIGHT, USER_TRIGGER, FILE, PIPE, FLAGS) = range(1, 8)
SIZES = {
    ON_EXCEPTION: 1,
    TRIGGER_HOST: 1,
    LIGHTWEIGHT: 1,
    USER_TRIGGER: 1,
    FILE: 1024,
    PIPE: 1024,
    FLAGS: 4,
}
OF_PROCESS = (USER_TRIGGER, PIPE)


def get(cuda, attribute, size=None, of=""):
    """The code and the bytes."""
    size = SIZES[attribute] if size is None else size
    buffer, length = ctypes.create_string_buffer(2048), c_size_t(size)
    code = cuda.code(f"cuCoredumpGetAttribute{of}", attribute, buffer, byref(length))
    return code, buffer.raw[:size]


def put(cuda, attribute, value, of=""):
    buffer, length = ctypes.create_string_buffer(value, len(value)), c_size_t(len(value))
    return cuda.code(f"cuCoredumpSetAttribute{of}", attribute, buffer, byref(length))


@pytest.mark.parametrize("name", ["cuCoredumpGetAttribute", "cuCoredumpGetAttributeGlobal"])
def test_sizes_and_defaults(cuda, name):
    of = name.removeprefix("cuCoredumpGetAttribute")
    for attribute, size in SIZES.items():
        length = c_size_t()
        code = cuda.code(name, attribute, None, byref(length))
        if attribute in OF_PROCESS and not of:
            assert code == INVALID_VALUE
            continue
        assert (code, length.value) == (SUCCESS, size)
        code, value = get(cuda, attribute, of=of)
        assert code == SUCCESS
        assert value.rstrip(b"\0") == (b"\1" if attribute == TRIGGER_HOST else b"")
        if size < 1024:
            assert get(cuda, attribute, size + 1, of)[0] == INVALID_VALUE
    for unknown in (0, 8, 99):
        assert cuda.code(name, unknown, None, byref(c_size_t())) == INVALID_VALUE
    assert cuda.code(name, ON_EXCEPTION, None, None) == INVALID_VALUE


def test_what_is_set_is_told_again(passes):
    """In a process of its own: the settings last as long as the process."""
    passes(
        """
        from cpu.test_coredump import *
        for of in ("", "Global"):
            for attribute, value in [
                (LIGHTWEIGHT, b"\\1"), (TRIGGER_HOST, b"\\0"), (FLAGS, struct.pack("I", 6)),
                (FILE, b"/nowhere/core\\0"), (ON_EXCEPTION, b"\\0"),
            ]:
                assert put(cuda, attribute, value, of) == SUCCESS, attribute
                code, told = get(cuda, attribute, of=of)
                assert code == SUCCESS and told.rstrip(b"\\0") == value.rstrip(b"\\0")
            assert put(cuda, LIGHTWEIGHT, b"\\1\\0\\0\\0", of) == INVALID_VALUE
            assert put(cuda, FLAGS, b"\\1", of) == INVALID_VALUE
            assert put(cuda, FILE, b"x" * 1500, of) == INVALID_VALUE
            assert put(cuda, 0, b"\\1", of) == put(cuda, 8, b"\\1", of) == INVALID_VALUE
        assert put(cuda, PIPE, b"/nowhere/pipe\\0", "Global") == SUCCESS
        assert put(cuda, PIPE, b"/nowhere/pipe\\0") == INVALID_VALUE
    """
    )


def test_no_dump_is_promised(cuda, own):
    for of in ("", "Global"):
        assert put(cuda, ON_EXCEPTION, b"\1", of) == NOT_SUPPORTED
        assert get(cuda, ON_EXCEPTION, of=of) == (SUCCESS, b"\0")
    assert put(cuda, USER_TRIGGER, b"\1", "Global") == NOT_SUPPORTED


def test_who_may_ask(passes):
    """Of the process, before it has begun; of a context, when there is one."""
    passes(
        """
        from cpu.test_coredump import *
        for name in ("cuCoredumpGetAttribute", "cuCoredumpSetAttribute"):
            assert cuda.code(name, LIGHTWEIGHT, ctypes.create_string_buffer(1),
                             byref(c_size_t(1))) == NOT_INITIALIZED
            assert cuda.code(name + "Global", LIGHTWEIGHT, ctypes.create_string_buffer(1),
                             byref(c_size_t(1))) == SUCCESS
        cuda.cuInit(0)
        assert get(cuda, LIGHTWEIGHT)[0] == INVALID_CONTEXT
        cuda.start()
        assert get(cuda, LIGHTWEIGHT) == (SUCCESS, b"\\0")
    """,
        start=False,
    )


assert struct

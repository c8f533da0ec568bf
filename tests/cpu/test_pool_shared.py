"""Memory pools that processes share: descriptors of pools, and what names their memory."""

import ctypes
import os
import pathlib
import struct
import subprocess
import sys
import textwrap
from ctypes import byref, c_int, c_uint64, c_void_p

import pytest
from driver_abi import *

DESCRIPTOR, WINDOWS, FABRIC = 1, 2, 8
SUPPORTED_HANDLES = 119
RESERVED_NOW = 5
ALLOWED_HANDLES, POOL_HANDLE = 14, 17
UNKNOWN = 999


def properties(handles=DESCRIPTOR, place=1, number=0):
    return ctypes.create_string_buffer(struct.pack("iiiiQQ56x", 1, handles, place, number, 0, 0))


@pytest.fixture
def pool(cuda):
    supported = c_int()
    cuda.cuDeviceGetAttribute(byref(supported), SUPPORTED_HANDLES, 0)
    if not supported.value & DESCRIPTOR:
        pytest.skip("pools are not shared by descriptors here")
    made = c_void_p()
    cuda.cuMemPoolCreate(byref(made), properties())
    yield made
    cuda.cuMemPoolDestroy(made)


@pytest.fixture
def stream(cuda):
    made = cuda.stream(NON_BLOCKING)
    yield made
    cuda.cuStreamDestroy_v2(made)


def allocated(cuda, pool, size, stream):
    at = c_uint64()
    cuda.cuMemAllocFromPoolAsync(byref(at), size, pool, stream)
    return at.value


def exported(cuda, pool):
    descriptor = c_int(-1)
    cuda.cuMemPoolExportToShareableHandle(byref(descriptor), pool, DESCRIPTOR, 0)
    return descriptor.value


def named(cuda, address):
    data = (ctypes.c_ubyte * 64)()
    cuda.cuMemPoolExportPointer(data, c_uint64(address))
    return bytes(data)


HEAD = """
import ctypes, os, sys
from ctypes import byref, c_uint64, c_void_p
from driver_abi import *
cuda = Driver()
context = cuda.start()
pool, at = c_void_p(), c_uint64()
descriptor, *names = sys.argv[1:]
cuda.cuMemPoolImportFromShareableHandle(byref(pool), c_void_p(int(descriptor)), 1, 0)
names = [ctypes.create_string_buffer(bytes.fromhex(name), 64) for name in names]
stream = cuda.stream()
"""


def other(text, descriptor, *names):
    """Runs text in another process, which has the pool's descriptor; what it says."""
    command = [sys.executable, "-c", HEAD + textwrap.dedent(text), str(descriptor)]
    done = subprocess.run(
        [*command, *(name.hex() for name in names)],
        cwd=pathlib.Path(__file__).parents[1],
        pass_fds=[descriptor],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_memory_is_seen_by_both(cuda, pool, stream):
    first, second = (allocated(cuda, pool, size, stream) for size in (64, 1 << 20))
    cuda.cuMemsetD32Async(first, 11, 16, stream)
    cuda.cuMemsetD32Async(second, 22, 1 << 18, stream)
    cuda.cuStreamSynchronize(stream)
    descriptor = exported(cuda, pool)
    text = """
    for name, count, value in zip(names, (16, 1 << 18), (11, 22)):
        cuda.cuMemPoolImportPointer(byref(at), pool, name)
        print(set(cuda.read(at.value, count)) == {value})
        cuda.cuMemsetD32Async(at, value + 100, count - 1, stream)
        cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.code("cuMemsetD32_v2", at, 0, 4) != SUCCESS  # the mapping is gone
    cuda.cuMemPoolDestroy(pool)
    """
    said = other(text, descriptor, named(cuda, first), named(cuda, second))
    assert said == ["True", "True"]
    assert cuda.read(first, 16) == [111] * 15 + [11]
    values = cuda.read(second, 1 << 18)
    assert set(values[:-1]) == {122} and values[-1] == 22
    os.close(descriptor)
    for at in (first, second):
        cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)


HOST_NUMA, HOST_NUMA_ID = 3, 134


def test_page_locked_memory_of_the_hosts_node_is_seen_by_both(cuda, stream):
    node, made = c_int(-9), c_void_p()
    cuda.cuDeviceGetAttribute(byref(node), HOST_NUMA_ID, 0)
    if node.value < 0:
        pytest.skip("the host has no node")
    cuda.cuMemPoolCreate(byref(made), properties(DESCRIPTOR, HOST_NUMA, node.value))
    at = allocated(cuda, made, 64, stream)
    cuda.cuStreamSynchronize(stream)
    ctypes.c_int.from_address(at).value = 7  # the host writes it
    descriptor = exported(cuda, made)
    text = """
    cuda.cuMemPoolImportPointer(byref(at), pool, names[0])
    print(ctypes.c_int.from_address(at.value).value)
    ctypes.c_int.from_address(at.value).value = 8
    cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)
    cuda.cuMemPoolDestroy(pool)
    """
    assert other(text, descriptor, named(cuda, at)) == ["7"]
    assert ctypes.c_int.from_address(at).value == 8
    os.close(descriptor)
    cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)
    cuda.cuMemPoolDestroy(made)


def test_the_process_opens_its_own_memory(cuda, pool, stream):
    at, imported, opened = allocated(cuda, pool, 64, stream), c_void_p(), c_uint64()
    cuda.cuMemsetD32Async(at, 5, 16, stream)
    cuda.cuStreamSynchronize(stream)
    descriptor = exported(cuda, pool)
    cuda.cuMemPoolImportFromShareableHandle(byref(imported), c_void_p(descriptor), DESCRIPTOR, 0)
    cuda.cuMemPoolImportPointer(byref(opened), imported, named(cuda, at))
    assert cuda.read(opened.value, 16) == [5] * 16
    cuda.cuMemFreeAsync(opened, stream)
    cuda.cuStreamSynchronize(stream)
    cuda.cuMemPoolDestroy(imported)
    assert cuda.read(at, 16) == [5] * 16
    cuda.cuMemFreeAsync(at, stream)
    os.close(descriptor)


def test_a_kernel_works_on_it(cuda, pool, stream, kernel):
    at = allocated(cuda, pool, 256, stream)
    cuda.cuMemsetD32Async(at, 5, 64, stream)
    cuda.cuStreamSynchronize(stream)
    descriptor = exported(cuda, pool)
    text = """
    cuda.cuMemPoolImportPointer(byref(at), pool, names[0])
    cuda.launch(cuda.function(cuda.module(), "store"), 1, 64, c_uint64(at.value), c_uint(9))
    cuda.cuCtxSynchronize()
    cuda.cuMemFree_v2(at)
    """
    other(text, descriptor, named(cuda, at))
    assert cuda.read(at, 64) == [9] * 64
    os.close(descriptor)
    cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)


def reserved(cuda, pool):
    bytes_of = c_uint64()
    cuda.cuMemPoolGetAttribute(pool, RESERVED_NOW, byref(bytes_of))
    return bytes_of.value


def test_what_was_shared_is_used_again(cuda, pool, stream, own):
    """Memory that was given to another process and freed is a part of the pool as before.
    NVIDIA's driver refuses to name this memory, for which nothing was waited.
    """
    at = allocated(cuda, pool, 4096, stream)
    taken = reserved(cuda, pool)
    name = named(cuda, at)
    assert named(cuda, at) == name
    cuda.cuMemFreeAsync(at, stream)
    again = allocated(cuda, pool, 4096, stream)
    assert (again, reserved(cuda, pool)) == (at, taken)
    cuda.cuMemsetD32Async(again, 3, 1024, stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(again, 1024) == [3] * 1024
    cuda.cuMemFreeAsync(again, stream)
    cuda.cuStreamSynchronize(stream)


def test_what_is_freed_is_freed_once(cuda, pool, stream, own):
    """While a free waits in its stream, the memory stays mapped, but a second free fails. If the
    program imports the memory meanwhile, it stays mapped until that import is freed too.
    """
    at = allocated(cuda, pool, 4096, stream)
    cuda.cuMemsetD32Async(at, 5, 1024, stream)
    cuda.cuStreamSynchronize(stream)
    descriptor = exported(cuda, pool)
    text = """
    word, other = cuda.alloc(4), cuda.stream(1)
    first, second = c_uint64(), c_uint64()
    cuda.cuMemsetD32_v2(word, 0, 1)
    cuda.cuMemPoolImportPointer(byref(first), pool, names[0])
    cuda.cuStreamWaitValue32_v2(stream, c_uint64(word), 1, 1)
    cuda.cuMemFreeAsync(first, stream)
    print(cuda.code("cuMemFreeAsync", first, other))
    print(cuda.code("cuMemFreeAsync", first, stream))
    cuda.cuMemPoolImportPointer(byref(second), pool, names[0])
    assert first.value == second.value
    cuda.cuStreamWriteValue32_v2(other, c_uint64(word), 1, 0)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(second.value, 4) == [5] * 4
    cuda.cuMemFreeAsync(second, stream)
    cuda.cuStreamSynchronize(stream)
    print(cuda.code("cuMemFreeAsync", first, stream))
    """
    assert other(text, descriptor, named(cuda, at)) == [str(INVALID_VALUE)] * 3
    os.close(descriptor)
    cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)


def test_what_a_pointer_tells(cuda, pool, stream, own):
    """Its pool may be destroyed before it."""
    at, types = allocated(cuda, pool, 4096, stream), c_uint64()
    cuda.cuPointerGetAttribute(byref(types), ALLOWED_HANDLES, c_uint64(at))
    assert types.value == DESCRIPTOR
    descriptor = exported(cuda, pool)
    text = """
    told, made = c_void_p(), c_void_p()
    cuda.cuMemPoolImportPointer(byref(at), pool, names[0])
    cuda.cuMemPoolDestroy(pool)
    cuda.cuMemPoolImportFromShareableHandle(byref(made), c_void_p(int(descriptor)), 1, 0)
    cuda.cuPointerGetAttribute(byref(told), 17, at)
    print(told.value == pool.value != made.value)
    cuda.cuPointerGetAttribute(byref(told), 14, at)
    print(told.value)
    cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)
    """
    assert other(text, descriptor, named(cuda, at)) == ["True", "None"]
    os.close(descriptor)
    cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)


def test_an_imported_pool_gives_nothing(cuda, pool, own):
    descriptor = exported(cuda, pool)
    text = """
    print(cuda.code("cuMemAllocFromPoolAsync", byref(at), 64, pool, stream))
    print(cuda.code("cuDeviceSetMemPool", 0, pool))
    print(cuda.code("cuMemPoolExportToShareableHandle", byref(at), pool, 1, 0))
    """
    assert set(other(text, descriptor)) == {str(INVALID_VALUE)}
    os.close(descriptor)


def test_memory_of_another_pool(cuda, pool, stream, own):
    other_pool, descriptor = c_void_p(), exported(cuda, pool)
    cuda.cuMemPoolCreate(byref(other_pool), properties())
    at = allocated(cuda, other_pool, 64, stream)
    text = """
    print(cuda.code("cuMemPoolImportPointer", byref(at), pool, names[0]))
    names[0][0] = b"x"
    print(cuda.code("cuMemPoolImportPointer", byref(at), pool, names[0]))
    """
    assert set(other(text, descriptor, named(cuda, at))) == {str(INVALID_VALUE)}
    cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)
    cuda.cuMemPoolDestroy(other_pool)
    os.close(descriptor)


def test_mistakes(cuda, pool, stream):
    descriptor, made, data = c_int(), c_void_p(), (ctypes.c_ubyte * 64)()
    default, plain = c_void_p(), cuda.alloc(64)
    cuda.cuDeviceGetDefaultMemPool(byref(default), 0)
    export = "cuMemPoolExportToShareableHandle"
    assert cuda.code(export, byref(descriptor), default, DESCRIPTOR, 0) == INVALID_VALUE
    assert cuda.code(export, byref(descriptor), pool, DESCRIPTOR, 1) == INVALID_VALUE
    assert cuda.code(export, None, pool, DESCRIPTOR, 0) == INVALID_VALUE
    assert cuda.code("cuMemPoolExportPointer", data, c_uint64(plain)) == INVALID_VALUE
    at = allocated(cuda, pool, 64, stream)
    assert cuda.code("cuMemPoolExportPointer", None, c_uint64(at)) == INVALID_VALUE
    if not cuda.on_hardware:
        given = os.open("/dev/null", os.O_RDONLY)
        import_pool = "cuMemPoolImportFromShareableHandle"
        assert cuda.code(import_pool, byref(made), c_void_p(given), DESCRIPTOR, 0) == UNKNOWN
        os.close(given)
        code = cuda.code("cuMemPoolImportPointer", byref(c_uint64()), pool, data)
        assert code == INVALID_VALUE  # a pointer from a pool of this process
        for wrong in (WINDOWS, 16):
            assert cuda.code("cuMemPoolCreate", byref(made), properties(wrong)) == INVALID_VALUE
        assert cuda.code("cuMemPoolCreate", byref(made), properties(FABRIC)) == NOT_SUPPORTED
    cuda.cuMemFreeAsync(at, stream)
    cuda.cuStreamSynchronize(stream)
    cuda.cuMemFree_v2(plain)

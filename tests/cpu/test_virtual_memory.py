"""Reserved addresses, pieces of memory that are mapped there, and pieces of other processes."""

import ctypes
import os
import struct
from ctypes import byref, c_int, c_size_t, c_uint64, c_ulonglong, c_void_p

import pytest
from driver_abi import *

POSIX_DESCRIPTOR, NONE, READ, READ_WRITE = 1, 0, 1, 3


def buffer(form, *values):
    data = struct.pack(form, *values)
    return ctypes.create_string_buffer(data, len(data))


def properties(handles=0, device=0):
    return buffer("iiiiQQ", 1, handles, 1, device, 0, 0)


def access(flags=READ_WRITE, device=0):
    return buffer("iii", 1, device, flags)


class Space:
    """Addresses, pieces and mappings that a test makes; all are released after it."""

    def __init__(self, cuda):
        self.cuda, self.rooms, self.pieces, self.maps = cuda, [], [], []
        size = c_size_t()
        cuda.cuMemGetAllocationGranularity(byref(size), properties(), 0)
        self.grain = size.value

    def reserve(self, grains, align=0, wish=0):
        address = c_uint64()
        size = grains * self.grain
        self.cuda.cuMemAddressReserve(byref(address), size, align, wish, 0)
        self.rooms.append((address.value, size))
        return address.value

    def piece(self, grains=1, handles=0):
        handle = c_uint64()
        self.cuda.cuMemCreate(byref(handle), grains * self.grain, properties(handles), 0)
        self.pieces.append(handle.value)
        return handle.value

    def map(self, address, handle, grains=1, flags=READ_WRITE):
        size = grains * self.grain
        self.cuda.cuMemMap(address, size, 0, handle, 0)
        self.maps.append((address, size))
        if flags:
            self.cuda.cuMemSetAccess(address, size, access(flags), 1)

    def unmap(self, address, grains=1):
        self.cuda.cuMemUnmap(address, grains * self.grain)
        self.maps.remove((address, grains * self.grain))

    def end(self):
        for address, size in self.maps:
            self.cuda.cuMemUnmap(address, size)
        for handle in self.pieces:
            self.cuda.cuMemRelease(handle)
        for address, size in self.rooms:
            self.cuda.cuMemAddressFree(address, size)


@pytest.fixture
def space(cuda):
    made = Space(cuda)
    yield made
    cuda.cuCtxSynchronize()
    made.end()


def test_granularity(space):
    assert space.grain >= 4096 and space.grain & (space.grain - 1) == 0


def test_a_piece_that_is_mapped_is_memory(cuda, space, kernel):
    room = space.reserve(2)
    space.map(room, space.piece())
    cuda.cuMemsetD32_v2(room, 7, 64)
    cuda.launch(kernel("add1"), 1, 64, c_uint64(room))
    assert cuda.read(room, 64) == [8] * 64
    cuda.cuMemcpyHtoD_v2(room + space.grain - 8, bytes(range(8)), 8)
    assert cuda.read(room + space.grain - 8, 8, ctypes.c_ubyte) == list(range(8))


def test_a_piece_at_two_addresses(cuda, space):
    first, second, piece = space.reserve(1), space.reserve(1), space.piece()
    space.map(first, piece)
    space.map(second, piece)
    cuda.cuMemsetD32_v2(first, 5, 4)
    assert cuda.read(second, 4) == [5] * 4


def test_neighbours_are_one_stretch(cuda, space, kernel):
    """Copies, fills and kernels cross the border of two pieces."""
    room = space.reserve(2)
    space.map(room, space.piece())
    space.map(room + space.grain, space.piece())
    start = room + space.grain - 128
    cuda.cuMemsetD32_v2(start, 1, 64)
    cuda.launch(kernel("add1"), 1, 64, c_uint64(start))
    assert cuda.read(start, 64) == [2] * 64


def test_growing_in_place(cuda, space):
    room = space.reserve(3)
    space.map(room, space.piece())
    cuda.cuMemsetD32_v2(room, 1, 4)
    space.map(room + space.grain, space.piece(2), 2)
    cuda.cuMemsetD32_v2(room + space.grain, 2, 2 * space.grain // 4)
    assert cuda.read(room, 4) == [1] * 4
    assert cuda.read(room + 3 * space.grain - 8, 2) == [2, 2]
    assert cuda.code("cuMemsetD8_v2", room + 3 * space.grain - 8, 0, 16) == INVALID_VALUE


def test_another_piece_in_its_place(cuda, space, kernel):
    """Also while work that used the first is under way."""
    room, first, second = space.reserve(1), space.piece(), space.piece()
    space.map(room, first)
    cuda.cuMemsetD32_v2(room, 1, 32)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(room))
    cuda.cuCtxSynchronize()
    space.unmap(room)
    space.map(room, second)
    cuda.cuMemsetD32_v2(room, 10, 32)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(room))
    assert cuda.read(room, 32) == [11] * 32
    space.unmap(room)
    space.map(room, first)
    assert cuda.read(room, 32) == [2] * 32


def test_released_while_mapped(cuda, space):
    """A piece lives as long as it is mapped."""
    room = space.reserve(1)
    space.map(room, space.piece())
    cuda.cuMemRelease(space.pieces.pop())
    cuda.cuMemsetD32_v2(room, 3, 4)
    again = c_uint64()
    cuda.cuMemRetainAllocationHandle(byref(again), c_void_p(room))
    assert cuda.read(room, 4) == [3] * 4
    told = (c_int * 8)()
    cuda.cuMemGetAllocationPropertiesFromHandle(told, again.value)
    assert list(told)[:4] == [1, 0, 1, 0]
    cuda.cuMemRelease(again.value)


def test_access_as_it_was_set(cuda, space):
    room, flags, place = space.reserve(1), c_ulonglong(9), buffer("ii", 1, 0)
    space.map(room, space.piece(), flags=NONE)
    for given in (READ, READ_WRITE, NONE, READ_WRITE):
        cuda.cuMemSetAccess(room, space.grain, access(given), 1)
        cuda.cuMemGetAccess(byref(flags), place, room)
        assert flags.value == given


def test_a_device_without_access(passes, own):
    passes(
        """
        from cpu.test_virtual_memory import Space, READ
        space = Space(cuda)
        room = space.reserve(1)
        space.map(room, space.piece(), flags=READ)
        module = cuda.module()
        cuda.launch(cuda.function(module, "add1"), 1, 32, c_uint64(room))
        assert cuda.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
    """
    )


@pytest.mark.parametrize("step", ["unmapped", "no access", "freed"])
def test_what_is_not_there_any_more(passes, own, step):
    passes(
        f"""
        from cpu.test_virtual_memory import Space, NONE, access
        space = Space(cuda)
        room = space.reserve(1)
        space.map(room, space.piece())
        if {step == "no access"}:
            cuda.cuMemSetAccess(room, space.grain, access(NONE), 1)
        else:
            cuda.cuMemUnmap(room, space.grain)
        if {step == "freed"}:
            cuda.cuMemAddressFree(room, space.grain)
        assert cuda.code("cuMemsetD32_v2", room, 1, 4) == INVALID_VALUE
        module = cuda.module()
        cuda.launch(cuda.function(module, "add1"), 1, 32, c_uint64(room))
        assert cuda.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
    """
    )


def test_unmapped_under_a_running_kernel(passes, own):
    """The kernel ends, with or without an error, and the process survives it."""
    passes(
        """
        from cpu.test_virtual_memory import Space
        space = Space(cuda)
        room, aside, second = space.reserve(1), space.reserve(1), space.piece()
        space.map(room, space.piece())
        space.map(aside, second)
        cuda.cuMemsetD32_v2(room, 0, 4)
        cuda.cuMemsetD32_v2(aside, 1, 4)
        cuda.launch(cuda.function(cuda.module(), "wait_flag"), 1, 1, c_uint64(room))
        time.sleep(0.05)
        space.unmap(room)
        time.sleep(0.05)
        space.map(room, second)
        assert cuda.code("cuCtxSynchronize") in (SUCCESS, ILLEGAL_ADDRESS)
    """
    )


@pytest.mark.parametrize("work", ["copied to", "copied from", "filled"])
def test_unmapped_before_it_is(passes, own, work):
    """Work that is queued finds nothing there; CUDA promises nothing for it."""
    passes(
        f"""
        from cpu.test_virtual_memory import Space
        space, stream, held = Space(cuda), cuda.stream(NON_BLOCKING), cuda.pinned(64)
        room, other = space.reserve(1), cuda.alloc(space.grain)
        space.map(room, space.piece())
        cuda.cuStreamWaitValue32_v2(stream, held, 1, 1)
        if {work == "filled"}:
            cuda.cuMemsetD8Async(room, 1, space.grain, stream)
        elif {work == "copied to"}:
            cuda.cuMemcpyDtoDAsync_v2(room, other, space.grain, stream)
        else:
            cuda.cuMemcpyAsync(other, room, space.grain, stream)
        space.unmap(room)
        word(held).value = 1
        assert cuda.code("cuStreamSynchronize", stream) == ILLEGAL_ADDRESS
    """
    )


def test_what_is_only_read(cuda, own, space):
    """NVIDIA's driver may report the error only in the stream, which is unusable then."""
    room, size = space.reserve(2), 2 * space.grain
    other = cuda.alloc(size)
    space.map(room, space.piece())
    space.map(room + space.grain, space.piece(), flags=READ)
    cuda.cuMemsetD8_v2(room, 3, space.grain)
    for name, arguments in {
        "cuMemsetD8_v2": (room + space.grain, 1, 4),
        "cuMemcpyDtoD_v2": (room, other, size),
        "cuMemcpyHtoD_v2": (room + space.grain, bytes(4), 4),
        "cuStreamWriteValue32_v2": (0, room + space.grain, 1, 0),
    }.items():
        assert cuda.code(name, *arguments) == INVALID_VALUE
    cuda.cuStreamWaitValue32_v2(0, room + space.grain, 0, 1)
    cuda.cuMemcpyDtoD_v2(other, room, size)
    assert cuda.read(other, 1) == [0x03030303] and cuda.read(other + space.grain, 1) == [0]
    cuda.cuMemFree_v2(other)


def test_alignment_and_wishes(cuda, space):
    room = space.reserve(1, align=8 * space.grain)
    assert room % (8 * space.grain) == 0
    free = space.reserve(4)
    cuda.cuMemAddressFree(*space.rooms.pop())
    assert space.reserve(1, wish=free) == free
    assert space.reserve(1, wish=free) != free  # taken: a wish, no demand


def test_memory_is_counted(cuda, space, own):
    def left():
        free, total = c_size_t(), c_size_t()
        cuda.cuMemGetInfo_v2(byref(free), byref(total))
        return free.value

    before = left()
    space.piece(4)
    assert before - left() == 4 * space.grain
    cuda.cuMemRelease(space.pieces.pop())
    assert left() == before


def test_what_is_known_of_the_pointer(cuda, space):
    room = space.reserve(2)
    space.map(room, space.piece())
    kind, ordinal, size, context = c_int(), c_int(-1), c_size_t(), c_void_p(1)
    cuda.cuPointerGetAttribute(byref(kind), 2, room + 64)
    cuda.cuPointerGetAttribute(byref(ordinal), 9, room + 64)
    cuda.cuPointerGetAttribute(byref(context), 1, room + 64)
    assert (kind.value, ordinal.value, context.value) == (2, 0, None)
    start = c_uint64()
    cuda.cuMemGetAddressRange_v2(byref(start), byref(size), room + 64)
    assert (start.value, size.value) == (room, space.grain)


GIVE = """
from cpu.test_virtual_memory import *
space = Space(cuda)
room = space.reserve(1)
piece = space.piece(1, POSIX_DESCRIPTOR)
space.map(room, piece)
cuda.cuMemsetD32_v2(room, 41, 32)
descriptor = c_int()
cuda.cuMemExportToShareableHandle(byref(descriptor), piece, POSIX_DESCRIPTOR, 0)
os.set_inheritable(descriptor.value, True)
import subprocess
done = subprocess.run([sys.executable, "-c", TAKE, str(descriptor.value)], close_fds=False)
assert done.returncode == 0
assert cuda.read(room, 32) == [42] * 32
os.close(descriptor.value)
"""

TAKE = """
import sys
from cpu.test_virtual_memory import *
cuda = Driver()
cuda.start()
space = Space(cuda)
room, handle = space.reserve(1), c_uint64()
cuda.cuMemImportFromShareableHandle(byref(handle), c_void_p(int(sys.argv[1])), POSIX_DESCRIPTOR)
space.map(room, handle.value)
assert cuda.read(room, 32) == [41] * 32
cuda.launch(cuda.function(cuda.module(), "add1"), 1, 32, c_uint64(room))
cuda.cuCtxSynchronize()
"""


def test_pieces_of_another_process(passes):
    passes(GIVE)


def test_hostile_descriptors(cuda, tmp_path):
    """Any file may come: none is taken that is not a piece, whole and of fixed size."""
    out = c_uint64()

    def code(descriptor):
        return cuda.code(
            "cuMemImportFromShareableHandle", byref(out), c_void_p(descriptor), POSIX_DESCRIPTOR
        )

    assert code(-1) != SUCCESS
    plain = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.truncate(plain, 4 << 20)
    memory = os.memfd_create("cupola")
    os.truncate(memory, 4 << 20)
    reading, writing = os.pipe()
    for descriptor in (plain, memory, reading, writing):
        assert code(descriptor) != SUCCESS
        os.close(descriptor)

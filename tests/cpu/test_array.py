"""Arrays and mipmapped arrays: the valid ones, their properties, and every copy to or from them."""

import ctypes
from ctypes import byref, c_size_t, c_uint, c_void_p

import numpy as np
import pytest
from driver_abi import *

from .texture import (
    ARRAY,
    CUBEMAP,
    DEVICE,
    GATHER,
    HOST,
    LAYERED,
    SURFACE,
    UNIFIED,
    Array3DShape,
    ArrayShape,
    Copy2D,
    Copy3D,
    Textures,
)

FLOAT = 0x20


@pytest.fixture
def make(cuda):
    made = Textures(cuda)
    yield made
    made.close()


def create(cuda, width, height=0, depth=0, form=FLOAT, channels=1, flags=0):
    array = c_void_p()
    shape = Array3DShape(width, height, depth, form, channels, flags)
    return cuda.code("cuArray3DCreate_v2", byref(array), byref(shape)), array


SHAPES = {
    "line": ((16,), 0),
    "plane": ((16, 8), 0),
    "box": ((16, 8, 4), 0),
    "lines": ((16, 0, 4), LAYERED),
    "planes": ((16, 8, 4), LAYERED),
    "cube": ((8, 8, 6), CUBEMAP),
    "cubes": ((8, 8, 12), CUBEMAP | LAYERED),
    "surface": ((8, 8), SURFACE),
    "gather": ((8, 8), GATHER),
    "layered surface": ((8, 8, 3), LAYERED | SURFACE),
}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("form, channels", [(FLOAT, 1), (1, 4), (0x10, 2), (9, 2)])
def test_shapes_there_are(cuda, kind, form, channels):
    dims, flags = SHAPES[kind]
    code, array = create(cuda, *(*dims, 0, 0)[:3], form, channels, flags)
    assert code == SUCCESS
    told = Array3DShape()
    cuda.cuArray3DGetDescriptor_v2(byref(told), array)
    assert (told.width, told.height, told.depth) == (*dims, 0, 0)[:3]
    assert (told.format, told.channels, told.flags) == (form, channels, flags)
    plane = ArrayShape()
    cuda.cuArrayGetDescriptor_v2(byref(plane), array)
    assert (plane.width, plane.height, plane.format, plane.channels) == (
        *(*dims, 0)[:2],
        form,
        channels,
    )
    cuda.cuArrayDestroy(array)


WRONG = {
    "no width": (0, 8),
    "no height but depth": (8, 0, 4),
    "three channels": (8, 8, 0, FLOAT, 3),
    "no channels": (8, 8, 0, FLOAT, 0),
    "no format": (8, 8, 0, 7),
    "five faces": (8, 8, 5, FLOAT, 1, CUBEMAP),
    "an oblong cube": (8, 4, 6, FLOAT, 1, CUBEMAP),
    "seven faces": (8, 8, 7, FLOAT, 1, CUBEMAP | LAYERED),
    "no layers": (8, 8, 0, FLOAT, 1, LAYERED),
    "too many layers": (4, 4, 2049, FLOAT, 1, LAYERED),
    "a gather of a line": (8, 0, 0, FLOAT, 1, GATHER),
    "a gather of layers": (8, 8, 8, FLOAT, 1, GATHER | LAYERED),
    "a gather of a box": (8, 8, 8, FLOAT, 1, GATHER),
    "a depth texture": (8, 8, 0, FLOAT, 1, 0x10),
    "an unknown flag": (8, 8, 0, FLOAT, 1, 0x1000),
    "too wide a line": (131073,),
    "too wide a line of a surface": (32769, 0, 0, FLOAT, 1, SURFACE),
    "too wide a gather": (32769, 4, 0, FLOAT, 1, GATHER),
    "too wide layers": (32769, 1, 2, FLOAT, 1, LAYERED),
    "too wide a box": (16385, 1, 2),
    "too high a plane": (1, 65537),
}


@pytest.mark.parametrize("kind", WRONG)
def test_shapes_there_are_not(cuda, kind):
    assert create(cuda, *WRONG[kind])[0] == INVALID_VALUE


def test_misuse(cuda):
    array, shape = c_void_p(), ArrayShape(4, 4, FLOAT, 1)
    assert cuda.code("cuArrayCreate_v2", c_void_p(), byref(shape)) == INVALID_VALUE
    assert cuda.code("cuArrayCreate_v2", byref(array), c_void_p()) == INVALID_VALUE
    cuda.cuArrayCreate_v2(byref(array), byref(shape))
    assert cuda.code("cuArray3DGetDescriptor_v2", c_void_p(), array) == INVALID_VALUE
    assert cuda.code("cuArrayDestroy", c_void_p()) == INVALID_HANDLE
    plane, requirements, sparse = c_void_p(), (c_size_t * 8)(), (c_uint * 16)()
    assert cuda.code("cuArrayGetPlane", byref(plane), array, 0) == INVALID_VALUE
    assert cuda.code("cuArrayGetSparseProperties", sparse, array) == INVALID_VALUE
    assert cuda.code("cuArrayGetMemoryRequirements", requirements, array, 0) == INVALID_VALUE
    cuda.cuArrayDestroy(array)


def test_destroyed_arrays_are_known(cuda, own):
    _, array = create(cuda, 4)
    cuda.cuArrayDestroy(array)
    there = (c_uint * 4)()
    assert cuda.code("cuArrayDestroy", array) == INVALID_HANDLE
    assert cuda.code("cuMemcpyHtoA_v2", array, 0, there, 4) == INVALID_HANDLE
    assert cuda.code("cuArray3DGetDescriptor_v2", byref(Array3DShape()), array) == INVALID_HANDLE


def test_arrays_count_against_memory(cuda, own):
    free, total, after = c_size_t(), c_size_t(), c_size_t()
    cuda.cuMemGetInfo_v2(byref(free), byref(total))
    _, array = create(cuda, 1024, 1024)
    cuda.cuMemGetInfo_v2(byref(after), byref(total))
    assert free.value - after.value == 4 << 20
    cuda.cuArrayDestroy(array)
    cuda.cuMemGetInfo_v2(byref(after), byref(total))
    assert free.value == after.value
    assert create(cuda, 16384, 16384, 16384, FLOAT, 4)[0] == OUT_OF_MEMORY


def test_mipmapped_arrays(cuda):
    handle = c_void_p()
    cuda.cuMipmappedArrayCreate(byref(handle), byref(Array3DShape(20, 9, 3, FLOAT, 1, 0)), 3)
    for level, dims in enumerate([(20, 9, 3), (10, 4, 1), (5, 2, 1)]):
        array, told = c_void_p(), Array3DShape()
        cuda.cuMipmappedArrayGetLevel(byref(array), handle, level)
        cuda.cuArray3DGetDescriptor_v2(byref(told), array)
        assert (told.width, told.height, told.depth) == dims
    assert cuda.code("cuMipmappedArrayGetLevel", byref(array), handle, 3) == INVALID_VALUE
    requirements, sparse = (c_size_t * 8)(), (c_uint * 16)()
    assert cuda.code("cuMipmappedArrayGetSparseProperties", sparse, handle) == INVALID_VALUE
    code = cuda.code("cuMipmappedArrayGetMemoryRequirements", requirements, handle, 0)
    assert code == INVALID_VALUE
    cuda.cuMipmappedArrayGetLevel(byref(array), handle, 1)
    cuda.cuArrayDestroy(array)  # the array of a level can't be destroyed: it stays
    cuda.cuArray3DGetDescriptor_v2(byref(told), array)
    cuda.cuMipmappedArrayDestroy(handle)


@pytest.mark.parametrize("asked, got", [(0, 1), (5, 5), (9, 5)])
def test_as_many_levels_as_there_can_be(cuda, asked, got):
    handle, array = c_void_p(), c_void_p()
    cuda.cuMipmappedArrayCreate(byref(handle), byref(Array3DShape(16, 8, 0, FLOAT, 1, 0)), asked)
    for level in range(9):
        code = cuda.code("cuMipmappedArrayGetLevel", byref(array), handle, level)
        assert code == (SUCCESS if level < got else INVALID_VALUE)
    cuda.cuMipmappedArrayDestroy(handle)


def test_layers_stay_as_many(cuda):
    handle = c_void_p()
    shape = Array3DShape(8, 8, 3, FLOAT, 1, LAYERED)
    cuda.cuMipmappedArrayCreate(byref(handle), byref(shape), 4)
    array, told = c_void_p(), Array3DShape()
    cuda.cuMipmappedArrayGetLevel(byref(array), handle, 3)
    cuda.cuArray3DGetDescriptor_v2(byref(told), array)
    assert (told.width, told.height, told.depth) == (1, 1, 3)
    cuda.cuMipmappedArrayDestroy(handle)


# ---- copies ---------------------------------------------------------------------------------


def numbers(*shape):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(*shape)


@pytest.mark.parametrize("suffix", ["_v2", "_v2_ptds"])
def test_bytes_there_and_back(cuda, make, suffix):
    a, b = make.array(numbers(64, 1)), make.array(np.zeros((64, 1), np.float32))
    device, out = cuda.alloc(256), np.zeros(64, np.float32)
    getattr(cuda, f"cuMemcpyAtoD{suffix}")(device, a, 0, 256)
    getattr(cuda, f"cuMemcpyDtoA{suffix}")(b, 128, device, 128)
    getattr(cuda, f"cuMemcpyAtoA{suffix}")(b, 0, a, 128, 128)
    getattr(cuda, f"cuMemcpyAtoH{suffix}")(c_void_p(out.ctypes.data), b, 0, 256)
    assert (out == np.concatenate([np.arange(33, 65), np.arange(1, 33)])).all()
    getattr(cuda, f"cuMemcpyHtoA{suffix}")(a, 8, c_void_p(out.ctypes.data), 16)
    assert (make.read(a, numbers(64, 1))[2:6, 0] == out[:4]).all()
    cuda.cuMemFree_v2(device)


def test_bytes_in_a_stream(cuda, make):
    a, stream, pinned = make.array(numbers(64, 1)), cuda.stream(), cuda.pinned(256)
    word(pinned).value = 0x40000000  # 2.0
    cuda.cuMemcpyHtoAAsync_v2(a, 16, pinned, 4, stream)
    cuda.cuMemcpyAtoHAsync_v2(pinned, a, 12, 12, stream)
    cuda.cuStreamSynchronize(stream)
    assert np.frombuffer(ctypes.string_at(pinned, 12), np.float32).tolist() == [4, 2, 6]
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(pinned)


def test_bytes_beyond_an_array(cuda, make):
    a, there = make.array(numbers(16, 1)), (c_uint * 64)()
    for offset, size in ((0, 68), (64, 4), (4, 64), (2**63, 4), (0, 2**64 - 4)):
        assert cuda.code("cuMemcpyHtoA_v2", a, offset, there, size) == INVALID_VALUE
        assert cuda.code("cuMemcpyAtoH_v2", there, a, offset, size) == INVALID_VALUE


def test_bytes_are_those_of_the_first_row(cuda, make):
    a, there = make.array(numbers(8, 16, 1)), (c_uint * 64)()
    cuda.cuMemcpyAtoH_v2(there, a, 32, 32)
    assert np.frombuffer(there, np.float32)[:8].tolist() == list(range(9, 17))
    assert cuda.code("cuMemcpyAtoH_v2", there, a, 32, 64) == INVALID_VALUE
    assert cuda.code("cuMemcpyAtoH_v2", there, a, 64, 64) == INVALID_VALUE


def test_rectangles(cuda, make):
    texels, stream = numbers(8, 16, 1), cuda.stream()
    a = make.array(texels)
    device = cuda.alloc(8 * 64)
    copy = Copy2D(width=20, height=3)
    copy.srcType, copy.srcArray, copy.srcX, copy.srcY = ARRAY, a, 8, 2
    copy.dstType, copy.dstDevice, copy.dstPitch = DEVICE, device, 64
    cuda.cuMemcpy2D_v2(byref(copy))
    back = Copy2D(width=20, height=3)
    back.srcType, back.srcDevice, back.srcPitch = UNIFIED, device, 64
    back.dstType, back.dstArray, back.dstX, back.dstY = ARRAY, a, 44, 5
    cuda.cuMemcpy2DAsync_v2(byref(back), stream)
    cuda.cuStreamSynchronize(stream)
    expected = texels.copy()
    expected[5:8, 11:16] = texels[2:5, 2:7]
    assert (make.read(a, texels) == expected).all()
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFree_v2(device)


def test_boxes_between_arrays(cuda, make):
    texels = numbers(4, 8, 16, 1)
    a, b = make.array(texels), make.array(np.zeros_like(texels))
    context = cuda.primary()
    for call, contexts in (("cuMemcpy3D_v2", None), ("cuMemcpy3DPeer", context)):
        copy = Copy3D(width=16, height=3, depth=2)
        copy.srcType, copy.srcArray, copy.srcX, copy.srcY, copy.srcZ = ARRAY, a, 8, 1, 2
        copy.dstType, copy.dstArray, copy.dstX, copy.dstY, copy.dstZ = ARRAY, b, 48, 5, 1
        copy.srcContext = copy.dstContext = contexts
        getattr(cuda, call)(byref(copy))
        expected = np.zeros_like(texels)
        expected[1:3, 5:8, 12:16] = texels[2:4, 1:4, 2:6]
        assert (make.read(b, texels) == expected).all()
        make.fill(b, np.zeros_like(texels), (16, 8, 4))


@pytest.mark.parametrize(
    "what",
    [{"dstX": 4}, {"dstY": 1}, {"dstZ": 1}, {"width": 128}, {"height": 9}, {"depth": 5},
     {"dstX": 2**63}, {"dstY": 2**64 - 1}, {"dstZ": 2**62}],
    ids=str,
)  # fmt: skip
def test_boxes_beyond_an_array(cuda, make, what):
    texels = numbers(4, 8, 16, 1)
    a, big = make.array(texels), np.zeros(1 << 16, np.uint8)
    copy = Copy3D(width=64, height=8, depth=4)
    copy.srcType, copy.srcHost, copy.srcPitch, copy.srcHeight = HOST, big.ctypes.data, 128, 16
    copy.dstType, copy.dstArray = ARRAY, a
    for name, value in what.items():
        setattr(copy, name, value)
    assert cuda.code("cuMemcpy3D_v2", byref(copy)) == INVALID_VALUE
    assert (make.read(a, texels) == texels).all()


def test_a_graph_copies_arrays(cuda, make):
    texels = numbers(4, 8, 16, 1)
    a, b = make.array(texels), make.array(np.zeros_like(texels))
    graph, node, run, stream = c_void_p(), c_void_p(), c_void_p(), cuda.stream()
    cuda.cuGraphCreate(byref(graph), 0)
    copy = Copy3D(width=64, height=7, depth=4)
    copy.srcType, copy.srcArray, copy.dstType, copy.dstArray, copy.dstY = ARRAY, a, ARRAY, b, 1
    cuda.cuGraphAddMemcpyNode(byref(node), graph, c_void_p(), 0, byref(copy), cuda.primary())
    told = Copy3D()
    cuda.cuGraphMemcpyNodeGetParams(node, byref(told))
    assert (told.srcType, told.srcArray, told.dstType, told.dstArray) == (3, a.value, 3, b.value)
    assert (told.dstX, told.dstY, told.dstZ) == (0, 1, 0)
    cuda.cuGraphInstantiateWithFlags(byref(run), graph, 0)
    cuda.cuGraphLaunch(run, stream)
    cuda.cuStreamSynchronize(stream)
    expected = np.zeros_like(texels)
    expected[:, 1:] = texels[:, :7]
    assert (make.read(b, texels) == expected).all()
    cuda.cuGraphExecDestroy(run)
    cuda.cuGraphDestroy(graph)
    cuda.cuStreamDestroy_v2(stream)


def test_a_capture_takes_copies_of_arrays(cuda, make):
    texels = numbers(8, 16, 1)
    a, b = make.array(texels), make.array(np.zeros_like(texels))
    graph, run, stream = c_void_p(), c_void_p(), cuda.stream()
    cuda.cuStreamBeginCapture_v2(stream, 0)
    copy = Copy3D(width=64, height=8, depth=1)
    copy.srcType, copy.srcArray, copy.dstType, copy.dstArray = ARRAY, a, ARRAY, b
    cuda.cuMemcpy3DAsync_v2(byref(copy), stream)
    cuda.cuStreamEndCapture(stream, byref(graph))
    cuda.cuGraphInstantiateWithFlags(byref(run), graph, 0)
    assert not make.read(b, texels).any()
    cuda.cuGraphLaunch(run, stream)
    cuda.cuStreamSynchronize(stream)
    assert (make.read(b, texels) == texels).all()
    cuda.cuGraphExecDestroy(run)
    cuda.cuGraphDestroy(graph)
    cuda.cuStreamDestroy_v2(stream)

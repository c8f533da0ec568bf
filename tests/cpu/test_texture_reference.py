"""Texture and surface references: variables of a module, bound by calls of the driver."""

from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p

import numpy as np
import pytest
from driver_abi import *

from .texture import *

TEXT = b"""
.version 7.0
.target sm_75
.address_size 64
.global .texref image;
.global .surfref canvas;
.visible .entry read(.param .u64 pout) {
.reg .b64 %o, %x; .reg .b32 %r; .reg .f32 %f<6>;
ld.param.u64 %o, [pout]; mov.u32 %r, %tid.x; cvt.rn.f32.u32 %f4, %r; add.f32 %f4, %f4, 0f3f000000;
tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [image, {%f4}];
mul.wide.u32 %x, %r, 4; add.u64 %o, %o, %x; st.global.f32 [%o], %f0; ret; }
.visible .entry fetch(.param .u64 pout) {
.reg .b64 %o, %x, %t; .reg .b32 %r; .reg .f32 %f<6>;
ld.param.u64 %o, [pout]; mov.u32 %r, %tid.x;
tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [image, {%r}];
mul.wide.u32 %x, %r, 4; add.u64 %o, %o, %x; st.global.f32 [%o], %f0; ret; }
.visible .entry twice() {
.reg .b32 %r, %s; .reg .f32 %f;
mov.u32 %r, %tid.x; shl.b32 %s, %r, 2; suld.b.1d.b32.trap {%r}, [canvas, {%s}]; mov.b32 %f, %r;
add.f32 %f, %f, %f; mov.b32 %r, %f; sust.b.1d.b32.trap [canvas, {%s}], {%r}; ret; }
\0"""


@pytest.fixture
def make(cuda):
    made = Textures(cuda)
    yield made
    cuda.cuCtxSynchronize()
    made.close()


@pytest.fixture
def module(cuda):
    loaded = cuda.module(TEXT)
    yield loaded
    cuda.cuModuleUnload(loaded)


@pytest.fixture
def image(cuda, module):
    handle = c_void_p()
    cuda.cuModuleGetTexRef(byref(handle), module, b"image")
    return handle


def run(cuda, module, name, count=8):
    out = cuda.alloc(4 * count)
    cuda.launch(cuda.function(module, name), 1, count, c_uint64(out))
    got = cuda.read(out, count, c_float)
    cuda.cuMemFree_v2(out)
    return got


def numbers(count):
    return np.arange(1, count + 1, dtype=np.float32)[:, None]


def test_array(cuda, make, module, image):
    first, second = make.array(numbers(8)), make.array(10 * numbers(8))
    cuda.cuTexRefSetArray(image, first, 1)
    assert run(cuda, module, "read") == [1, 2, 3, 4, 5, 6, 7, 8]
    cuda.cuTexRefSetArray(image, second, 1)
    cuda.cuTexRefSetFlags(image, 0)
    assert run(cuda, module, "read") == [10, 20, 30, 40, 50, 60, 70, 80]
    bound, form, channels = c_void_p(), c_int(), c_int()
    cuda.cuTexRefGetArray(byref(bound), image)
    cuda.cuTexRefGetFormat(byref(form), byref(channels), image)
    assert (bound.value, form.value, channels.value) == (second.value, 0x20, 1)


def test_how_it_is_read(cuda, make, module, image):
    cuda.cuTexRefSetArray(image, make.array(numbers(4)), 1)
    cuda.cuTexRefSetFlags(image, NORMALIZED)
    cuda.cuTexRefSetAddressMode(image, 0, WRAP)
    # Whole coordinates and a half are the middle, wherever one begins to count.
    assert run(cuda, module, "read", 3) == [3, 3, 3]
    cuda.cuTexRefSetFilterMode(image, LINEAR)
    assert run(cuda, module, "read", 3) == [2.5, 2.5, 2.5]


def test_line_in_memory(cuda, make, module, image):
    memory, offset = make.memory(numbers(256)), c_size_t(99)
    cuda.cuTexRefSetAddress_v2(byref(offset), image, memory, 1024)
    assert offset.value == 0
    assert run(cuda, module, "fetch", 4) == [1, 2, 3, 4]
    assert cuda.code("cuTexRefSetAddress_v2", c_void_p(), image, memory + 16, 64) == INVALID_VALUE
    cuda.cuTexRefSetAddress_v2(byref(offset), image, memory + 16, 64)
    assert offset.value == 16
    address = c_uint64()
    cuda.cuTexRefGetAddress_v2(byref(address), image)


def test_surface(cuda, make, module):
    canvas, array, bound = c_void_p(), make.array(numbers(8), SURFACE), c_void_p()
    cuda.cuModuleGetSurfRef(byref(canvas), module, b"canvas")
    cuda.cuSurfRefSetArray(canvas, array, 0)
    cuda.cuSurfRefGetArray(byref(bound), canvas)
    assert bound.value == array.value
    cuda.launch(cuda.function(module, "twice"), 1, 8)
    cuda.cuCtxSynchronize()
    assert (make.read(array, numbers(8)) == 2 * numbers(8)).all()
    assert cuda.code("cuSurfRefSetArray", canvas, array, 1) == INVALID_VALUE


def test_what_it_is_at_first(cuda, image):
    number, channels, bias = c_int(-7), c_int(-7), c_float(-7)
    for name, expected in (("FilterMode", 0), ("Flags", 0), ("MipmapFilterMode", 0)):
        getattr(cuda, f"cuTexRefGet{name}")(byref(number), image)
        assert number.value == expected
    cuda.cuTexRefGetAddressMode(byref(number), image, 0)
    assert number.value == CLAMP
    cuda.cuTexRefGetFormat(byref(number), byref(channels), image)
    assert (number.value, channels.value) == (0x20, 1)
    cuda.cuTexRefGetMipmapLevelBias(byref(bias), image)
    assert bias.value == 0
    bound, address = c_void_p(), c_uint64()
    assert cuda.code("cuTexRefGetArray", byref(bound), image) == INVALID_VALUE
    assert cuda.code("cuTexRefGetAddress_v2", byref(address), image) == INVALID_VALUE


def test_names(cuda, module):
    handle, size = c_void_p(), c_size_t()
    for name in (b"nothing", b"read"):
        assert cuda.code("cuModuleGetTexRef", byref(handle), module, name) == NOT_FOUND
    assert cuda.code("cuModuleGetGlobal_v2", byref(handle), byref(size), module, b"image") == 1


def test_references_without_a_module(cuda, make):
    handle = c_void_p()
    cuda.cuTexRefCreate(byref(handle))
    cuda.cuTexRefSetArray(handle, make.array(numbers(4)), 1)
    cuda.cuTexRefDestroy(handle)


def test_a_module_takes_its_references_along(cuda, own):
    module, handle = cuda.module(TEXT), c_void_p()
    cuda.cuModuleGetTexRef(byref(handle), module, b"image")
    cuda.cuModuleUnload(module)
    assert cuda.code("cuTexRefSetFlags", handle, 0) == INVALID_HANDLE


def test_nothing_bound_is_a_fault(passes, own):
    out = passes(
        """
        from cpu.test_texture_reference import TEXT
        module, out = cuda.module(TEXT), cuda.alloc(64)
        cuda.launch(cuda.function(module, "read"), 1, 8, c_uint64(out))
        print(cuda.code("cuCtxSynchronize"))
    """
    )
    assert int(out) == ILLEGAL_ADDRESS


def test_what_a_declaration_says_is_left_to_the_binding(cuda, make):
    """As it is by NVIDIA's compiler, which makes the same machine code of it."""
    said = b".global .texref image = { addr_mode_0 = mirror, filter_mode = linear, width = 3 };"
    module = cuda.module(TEXT.replace(b".global .texref image;", said))
    handle, mode = c_void_p(), c_int()
    cuda.cuModuleGetTexRef(byref(handle), module, b"image")
    cuda.cuTexRefSetArray(handle, make.array(numbers(4)), 1)
    cuda.cuTexRefGetFilterMode(byref(mode), handle)
    assert mode.value != LINEAR
    assert run(cuda, module, "read", 6) == [1, 2, 3, 4, 4, 4]
    cuda.cuModuleUnload(module)


def test_a_declaration_that_says_nothing(cuda):
    cuda.cuModuleUnload(cuda.module(TEXT.replace(b"texref image;", b"texref image = {};")))


@pytest.mark.parametrize("said", [b"{ colour = 1 }", b"{ width }", b"{ width = }", b"{ , }", b"3"])
def test_declarations_that_are_refused(cuda, said):
    text = TEXT.replace(b"texref image;", b"texref image = " + said + b";")
    assert cuda.code("cuModuleLoadData", byref(c_void_p()), text) == INVALID_PTX


def test_texture_references_tell_what_was_set(cuda):
    module, image = cuda.module(TEXT), c_void_p()
    cuda.cuModuleGetTexRef(byref(image), module, b"image")
    for name, value in (("MipmapFilterMode", 1), ("MaxAnisotropy", 8)):
        told = c_uint()
        setter = {
            "MipmapFilterMode": "cuTexRefSetMipmapFilterMode",
            "MaxAnisotropy": "cuTexRefSetMaxAnisotropy",
        }[name]
        getattr(cuda, setter)(image, value)
        getattr(cuda, f"cuTexRefGet{name}")(byref(told), image)
        assert told.value == value
    library, bias, least, most = cuda.library, c_float(), c_float(), c_float()
    assert library.cuTexRefSetMipmapLevelBias(image, c_float(0.5)) == SUCCESS
    cuda.cuTexRefGetMipmapLevelBias(byref(bias), image)
    assert library.cuTexRefSetMipmapLevelClamp(image, c_float(1), c_float(3)) == SUCCESS
    cuda.cuTexRefGetMipmapLevelClamp(byref(least), byref(most), image)
    assert (bias.value, least.value, most.value) == (0.5, 1, 3)
    border, told = (c_float * 4)(0.25, 0.5, 0.75, 1), (c_float * 4)()
    cuda.cuTexRefSetBorderColor(image, border)
    cuda.cuTexRefGetBorderColor(told, image)
    assert list(told) == list(border)
    texels, channels = c_uint(), c_int()
    cuda.cuTexRefSetFormat(image, 2, 2)
    cuda.cuTexRefGetFormat(byref(texels), byref(channels), image)
    assert (texels.value, channels.value) == (2, 2)
    cuda.cuModuleUnload(module)


def test_texture_references_of_memory_and_levels(cuda, make):
    """A pitched rectangle, an array of levels, and a function's own reference."""
    module, image, found = cuda.module(TEXT), c_void_p(), c_void_p()
    cuda.cuModuleGetTexRef(byref(image), module, b"image")
    # NVIDIA's driver takes no reference of a module for sm_50 and newer here.
    code = cuda.code("cuParamSetTexRef", cuda.function(module, "fetch"), -1, image)
    assert code == (INVALID_VALUE if cuda.on_hardware else SUCCESS)
    memory, out = make.memory(np.arange(256, dtype="f4")), cuda.alloc(16)
    shape = ArrayShape(4, 2, 0x20, 1)
    cuda.cuTexRefSetAddress2D_v3(image, byref(shape), memory, 512)
    cuda.cuTexRefGetAddress_v2(byref(found), image)
    assert found.value == memory
    assert cuda.code("cuTexRefSetAddress2D_v3", image, None, memory, 512) == INVALID_VALUE
    levels = make.mipmapped([np.full((n, 1), n, "f4") for n in (8, 4)])
    cuda.cuTexRefSetMipmappedArray(image, levels, 1)
    cuda.cuTexRefGetMipmappedArray(byref(found), image)
    assert found.value == levels.value
    cuda.cuMemFree_v2(out)
    cuda.cuModuleUnload(module)

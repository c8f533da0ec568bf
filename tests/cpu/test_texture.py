"""Texture and surface objects: their properties, misuse, and CUDA C++ that reads them."""

import pathlib
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import images
import numpy as np
import pytest
from driver_abi import *

from .texture import *

SOURCE = pathlib.Path(__file__).with_name("texture.cu")


@pytest.fixture
def make(cuda):
    made = Textures(cuda)
    yield made
    cuda.cuCtxSynchronize()
    made.close()


@pytest.fixture(scope="module")
def compiled(started):
    text = images.compiled("texture.75.ptx", SOURCE, "-ptx", "-arch=compute_75")
    started.primary()
    return started.module(text.read_bytes() + b"\0")


@pytest.fixture
def run(cuda, compiled):
    """Runs a kernel of texture.cu; the first array is its output, and is returned."""

    def call(name, grid, block, *arguments):
        passed, outputs = [], []
        for a in arguments:
            if isinstance(a, np.ndarray):
                at = cuda.alloc(a.nbytes)
                outputs.append((at, a))
                passed.append(c_uint64(at))
            else:
                passed.append(c_int(a) if isinstance(a, int) else a)
        cuda.launch(cuda.function(compiled, name), grid, block, *passed)
        cuda.cuCtxSynchronize()
        for at, a in outputs:
            cuda.cuMemcpyDtoH_v2(c_void_p(a.ctypes.data), at, a.nbytes)
            cuda.cuMemFree_v2(at)
        return outputs[0][1] if outputs else None

    return call


def numbers(*shape, dtype=np.float32):
    return np.arange(1, 1 + int(np.prod(shape))).reshape(*shape).astype(dtype)


def of(array):
    return ResourceDesc.array(array.value)


# ---- CUDA C++ -------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["array", "pitch"])
def test_plane(make, run, where):
    texels = numbers(9, 40, 1)
    if where == "array":
        resource = of(make.array(texels))
    else:
        rows = np.zeros((9, 64), np.float32)
        rows[:, :40] = texels[..., 0]
        resource = ResourceDesc.pitch(make.memory(rows), width=40, height=9, pitch=256)
    out = run("plane", (2, 9), 32, np.zeros((9, 40), np.float32), make.texture(resource), 40, 9)
    assert (out == texels[..., 0]).all()


def test_filtering_is_a_mean_of_neighbours(make, run):
    texels = (numbers(8, 32, 1) % 7) * 4
    texture = make.texture(
        of(make.array(texels)), TextureDesc.of(address=WRAP, filter=LINEAR, flags=NORMALIZED)
    )
    out = run("smooth", (1, 8), 32, np.zeros((8, 32), np.float32), texture, 32, 8)
    t = texels[..., 0]
    right, down = np.roll(t, -1, 1), np.roll(t, -1, 0)
    assert (out == (t + right + down + np.roll(right, -1, 0)) / 4).all()


def test_line_in_memory(make, run):
    texels = numbers(20, 4, dtype=np.int32) - 40
    resource = ResourceDesc.linear(make.memory(texels), 10, 4, texels.nbytes)
    out = run("line", 1, 32, np.zeros((20, 4), np.int32), make.texture(resource), 20)
    assert (out == texels).all()


def test_the_longest_line_in_memory(cuda):
    longest = c_size_t()
    for form, channels in ((0x20, 1), (0x01, 2), (0x10, 4)):  # float, unsigned char, short
        cuda.cuDeviceGetTexture1DLinearMaxWidth(byref(longest), form, channels, 0)
        assert longest.value >= 1 << 20
    get = "cuDeviceGetTexture1DLinearMaxWidth"
    assert cuda.code(get, None, 0x20, 1, 0) == INVALID_VALUE
    assert cuda.code(get, byref(longest), 0x20, 3, 0) == INVALID_VALUE
    assert cuda.code(get, byref(longest), 0x20, 1, 1000) == INVALID_DEVICE


def test_box(make, run):
    texels = numbers(5, 5, 5, 4)
    out = run("box", (5, 5), 32, np.zeros_like(texels), make.texture(of(make.array(texels))), 5)
    assert (out == texels).all()


def test_layers(make, run):
    texels = numbers(3, 6, 6, 2)
    texture = make.texture(of(make.array(texels, LAYERED)))
    assert (run("layers", (6, 3), 32, np.zeros_like(texels), texture, 6) == texels).all()
    rows = numbers(4, 10, 1, dtype=np.uint8)
    lines = make.texture(
        of(make.array(rows, LAYERED, (10, 0, 4))), TextureDesc.of(flags=READ_AS_INTEGER)
    )
    assert (run("lines", 4, 32, np.zeros_like(rows), lines, 10) == rows).all()


def test_faces_of_a_cube(make, run):
    texels = np.repeat(numbers(6, 1, 1, 1), 16, 1).reshape(6, 4, 4, 1)
    texture = make.texture(of(make.array(texels, CUBEMAP)), TextureDesc.of(flags=NORMALIZED))
    assert run("faces", 1, 6, np.zeros(6, np.float32), texture).tolist() == [1, 2, 3, 4, 5, 6]


def test_levels(make, run):
    levels = [np.full((8 >> n, 8 >> n, 1), n + 1, np.float32) for n in range(4)]
    resource = ResourceDesc.mipmapped(make.mipmapped(levels).value)
    texture = make.texture(resource, TextureDesc.of(flags=NORMALIZED, level_most=9))
    assert run("level", 1, 6, np.zeros(6, np.float32), texture).tolist() == [1, 2, 3, 4, 4, 4]


def test_a_view_of_some_levels(make, run):
    levels = [np.full((8 >> n, 8 >> n, 1), n + 1, np.float32) for n in range(4)]
    resource = ResourceDesc.mipmapped(make.mipmapped(levels).value)
    view = ViewDesc(format=0x16, width=8, height=8, first_level=1, last_level=2)
    texture = make.texture(resource, TextureDesc.of(flags=NORMALIZED, level_most=9), view)
    assert run("level", 1, 4, np.zeros(4, np.float32), texture).tolist() == [2, 3, 3, 3]


@pytest.mark.parametrize(
    "fields", [{"width": 9}, {"last_level": 4}, {"format": 1}, {"format": 0}], ids=str
)
def test_views_there_are_not(cuda, make, fields, request):
    if "last_level" in fields:
        request.getfixturevalue("own")  # an H200 takes a last level that does not exist
    levels = [np.full((8 >> n, 8 >> n, 1), n + 1, np.float32) for n in range(4)]
    resource = ResourceDesc.mipmapped(make.mipmapped(levels).value)
    view = ViewDesc(**{"format": 0x16, "width": 8, "height": 8, **fields})
    assert attempt(cuda, resource, TextureDesc.of(flags=NORMALIZED), view) == INVALID_VALUE


def test_gather(make, run):
    texels = numbers(6, 6, 1)
    texture = make.texture(of(make.array(texels, GATHER)))
    out = run("gather", 5, 5, np.zeros((5, 5, 4), np.float32), texture, 5)
    t = texels[..., 0]
    # Against the clock from the lower left, where y goes down.
    expected = np.stack([t[1:, :-1], t[1:, 1:], t[:-1, 1:], t[:-1, :-1]], -1)
    assert (out == expected).all()


def test_surfaces(make, run):
    texels = numbers(6, 33, 1)
    a, b = make.array(texels, SURFACE), make.array(np.zeros_like(texels), SURFACE)
    run("twice", (2, 6), 32, make.surface(b), make.surface(a), 33, 6)
    assert (make.read(b, texels) == 2 * texels[::-1]).all()


def test_around_a_surface(make, run):
    surface = make.surface(make.array(numbers(1, 4, 1), SURFACE))
    out = run("around", 1, 6, np.zeros((6, 2), np.float32), surface, 4)
    assert out.tolist() == [[0, 1], [1, 1], [2, 2], [3, 3], [4, 4], [0, 4]]


def test_surfaces_of_three_axes_and_of_layers(make, run):
    array = make.array(np.zeros((4, 4, 4, 4), np.uint16), SURFACE)
    run("fill3", (4, 4), 32, make.surface(array), 4)
    z, y, x = np.indices((4, 4, 4))
    expected = np.stack([x, y, z, x + y + z], -1).astype(np.uint16)
    assert (make.read(array, expected) == expected).all()
    array = make.array(np.zeros((2, 4, 4, 1), np.uint8), SURFACE | LAYERED)
    run("fill_layers", (4, 2), 32, make.surface(array), 4)
    layer, y, x = np.indices((2, 4, 4))
    expected = (x + 10 * y + 100 * layer).astype(np.uint8)[..., None]
    assert (make.read(array, expected) == expected).all()


# ---- objects --------------------------------------------------------------------------------


def test_what_an_object_was_made_of(cuda, make):
    array = make.array(numbers(8, 16, 1))
    made = TextureDesc.of(
        address=(WRAP, MIRROR, BORDER), border=(1, 2, 3, 4), filter=LINEAR, flags=NORMALIZED,
        level_bias=0.5, level_least=0.25, level_most=2.0,
    )  # fmt: skip
    texture = make.texture(of(array), made)
    resource, told = ResourceDesc(), TextureDesc()
    cuda.cuTexObjectGetResourceDesc(byref(resource), texture)
    assert (resource.type, resource.of.handle) == (OF_ARRAY, array.value)
    cuda.cuTexObjectGetTextureDesc(byref(told), texture)
    assert bytes(told)[:40] == bytes(made)[:40]
    surfaces = make.array(numbers(8, 16, 1), SURFACE)
    surface = make.surface(surfaces)
    cuda.cuSurfObjectGetResourceDesc(byref(resource), surface)
    assert (resource.type, resource.of.handle) == (OF_ARRAY, surfaces.value)


def test_objects_outlive_their_arrays(cuda, make, run, own):
    array = c_void_p()
    cuda.cuArray3DCreate_v2(byref(array), byref(Array3DShape(4, 4, 0, 0x20, 1, 0)))
    make.fill(array, numbers(4, 4, 1), (4, 4, 0))
    texture = make.texture(of(array))
    cuda.cuArrayDestroy(array)
    out = run("plane", (1, 4), 32, np.zeros((4, 4), np.float32), texture, 4, 4)
    assert (out == numbers(4, 4)).all()


@pytest.mark.parametrize("count", [1, 1000])
def test_a_queued_launch_keeps_objects_destroyed_before_it_runs(cuda, make, compiled, own, count):
    """A wait holds the stream until the objects are destroyed."""
    resource, description = of(make.array(numbers(4, 4, 1))), TextureDesc.of()
    stream, flag, out = cuda.stream(1), cuda.pinned(4), cuda.alloc(64 * count)
    cuda.cuStreamWaitValue32_v2(stream, flag, 1, 0)
    handles = [c_uint64() for _ in range(count)]
    plane = cuda.function(compiled, "plane")
    for i, handle in enumerate(handles):
        cuda.cuTexObjectCreate(byref(handle), byref(resource), byref(description), c_void_p())
        arguments = c_uint64(out + 64 * i), handle, c_int(4), c_int(4)
        cuda.launch(plane, (1, 4), 32, *arguments, stream=stream)
    for handle in handles:
        cuda.cuTexObjectDestroy(handle)
    word(flag).value = 1
    cuda.cuStreamSynchronize(stream)
    values = np.zeros((count, 4, 4), np.float32)
    cuda.cuMemcpyDtoH_v2(c_void_p(values.ctypes.data), out, values.nbytes)
    assert (values == numbers(4, 4)).all()
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFree_v2(out)
    cuda.cuMemFreeHost(c_void_p(flag))


def attempt(cuda, resource, description=None, view=None):
    handle = c_uint64()
    code = cuda.code(
        "cuTexObjectCreate",
        byref(handle),
        byref(resource),
        byref(description or TextureDesc.of()),
        byref(view) if view else c_void_p(),
    )
    if code == SUCCESS:
        cuda.cuTexObjectDestroy(handle)
    return code


@pytest.mark.parametrize(
    "fields",
    [{"address": 4}, {"filter": 2}, {"level_filter": 2}],
    ids=str,
)
def test_descriptions_there_are_not(cuda, make, fields):
    array = make.array(numbers(8, 16, 1))
    assert attempt(cuda, of(array), TextureDesc.of(**fields)) == INVALID_VALUE


def test_whole_numbers_are_not_filtered(cuda, make, own):
    array = make.array(numbers(8, 16, 1, dtype=np.int32))
    assert attempt(cuda, of(array), TextureDesc.of(filter=LINEAR)) == NOT_SUPPORTED


def test_null_where_something_is_wanted(cuda, make):
    array, handle = make.array(numbers(8, 16, 1)), c_uint64()
    none, resource, description = c_void_p(), of(array), TextureDesc.of()
    call = lambda *a: cuda.code("cuTexObjectCreate", *a, none)
    assert call(none, byref(resource), byref(description)) == INVALID_VALUE
    assert call(byref(handle), none, byref(description)) == INVALID_VALUE
    assert call(byref(handle), byref(resource), none) == INVALID_VALUE


FAULT = """
    import numpy as np
    from cpu.texture import *
    made = Textures(cuda)
    array = made.array(np.zeros((16, 1), np.float32), SURFACE)
    handle = {handle}
    module = cuda.module(b'''.version 8.6
    .target sm_75
    .address_size 64
    .visible .entry k(.param .u64 p) {{ .reg .b64 %t; .reg .b32 %r<6>;
    ld.param.u64 %t, [p]; mov.u32 %r1, {x}; {instruction} ret; }}\\0''')
    cuda.launch(cuda.function(module, "k"), 1, 1, c_uint64(handle))
    print(cuda.code("cuCtxSynchronize"))
"""
READ = "tex.1d.v4.f32.s32 {{%r2,%r3,%r4,%r5}}, [%t, {{%r1}}];".replace("{{", "{").replace("}}", "}")
STORE = "sust.b.1d.b32.trap [%t, {%r1}], {%r1};"


@pytest.mark.parametrize(
    "handle, instruction, x",
    [
        ("0", READ, 0),
        ("0x123456789", READ, 0),
        ("0", STORE, 0),
        ("made.surface(array).value", READ, 0),
        ("made.texture(ResourceDesc.array(array.value)).value", STORE, 0),
        ("made.surface(array).value", STORE, 64),
        ("made.surface(array).value", STORE, -4),
        ("made.surface(array).value", STORE, 2),
    ],
)
def test_faults(passes, own, handle, instruction, x):
    out = passes(FAULT.format(handle=handle, instruction=instruction, x=x))
    assert int(out) in (ILLEGAL_ADDRESS, MISALIGNED_ADDRESS, LAUNCH_FAILED)


def test_the_view_of_a_texture(cuda, make):
    levels = make.mipmapped([np.full((n, 1), n, "f4") for n in (8, 4)])
    view, told = ViewDesc(0x16, 8, last_level=1), ViewDesc()  # one float
    texture = make.texture(ResourceDesc.mipmapped(levels.value), None, view)
    cuda.cuTexObjectGetResourceViewDesc(byref(told), texture)
    assert bytes(told) == bytes(view)

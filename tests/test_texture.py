"""CUDA arrays, textures and surfaces: cupola.CudaArray, Texture, Surface, module.textures."""

import gc
from pathlib import Path

import numpy as np
import pytest
from working import refused

import cupola

# References are variables of the module; compilers of CUDA 12 and newer no longer make them.
REFERENCES = b"""
.version 7.0
.target sm_75
.address_size 64
.global .texref image;
.global .surfref canvas;
.visible .entry read(.param .u64 out) {
.reg .b64 %o, %x; .reg .b32 %r; .reg .f32 %f<6>;
ld.param.u64 %o, [out]; mov.u32 %r, %tid.x; cvt.rn.f32.u32 %f4, %r; add.f32 %f4, %f4, 0f3f000000;
tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [image, {%f4}];
mul.wide.u32 %x, %r, 4; add.u64 %o, %o, %x; st.global.f32 [%o], %f0; ret; }
.visible .entry clear() {
.reg .b32 %r, %s;
mov.u32 %r, %tid.x; shl.b32 %s, %r, 2; mov.b32 %r, 0f40E00000;
sust.b.1d.b32.trap [canvas, {%s}], {%r}; ret; }
\0"""


@pytest.fixture(scope="module")
def kernels():
    return cupola.compile(Path(__file__).with_name("texture.cu"), arch="compute_75")


def texels(shape, dtype=np.float32):
    return np.random.default_rng(5).integers(0, 100, shape).astype(dtype)


def test_a_plane_is_read_from_an_array_of_either_kind(kernels):
    image, out = texels((6, 128)), cupola.zeros((6, 128), np.float32)
    held = cupola.CudaArray(image.shape)
    held.set(image)
    for source in (held, cupola.to_device(image)):
        out.fill(0)
        kernels["plane"][6, 128](out, cupola.Texture(source), 128, 6)
        np.testing.assert_array_equal(out.get(), image)


def test_contents_go_both_ways():
    for shape, dtype, options in (
        ((7,), np.uint8, {}),
        ((3, 5), np.float16, {"channels": 4}),
        ((2, 3, 5), np.int16, {"channels": 2}),
        ((4, 3, 5), np.float32, {"layered": True}),
        ((4, 5), np.uint32, {"layered": True}),
    ):
        array = cupola.CudaArray(shape, dtype, **options)
        content = texels(array.texels(), dtype)
        array.set(content)
        np.testing.assert_array_equal(array.get(), content)
        target = cupola.zeros(array.texels(), dtype)
        assert array.get(target) is target
        np.testing.assert_array_equal(target.get(), content)
        array.set(cupola.to_device(content[::-1].copy()))
        np.testing.assert_array_equal(array.get(), content[::-1])
        assert array.nbytes == content.nbytes and array.shape == shape


def test_filter_and_coordinates(kernels):
    line = texels(32)
    held = cupola.CudaArray(32)
    held.set(line)
    texture = cupola.Texture(held, filter="linear", normalized=True)
    out = cupola.zeros(32, np.float32)
    kernels["beside"][1, 32](out, texture, 32)
    following = np.append(line[1:], line[-1])  # clamped
    np.testing.assert_allclose(out.get(), 0.75 * line + 0.25 * following, atol=0.2)
    kernels["beside"][1, 32](out, cupola.Texture(held, normalized=True), 32)
    np.testing.assert_array_equal(out.get(), line)


@pytest.mark.parametrize("mode", ["wrap", "clamp", "mirror", "border"])
def test_address_modes(kernels, mode):
    line = texels(16)
    held = cupola.CudaArray(16)
    held.set(line)
    out = cupola.zeros(32, np.float32)
    kernels["outside"][1, 32](
        out, cupola.Texture(held, address=mode, normalized=True, border=(7, 0, 0, 0)), 16
    )
    before = {
        "wrap": line,
        "clamp": np.full(16, line[0]),
        "mirror": line[::-1],
        "border": np.full(16, 7),
    }[mode]
    np.testing.assert_array_equal(out.get(), np.concatenate([before, line]))


def test_linear_memory_and_its_channels(kernels):
    rows = cupola.to_device(texels((9, 4)))
    out = cupola.zeros((9, 4), np.float32)
    texture = cupola.Texture(rows, channels=4)
    content = rows.get()
    del rows  # the texture keeps its memory
    gc.collect()
    again = [cupola.zeros((9, 4), np.float32) for _ in range(20)]
    kernels["fetch"][1, 32](out, texture, 9)
    np.testing.assert_array_equal(out.get(), content)
    assert len(again) == 20


def test_integers_are_read_as_they_are_or_as_floats(kernels):
    line = cupola.CudaArray(20, np.int8)
    line.set(np.arange(-10, 10, dtype=np.int8))
    out = cupola.zeros(20, np.int32)
    kernels["integers"][1, 32](out, cupola.Texture(line), 20)
    np.testing.assert_array_equal(out.get(), range(-10, 10))
    bytes_ = cupola.CudaArray(20, np.uint8)
    bytes_.set(np.arange(20, dtype=np.uint8))
    floats = cupola.zeros(20, np.float32)
    texture = cupola.Texture(bytes_, read="normalized_float", normalized=True)
    kernels["beside"][1, 32](floats, texture, 20)
    np.testing.assert_allclose(floats.get(), np.arange(20) / 255, rtol=1e-6)


def test_three_axes_and_layers(kernels):
    volume = cupola.CudaArray((5, 5, 5), np.int16, channels=2)
    content = texels((5, 5, 5, 2), np.int16)
    volume.set(content)
    out = cupola.zeros((5, 5, 5, 2), np.int16)
    kernels["box"].launch((5, 5), 5, out.address, cupola.Texture(volume), 5)
    np.testing.assert_array_equal(out.get(), content)
    image = cupola.CudaArray((3, 8, 8), layered=True)
    image.set(texels((3, 8, 8)))
    planes = cupola.zeros((3, 8, 8), np.float32)
    kernels["layers"].launch((8, 3), 8, planes, cupola.Texture(image), 8)
    np.testing.assert_array_equal(planes.get(), image.get())


def test_a_surface_is_written(kernels):
    image = cupola.CudaArray((4, 16), surface=True)
    image.set(texels((4, 16)))
    before = image.get()
    kernels["twice"][4, 16](cupola.Surface(image))
    np.testing.assert_array_equal(image.get(), 2 * before)


def test_a_graph_keeps_its_textures(kernels):
    image = texels((2, 64))
    held = cupola.CudaArray(image.shape)
    held.set(image)
    out = cupola.zeros((2, 64), np.float32)
    stream = cupola.Stream()
    with stream.capture() as graph:
        kernels["plane"][2, 64, stream](out, cupola.Texture(held), 64, 2)
    ready = graph.instantiate()
    del held, graph
    gc.collect()
    others = [cupola.CudaArray(image.shape) for _ in range(8)]
    for other in others:
        other.set(np.zeros_like(image))
    ready.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), image)


def test_textures_may_go_while_a_launch_uses_them(kernels):
    image, out = texels((6, 128)), cupola.zeros((6, 128), np.float32)
    for _ in range(20):
        held = cupola.CudaArray(image.shape)
        held.set(image)
        out.fill(0)
        kernels["plane"][6, 128](out, cupola.Texture(held), 128, 6)
        held.free()
        np.testing.assert_array_equal(out.get(), image)


def test_references_of_a_module():
    module = cupola.load(REFERENCES)
    assert "image" in module.textures
    assert "canvas2" not in module.textures and "a\0b" not in module.textures
    line, out = cupola.CudaArray(8), cupola.zeros(8, np.float32)
    line.set(texels(8))
    module.textures["image"] = cupola.Texture(line)
    module["read"][1, 8](out)
    np.testing.assert_array_equal(out.get(), line.get())
    memory = cupola.to_device(np.arange(8, dtype=np.float32))
    canvas = cupola.CudaArray(8, surface=True)
    module.textures["canvas"] = canvas
    assert module.textures["canvas"] is canvas
    module["clear"][1, 8]()
    np.testing.assert_array_equal(canvas.get(), np.full(8, 7))
    with refused(cupola.NotFoundError, KeyError, saying="nothing"):
        module.textures["nothing"] = cupola.Texture(line)
    with refused(cupola.NotFoundError, KeyError, saying="image2"):
        module.textures["image2"]
    with refused(cupola.ArgumentError, TypeError, saying=("image", "cupola.Texture", "Array")):
        module.textures["image"] = memory


def test_wrong_arguments(kernels):
    line = cupola.CudaArray(8)
    out = cupola.zeros(8, np.float32)
    for wrong, saying in (
        (lambda: cupola.CudaArray(()), "1 to 3 axes"),
        (lambda: cupola.CudaArray((0, 3)), "at least 1 texel"),
        (lambda: cupola.CudaArray((2, 3, 4, 5)), "1 to 3 axes"),
        (lambda: cupola.CudaArray(8, channels=3), "1, 2 or 4"),
        (lambda: cupola.CudaArray(8, np.float64), "float64"),
        (lambda: cupola.Texture(np.zeros(8)), "CudaArray or a cupola.Array"),
        (lambda: cupola.Texture(line, address="around"), "around"),
        (lambda: cupola.Texture(line, filter="cubic"), "cubic"),
        (lambda: cupola.Texture(line, read="half"), "half"),
        (lambda: cupola.Texture(line, border=(1, 2)), "border has 4 floats"),
        (lambda: cupola.Texture(line, channels=2), "1 channels"),
        (lambda: cupola.Texture(cupola.CudaArray(8, np.uint8), filter="linear"), "linear"),
        (lambda: cupola.Texture(cupola.zeros((2, 2, 2))), "one or two axes"),
        (lambda: cupola.Texture(cupola.zeros((8, 3), np.float32), channels=4), "last axis of 4"),
        (lambda: cupola.Texture(cupola.zeros((4, 3), np.float32)), "copy the elements"),
        (lambda: cupola.Surface(line), "surface=True"),
        (lambda: line.set(np.zeros(7)), "(8,)"),
        (lambda: line.get(np.zeros(8)), "float64"),
        (lambda: line.get([0.0]), "numpy.ndarray or a cupola.Array"),
        (lambda: kernels["plane"][1, 8](cupola.Texture(line), 0, 8, 8), "argument 0 (out)"),
        (lambda: kernels["plane"][1, 8](out, 0, cupola.Texture(line), 8), "argument 2 (width)"),
    ):
        with refused(cupola.ArgumentError, saying=saying):
            wrong()
    line.free()
    with refused(cupola.ArgumentError, ValueError, saying="freed"):
        line.get()
    with refused(cupola.ArgumentError, ValueError, saying="freed"):
        cupola.Texture(line)

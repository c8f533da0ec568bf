"""cupola.pycuda.driver and compiler: contexts, memory, copies, launches, errors."""

import concurrent.futures
import gc

import numpy as np
import pytest
from pycuda_context import context  # noqa: F401
from test_texture import REFERENCES

import cupola.pycuda.driver as drv
from cupola.pycuda import gpuarray
from cupola.pycuda.compiler import DynamicModule, DynamicSourceModule, SourceModule, compile
from cupola.pycuda.gpuarray import vec

SCALE = (
    "__global__ void scale(float* x, float a, int n) { if (threadIdx.x < n) x[threadIdx.x] *= a; }"
)


def test_devices_and_the_stack_of_contexts(context):
    device = drv.Context.get_device()
    assert device == drv.Device(0) and hash(device) == hash(drv.Device(0))
    assert drv.Device.count() >= 1 and device.name() and device.total_memory() > 1 << 20
    assert device.warp_size == device.get_attribute(drv.device_attribute.WARP_SIZE) == 32
    assert device.get_attributes()[drv.device_attribute.WARP_SIZE] == 32
    assert drv.Device(device.pci_bus_id()) == device
    with pytest.raises(AttributeError, match="warp_sise"):
        device.warp_sise  # noqa: B018
    second = device.make_context()
    assert drv.Context.get_current() is second and second != context
    second.detach()
    assert drv.Context.get_current() is context
    with pytest.raises(drv.LogicError, match="invalid context"):
        second.push()
    primary = device.retain_primary_context()
    assert drv.Context.get_current() is context
    primary.push()
    drv.Context.pop()
    assert drv.Context.get_current() is context
    drv.Context.synchronize()
    assert drv.Context.get_limit(drv.limit.STACK_SIZE) > 0
    assert context.get_api_version() > 3000


def test_without_a_context_calls_are_refused():
    """In a thread of its own: a page of the documents may have left a context on this one's."""
    calls = (lambda: drv.mem_alloc(4), drv.Context.synchronize, drv.Stream, drv.Event)

    def check():
        for call in calls:
            with pytest.raises(drv.LogicError, match="no currently active context"):
                call()
        with pytest.raises(drv.LogicError, match="pop"):
            drv.Context.pop()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(check).result()


def test_memory_and_linear_copies():
    host = np.arange(100, dtype=np.float32)
    memory = drv.to_device(host)
    np.testing.assert_array_equal(drv.from_device_like(memory, host), host)
    np.testing.assert_array_equal(drv.from_device(int(memory) + 4, 99, np.float32), host[1:])
    other = drv.mem_alloc_like(host)
    drv.memcpy_dtod(other, memory, host.nbytes)
    back = np.zeros((10, 10), np.float32, order="F")
    drv.memcpy_dtoh(back, other)
    np.testing.assert_array_equal(back.ravel("F"), host)
    base, size = drv.mem_get_address_range(memory)
    assert base <= int(memory) and size >= host.nbytes
    assert all(free <= total for free, total in [drv.mem_get_info()])
    memory.free()
    with pytest.raises(drv.LogicError, match="freed"):
        memory.free()
    with pytest.raises(drv.MemoryError):
        drv.mem_alloc(1 << 60)
    with pytest.raises(drv.LogicError, match="0 bytes"):
        drv.mem_alloc(0)
    with pytest.raises(ValueError, match="contiguous"):
        drv.memcpy_htod(other, np.zeros((4, 4))[:, ::2])
    with pytest.raises(ValueError, match="read-only"):
        drv.memcpy_dtoh(b"12345678", other)


def test_fills_and_copies_of_rows():
    memory, pitch = drv.mem_alloc_pitch(20, 6, 4)
    assert pitch >= 20
    drv.memset_d2d32(memory, pitch, 7, 5, 6)
    out = np.zeros((6, 5), np.int32)
    copy = drv.Memcpy2D()
    copy.set_src_device(memory)
    copy.set_dst_host(out)
    copy.src_pitch, copy.dst_pitch, copy.width_in_bytes, copy.height = pitch, 20, 20, 6
    copy(aligned=True)
    assert (out == 7).all()
    line = drv.mem_alloc(16)
    drv.memset_d8(line, 1, 16)
    drv.memset_d16(int(line) + 8, 515, 2)
    drv.memset_d32_async(int(line) + 12, 9, 1, drv.Stream())
    drv.Context.synchronize()
    assert drv.from_device(line, 16, np.uint8).tolist() == [1] * 8 + [3, 2, 3, 2] + [9, 0, 0, 0]


def test_host_memory():
    for make, kind in (
        (drv.pagelocked_empty, drv.PagelockedHostAllocation),
        (drv.aligned_empty, drv.AlignedHostAllocation),
        (drv.managed_empty, drv.ManagedAllocation),
    ):
        made = make((3, 4), np.float32, "F")
        assert made.flags.f_contiguous and isinstance(made.base, kind)
        made[:] = 5
        assert (made == 5).all()
    assert (drv.pagelocked_zeros(7, np.complex64) == 0).all()
    structured = drv.pagelocked_zeros_like(np.zeros(3, [("a", "i4"), ("b", "f8")]))
    assert structured.dtype.names == ("a", "b")
    aligned = drv.aligned_zeros((1 << 10,), np.float64)
    assert aligned.ctypes.data % 4096 == 0
    locked = drv.register_host_memory(aligned)
    assert locked.base.base is aligned and locked.ctypes.data == aligned.ctypes.data
    locked.base.unregister()
    managed = drv.managed_zeros(8, np.float32)
    managed[:] = range(8)
    SourceModule(SCALE).get_function("scale")(managed, np.float32(3), np.int32(8), block=(8, 1, 1))
    drv.Context.synchronize()
    assert managed.tolist() == [3.0 * n for n in range(8)]


def test_streams_and_events():
    stream, event = drv.Stream(), drv.Event()
    host = drv.pagelocked_empty(1 << 16, np.int32)
    host[:] = range(1 << 16)
    memory, back = drv.mem_alloc(host.nbytes), drv.pagelocked_zeros_like(host)
    drv.memcpy_htod_async(memory, host, stream)
    drv.memcpy_dtoh_async(back, memory, stream)
    assert event.record(stream) is event and event.synchronize() is event
    assert event.query() and stream.is_done()
    np.testing.assert_array_equal(back, host)
    stream.wait_for_event(event)
    stream.synchronize()
    late = drv.Event().record().synchronize()
    assert late.time_since(event) == event.time_till(late) >= 0
    untimed = drv.Event(drv.event_flags.DISABLE_TIMING).record().synchronize()
    with pytest.raises(drv.LogicError, match="cuEventElapsedTime"):
        untimed.time_till(late)


def test_arguments_of_launches():
    module = SourceModule(
        "struct Pair { int a; double b; };"
        "__global__ void put(double* out, Pair pair, float3 v, char c, long n, bool t) {"
        "  out[0] = pair.a; out[1] = pair.b; out[2] = v.z; out[3] = c; out[4] = n; out[5] = t; }"
    )
    put, out = module.get_function("put"), np.zeros(6)
    pair = np.array([(3, 0.5)], np.dtype([("a", "i4"), ("b", "f8")], align=True))[0]
    v = vec.make_float3(1, 2, 4)
    given = (pair, v, np.int8(-5), np.int64(1 << 40), np.bool_(True))
    put(drv.Out(out), *given, block=(1, 1, 1))
    assert out.tolist() == [3, 0.5, 4, -5, 1 << 40, 1]
    memory = drv.mem_alloc(out.nbytes)
    put.prepare(["P", pair.dtype, vec.float3, np.int8, "q", np.bool_])
    put.prepared_call((1, 1), (1, 1, 1), memory, pair, v, -5, 1 << 40, True)
    assert drv.from_device(memory, 6, np.float64).tolist() == out.tolist()
    seconds = put.prepared_timed_call((1, 1), (1, 1, 1), memory, *given)
    assert seconds() >= 0
    for wrong, message in (
        (lambda: put(drv.Out(out), pair, v, 5, 1, True, block=(1, 1, 1)), "#3 .*np.int32"),
        (lambda: put(drv.Out(out), block=(1, 1, 1)), "takes 6 arguments"),
        (lambda: put.prepared_call((1, 1), (1, 1, 1), memory), "prepared for 6"),
    ):
        with pytest.raises(TypeError, match=message):
            wrong()
    with pytest.raises(ValueError, match="block"):
        put(drv.Out(out), *given)
    with pytest.raises(drv.LogicError, match="prepare"):
        SourceModule(SCALE).get_function("scale").prepared_call((1, 1), (1, 1, 1))
    with pytest.raises(drv.LogicError):
        put(drv.Out(out), *given, block=(4096, 1, 1))


def test_functions_and_variables():
    module = SourceModule(
        "__constant__ int table[4]; __global__ void read(int* out) "
        "{ extern __shared__ int line[]; line[threadIdx.x] = table[threadIdx.x];"
        "  out[threadIdx.x] = line[threadIdx.x]; }"
    )
    read = module.get_function("read")
    assert module.get_function("read") is read
    assert read.num_regs == read.get_attribute(drv.function_attribute.NUM_REGS) > 0
    assert read.max_threads_per_block >= 32
    address, size = module.get_global("table")
    drv.memcpy_htod(address, np.arange(4, dtype=np.int32))
    out = np.zeros(4, np.int32)
    del module
    gc.collect()
    read(drv.Out(out), block=(4, 1, 1), shared=16)
    assert size == 16 and out.tolist() == [0, 1, 2, 3]
    module = SourceModule(SCALE)
    for wrong in (module.get_function, module.get_global, module.get_texref):
        with pytest.raises(drv.LogicError, match="nothing"):
            wrong("nothing")
    with pytest.raises(drv.RuntimeError, match=r"absent\.cubin"):
        drv.module_from_file("absent.cubin")
    with pytest.raises(drv.LogicError, match="cuModuleLoadDataEx"):
        drv.module_from_buffer(b"no image")
    said = []
    drv.module_from_buffer(compile(SCALE, target="ptx"), message_handler=lambda *s: said.append(s))
    assert said[0][0] is True


def test_compiling(tmp_path, capsys):
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    source = (
        "#include <math.h>\n#include <stdint.h>\n#include <float.h>\n#include <factor.h>\n"
        "__global__ void f(double* out) { uint8_t two = 2; "
        "out[0] = FACTOR * two * N; out[1] = M_PI; out[2] = FLT_MAX; out[3] = INT_MAX; }"
    )
    options = ["-O3", "-DN=7", "-Xptxas", "-v", "--use_fast_math", "-std=c++17"]
    module = SourceModule(source, options=options, include_dirs=[str(tmp_path)], keep=True)
    assert "compiler output in" in capsys.readouterr().out
    out = np.zeros(4)
    module.get_function("f")(drv.Out(out), block=(1, 1, 1))
    np.testing.assert_allclose(out, [42, np.pi, np.finfo(np.float32).max, 2**31 - 1])
    mangled = SourceModule(
        "template <class T> __global__ void g(T*) {}\ntemplate __global__ void g<int>(int*);",
        no_extern_c=True,
    )
    assert mangled.get_function("_Z1gIiEvPT_")
    with pytest.raises(drv.CompileError, match="identifier") as caught:
        SourceModule("__global__ void f() { undefined_thing; }")
    assert "kernel.cu" in caught.value.stderr and caught.value.msg
    with pytest.raises(drv.CompileError, match="type cudaTextureObject_t"):
        SourceModule("texture<float, 2> image;")
    with pytest.raises(drv.CompileError, match="--no-such-option"):
        SourceModule(SCALE, options=["--no-such-option"])
    with pytest.warns(UserWarning, match="said the following"):
        SourceModule("__global__ void h() { int unused; }")


def test_linking():
    module = DynamicModule()
    module.add_source("__device__ int twice(int x) { return 2 * x; }", ["-rdc=true"])
    module.add_source(
        "extern __device__ int twice(int); __global__ void f(int* out) { *out = twice(21); }"
    )
    module.link()
    out = np.zeros(1, np.int32)
    module.get_function("f")(drv.Out(out), block=(1, 1, 1))
    assert out[0] == 42
    with pytest.raises(drv.LogicError, match="nothing was added"):
        DynamicModule().link()


LAUNCHES = """
__global__ void child(int* out) { out[threadIdx.x] = 2 * threadIdx.x; }
__global__ void parent(int* out) { child<<<1, 32>>>(out); }
"""


def test_a_kernel_launches_a_kernel():
    module = DynamicSourceModule(LAUNCHES)
    out = np.zeros(32, np.int32)
    module.get_function("parent")(drv.InOut(out), block=(1, 1, 1))
    assert out.tolist() == list(range(0, 64, 2))


@pytest.mark.cpu_only(reason="a GPU links machine code")
def test_a_library_of_machine_code_is_refused():
    with pytest.raises(drv.LogicError, match="libother is machine code"):
        DynamicModule().add_stdlib("libother")
    image = b"\x7fELF" + bytes(60)
    module = DynamicModule().add_source(LAUNCHES).add_data(image, None)
    with pytest.raises(drv.Error, match="PTX"):
        module.link()


def test_arrays_of_texels():
    matrix = np.random.default_rng(3).random((5, 8)).astype(np.float32)
    for order in "CF":
        array = drv.matrix_to_array(matrix, order)
        made = array.get_descriptor()
        assert (made.width, made.height) == ((8, 5) if order == "C" else (5, 8))
        assert made.format == drv.array_format.FLOAT and made.num_channels == 1
    cube = np.random.default_rng(3).random((2, 3, 4))
    array = drv.np_to_array(cube, "C", allowSurfaceBind=True)
    made = array.get_descriptor_3d()
    assert (made.width, made.height, made.depth, made.num_channels) == (4, 3, 2, 2)
    back, copy = np.empty_like(cube), drv.Memcpy3D()
    copy.set_src_array(array)
    copy.set_dst_host(back)
    copy.width_in_bytes = copy.dst_pitch = 32
    copy.height, copy.dst_height, copy.depth = 3, 3, 2
    copy()
    np.testing.assert_array_equal(back, cube)
    with pytest.raises(TypeError, match="float64"):
        drv.dtype_to_array_format(np.float64)
    with pytest.raises(drv.LogicError, match="dst was not set"):
        drv.Memcpy2D()()


def test_texture_and_surface_references():
    module = drv.module_from_buffer(REFERENCES)
    read, texref = module.get_function("read"), module.get_texref("image")
    line = np.arange(8, dtype=np.float32) ** 2
    made = drv.ArrayDescriptor()
    made.width, made.height, made.num_channels, made.format = 8, 0, 1, drv.array_format.FLOAT
    array = drv.Array(made)
    copy = drv.Memcpy2D()
    copy.set_src_host(line)
    copy.set_dst_array(array)
    copy.src_pitch = copy.width_in_bytes = line.nbytes
    copy.height = 1
    copy()
    texref.set_array(array)
    out = np.zeros(8, np.float32)
    read(drv.Out(out), block=(8, 1, 1), texrefs=[texref])
    np.testing.assert_array_equal(out, line)
    assert texref.get_array() is array and texref.get_format() == (drv.array_format.FLOAT, 1)
    texref.set_filter_mode(drv.filter_mode.LINEAR)
    texref.set_flags(drv.TRSF_NORMALIZED_COORDINATES)
    texref.set_address_mode(0, drv.address_mode.WRAP)
    read.prepare("P", texrefs=[texref])
    memory = drv.mem_alloc(line.nbytes)
    read.prepared_call((1, 1), (8, 1, 1), memory)  # at x.5, half way between two texels
    np.testing.assert_array_equal(
        drv.from_device_like(memory, line), np.full(8, (line[3] + line[4]) / 2)
    )
    canvas = drv.ArrayDescriptor3D()
    canvas.width, canvas.num_channels = 8, 1
    canvas.flags = drv.array3d_flags.SURFACE_LDST
    surface, array = module.get_surfref("canvas"), drv.Array(canvas)
    surface.set_array(array)
    module.get_function("clear")(block=(8, 1, 1))
    copy = drv.Memcpy2D()
    copy.set_src_array(array)
    copy.set_dst_host(out)
    copy.dst_pitch = copy.width_in_bytes = out.nbytes
    copy.height = 1
    copy()
    assert (out == 7).all() and surface.get_array() is array
    with pytest.raises(drv.LogicError, match="reads nothing"):
        read(drv.Out(out), block=(8, 1, 1), texrefs=[module.get_texref("image")])


def test_limits_and_settings():
    drv.Context.set_limit(drv.limit.STACK_SIZE, 4096)
    assert drv.Context.get_limit(drv.limit.STACK_SIZE) >= 4096
    drv.Context.set_cache_config(drv.func_cache.PREFER_L1)
    assert drv.Context.get_cache_config() in list(drv.func_cache)
    scale = SourceModule(SCALE).get_function("scale")
    scale.set_cache_config(drv.func_cache.PREFER_SHARED)
    scale.set_attribute(drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 10)
    assert scale.max_dynamic_shared_size_bytes == 1 << 10
    drv.start_profiler()
    drv.stop_profiler()
    event = drv.Event(drv.event_flags.INTERPROCESS | drv.event_flags.DISABLE_TIMING)
    assert len(event.ipc_handle()) == 64


def test_the_calls_before_2011():
    x = np.arange(4, dtype=np.float32)
    memory = drv.to_device(x)
    scale = SourceModule(SCALE).get_function("scale")
    with pytest.raises(drv.LogicError, match="set_block_shape"):
        scale.launch()
    scale.set_block_shape(4, 1, 1)
    scale.param_set(memory, np.float32(3), np.int32(4))
    scale.launch_grid(1, 1)
    np.testing.assert_array_equal(drv.from_device_like(memory, x), 3 * x)


def test_copies_between_contexts(context):
    x = np.arange(100, dtype=np.uint8)
    source, target = drv.to_device(x), drv.mem_alloc(100)
    drv.memcpy_peer(target, source, 100, context, context)
    np.testing.assert_array_equal(drv.from_device_like(target, x), x)
    drv.memset_d8(target, 0, 100)
    copy = drv.Memcpy3DPeer()
    copy.set_src_context(context)
    copy.set_dst_context(context)
    copy.set_src_device(source)
    copy.set_dst_device(target)
    copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = 10
    copy.src_height = copy.dst_height = copy.height = 5
    copy.depth = 2
    copy()
    np.testing.assert_array_equal(drv.from_device_like(target, x), x)


def test_byte_orders_and_alignments_of_arguments(context):
    scale = SourceModule(SCALE).get_function("scale")
    expected = np.arange(8, dtype=np.float32)
    for stream in (None, drv.Stream()):
        host = np.arange(8, dtype=">f4")
        scale(drv.InOut(host), np.float32(2), np.int32(8), block=(8, 1, 1), stream=stream)
        np.testing.assert_array_equal(host, 2 * expected)
    there = gpuarray.to_gpu(np.arange(8, dtype=">f4"))
    assert there.dtype == np.float32
    scale(there, np.float32(2), np.int32(8), block=(8, 1, 1))
    np.testing.assert_array_equal(there.get(), 2 * expected)
    there.set(np.ones(8, ">f4"))
    np.testing.assert_array_equal(there.get(), np.ones(8))
    scale(there[1:], np.float32(2), np.int32(7), block=(8, 1, 1))
    raw = gpuarray.zeros(64, np.uint8)
    with pytest.raises(ValueError, match=r"#0.*multiple of 4"):
        scale(raw[1:33].view(np.float32), np.float32(2), np.int32(8), block=(8, 1, 1))
    with pytest.raises(TypeError, match=r"#0.*byte order"):
        scale(there.view(np.dtype(">f4")), np.float32(2), np.int32(8), block=(8, 1, 1))
    np.testing.assert_array_equal(there.get(), [1, *[2] * 7])

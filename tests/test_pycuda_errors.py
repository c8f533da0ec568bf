"""Errors of cupola.pycuda: each names the argument, what was expected, and PyCUDA's remedy."""

import warnings

import images
import numpy as np
import pytest
from pycuda_context import context  # noqa: F401

import cupola
import cupola.pycuda.driver as drv
from cupola.pycuda import gpuarray
from cupola.pycuda.compiler import DynamicSourceModule, SourceModule
from cupola.pycuda.compiler import compile as compile_image
from cupola.pycuda.elementwise import ElementwiseKernel
from cupola.pycuda.reduction import ReductionKernel
from cupola.toolkit.nvrtc import nvrtc

SCALE = "__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }"

HOST = np.zeros(4, np.float32)
PAIR = np.dtype([("a", "i4"), ("b", "f4")])


def managed():
    return drv.managed_zeros(4, np.float64, mem_flags=drv.mem_attach_flags.GLOBAL)


# The call, the exception, and what its text has. Each gets the function and its arrays.
WRONG_ARGUMENTS = {
    "In of a gpuarray": (lambda f, x, n: f(drv.In(x), n), TypeError, "#0.*GPUArray.*without"),
    "Out of memory": (lambda f, x, n: f(drv.Out(x.gpudata), n), TypeError, "#0.*drv.Out.*without"),
    "InOut of a list": (lambda f, x, n: f(drv.InOut([1.0]), n), TypeError, "#0.*drv.InOut.*list"),
    "Out of bytes": (lambda f, x, n: f(drv.Out(np.frombuffer(b"1234", "f4")), n), ValueError,
                     "#0.*read-only"),
    "In of columns": (lambda f, x, n: f(drv.In(np.zeros((4, 4))[:, ::2]), n), ValueError,
                      "#0.*not contiguous.*ascontiguousarray"),
    "In of nothing": (lambda f, x, n: f(drv.In(HOST[:0]), n), drv.LogicError, "#0.*no elements"),
    "an array": (lambda f, x, n: f(HOST, n), TypeError, r"scale: .*#0.*drv.In\(array\)"),
    "bytes": (lambda f, x, n: f(b"12345678", n), TypeError, r"#0.*drv.In\(array\)"),
    "a list": (lambda f, x, n: f([1.0], n), TypeError, r"#0.*list.*drv.In\(array\)"),
    "None": (lambda f, x, n: f(None, n), TypeError, r"#0.*np.intp\(0\)"),
    "a stream": (lambda f, x, n: f(x, n, stream=5), TypeError, "stream: .*got int"),
    "a prepared array": (lambda f, x, n: f.prepare("Pf").prepared_call((1, 1), (1, 1, 1), HOST, 1),
                         TypeError, r"#0.*drv.In\(array\)"),
    "a prepared text": (lambda f, x, n: f.prepare("Pf").prepared_call((1, 1), (1, 1, 1), 0, "a"),
                        TypeError, "#1.*expected float32, got 'a'"),
    "a float for an int": (lambda f, x, n: f.prepare("Pi").prepared_call((1, 1), (1, 1, 1), 0, 0.5),
                           TypeError, "#1.*expected int32, got 0.5"),
    "a prepared number in a text": (
        lambda f, x, n: f.prepare("Pf").prepared_call((1, 1), (1, 1, 1), 0, "1.5"),
        TypeError, "#1.*expected float32, got '1.5'"),
    "a prepared None": (lambda f, x, n: f.prepare("Pf").prepared_call((1, 1), (1, 1, 1), 0, None),
                        TypeError, "#1.*expected float32, got None"),
    "a complex text": (lambda f, x, n: f.prepare("PF").prepared_call((1, 1), (1, 1, 1), 0, "1j"),
                       TypeError, "#1.*expected complex64, got '1j'"),
    "a struct of None": (
        lambda f, x, n: f.prepare(["P", PAIR]).prepared_call((1, 1), (1, 1, 1), 0, None),
        TypeError, "#1.*expected a struct.*got None"),
    "InOut of doubles": (lambda f, x, n: f(drv.InOut(np.zeros(4)), n), TypeError,
                         r"#0.*drv.InOut.*float32.*float64.*astype\(np.float32\)"),
    "In of integers": (lambda f, x, n: f(drv.In(np.zeros(4, "i8")), n), TypeError,
                       "#0.*float32.*int64"),
    "doubles of a gpuarray": (lambda f, x, n: f(gpuarray.zeros(4, np.float64), n), TypeError,
                              "#0.*float32.*float64.*view"),
    "doubles of another library": (lambda f, x, n: f(cupola.zeros(4, np.float64), n), TypeError,
                                   "#0.*float32.*float64"),
    "managed doubles": (lambda f, x, n: f(managed(), n), TypeError, "#0.*float32.*float64"),
    "prepared doubles": (
        lambda f, x, n: f.prepare("Pf").prepared_call(
            (1, 1), (1, 1, 1), gpuarray.zeros(4, np.float64), 1),
        TypeError, "#0.*float32.*float64"),
    "a prepared type": (lambda f, x, n: f.prepare("PX"), TypeError, r"arg_types\[1\].*'X'"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_a_wrong_argument_of_a_launch_is_named(call, kind, message):
    scale = SourceModule(SCALE).get_function("scale")
    x = gpuarray.to_gpu(np.arange(4, dtype=np.float32))

    def launch(*arguments, **how):
        return scale(*arguments, block=(4, 1, 1), **how)

    launch.prepare = scale.prepare
    with pytest.raises(kind, match=message):
        call(launch, x, np.float32(2))
    scale(x, np.float32(2), block=(4, 1, 1))
    assert x.get().tolist() == [0, 2, 4, 6]


def test_a_made_kernel_takes_its_own_types_alone():
    scale = ElementwiseKernel("float by, float *x", "x[i] *= by")
    x = gpuarray.to_gpu(np.arange(4, dtype=np.float32))
    for by in ("1.5", None, b"2", x):
        with pytest.raises(TypeError, match=r"#0 .*expected float32"):
            scale(by, x)
    with pytest.raises(TypeError, match=r"argument x: .*float32.*float64"):
        scale(2, gpuarray.zeros(4, np.float64))
    with pytest.raises(TypeError, match=r"argument x: .*float32.*int32"):
        ReductionKernel(np.float32, "0", "a+b", arguments="float *x")(gpuarray.zeros(4, np.int32))
    scale(np.float64(2), x)
    assert x.get().tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int16])
def test_parts_of_vectors_are_checked(dtype):
    nothing = SourceModule("__global__ void nothing(float4* x) {}").get_function("nothing")
    for given in (gpuarray.zeros(8, dtype), drv.In(np.zeros(8, dtype))):
        with pytest.raises(TypeError, match=r"float32.*array of .*astype\(np.float32\)"):
            nothing(given, block=(1, 1, 1))


FITTING = {
    "a view": ("float", lambda: gpuarray.zeros(8, np.uint8).view(np.float32)),
    "bits of floats": ("int", lambda: gpuarray.zeros(4, np.float32)),
    "another sign": ("unsigned int", lambda: gpuarray.zeros(4, np.int32)),
    "bytes for bool": ("bool", lambda: gpuarray.zeros(4, np.uint8)),
    "parts of complex numbers": ("float", lambda: gpuarray.zeros(4, np.complex64)),
    "memory of numbers": ("float", lambda: gpuarray.zeros(4, np.float64).gpudata),
    "an address": ("float", lambda: np.intp(int(gpuarray.zeros(4, np.float64).gpudata))),
    "a vector type": ("float4", lambda: gpuarray.zeros(4, np.float32)),
    "any elements": ("void", lambda: gpuarray.zeros(4, np.float64)),
    "complex numbers for a vector": ("float4", lambda: gpuarray.zeros(4, np.complex64)),
    "pixels": ("uchar4", lambda: gpuarray.zeros(4, np.uint32)),
    "In of a vector type": ("float2", lambda: drv.In(np.zeros((2, 2), np.float32))),
    "In of a struct": ("float", lambda: drv.In(np.zeros(2, PAIR))),
    "In of bytes": ("float", lambda: drv.In(memoryview(bytearray(8)))),
}


@pytest.mark.parametrize(("element", "make"), FITTING.values(), ids=FITTING)
def test_what_programs_pass_without_naming_types(element, make):
    given = make()
    nothing = SourceModule(f"__global__ void nothing({element}* x) {{}}").get_function("nothing")
    nothing(given, block=(1, 1, 1))
    if not isinstance(given, drv.In):
        nothing.prepare("P").prepared_call((1, 1), (1, 1, 1), given)


def test_copies_of_bytes_keep_the_byte_order_and_copies_of_arrays_convert_it():
    host = np.arange(4).astype(">f4")
    memory = drv.to_device(host)
    assert drv.from_device(memory, 4, ">f4").tolist() == [0, 1, 2, 3]
    drv.memcpy_htod(memory, host + 1)
    back = np.empty(4, ">u4")
    drv.memcpy_dtoh(back, memory)
    assert back.tobytes() == (host + 1).tobytes()
    scale = SourceModule(SCALE).get_function("scale")
    scale(drv.InOut(host), np.float32(2), block=(4, 1, 1))
    assert host.tolist() == [0, 2, 4, 6]
    x = gpuarray.to_gpu(host)
    assert x.dtype == np.float32 and x.get().tolist() == [0, 2, 4, 6]
    x.set(host[::-1])
    assert x.get().tolist() == [6, 4, 2, 0]
    back = np.empty(4, ">f4")
    with pytest.raises(TypeError, match="ary has the dtype >f4"):
        x.get(back)


LARGE = np.zeros(100, np.float32)
TOO_LARGE = {
    "htod": (lambda m: drv.memcpy_htod(m, LARGE), "dest has 16 bytes.*400"),
    "htod async": (lambda m: drv.memcpy_htod_async(m, LARGE), "dest has 16 bytes"),
    "dtoh": (lambda m: drv.memcpy_dtoh(LARGE, m), "src has 16 bytes.*400"),
    "dtoh async": (lambda m: drv.memcpy_dtoh_async(LARGE, m), "src has 16 bytes"),
    "from_device": (lambda m: drv.from_device(m, 5, "f4"), "src has 16 bytes.*20"),
    "dtod": (lambda m: drv.memcpy_dtod(m, m, 17), "dest has 16 bytes"),
    "dtod async": (lambda m: drv.memcpy_dtod_async(m, m, 17), "dest has 16 bytes"),
    "fill": (lambda m: drv.memset_d32(m, 0, 5), "dest has 16 bytes.*20"),
}


@pytest.mark.cpu_only("NVIDIA's driver may take more bytes than an allocation of a pool has")
@pytest.mark.parametrize(("call", "message"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_memory_that_is_too_small_is_named(call, message):
    memory = drv.to_device(HOST)
    with pytest.raises(drv.LogicError, match=message):
        call(memory)
    assert_writable(memory)


WRONG_COPIES = {
    "fill of a float": (lambda m: drv.memset_d32(m, 0.5, 1), "data: .*0.5"),
    "htod of a list": (lambda m: drv.memcpy_htod(m, [1]), "memcpy_htod: src: .*list"),
    "htod of memory": (lambda m: drv.memcpy_htod(m, m), "src: .*is in device memory"),
    "htod to a host": (lambda m: drv.memcpy_htod(LARGE, LARGE), "dest: .*first argument"),
    "dtoh to memory": (lambda m: drv.memcpy_dtoh(m, m), "dest: .*is in device memory"),
    "dtoh from None": (lambda m: drv.memcpy_dtoh(HOST, None), "src: .*NoneType"),
    "to_device": (lambda m: drv.to_device(m), "to_device: bf_obj: .*device memory"),
    "to_gpu": (lambda m: gpuarray.to_gpu([1]), "to_gpu: ary: .*list"),
    "a stream": (lambda m: drv.memcpy_htod_async(m, HOST, 5), "stream: .*got int"),
}


@pytest.mark.parametrize(("call", "message"), WRONG_COPIES.values(), ids=WRONG_COPIES)
def test_a_wrong_argument_of_a_copy_is_named(call, message):
    memory = drv.to_device(HOST)
    with pytest.raises(TypeError, match=message):
        call(memory)
    assert_writable(memory)


def assert_writable(memory):
    drv.memcpy_htod(memory, HOST + 1)
    assert drv.from_device_like(memory, HOST).tolist() == [1, 1, 1, 1]


def test_handles_for_other_processes():
    memory, _ = drv.mem_alloc_pitch(100, 1, 4)
    assert len(drv.mem_get_ipc_handle(memory)) == 64
    with pytest.raises(drv.LogicError, match="mem_alloc_pitch"):
        drv.mem_get_ipc_handle(drv.mem_alloc(100))
    with pytest.raises(TypeError, match=r"devptr: .*str"):
        drv.mem_get_ipc_handle("a")


def test_an_error_of_a_compilation_names_the_compiler():
    with pytest.raises(drv.CompileError, match=r"^NVRTC compilation failed: kernel.cu"):
        SourceModule("__global__ void f() { undefined_thing; }")
    with pytest.raises(TypeError, match=r"options: expected a list of texts, as in \['-DX'\]"):
        SourceModule(SCALE, options="-DX")
    with pytest.raises(cupola.NotFoundError, match="include_dirs: there is no folder '/no/such'"):
        SourceModule(SCALE, include_dirs=["/no/such"])


@pytest.mark.parametrize("make", [SourceModule, DynamicSourceModule, compile_image])
def test_a_target_that_the_device_lacks(make):
    newest = nvrtc().architectures[-1]
    major, minor = drv.Context.get_device().compute_capability()
    lacked = [newest] if newest > 10 * major + minor else []
    lacked = [{"arch": f"sm_{number}"} for number in lacked]
    for words in ({"arch": "compute_60"}, {"options": ["-arch=sm_60"]}, *lacked):
        with pytest.raises(drv.CompileError, match=r"leave it out.* '(sm|compute)_\d+'") as caught:
            make(SCALE, **words)
        make(SCALE, arch=caught.value.msg.split("'")[-2])
    with pytest.raises(drv.CompileError, match="arch is 'sm_90', and the options name sm_80"):
        make(SCALE, arch="sm_90", options=["-arch=sm_80"])


def test_freed_memory_is_refused():
    scale = SourceModule(SCALE).get_function("scale")
    memory, x = drv.to_device(HOST), gpuarray.zeros(4, np.float32)
    memory.free()
    x.gpudata.free()
    prepared = scale.prepare("Pf").prepared_call
    for given in (memory, x):
        for call in (lambda y: scale(y, np.float32(2), block=(4, 1, 1)),
                     lambda y: prepared((1, 1), (4, 1, 1), y, 2)):  # fmt: skip
            with pytest.raises(drv.LogicError, match=r"freed by free\(\)"):
                call(given)
    for call in (lambda: drv.memcpy_dtoh(HOST.copy(), memory), lambda: memory.as_buffer(4)):
        with pytest.raises(drv.LogicError, match="freed"):
            call()


MISSING = {
    "a block": (lambda f, x: f(x, np.float32(2)), r"pass block=\(x, y, z\)"),
    "a keyword": (lambda f, x: f(x, np.float32(2), blocks=(4, 1, 1)), "blocks; known are block,"),
    "a size": (lambda f, x: f(x, 2.0, block=(4, 1, 1)), r"float has no size.*np.float32\(x\)"),
    "elements": (lambda f, x: x.get(np.zeros(3, np.float32)), "self has 4 elements, ary 3"),
    "elements to set": (lambda f, x: x.set(np.zeros(3, np.float32)), "ary has 3 elements, self 4"),
    "a dtype": (lambda f, x: x.set(np.zeros(4)), "float64, self float32: pass ary.astype"),
    "a template": (lambda f, x: SourceModule("template <class T> __global__ void f(T* x) {}"),
                   "pass no_extern_c=True"),
    "a struct": (lambda f, x: SourceModule("struct P { int a, b, c; };__global__ void f(P p) {}")
                 .get_function("f")((1, 2, 3), block=(1, 1, 1)), "struct its bytes or a"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "message"), MISSING.values(), ids=MISSING)
def test_what_a_call_lacks_is_named(call, message):
    scale, x = SourceModule(SCALE).get_function("scale"), gpuarray.zeros(4, np.float32)
    with pytest.raises((ValueError, TypeError, drv.CompileError), match=message):
        call(scale, x)


def test_code_that_the_driver_refuses():
    wrong = '__global__ void f(int* x) { asm("no.such.instruction;"); }'
    for make in (SourceModule, DynamicSourceModule, compile_image):
        with pytest.raises((drv.LogicError, drv.CompileError), match=r"no\.such|'\.such'"):
            make(wrong)


def test_a_dynamic_module_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DynamicSourceModule(SCALE, cache_dir=False)


def test_an_error_of_nvcc_names_it():
    images.nvcc()
    with pytest.raises(drv.CompileError, match=r"^nvcc compilation failed: kernel.cu"):
        SourceModule("#include <vector>\nint main() { undefined_thing; }", no_extern_c=True)

"""Modules and libraries: loading, names, attributes, errors with their log."""

import ctypes
import struct
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

NAMES = {
    "empty",
    "store",
    "add1",
    "wait_flag",
    "spin",
    "wild",
    "misaligned",
    "trap",
    "narrow",
    "exact",
    "mirror",
}
ERROR_LOG, ERROR_LOG_SIZE = 5, 6
# An ELF header for machine 190 (CUDA) with flags for sm_90, and one empty section.
CUBIN = struct.pack(
    "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 190, 1, 0, 0, 64, 0x5A055A, 64, 0, 0, 64, 1, 0
) + bytes(64)


def load_with_log(cuda, image, room=4096):
    """Result, text and size out of cuModuleLoadDataEx with an error log."""
    log, module = ctypes.create_string_buffer(b"\xff" * room, room), c_void_p()
    options = (c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
    values = (c_void_p * 2)(ctypes.addressof(log), room)
    code = cuda.code("cuModuleLoadDataEx", byref(module), image, 2, options, values)
    return code, log.value.decode(), values[1] or 0


def test_functions_by_name(cuda, module):
    function, name = cuda.function(module, "store"), c_char_p()
    cuda.cuFuncGetName(byref(name), function)
    assert name.value == b"store"
    back = c_void_p()
    cuda.cuFuncGetModule(byref(back), function)
    assert back.value == module
    out = c_void_p()
    assert cuda.code("cuModuleGetFunction", byref(out), module, b"missing") == NOT_FOUND


def test_functions_enumerated(cuda, module):
    name, seen = c_char_p(), set()
    for function in cuda.kernels(module):
        cuda.cuFuncGetName(byref(name), function)
        seen.add(name.value.decode())
    assert seen == NAMES


def test_globals(cuda, module):
    address, size = c_uint64(), c_size_t()
    cuda.cuModuleGetGlobal_v2(byref(address), byref(size), module, b"table")
    assert size.value == 64
    assert cuda.read(address.value, 16) == [0] * 16
    cuda.cuMemcpyHtoD_v2(address, b"\1\0\0\0", 4)
    assert cuda.read(address.value, 2) == [1, 0]
    cuda.cuMemsetD8_v2(address, 0, 64)
    cuda.cuModuleGetGlobal_v2(byref(address), c_void_p(), module, b"seven")
    assert cuda.read(address.value, 1) == [7]
    assert cuda.code("cuMemFree_v2", address) == INVALID_VALUE
    assert (
        cuda.code("cuModuleGetGlobal_v2", byref(address), byref(size), module, b"no") == NOT_FOUND
    )


def test_parameters(cuda, kernel):
    offset, size = c_size_t(), c_size_t()
    cuda.cuFuncGetParamInfo(kernel("store"), 1, byref(offset), byref(size))
    assert (offset.value, size.value) == (8, 4)
    code = cuda.code("cuFuncGetParamInfo", kernel("store"), 2, byref(offset), byref(size))
    assert code == INVALID_VALUE


def test_attributes(cuda, kernel):
    def attribute(name, which):
        value = c_int()
        cuda.cuFuncGetAttribute(byref(value), which, kernel(name))
        return value.value

    assert attribute("narrow", 0) == 64
    assert attribute("empty", 0) == 1024
    assert attribute("empty", 1) == 0
    assert attribute("empty", 8) == 48 << 10
    code = cuda.code("cuFuncGetAttribute", byref(c_int()), 99, kernel("empty"))
    assert code == INVALID_VALUE


MANY = """.version 8.6
.target sm_75
.address_size 64
.visible .entry many(.param .u64 p) %s {
.reg .b64 %%d<2>; .reg .b32 %%r<200>;
ld.param.u64 %%d0, [p];
%s ret; }"""


@pytest.mark.parametrize(
    "directives, threads, registers, blocks",
    [
        ("", 1024, 255, 0),
        (".maxnreg 32", 1024, 32, 2),
        (".maxntid 512, 1, 1", 512, 128, 1),
        (".maxntid 512, 1, 1 .minnctapersm 3", 512, 40, 3),
        (".reqntid 32, 16, 1 .minnctapersm 4", 512, 32, 4),
    ],
)
def test_directives_bound_registers(cuda, directives, threads, registers, blocks):
    """More values are live at once than the directives leave registers for."""
    body = "".join(f"ld.volatile.global.u32 %r{n}, [%d0+{4 * n}];\n" for n in range(150))
    body += "".join(f"st.volatile.global.u32 [%d0+{4 * n}], %r{149 - n};\n" for n in range(150))
    module, function, value = c_void_p(), c_void_p(), c_int()
    text = (MANY % (directives, body)).encode()
    assert cuda.code("cuModuleLoadData", byref(module), text) == 0
    cuda.cuModuleGetFunction(byref(function), module, b"many")
    cuda.cuFuncGetAttribute(byref(value), 4, function)  # CU_FUNC_ATTRIBUTE_NUM_REGS
    assert 16 <= value.value <= registers
    assert directives or value.value > 150
    cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(byref(value), function, threads, c_size_t())
    assert value.value >= blocks
    cuda.cuModuleUnload(module)


def test_a_required_block_is_no_limit_of_threads(cuda, kernel):
    value = c_int()
    for name, expected in (("exact", 1024), ("narrow", 64)):
        cuda.cuFuncGetAttribute(byref(value), 0, kernel(name))
        assert value.value == expected


def test_setting_the_shared_limit(cuda, kernel):
    most, value = c_int(), c_int()
    cuda.cuDeviceGetAttribute(byref(most), 97, 0)
    function = kernel("mirror")
    assert cuda.code("cuFuncSetAttribute", function, 8, most.value + 1) == INVALID_VALUE
    assert cuda.code("cuFuncSetAttribute", function, 8, -1) == INVALID_VALUE
    assert cuda.code("cuFuncSetAttribute", function, 0, 32) == INVALID_VALUE  # read only
    cuda.cuFuncSetAttribute(function, 8, most.value)
    cuda.cuFuncGetAttribute(byref(value), 8, function)
    assert value.value == most.value
    cuda.cuFuncSetAttribute(function, 8, 48 << 10)


def test_unloading(cuda, own):
    module = cuda.module()
    function = cuda.function(module, "empty")
    cuda.cuModuleUnload(module)
    assert cuda.code("cuModuleUnload", module) == INVALID_HANDLE
    assert cuda.launch_code(function, 1, 1) == INVALID_HANDLE


def test_unloading_while_a_kernel_is_queued(cuda):
    flag, pointer, stream = cuda.pinned(4), cuda.alloc(4096), cuda.stream(NON_BLOCKING)
    module, other = cuda.module(), cuda.module()
    cuda.launch(cuda.function(other, "wait_flag"), 1, 1, c_uint64(flag), stream=stream)
    cuda.launch(cuda.function(module, "store"), 8, 128, c_uint64(pointer), c_uint(6), stream=stream)
    word(flag).value = 1 if cuda.on_hardware else 0  # hardware waits in the unload
    cuda.cuModuleUnload(module)
    word(flag).value = 1
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(pointer, 1024) == [6] * 1024
    cuda.cuModuleUnload(other)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFree_v2(pointer)
    cuda.cuMemFreeHost(flag)


def test_from_a_file(cuda, tmp_path):
    path, module = tmp_path / "k.ptx", c_void_p()
    path.write_bytes(PTX[:-1])
    cuda.cuModuleLoad(byref(module), str(path).encode())
    cuda.function(module.value, "store")
    cuda.cuModuleUnload(module)
    assert cuda.code("cuModuleLoad", byref(module), b"/no/such/file") == FILE_NOT_FOUND


def test_invalid_ptx_has_line_and_text(cuda, own):
    lines = PTX[:-1].decode().split("\n")
    lines.insert(7, "garbage line;")
    code, log, size = load_with_log(cuda, "\n".join(lines).encode() + b"\0")
    assert code == INVALID_PTX
    assert "line 8" in log and "garbage" in log
    assert size == len(log) + 1


def test_log_is_cut_to_its_buffer(cuda, own):
    code, log, size = load_with_log(cuda, PTX.replace(b"ret;", b"garbage;", 1), room=12)
    assert code == INVALID_PTX and len(log) == 11 and size == 12


def test_newer_ptx_version(cuda):
    code, log, _ = load_with_log(cuda, PTX.replace(b".version 6.3", b".version 99.0"))
    assert code == UNSUPPORTED_PTX_VERSION, log
    assert log


def test_ptx_for_a_newer_device(cuda):
    code, log, _ = load_with_log(cuda, PTX.replace(b"sm_75", b"sm_120"))
    assert code == INVALID_PTX and log


def test_machine_code_says_why_it_cannot_run(cuda, own):
    code, log, _ = load_with_log(cuda, CUBIN)
    assert code == NO_BINARY_FOR_GPU
    assert "machine code" in log


def test_an_image_with_nothing_in_it(cuda):
    code, _log, _ = load_with_log(cuda, b"\x50\xed\x55\xba\1\0\x10\0" + bytes(64))
    assert code == NO_BINARY_FOR_GPU


@pytest.mark.parametrize("bytes_", [b"\0", b"\1\2\3\4\0", b"no image at all"])
def test_bytes_that_are_no_image(cuda, bytes_, own):
    code, log, _ = load_with_log(cuda, bytes_ + bytes(64))
    assert code == INVALID_IMAGE and log


def test_unknown_option(cuda):
    options, values = (c_int * 1)(1000), (c_void_p * 1)(0)
    code = cuda.code("cuModuleLoadDataEx", byref(c_void_p()), PTX, 1, options, values)
    assert code == INVALID_VALUE


def test_null_arguments(cuda):
    assert cuda.code("cuModuleLoadData", byref(c_void_p()), c_void_p()) == INVALID_VALUE


# ---- libraries ---------------------------------------------------------------------------


@pytest.fixture
def library(cuda):
    out = c_void_p()
    cuda.cuLibraryLoadData(byref(out), PTX, c_void_p(), c_void_p(), 0, c_void_p(), c_void_p(), 0)
    yield out.value
    cuda.cuLibraryUnload(out)


def library_kernel(cuda, library, name):
    out = c_void_p()
    cuda.cuLibraryGetKernel(byref(out), library, name.encode())
    return out.value


def test_library_kernels(cuda, library):
    count, name = c_uint(), c_char_p()
    cuda.cuLibraryGetKernelCount(byref(count), library)
    assert count.value == len(NAMES)
    kernel = library_kernel(cuda, library, "store")
    cuda.cuKernelGetName(byref(name), kernel)
    assert name.value == b"store"
    back, offset, size = c_void_p(), c_size_t(), c_size_t()
    cuda.cuKernelGetLibrary(byref(back), kernel)
    assert back.value == library
    cuda.cuKernelGetParamInfo(kernel, 1, byref(offset), byref(size))
    assert (offset.value, size.value) == (8, 4)
    assert cuda.code("cuLibraryGetKernel", byref(back), library, b"missing") == NOT_FOUND


def test_a_kernel_launches_like_a_function(cuda, library):
    pointer, function = cuda.alloc(256), c_void_p()
    kernel = library_kernel(cuda, library, "store")
    cuda.launch(kernel, 1, 64, c_uint64(pointer), c_uint(4))
    assert cuda.read(pointer, 64) == [4] * 64
    cuda.cuKernelGetFunction(byref(function), kernel)
    cuda.launch(function, 1, 64, c_uint64(pointer), c_uint(5))
    assert cuda.read(pointer, 64) == [5] * 64
    cuda.cuMemFree_v2(pointer)


def test_kernel_attributes_reach_the_function(cuda, library):
    kernel, value, function = library_kernel(cuda, library, "mirror"), c_int(), c_void_p()
    cuda.cuKernelSetAttribute(8, 50 << 10, kernel, 0)
    cuda.cuKernelGetAttribute(byref(value), 8, kernel, 0)
    assert value.value == 50 << 10
    cuda.cuKernelGetFunction(byref(function), kernel)
    cuda.cuFuncGetAttribute(byref(value), 8, function)
    assert value.value == 50 << 10


def test_a_library_has_variables_in_each_context(cuda, library, own):
    def table():
        address = c_uint64()
        cuda.cuLibraryGetGlobal(byref(address), byref(c_size_t()), library, b"table")
        return address.value

    first, context = table(), c_void_p()
    assert first == table()
    cuda.cuCtxCreate_v2(byref(context), 0, 0)
    second = table()
    cuda.cuCtxDestroy_v2(context)
    assert first != second and first == table()


def test_a_librarys_module_is_not_the_programs_to_unload(cuda, library, own):
    module = c_void_p()
    cuda.cuLibraryGetModule(byref(module), library)
    assert cuda.code("cuModuleUnload", module) == NOT_PERMITTED


def test_a_library_loads_without_a_context(passes):
    passes(
        """
        cuda.cuInit(0)
        library, kernel, null = c_void_p(), c_void_p(), c_void_p()
        cuda.cuLibraryLoadData(byref(library), PTX, null, null, 0, null, null, 0)
        cuda.cuLibraryGetKernel(byref(kernel), library, b"store")
        cuda.primary()
        pointer = cuda.alloc(256)
        cuda.launch(kernel, 1, 64, c_uint64(pointer), c_uint(4))
        assert cuda.read(pointer, 64) == [4] * 64
        cuda.cuLibraryUnload(library)
    """,
        start=False,
    )

"""Code that programs load themselves: kernels, variables, functions."""

import tempfile
from ctypes import (
    CFUNCTYPE,
    byref,
    c_char,
    c_char_p,
    c_int,
    c_size_t,
    c_uint,
    c_uint64,
    c_void_p,
    cast,
)

from driver_abi import PTX

from cudart.runtime import DEVICE_TO_HOST

ERROR_LOG, ERROR_LOG_BYTES, BINARY_IS_PRESERVED = 5, 6, 1
MANAGED = b"""
.version 6.3
.target sm_75
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.visible .entry empty() { ret; }
\0"""
NO_CODE = (None, None, 0, None, None, 0)


def a_library(runtime):
    library = runtime.handle("cudaLibraryLoadData", PTX, *NO_CODE)
    runtime.note("loaded", library != 0)
    kernel = runtime.handle("cudaLibraryGetKernel", library, b"add1")
    numbers = runtime.upload([4])
    runtime.launch(kernel, (1, 1, 1), (1, 1, 1), [c_uint64(numbers)])
    runtime.note("number", runtime.ints(numbers, 1))
    again = runtime.handle("cudaLibraryGetKernel", library, b"add1")
    runtime.note("same", kernel == again)
    runtime.cudaLibraryUnload(library)


def kernels(runtime):
    library, count = runtime.kernels, c_uint()
    runtime.cudaLibraryGetKernelCount(byref(count), library)
    runtime.note("kernels", count.value)
    found = (c_void_p * 32)()
    runtime.cudaLibraryEnumerateKernels(found, count.value, library)
    runtime.note("differ", len({kernel for kernel in found if kernel}))
    runtime.cudaLibraryEnumerateKernels(found, 1, library)
    runtime.cudaLibraryEnumerateKernels(found, 32, library)
    runtime.cudaLibraryEnumerateKernels(found, 0, library)
    runtime.cudaLibraryEnumerateKernels(None, 1, library)
    runtime.cudaLibraryEnumerateKernels(found, 1, None)
    runtime.cudaLibraryGetKernelCount(None, library)
    runtime.cudaLibraryGetKernelCount(byref(count), None)
    runtime.cudaGetLastError()


def a_kernel_of_the_list_is_launched(runtime):
    library, count = runtime.kernels, c_uint()
    runtime.cudaLibraryGetKernelCount(byref(count), library)
    found = (c_void_p * count.value)()
    runtime.cudaLibraryEnumerateKernels(found, count.value, library)
    names = []
    for kernel in found:
        name = c_void_p()
        runtime.cudaFuncGetName(byref(name), c_void_p(kernel))
        names.append(cast(name, c_char_p).value.decode())
    runtime.note("names", sorted(names))
    kernel = found[names.index("empty")]
    runtime.launch(kernel, (1, 1, 1), (1, 1, 1), [])
    runtime.cudaDeviceSynchronize()


def what_a_library_does_not_have(runtime):
    library, there, size = runtime.kernels, c_void_p(), c_size_t()
    runtime.cudaLibraryGetKernel(byref(there), library, b"nothing")
    runtime.cudaLibraryGetKernel(byref(there), library, b"")
    runtime.cudaLibraryGetKernel(byref(there), library, None)
    runtime.cudaLibraryGetKernel(None, library, b"store")
    runtime.cudaLibraryGetKernel(byref(there), None, b"store")
    runtime.cudaLibraryGetGlobal(byref(there), byref(size), library, b"nothing")
    runtime.cudaLibraryGetGlobal(byref(there), byref(size), library, None)
    runtime.cudaLibraryGetGlobal(byref(there), byref(size), None, b"table")
    runtime.cudaLibraryGetManaged(byref(there), byref(size), library, b"table")
    runtime.cudaLibraryGetManaged(byref(there), byref(size), library, b"nothing")
    runtime.cudaLibraryGetManaged(byref(there), byref(size), library, None)
    runtime.cudaLibraryGetManaged(byref(there), byref(size), None, b"table")
    runtime.cudaLibraryGetUnifiedFunction(byref(there), library, b"store")
    runtime.cudaLibraryGetUnifiedFunction(byref(there), library, b"nothing")
    runtime.cudaLibraryGetUnifiedFunction(byref(there), library, None)
    runtime.cudaLibraryGetUnifiedFunction(None, library, b"store")
    runtime.cudaLibraryGetUnifiedFunction(byref(there), None, b"store")
    runtime.cudaLibraryUnload(None)
    runtime.cudaGetLastError()


def variables(runtime):
    library, there, size = runtime.kernels, c_void_p(), c_size_t()
    runtime.cudaLibraryGetGlobal(byref(there), byref(size), library, b"table")
    runtime.note("bytes", size.value)
    runtime.cudaLibraryGetGlobal(byref(there), byref(size), library, b"seven")
    number = c_int()
    runtime.cudaMemcpy(byref(number), there, 4, DEVICE_TO_HOST)
    runtime.note("seven", [size.value, number.value])
    runtime.cudaLibraryGetGlobal(None, byref(size), library, b"table")
    runtime.cudaLibraryGetGlobal(byref(there), None, library, b"table")
    runtime.cudaLibraryGetGlobal(None, None, library, b"table")


def managed_variables(runtime):
    library = runtime.handle("cudaLibraryLoadData", MANAGED, *NO_CODE)
    there, size = c_void_p(), c_size_t()
    runtime.cudaLibraryGetManaged(byref(there), byref(size), library, b"counter")
    runtime.note("bytes", size.value)
    runtime.note("counter", c_int.from_address(there.value).value)
    runtime.cudaLibraryGetManaged(None, byref(size), library, b"counter")
    runtime.cudaLibraryGetManaged(byref(there), None, library, b"counter")


def files(runtime):
    library = c_void_p()
    with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
        file.write(PTX)
        file.flush()
        runtime.cudaLibraryLoadFromFile(byref(library), file.name.encode(), *NO_CODE)
        runtime.cudaLibraryLoadFromFile(None, file.name.encode(), *NO_CODE)
    runtime.note("kernel", runtime.handle("cudaLibraryGetKernel", library, b"store") != 0)
    runtime.cudaLibraryUnload(library)
    runtime.cudaLibraryLoadFromFile(byref(library), b"/no/such/file", *NO_CODE)
    runtime.cudaLibraryLoadFromFile(byref(library), None, *NO_CODE)
    runtime.cudaGetLastError()


def what_cannot_be_loaded(runtime):
    library = c_void_p()
    runtime.cudaLibraryLoadData(byref(library), None, *NO_CODE)
    runtime.cudaLibraryLoadData(None, PTX, *NO_CODE)
    runtime.cudaGetLastError()


def code_that_is_wrong(runtime):
    """NVIDIA's driver reads it when the program first uses it."""
    wrong = b".version 6.3\n.target sm_75\n.address_size 64\n.entry f() { no_such; }\n\0"
    for code in (b".version 6.3\nnonsense\n\0", b"\0" * 64, wrong):
        library, count, log = c_void_p(), c_uint(), (c_char * 1024)()
        options = (c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (c_void_p * 2)(cast(log, c_void_p), 1024)
        runtime.cudaLibraryLoadData(byref(library), code, options, values, 2, None, None, 0)
        if library.value:
            runtime.cudaLibraryGetKernelCount(byref(count), library)
            runtime.cudaLibraryGetKernel(byref(c_void_p()), library, b"f")
        runtime.note("log", len(log.value) > 0)
        runtime.cudaGetLastError()


def options_of_the_compiler(runtime):
    library, log = c_void_p(), (c_char * 1024)()
    options = (c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
    values = (c_void_p * 2)(cast(log, c_void_p), 1024)
    runtime.cudaLibraryLoadData(byref(library), PTX, options, values, 2, None, None, 0)
    runtime.cudaLibraryUnload(library)
    keep = (c_int * 1)(BINARY_IS_PRESERVED)
    runtime.cudaLibraryLoadData(byref(library), PTX, None, None, 0, keep, (c_void_p * 1)(1), 1)
    runtime.cudaLibraryUnload(library)
    unknown = (c_int * 1)(1000)
    runtime.cudaLibraryLoadData(byref(library), PTX, unknown, values, 1, None, None, 0)
    runtime.cudaLibraryLoadData(byref(library), PTX, None, None, 0, unknown, values, 1)
    runtime.cudaGetLastError()


def _driver_function(runtime, name, *arguments):
    """Call a function of the driver."""
    function = c_void_p()
    runtime.cudaGetDriverEntryPoint(name, byref(function), 0, None)
    runtime.note("code", CFUNCTYPE(c_int, *map(type, arguments))(function.value)(*arguments))


def a_kernel_of_the_driver(runtime):
    """Handles of the driver are those of the runtime."""
    numbers, nothing = runtime.upload([0]), c_void_p()
    library, kernel, name, found = c_void_p(), c_void_p(), c_char_p(), c_void_p()
    to_library, to_kernel = (cast(byref(each), c_void_p) for each in (library, kernel))
    code = [c_char_p(PTX), nothing, nothing, c_uint(), nothing, nothing, c_uint()]
    _driver_function(runtime, b"cuLibraryLoadData", to_library, *code)
    _driver_function(runtime, b"cuLibraryGetKernel", to_kernel, library, c_char_p(b"add1"))
    runtime.launch(kernel, (1, 1, 1), (1, 1, 1), [c_uint64(numbers)])
    runtime.note("number", runtime.ints(numbers, 1))
    runtime.cudaFuncGetName(byref(name), kernel)
    runtime.note("name", name.value.decode())
    runtime.cudaFuncSetAttribute(kernel, 9, 50)
    runtime.cudaKernelSetAttributeForDevice(kernel, 9, 50, 0)
    runtime.cudaGetKernel(byref(found), kernel)
    runtime.cudaLibraryGetKernel(byref(found), library, b"add1")
    runtime.note("the same", found.value == kernel.value)
    runtime.cudaLibraryUnload(library)
    runtime.cudaGetLastError()


def a_kernel_of_an_unloaded_library_crashes(runtime):
    library = runtime.handle("cudaLibraryLoadData", PTX, *NO_CODE)
    kernel = runtime.handle("cudaLibraryGetKernel", library, b"empty")
    runtime.cudaLibraryUnload(library)
    runtime.cudaFuncGetName(byref(c_char_p()), kernel)
    runtime.launch(kernel, (1, 1, 1), (1, 1, 1), [])


def a_library_outlives_a_reset(runtime):
    library = runtime.kernels
    kernel = runtime.kernel("empty")
    runtime.launch(kernel, (1, 1, 1), (1, 1, 1), [])
    runtime.cudaDeviceSynchronize()
    runtime.cudaDeviceReset()
    runtime.launch(kernel, (1, 1, 1), (1, 1, 1), [])
    runtime.cudaDeviceSynchronize()
    runtime.cudaLibraryUnload(library)
    runtime.cudaGetLastError()

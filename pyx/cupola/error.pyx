# cupola/error.pyx - converts a status of libcupola.so to an exception.
# cython: language_level=3

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_ERROR_DRIVER, CUPOLA_ERROR_FORKED,
    CUPOLA_ERROR_IMAGE, CUPOLA_ERROR_NO_DRIVER, CUPOLA_ERROR_NOT_FOUND,
    CUPOLA_ERROR_OUT_OF_MEMORY, CUPOLA_ERROR_TYPE, CUPOLA_ERROR_VALUE, cupola_error_info,
    cupola_last_error_info, cupola_output_assertion, text,
)
from cupola.abi cimport require

from cupola.exceptions import (
    ArgumentTypeError, ArgumentValueError, DeviceAssertionError, DriverError, Error, ImageError,
    OutOfMemoryError, UnknownNameError,
)


cdef int CUDA_ERROR_ASSERT = 710


cdef int fail(int status) except -1 nogil:
    with gil:
        raise failure(status)


# The function that the modules of streams, events, devices and copies call, with the device's
# index, after the host waited for a device; None before a function needs it. It raises the errors
# that kernels reported meanwhile.
AFTER_WAIT = [None]


cdef object failure(int status):
    cdef cupola_error_info info
    # The strings are valid until this thread's next failure. Copy them first: other code here may
    # trigger garbage collection, and a release may fail.
    cupola_last_error_info(&info)
    cdef str what = text(info.text)
    cdef str name = text(info.name)
    cdef str log = text(info.log)
    cdef str assertion
    if status == CUPOLA_ERROR_TYPE:
        return ArgumentTypeError(what)
    if status == CUPOLA_ERROR_VALUE:
        return ArgumentValueError(what)
    if status == CUPOLA_ERROR_NOT_FOUND:
        return UnknownNameError(what)
    if status == CUPOLA_ERROR_IMAGE:
        return ImageError(what, log)
    if status == CUPOLA_ERROR_OUT_OF_MEMORY:
        return OutOfMemoryError(what, info.code, name, log)
    if info.code == CUDA_ERROR_ASSERT:
        assertion = text(cupola_output_assertion())
        return DeviceAssertionError(what, info.code, name, log, assertion)
    if status in (CUPOLA_ERROR_DRIVER, CUPOLA_ERROR_NO_DRIVER, CUPOLA_ERROR_FORKED):
        return DriverError(what, info.code, name, log)
    return Error(what or f"libcupola failed with status {status}")


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

"""cuda.bindings or PyCUDA beside a library of the CUDA runtime API: one context, one memory."""

import ctypes
import sys

import numpy as np


def of_bindings():
    """Memory of cuda.bindings in the primary context: its address, and how to read it."""
    from cuda.bindings import driver

    def checked(answer):
        code, *values = answer
        assert code.value == 0, code
        return values[0] if values else None

    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(device))))
    print(checked(driver.cuDeviceGetName(64, device)).rstrip(b"\0").decode())
    numbers = np.arange(4, dtype=np.int32)
    there = checked(driver.cuMemAlloc(numbers.nbytes))
    checked(driver.cuMemcpyHtoD(there, numbers.ctypes.data, numbers.nbytes))

    def read():
        checked(driver.cuMemcpyDtoH(numbers.ctypes.data, there, numbers.nbytes))
        return numbers

    return int(there), read


def of_pycuda():
    """The same work by PyCUDA, in a context that PyCUDA makes."""
    import pycuda.autoinit
    import pycuda.gpuarray

    print(pycuda.autoinit.device.name())
    array = pycuda.gpuarray.to_gpu(np.arange(4, dtype=np.int32))
    return int(array.gpudata), array.get


address, read = of_pycuda() if sys.argv[2] == "pycuda" else of_bindings()
library = ctypes.CDLL(sys.argv[1])
assert library.add_all(ctypes.c_void_p(address), 4, 10) == 0
assert read().tolist() == [10, 11, 12, 13]
print("well")

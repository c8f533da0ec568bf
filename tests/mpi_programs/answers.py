"""Whether MPI gets device pointers: answers of libraries, variables, arguments."""

import ctypes
import importlib
import os
from types import SimpleNamespace

import cupola
from cupola.device import is_cpu
from cupola.mpi import transport

module = importlib.import_module("cupola.mpi.transport")  # the function has the module's name

GPU_QUERY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int))
CUDA_QUERY = ctypes.CFUNCTYPE(ctypes.c_int)


def mpich(answer, status=0):
    def query(kind, out):
        assert kind == 0
        out[0] = answer
        return status

    return GPU_QUERY(query)


def support(**functions):
    module.loaded_library = lambda: SimpleNamespace(**functions)
    return module.library_support()


assert support(MPIX_GPU_query_support=mpich(1)) == (True, "MPIX_GPU_query_support says yes")
assert support(MPIX_GPU_query_support=mpich(0)) == (False, "MPIX_GPU_query_support says no")
cuda = CUDA_QUERY(lambda: 1)
both = {"MPIX_GPU_query_support": mpich(1, status=5), "MPIX_Query_cuda_support": cuda}
assert support(**both) == (True, "MPIX_Query_cuda_support says yes")
no = CUDA_QUERY(lambda: 0)
assert support(MPIX_Query_cuda_support=no) == (False, "MPIX_Query_cuda_support says no")
supported, reason = support()
assert not supported and "no function to ask" in reason
for name in module.VENDOR_VARIABLES:
    os.environ[name] = "1"
    assert support() == (True, f"{name}=1")
    del os.environ[name]

# The whole decision, for a device that is not the CPU device: `is_cpu` is the only part replaced.
for cpu in (True, False):
    module.is_cpu = lambda index, cpu=cpu: cpu
    direct = "host memory of the CPU device" if cpu else "device pointers"
    support(MPIX_Query_cuda_support=cuda)
    assert transport().name == direct
    support(MPIX_Query_cuda_support=no)
    assert transport().name == (direct if cpu else "staged through pinned memory")
    assert transport(device_pointers=True).name == direct
    assert transport(device_pointers=False).staged
    os.environ["CUPOLA_MPI_DEVICE_POINTERS"] = "1"
    assert transport().name == direct and transport(device_pointers=False).staged
    os.environ["CUPOLA_MPI_DEVICE_POINTERS"] = "0"
    assert transport().staged and transport(device_pointers=True).name == direct
    assert "CUPOLA_MPI_DEVICE_POINTERS=0" in str(transport())
    os.environ["CUPOLA_MPI_DEVICE_POINTERS"] = "yes"
    try:
        transport()
    except cupola.ArgumentValueError as error:
        assert "CUPOLA_MPI_DEVICE_POINTERS is 'yes': expected 0 or 1" in str(error)
    else:
        raise AssertionError("a wrong value of the variable was taken")
    os.environ["CUPOLA_MPI_DEVICE_POINTERS"] = ""
assert is_cpu(0) == (cupola.driver.info().kind == "cpu")
print("all as expected")

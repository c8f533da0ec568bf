# cupola/dlpack.pyx - makes arrays of other libraries' tensors.
# cython: language_level=3
"""Interchange of arrays by DLPack, versions 0.x and 1.x."""

from libc.stdint cimport uint64_t

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_address_device
from cupola.abi cimport require
from cupola.array cimport Array, lay
from cupola.device cimport device_index
from cupola.error cimport check
from cupola.layout cimport extent
from cupola.memory cimport register_memory
from cupola.tensor cimport CPU, CUDA_HOST, Tensor, tensor_of

from cupola.exceptions import ArgumentTypeError


def from_dlpack(source, *, copy=None):
    """An array of another library as an `Array`, by DLPack.

    Parameters
    ----------
    source : object with ``__dlpack__`` and ``__dlpack_device__``
        Its memory is kept alive by the array and its views. This thread's current stream waits for
        its data. On the CPU device it may also be a NumPy array, whose memory is page-locked as
        long, since device memory is host memory there.
    copy : bool, optional
        True: the producer copies; False: an error where it would have to.

    Returns
    -------
    Array
        Over the same memory, read-only where the producer says so.

    Raises
    ------
    ExchangeError
        Where it is not device memory, or NumPy has no such dtype.
    ArgumentError
        Where its tensor is inconsistent.
    """
    cdef Tensor tensor
    cdef Array array
    cdef int device = 0
    if not hasattr(source, "__dlpack__"):
        raise ArgumentTypeError(
            f"a {type(source).__name__} has no __dlpack__; cupola.to_device copies host arrays")
    tensor = tensor_of(source, copy)
    device = device_index(
        None if tensor.device_type in (CPU, CUDA_HOST) else tensor.device)
    owner = lock_host(tensor, device) if tensor.device_type == CPU else tensor
    array = lay(
        tensor.shape, tensor.strides, tensor.dtype, None, owner, tensor.address, device)
    array.readonly = tensor.readonly
    return array


cdef object lock_host(Tensor tensor, int device):
    """Register host memory with the CPU device's driver, so that its kernels can access it.

    The result keeps the tensor and the registration alive.
    """
    cdef int first = -1, last = -1
    if 0 in tensor.shape:
        return tensor
    strides = tensor.strides
    low, high = 0, tensor.dtype.itemsize
    if strides is None:
        for length in tensor.shape:
            high *= length
    else:
        low, high = extent(tensor.shape, strides, tensor.dtype.itemsize)
    cdef uint64_t begin = tensor.address + low, end = tensor.address + high
    check(cupola_address_device(begin, &first))
    check(cupola_address_device(end - 1, &last))
    if first >= 0 and last >= 0:
        return tensor
    return register_memory(device, begin, end - begin, tensor, tensor.readonly)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

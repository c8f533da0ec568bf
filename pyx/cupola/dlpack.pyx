# cupola/dlpack.pyx - makes arrays of other libraries' tensors.
# cython: language_level=3
"""Interchange of arrays by DLPack, versions 0.x and 1.x."""

from libc.stdint cimport uint64_t

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_address_find
from cupola.abi cimport require
from cupola.array cimport Array, lay
from cupola.device cimport device_index, device_text
from cupola.error cimport check
from cupola.layout cimport extent
from cupola.memory cimport register_memory
from cupola.tensor cimport CPU, CUDA_HOST, Tensor, tensor_of

from cupola.exceptions import ArgumentTypeError, ExchangeError

__all__ = ["from_dlpack"]


def from_dlpack(source, *, device=None, copy=None):
    """An array of another library as an `Array`, by DLPack.

    Parameters
    ----------
    source : object with ``__dlpack__`` and ``__dlpack_device__``
        Its memory is kept alive by the array and its views. This thread's current stream waits for
        its data. For the CPU device it may also be a tensor in host memory, such as a NumPy array,
        whose memory is page-locked as long, since device memory is host memory there.
    device : Device, int or "cpu", optional
        Needed for host memory where the current device is a GPU: ``device="cpu"`` makes an array of
        the CPU device over the same memory. Device memory has the device that it lies on.
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
    cdef int index = -1, there
    if not hasattr(source, "__dlpack__"):
        raise ArgumentTypeError(
            f"a {type(source).__name__} has no __dlpack__; cupola.to_device copies host arrays")
    if device is not None:
        index = device_index(device)
    tensor = tensor_of(source, copy, index)
    if tensor.device_type not in (CPU, CUDA_HOST):
        there = device_index(tensor.device)
        if index not in (-1, there):
            raise ExchangeError(
                f"a {type(source).__name__} lies on {device_text(there)}, device= names "
                f"{device_text(index)}: leave it out, and use cupola.to_device for a copy")
        index = there
    elif index < 0:
        index = device_index(None)
    owner = lock_host(tensor, index) if tensor.device_type == CPU else tensor
    array = lay(
        tensor.shape, tensor.strides, tensor.dtype, None, owner, tensor.address, index)
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
    check(cupola_address_find(begin, device, &first))
    check(cupola_address_find(end - 1, device, &last))
    if first == device == last:
        return tensor
    return register_memory(device, begin, end - begin, tensor, tensor.readonly)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

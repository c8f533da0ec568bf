# cupola/native_operation.pyx - a declared operation of libcupola.so.
# cython: language_level=3
"""Declared operations, as `cupola.ops` uses them."""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memset

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_driver_loaded, text
from cupola._operation cimport (
    cupola_op_bind, cupola_op_bound, cupola_op_call, cupola_op_create, cupola_op_host_device,
    cupola_op_kernel_count, cupola_op_kernel_name, cupola_op_kernel_types, cupola_op_launch,
    cupola_op_name, cupola_op_register, cupola_op_release, cupola_op_scalar, cupola_op_xla_cuda,
    cupola_op_xla_cuda_operands, cupola_op_xla_host,
)
from cupola._dlpack cimport CUDA, CupolaTensor
from cupola.abi cimport require
from cupola.array_data cimport ArrayData
from cupola.driver cimport ensure
from cupola.error cimport check
from cupola.kernel cimport Kernel
from cupola.stream cimport Stream, current_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

cdef enum:
    MAX_LENGTHS = 1024  # the most lengths of axes that all tensors of a call have together

include "element_types.pxi"

# The name of a capsule that JAX takes.
cdef const char* HANDLER = b"xla._CUSTOM_CALL_TARGET"

cdef dict TYPES = {}  # filled by type_of


cdef tuple type_of(object dtype):
    found = TYPES.get(dtype)
    if found is None:
        found = ELEMENT_TYPES.get(dtype.name, (0, 0)) if dtype.isnative else (0, 0)
        TYPES[dtype] = found
    return <tuple>found


cdef class NativeOperation:
    """An operation of the library.

    Parameters
    ----------
    declaration : bytes
        The compiled form, which `cupola.declare.compiled` writes.

    Raises
    ------
    ArgumentValueError
        Where the declaration is invalid.
    """

    def __cinit__(self, bytes declaration not None):
        check(cupola_op_create(<const char*>declaration, len(declaration), &self.native))

    def __dealloc__(self):
        with nogil:  # it may release the last reference of a kernel's image
            cupola_op_release(self.native)

    @property
    def name(self):
        return text(cupola_op_name(self.native))

    def kernel_types(self):
        """The element types of each kernel, such as "float32, int64"."""
        return [
            text(cupola_op_kernel_types(self.native, i))
            for i in range(cupola_op_kernel_count(self.native))]

    def kernel_names(self):
        """The names of the kernels in their image."""
        return [
            text(cupola_op_kernel_name(self.native, i))
            for i in range(cupola_op_kernel_count(self.native))]

    def bind(self, size_t index, Kernel kernel not None):
        """Set a kernel for its device.

        Raises
        ------
        ArgumentTypeError
            Where its parameters contradict the declaration.
        """
        check(cupola_op_bind(self.native, index, kernel.native))

    def bound(self, size_t index, int device):
        """Whether the kernel is set for a device."""
        return cupola_op_bound(self.native, index, device) != 0

    def register(self, str name not None):
        """Make it known to the handlers of `xla_handlers` by a name, as long as the process lives.

        Raises
        ------
        ArgumentValueError
            Where another operation has the name.
        """
        check(cupola_op_register(self.native, name.encode()))

    def launch(
        self, tuple tensors not None, tuple scalars not None, Stream stream=None, handle=None,
        tuple batched=None, int64_t batch=0
    ):
        """Check the arguments, choose the kernel, and launch it.

        Parameters
        ----------
        tensors : tuple
            For each input, output and workspace a `cupola.Array`, or ``(address, DLPack's type
            code, bits, DLPack's device type, device, shape, strides in elements or None)``, or None
            for an input that is not given. The caller keeps the memory of tuples alive.
        scalars : tuple of int or float
        stream : Stream, optional
            By default the current stream of the tensors' device.
        handle : int, optional
            A stream of another library, instead of `stream`.
        batched : tuple of bool, optional
            Which tensors have the batch as their first axis.
        batch : int
            The length of the batch.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            Where an argument contradicts the declaration; nothing was launched.
        """
        cdef CupolaTensor read[MAX_TENSORS]
        cdef const void* given[MAX_TENSORS]
        cdef cupola_op_scalar values[MAX_TENSORS]
        cdef unsigned char flags[MAX_TENSORS]
        cdef int64_t lengths[MAX_LENGTHS]
        cdef Py_ssize_t i, axis, used = 0, count = len(tensors), scalar_count = len(scalars)
        cdef cupola_op_call call
        cdef CupolaTensor* tensor
        cdef ArrayData array
        cdef bint owned = False  # whether an array of cupola is among the arguments
        cdef tuple shape
        if count > MAX_TENSORS or scalar_count > MAX_TENSORS:
            raise ArgumentValueError("an operation takes at most 64 tensors and 64 scalars")
        memset(&call, 0, sizeof(call))
        for i in range(count):
            one = tensors[i]
            given[i] = NULL
            if one is None:
                continue
            tensor = &read[i]
            given[i] = tensor
            if isinstance(one, ArrayData):
                array = <ArrayData>one
                address, device_type, device = array.get_address(), CUDA, array.device_index
                code, bits = type_of(array.dtype)
                if bits == 0:
                    raise ArgumentTypeError(
                        f"{self.name}: no operation takes elements of {array.dtype}")
                shape, strides = array.shape, None
                if array.steps is not None:
                    strides = tuple([step // array.itemsize for step in array.steps])
                if not owned and stream is None and handle is None:
                    stream = current_stream(array.device_index)
                owned = True
            else:
                address, code, bits, device_type, device, shape, strides = one
            tensor.data = <void*><uintptr_t>address
            tensor.code, tensor.bits, tensor.lanes = code, bits, 1
            tensor.device_type, tensor.device_id = device_type, device
            tensor.byte_offset = 0
            tensor.ndim = <int>len(shape)
            if used + 2 * tensor.ndim > MAX_LENGTHS:
                raise ArgumentValueError("the tensors have too many axes")
            tensor.shape = &lengths[used]
            tensor.strides = NULL
            for axis in range(tensor.ndim):
                lengths[used] = shape[axis]
                used += 1
            if strides is None:
                continue
            if len(strides) != tensor.ndim:
                raise ArgumentValueError(f"strides {strides} for shape {shape}")
            tensor.strides = &lengths[used]
            for axis in range(tensor.ndim):
                lengths[used] = strides[axis]
                used += 1
        for i in range(scalar_count):
            one = scalars[i]
            values[i].is_real = isinstance(one, float)
            if values[i].is_real:
                values[i].real = one
            elif isinstance(one, int):
                try:
                    values[i].integer = one
                except OverflowError:
                    raise ArgumentValueError(
                        f"{self.name}: {one} exceeds the range of 64-bit integers") from None
            else:
                raise ArgumentTypeError(f"{self.name}: a scalar is int or float, got {one!r}")
        call.size = sizeof(call)
        call.tensors = given
        call.tensor_count = count
        call.scalars = values
        call.scalar_count = scalar_count
        if stream is not None:
            call.stream = stream.native
        if handle is not None:
            call.handle = <void*><uintptr_t>handle
            call.has_handle = 1
        if batched is not None:
            if len(batched) != count:
                raise ArgumentValueError(f"batched has {len(batched)} items for {count} tensors")
            for i in range(count):
                flags[i] = batched[i]
            call.batched = flags
            call.batch = batch
        with nogil:  # it may wait for the stream, or for the work of host tensors
            check(cupola_op_launch(self.native, &call))
        if not owned or stream is None:
            return
        for one in tensors:
            if isinstance(one, ArrayData):
                (<ArrayData>one).used_on(stream)


def host_device():
    """The device that this thread's calls use for host memory; -1 without such a device.

    The function of that name in cupola/operation.h says which.
    """
    cdef int device
    with nogil:  # this call may load a driver
        check(cupola_op_host_device(&device))
    if cupola_driver_loaded():
        ensure()  # issues its warning once
    return device


def xla_handlers():
    """The handlers of XLA's foreign functions: name, JAX's name of the platform, and capsule.

    Calls of ``cupola_op_operands`` have scalars among the operands.
    """
    return (
        ("cupola_op", "cpu", PyCapsule_New(<void*>cupola_op_xla_host, HANDLER, NULL)),
        ("cupola_op", "CUDA", PyCapsule_New(<void*>cupola_op_xla_cuda, HANDLER, NULL)),
        ("cupola_op_operands", "cpu", PyCapsule_New(<void*>cupola_op_xla_host, HANDLER, NULL)),
        (
            "cupola_op_operands", "CUDA",
            PyCapsule_New(<void*>cupola_op_xla_cuda_operands, HANDLER, NULL),
        ),
    )


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

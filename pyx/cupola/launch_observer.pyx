# cupola/launch_observer.pyx - the launches of the process, memory by address, packed launches.
# cython: language_level=3
"""The observer of launches, allocations by address, and launches of packed bytes."""

from libc.stdint cimport uint64_t, uintptr_t
from libc.string cimport memcpy

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_address_range, cupola_attributes, cupola_captures,
    cupola_copy_to_device, cupola_copy_to_host, cupola_dimensions, cupola_kernel_device,
    cupola_kernel_module, cupola_kernel_name, cupola_kernel_parameter_bytes,
    cupola_kernel_parameter_count, cupola_kernel_parameters, cupola_kernel_title, cupola_launch,
    cupola_parameter, cupola_stream_handle, text,
)
from cupola._launch cimport (
    CUPOLA_LAUNCH_BEGINS, CUPOLA_LAUNCH_FAILED, CUPOLA_LAUNCH_QUEUED, cupola_launch_observe,
    cupola_launch_observer,
)
from cupola.abi cimport require
from cupola.array cimport host_address
from cupola.error cimport check
from cupola.handles cimport cupola_kernel, cupola_stream
from cupola.kernel cimport Kernel
from cupola.stream cimport Stream, as_stream

from cupola.core.result_types import ObservedLaunch
from cupola.exceptions import ArgumentValueError
from cupola.module import images

BEGINS, QUEUED, FAILED = CUPOLA_LAUNCH_BEGINS, CUPOLA_LAUNCH_QUEUED, CUPOLA_LAUNCH_FAILED

cdef list observers = [None]  # the function that is called, or None


def observe(function):
    """Set the function that is called around each launch of this process.

    Parameters
    ----------
    function : callable or None
        Called as ``function(stage, launch)`` on the launching thread, with `BEGINS` and an
        `ObservedLaunch`, then with `QUEUED` or `FAILED` and None. It must raise nothing. None: no
        function is called any longer.
    """
    observers[0] = function
    if function is None:
        cupola_launch_observe(NULL)
    else:
        # Cython has no type for pointers that are const themselves.
        cupola_launch_observe(<cupola_launch_observer>observed)


cdef void observed(
    int stage, cupola_kernel* kernel, const cupola_dimensions* dimensions,
    const cupola_attributes* attributes, void** pointers, cupola_stream* stream
) noexcept nogil:
    with gil:
        function = observers[0]
        if function is not None:
            function(stage, described(kernel, dimensions, attributes, pointers, stream)
                     if stage == CUPOLA_LAUNCH_BEGINS else None)


cdef object described(
    cupola_kernel* kernel, const cupola_dimensions* dimensions,
    const cupola_attributes* attributes, void** pointers, cupola_stream* stream
):
    cdef const cupola_parameter* parameters = cupola_kernel_parameters(kernel)
    cdef size_t i
    cdef tuple given = None  # Cython does not finish to infer the type of this variable
    packed = bytearray(cupola_kernel_parameter_bytes(kernel))
    cdef char* buffer = packed
    for i in range(cupola_kernel_parameter_count(kernel)):
        memcpy(buffer + parameters[i].offset, pointers[i], parameters[i].size)
    if attributes != NULL:
        given = (
            tuple([attributes.cluster[i] for i in range(3)]), attributes.flags,
            attributes.priority, attributes.carveout)
    return ObservedLaunch(
        images.get(<uintptr_t>cupola_kernel_module(kernel)), text(cupola_kernel_name(kernel)),
        text(cupola_kernel_title(kernel)), cupola_kernel_device(kernel),
        tuple([dimensions.grid[i] for i in range(3)]),
        tuple([dimensions.block[i] for i in range(3)]), dimensions.shared, given, bytes(packed),
        <uintptr_t>cupola_stream_handle(stream), cupola_captures() != 0)


def allocation(uint64_t address, int device):
    """The whole allocation around an address.

    Parameters
    ----------
    address : int
        An address that is valid on the device.
    device : int
        Its index.

    Returns
    -------
    (int, int) or None
        The address of the first byte and the number of bytes. None where the device's driver does
        not know the address. Waits for nothing.
    """
    cdef uint64_t begin = 0
    cdef size_t size = 0
    with nogil:
        check(cupola_address_range(address, device, &begin, &size))
    return (begin, size) if size else None


def read(uint64_t address, size_t nbytes, int device):
    """Bytes of device, page-locked or managed memory.

    Returns
    -------
    numpy.ndarray
        Of uint8, with one axis. Queued on the current stream, which this waits for.
    """
    cdef Stream queue = as_stream(None, device)
    host = np.empty(nbytes, np.uint8)
    cdef uint64_t target = host_address(host)
    with nogil:
        check(cupola_copy_to_host(<void*>target, address, nbytes, queue.native))
        queue.wait_done()
    return host


def write(uint64_t address, host not None, int device):
    """Copy a contiguous NumPy array to device memory. Queued on the current stream; waits for it.

    Parameters
    ----------
    address : int
    host : numpy.ndarray
    device : int
    """
    cdef Stream queue = as_stream(None, device)
    cdef uint64_t source = host_address(host)
    cdef size_t nbytes = host.nbytes
    with nogil:
        check(cupola_copy_to_device(address, <void*>source, nbytes, queue.native))
        queue.wait_done()


def launch(Kernel kernel not None, tuple grid, tuple block, shared, attributes, bytes packed):
    """Launch a kernel with the bytes of all arguments, on the current stream.

    Parameters
    ----------
    kernel : Kernel
    grid, block : tuple of three int
        Blocks, and threads per block.
    shared : int
        Bytes of dynamic shared memory per block.
    attributes : tuple or None
        As `ObservedLaunch` has them.
    packed : bytes
        The arguments in the kernel's layout, with hidden parameters.

    Raises
    ------
    ArgumentValueError
        Where the bytes are not those of the kernel's parameters, or a launch cannot have these
        dimensions.
    """
    cdef cupola_dimensions dimensions
    cdef cupola_attributes room
    cdef cupola_attributes* given = NULL
    cdef size_t i
    cdef Stream queue = as_stream(None, kernel.device_index)
    if <size_t>len(packed) != kernel.buffer_bytes():
        raise ArgumentValueError(
            f"{kernel.title}: expected {kernel.buffer_bytes()} bytes of arguments, got "
            f"{len(packed)}")
    for i in range(3):
        dimensions.grid[i], dimensions.block[i] = grid[i], block[i]
    dimensions.shared = shared
    if attributes is not None:
        cluster, room.flags, room.priority, room.carveout = attributes
        for i in range(3):
            room.cluster[i] = cluster[i]
        given = &room
    cdef const char* buffer = packed
    with nogil:
        check(cupola_launch(kernel.native, &dimensions, given, buffer, queue.native))


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

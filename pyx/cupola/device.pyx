# cupola/device.pyx - devices, their properties, and the current device.
# cython: language_level=3
"""Devices."""

import operator

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_CPU_DEVICE, cupola_device_attribute,
    cupola_device_canonical, cupola_device_count, cupola_device_cpu, cupola_device_current,
    cupola_device_is_cpu, cupola_device_memory, cupola_device_name, cupola_device_pop,
    cupola_device_push, cupola_device_synchronize, cupola_driver_loaded, cupola_peer_enable,
    cupola_peer_possible,
)
from cupola._attribute_docs cimport document_attributes
from cupola.abi cimport require
from cupola.driver cimport ensure
from cupola.error cimport check

from cupola.exceptions import ArgumentTypeError, UnknownNameError
from cupola.core.registry import registered
from cupola.error import AFTER_WAIT

__all__ = ["Device", "devices", "memory_info"]

# CUdevice_attribute, as the driver's documentation numbers them.
cdef enum Attribute:
    MAX_THREADS_PER_BLOCK = 1
    MAX_BLOCK_DIM_X = 2
    MAX_BLOCK_DIM_Y = 3
    MAX_BLOCK_DIM_Z = 4
    MAX_GRID_DIM_X = 5
    MAX_GRID_DIM_Y = 6
    MAX_GRID_DIM_Z = 7
    MAX_SHARED_MEMORY_PER_BLOCK = 8
    WARP_SIZE = 10
    MULTIPROCESSOR_COUNT = 16
    COMPUTE_CAPABILITY_MAJOR = 75
    COMPUTE_CAPABILITY_MINOR = 76
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97


cpdef bint is_cpu(int device) except -1:
    """Whether it is a device of the CPU device, the process's driver or beside it."""
    cdef int answer = 0
    check(cupola_device_is_cpu(device, &answer))
    return answer


cdef bint is_same_driver(int device, int other) noexcept:
    return (device < CUPOLA_CPU_DEVICE) == (other < CUPOLA_CPU_DEVICE)


cdef str device_text(int device):
    if device < CUPOLA_CPU_DEVICE:
        return f"device {device}"
    return f"CPU device {device - CUPOLA_CPU_DEVICE}" if device > CUPOLA_CPU_DEVICE else (
        "the CPU device")


cdef Device known_device(int index):
    cdef Device device = Device.__new__(Device)
    device.index = index
    return device


cdef int device_index(object device) except -1:
    cdef int index
    if device is None:
        if cupola_driver_loaded():
            ensure()  # issues its warning once
            check(cupola_device_current(&index))
            return index
        with nogil:  # the call may load the driver
            check(cupola_device_current(&index))
        if cupola_driver_loaded():
            ensure()
        return index
    if isinstance(device, Device):
        return (<Device>device).index
    return (<Device>Device(device)).index


cdef class Device:
    """A device: ``Device(0)`` is the first device, ``Device()`` the current device.

    ``with Device(1):`` makes it this thread's current device, which functions use by default.
    Devices compare equal by index.

    ``Device("cpu")`` is the CPU device. It can be used beside a GPU, in one process, and loads no
    GPU library. Its index is then 64. Where CUPOLA_DRIVER chooses the CPU device, it is device 0.

    Parameters
    ----------
    index : int or "cpu", optional
        The driver's number of the device; by default the current device.

    Raises
    ------
    NotFoundError
        Where there is no such device.
    """

    def __init__(self, index=None):
        cdef int count
        if index is None or isinstance(index, Device):
            self.index = device_index(index)
            return
        given = index
        if isinstance(index, str) and index == "cpu":
            index = CUPOLA_CPU_DEVICE
        try:
            if isinstance(index, bool):
                raise TypeError
            index = operator.index(index)
        except TypeError:  # also of an array of several ints
            raise ArgumentTypeError(
                f"a device is given by its index, as 'cpu' or as a cupola.Device, got "
                f"{given!r}") from None
        if index == CUPOLA_CPU_DEVICE:
            with nogil:  # the call may load the CPU device
                check(cupola_device_cpu(&self.index))
            return
        ensure()
        check(cupola_device_count(&count))
        if not 0 <= index < count:
            remedy = (
                f"; with CUPOLA_CPU_DEVICES={index + 1} in the environment there are {index + 1}"
                if count <= index < 64 and count and is_cpu(0) else "")
            raise UnknownNameError(
                f"there is no device {index}: the driver has {count}, counted from 0{remedy}")
        check(cupola_device_canonical(index, &self.index))

    @property
    def name(self):
        """The driver's name of it."""
        cdef char name[256]
        name[0] = 0
        check(cupola_device_name(self.index, name, sizeof(name)))
        return (<bytes>name).decode("utf-8", "replace")

    def attribute(self, int number):
        """A ``CUdevice_attribute`` by its number in the driver's documentation."""
        cdef int value = 0
        check(cupola_device_attribute(self.index, number, &value))
        return value

    @property
    def compute_capability(self):
        """Major and minor number, as in (9, 0)."""
        return (
            self.attribute(COMPUTE_CAPABILITY_MAJOR), self.attribute(COMPUTE_CAPABILITY_MINOR))

    @property
    def multiprocessor_count(self):
        """How many multiprocessors it has."""
        return self.attribute(MULTIPROCESSOR_COUNT)

    @property
    def warp_size(self):
        """Threads of a warp."""
        return self.attribute(WARP_SIZE)

    @property
    def max_threads_per_block(self):
        """The maximum number of threads of a block."""
        return self.attribute(MAX_THREADS_PER_BLOCK)

    @property
    def max_block(self):
        """The largest block in x, y and z, in threads."""
        return (
            self.attribute(MAX_BLOCK_DIM_X), self.attribute(MAX_BLOCK_DIM_Y),
            self.attribute(MAX_BLOCK_DIM_Z))

    @property
    def max_grid(self):
        """The largest grid in x, y and z, in blocks."""
        return (
            self.attribute(MAX_GRID_DIM_X), self.attribute(MAX_GRID_DIM_Y),
            self.attribute(MAX_GRID_DIM_Z))

    @property
    def shared_bytes_per_block(self):
        """Maximum shared memory of a block without opt-in, in bytes."""
        return self.attribute(MAX_SHARED_MEMORY_PER_BLOCK)

    @property
    def memory(self):
        """`MemoryInfo`, a named tuple: `free` and `total` bytes."""
        from cupola.core.result_types import MemoryInfo
        cdef size_t free = 0, total = 0
        with nogil:
            check(cupola_device_memory(self.index, &free, &total))
        return MemoryInfo(free, total)

    @property
    def pool(self):
        """The `cupola.Pool` that its memory comes from."""
        return registered("Pool")(self)

    def can_access(self, peer):
        """Whether its kernels can be enabled to access another device's memory directly.

        Parameters
        ----------
        peer : Device or int
        """
        cdef int possible = 0
        check(cupola_peer_possible(self.index, device_index(peer), &possible))
        return possible != 0

    def enable_peer_access(self, peer):
        """Let its kernels access another device's memory directly, including pool memory.

        Copies between devices work without it, and are faster with it; a copy in a capture lets
        the stream's device access the other one's pool. The CPU device and a GPU can't access each
        other's memory.

        Parameters
        ----------
        peer : Device or int

        Raises
        ------
        ArgumentValueError
            Where the devices are of two drivers.
        DriverError
            Where access is not possible (see `can_access`).
        """
        check(cupola_peer_enable(self.index, device_index(peer), True))

    def disable_peer_access(self, peer):
        """Undo `enable_peer_access`."""
        check(cupola_peer_enable(self.index, device_index(peer), False))

    def synchronize(self):
        """Wait until everything queued on the device is done.

        Raises
        ------
        DriverError
            Where queued work failed.
        IndexError
            Where work of the device found an index out of range; see `take`.
        """
        with nogil:
            check(cupola_device_synchronize(self.index))
        if AFTER_WAIT[0] is not None:
            AFTER_WAIT[0](self.index)

    def __enter__(self):
        check(cupola_device_push(self.index))
        return self

    def __exit__(self, *exception):
        check(cupola_device_pop())

    def __eq__(self, other):
        if not isinstance(other, Device):
            return NotImplemented
        return self.index == (<Device>other).index

    def __hash__(self):
        return hash((Device, self.index))

    def __index__(self):
        return self.index

    def __repr__(self):
        index = "cpu" if self.index == CUPOLA_CPU_DEVICE else self.index
        return f"<cupola.Device {index}: {self.name}>"

    def __reduce__(self):
        return Device, (self.index,)


def devices():
    """All devices of the driver in use; not the CPU device beside it.

    Returns
    -------
    tuple of Device
    """
    cdef int count, first
    ensure()
    check(cupola_device_count(&count))
    check(cupola_device_canonical(0, &first))
    return tuple([known_device(first + number) for number in range(count)])


def memory_info(device=None):
    """A device's memory.

    Parameters
    ----------
    device : Device or int, optional
        By default the current one.

    Returns
    -------
    MemoryInfo
        A named tuple: `free` and `total` bytes.
    """
    return known_device(device_index(device)).memory


document_attributes(Device, {
    "index": "The index of the device, an int; 0 for the first one.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

# cupola/pool.pyx - the stream-ordered memory pool of a device.
# cython: language_level=3
"""Memory pools."""

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_pool_get, cupola_pool_info, cupola_pool_reset_high,
    cupola_pool_set_release_threshold, cupola_pool_trim,
)
from cupola._attribute_docs cimport document_attributes
from cupola.abi cimport require
from cupola.device cimport device_index, device_text, known_device
from cupola.error cimport check
from cupola.layout cimport as_int

from cupola.exceptions import ArgumentValueError

__all__ = ["Pool"]


cdef class Pool:
    """The stream-ordered pool of a device's arrays: ``device.pool``.

    Freed memory stays in it for later allocations. Unused memory above `release_threshold` is
    returned to the device at the next synchronization.

    Parameters
    ----------
    device : Device or int, optional
        By default the current one.

    Raises
    ------
    DriverError
        From each member where the driver has no pools.
    """

    cdef readonly int device_index

    def __init__(self, device=None):
        self.device_index = device_index(device)

    cdef cupola_pool_info info(self):
        cdef cupola_pool_info info
        check(cupola_pool_get(self.device_index, &info))
        return info

    @property
    def device(self):
        """The device that owns the memory."""
        return known_device(self.device_index)

    @property
    def used(self):
        """Bytes in use."""
        return self.info().used

    @property
    def used_high(self):
        """The maximum of `used` since the last `reset_high`, in bytes."""
        return self.info().used_high

    @property
    def reserved(self):
        """Bytes reserved on the device, in use or not."""
        return self.info().reserved

    @property
    def reserved_high(self):
        """The maximum of `reserved` since the last `reset_high`, in bytes."""
        return self.info().reserved_high

    @property
    def release_threshold(self):
        """Unused bytes that it keeps; can be set. By default a quarter of the device's memory."""
        return self.info().release_threshold

    @release_threshold.setter
    def release_threshold(self, nbytes):
        check(cupola_pool_set_release_threshold(self.device_index, as_bytes(nbytes)))

    def reset_high(self):
        """Reset `used_high` and `reserved_high` to the current values."""
        check(cupola_pool_reset_high(self.device_index))

    def trim(self, keep=0):
        """Return unused memory to the device until at most `keep` bytes are reserved.

        Memory is in use until its stream has reached the free.
        """
        cdef unsigned long long most = as_bytes(keep)
        with nogil:
            check(cupola_pool_trim(self.device_index, most))

    def __repr__(self):
        return f"<cupola.Pool of {device_text(self.device_index)}>"


cdef unsigned long long as_bytes(object nbytes) except? 0:
    nbytes = as_int("a number of bytes", nbytes)
    if not 0 <= nbytes < 1 << 64:
        raise ArgumentValueError(f"a number of bytes has 64 bits, got {nbytes}")
    return nbytes


document_attributes(Pool, {
    "device_index": "The index of the device, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

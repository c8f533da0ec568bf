# cupola/pool.pyx - the pool that a device's memory comes from.
# cython: language_level=3
"""Memory pools."""

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_pool_get, cupola_pool_info, cupola_pool_reset_high,
    cupola_pool_set_release_threshold, cupola_pool_trim,
)
from cupola.abi cimport require
from cupola.device cimport device_index, known_device
from cupola.error cimport check

from cupola.exceptions import ArgumentValueError


cdef class Pool:
    """The stream-ordered pool which a device's arrays come from: ``device.pool``.

    Memory that is freed stays in it for the next allocation. What lies unused above
    `release_threshold` goes back to the device when something is synchronised.

    Parameters
    ----------
    device : Device or int, optional
        By default the current one.

    Raises
    ------
    DriverError
        From each of its members, where the driver has no pools.
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
        """The device whose memory it is."""
        return known_device(self.device_index)

    @property
    def used(self):
        """Bytes that are handed out."""
        return self.info().used

    @property
    def used_high(self):
        """The most bytes that were handed out at once, since the last `reset_high`."""
        return self.info().used_high

    @property
    def reserved(self):
        """Bytes that it has taken from the device, handed out or not."""
        return self.info().reserved

    @property
    def reserved_high(self):
        """The most bytes that it had taken at once, since the last `reset_high`."""
        return self.info().reserved_high

    @property
    def release_threshold(self):
        """How many bytes it keeps; may be set. By default a quarter of the device's memory."""
        return self.info().release_threshold

    @release_threshold.setter
    def release_threshold(self, nbytes):
        check(cupola_pool_set_release_threshold(self.device_index, as_bytes(nbytes)))

    def reset_high(self):
        """Begin anew with `used_high` and `reserved_high`, at what is used and reserved now."""
        check(cupola_pool_reset_high(self.device_index))

    def trim(self, keep=0):
        """Give unused memory back to the device, until only `keep` bytes are reserved.

        Memory whose free has not been reached yet by its stream is in use still.
        """
        cdef unsigned long long most = as_bytes(keep)
        with nogil:
            check(cupola_pool_trim(self.device_index, most))

    def __repr__(self):
        return f"<cupola.Pool of device {self.device_index}>"


cdef unsigned long long as_bytes(object nbytes) except? 0:
    if not 0 <= nbytes.__index__() < 1 << 64:
        raise ArgumentValueError(f"a number of bytes has 64 bits, got {nbytes}")
    return nbytes


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

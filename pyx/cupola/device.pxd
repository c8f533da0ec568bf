# cupola/device.pxd - a device.

cdef class Device:
    cdef readonly int index

# The device of that index, without a check that it exists.
cdef Device known_device(int index)

# The index for a device= argument: a Device, an int, or None for the current device.
cdef int device_index(object device) except -1

# cupola/device.pxd - a device.

cdef class Device:
    cdef readonly int index

# The device of that index, without asking the driver whether there is one.
cdef Device known_device(int index)

# The index which a device= argument means: a Device, an int, or None for the current one.
cdef int device_index(object device) except -1

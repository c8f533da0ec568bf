# cupola/device.pxd - a device.

cdef class Device:
    cdef readonly int index

# The device of that index, without a check that it exists.
cdef Device known_device(int index)

# The index for a device= argument: a Device, an int, or None for the current device.
cdef int device_index(object device) except -1

# Whether the device is the CPU device, of the process's driver or beside it.
cpdef bint is_cpu(int device) except -1

# Whether both devices are of one driver.
cdef bint is_same_driver(int device, int other) noexcept

# "device 1", or "the CPU device" beside another driver.
cdef str device_text(int device)

# cupola/driver.pxd - the CUDA driver in use.

# Loads the driver where that has not happened yet, and gives its warning once.
cdef int ensure() except -1

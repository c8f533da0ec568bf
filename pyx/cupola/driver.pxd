# cupola/driver.pxd - the CUDA driver in use.

from cupola.abi cimport cupola_abi_1

# Loads the driver where that has not happened yet, and gives its warning once.
cdef int ensure() except -1

# cupola/error.pxd - a status of libcupola.so becomes an exception.

from cupola.abi cimport cupola_abi_1

# Returns 0 for success, else raises what this thread's last failure was.
cdef int check(int status) except -1 nogil

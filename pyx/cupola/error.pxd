# cupola/error.pxd - converts a status of libcupola.so to an exception.

# Raises this thread's last failure.
cdef int fail(int status) except -1 nogil

# Returns 0 for success, else raises.
cdef inline int check(int status) except -1 nogil:
    return 0 if status == 0 else fail(status)

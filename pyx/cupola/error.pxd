# cupola/error.pxd - a status of libcupola.so becomes an exception.

# Raises what this thread's last failure was.
cdef int fail(int status) except -1 nogil

# Returns 0 for success, else raises.
cdef inline int check(int status) except -1 nogil:
    return 0 if status == 0 else fail(status)

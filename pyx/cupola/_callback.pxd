# cupola/_callback.pxd - Python callables that the driver calls on threads of its own; internal.

# A callback as `data`: a new reference to a tuple of the callable and its arguments.
cdef void* hold_call(object function, tuple arguments) except NULL
# The C functions that call it and release it.
cdef void run_call(void* data) noexcept nogil
cdef void drop(void* data) noexcept nogil

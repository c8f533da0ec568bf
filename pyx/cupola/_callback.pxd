# cupola/_callback.pxd - Python callables that the driver calls on threads of its own; internal.

# One as `data`: a new reference to a tuple of the callable and its arguments.
cdef void* hold_call(object function, tuple arguments) except NULL
# What goes with it: calls it, and lets it go.
cdef void run_call(void* data) noexcept nogil
cdef void drop(void* data) noexcept nogil

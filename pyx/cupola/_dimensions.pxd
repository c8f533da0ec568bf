# cupola/_dimensions.pxd - converts grid and block from Python ints and tuples; internal.

from libc.stdint cimport uint32_t

from cupola._abi cimport cupola_attributes, cupola_dimensions

cdef str integer_text(object value)
cdef uint32_t read_number(
    str kernel, int device, str what, object value) except? 0xFFFFFFFF

# `fixed` is the block and the shared memory that the kernel was compiled for, or None: then a block
# of None or `fixed` stands for them.
cdef int read_dimensions(
    str kernel, int device, object grid, object block, object shared, object fixed,
    cupola_dimensions* out) except -1

# The attributes of a launch beside its dimensions: `out`, or NULL where there are none.
cdef cupola_attributes* read_attributes(
    str kernel, int device, object cluster, object cooperative, object dependent_launch,
    object priority, object carveout, cupola_attributes* out) except? NULL


# The edges of a block of at most `threads` threads for a grid of these numbers of threads.
cdef tuple block_shape(list sizes, int threads)

# A number of threads for Kernel.forall, which was given `given`.
cdef object read_threads(str title, object one, object given)
# Refuses ints alone: with a fixed block they may mean a grid of several axes.
cdef int require_unambiguous(str title, object fixed, tuple key) except -1

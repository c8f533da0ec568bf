# cupola/_dimensions.pyx - converts grid and block from Python ints and tuples.
# cython: language_level=3
#
# libcupola checks for zeros and the limits of device and kernel. Here are the checks of what its C
# ABI cannot express: negative values, more than 32 bits, non-integers, too many axes.

import operator
from math import prod

from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memset

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_CARVEOUT, CUPOLA_COOPERATIVE, CUPOLA_DEPENDENT,
    CUPOLA_PRIORITY,
)
from cupola.abi cimport require
from cupola.device cimport known_device

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1

cdef long long LARGEST = 0xFFFFFFFF
cdef int SHARED_OPTIN = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN


cdef str limit(int device, str what):
    """The device's limit, for messages."""
    if what.startswith("grid"):
        return f"this device takes at most {known_device(device).max_grid}"
    if what.startswith("block"):
        return f"this device takes at most {known_device(device).max_block}"
    if what.startswith("cluster"):
        return "every device with clusters takes 8 blocks"
    return f"a block of this device can have {known_device(device).attribute(SHARED_OPTIN)} bytes"


cdef str integer_text(object value):
    """An int for messages: Python refuses to print very long ones."""
    return str(value) if value.bit_length() <= 256 else f"{hex(value)[:20]}..."


cdef object read_int(str kernel, str what, object value):
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:  # also of an array of several ints
        raise ArgumentTypeError(
            f"{kernel}: {what} must be an int, got {value!r} of {type(value).__name__}"
        ) from None


cdef int32_t read_clamped(str kernel, str what, object value) except? -1:
    """The nearest int32, for values that libcupola or the driver checks or clamps."""
    return max(-(1 << 31), min(read_int(kernel, what, value), (1 << 31) - 1))


cdef uint32_t read_number(
    str kernel, int device, str what, object value
) except? 0xFFFFFFFF:
    cdef int overflow = 0
    cdef long long number
    if type(value) is not int:
        value = read_int(kernel, what, value)
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0 or number < 0 or number > LARGEST:
        raise ArgumentValueError(
            f"{kernel}: {what} is {integer_text(value)}, which is "
            + ("negative" if value < 0 else f"too large; {limit(device, what)}"))
    return <uint32_t>number


cdef int read_axes(str kernel, int device, str what, object value, uint32_t* axes) except -1:
    axes[1] = axes[2] = 1
    if isinstance(value, (tuple, list)):
        if not 1 <= len(value) <= 3:
            raise ArgumentValueError(
                f"{kernel}: {what} {value!r} has {len(value)} axes; it must be an int or 1 to 3")
        for i, axis in enumerate(value):
            axes[<int>i] = read_number(kernel, device, f"{what}, axis {i},", axis)
    else:
        axes[0] = read_number(kernel, device, what, value)
    return 0


cdef int read_dimensions(
    str kernel, int device, object grid, object block, object shared, object fixed,
    cupola_dimensions* out
) except -1:
    read_axes(kernel, device, "grid", grid, out.grid)
    if fixed is not None and (block is None or block is fixed):
        block = fixed.block
    read_axes(kernel, device, "block", block, out.block)
    out.shared = 0 if shared is None else read_number(kernel, device, "shared memory", shared)
    if fixed is not None:
        require_fixed(kernel, fixed, out)
    return 0


cdef int require_fixed(str kernel, object fixed, cupola_dimensions* out) except -1:
    """Refuse another block or another shared memory than the kernel was compiled for."""
    given = tuple([out.block[axis] for axis in range(3)])
    if given != fixed.block:
        raise ArgumentValueError(
            f"{kernel}: the block must be {fixed.block}, for which the kernel was compiled, got "
            f"{given}; leave it out: {kernel}[grid](...)")
    if out.shared not in (0, fixed.shared):
        raise ArgumentValueError(
            f"{kernel}: shared memory must be {fixed.shared} bytes, for which the kernel was "
            f"compiled, got {out.shared}; leave it out: {kernel}[grid](...)")
    out.shared = fixed.shared
    return 0


cdef cupola_attributes* read_attributes(
    str kernel, int device, object cluster, object cooperative, object dependent_launch,
    object priority, object carveout, cupola_attributes* out
) except? NULL:
    memset(out, 0, sizeof(cupola_attributes))
    if cluster is not None:
        read_axes(kernel, device, "cluster", cluster, out.cluster)
        # The C ABI writes zeros for None.
        if not (out.cluster[0] or out.cluster[1] or out.cluster[2]):
            raise ArgumentValueError(
                f"{kernel}: cluster {cluster!r} has only zero dimensions; each must be at least 1")
    if cooperative:
        out.flags |= CUPOLA_COOPERATIVE
    if dependent_launch:
        out.flags |= CUPOLA_DEPENDENT
    if priority is not None:
        out.flags |= CUPOLA_PRIORITY
        out.priority = read_clamped(kernel, "priority", priority)
    if carveout is not None:
        out.flags |= CUPOLA_CARVEOUT
        out.carveout = read_clamped(kernel, "the carve-out", carveout)
    return out if out.flags or cluster is not None else NULL


cdef int require_unambiguous(str title, object fixed, tuple key) except -1:
    """Refuse ints alone: with a fixed block they may mean a grid of several axes."""
    if len(key) < 4 and all([type(one) is int for one in key]):
        raise ArgumentTypeError(
            f"{title}{list(key)}: the block is fixed, {fixed.block}, so that only a grid is "
            f"named: write {title}[{key[0]}] for {key[0]} blocks, or {title}[{key},] "
            "for a grid of several axes")
    return 0


cdef object read_threads(str title, object one, object given):
    """A number of threads for `Kernel.forall`, which was given `given`."""
    if isinstance(one, bool) or not hasattr(one, "__index__"):
        raise ArgumentTypeError(
            f"{title}: forall takes an int, or a tuple of int, got {given!r}")
    one = one.__index__()
    if one < 0:
        raise ArgumentValueError(f"{title}: forall takes an n >= 0, got {given}")
    return one


cdef tuple block_shape(list sizes, int threads):
    """The edges are powers of two, and not longer than the axes need.

    Along x the block has up to a warp, then along the other axes as many threads as fit, then along
    x the rest: threads of a warp access neighbouring elements.
    """
    edges = [1] * len(sizes)
    for axis, longest in ((0, 32), (1, 1024), (2, 64), (0, 1024)):
        if axis < len(sizes):
            while edges[axis] < min(longest, sizes[axis]) and 2 * prod(edges) <= threads:
                edges[axis] *= 2
    return tuple(edges)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

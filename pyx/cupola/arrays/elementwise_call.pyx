# cupola/arrays/elementwise_call.pyx - elementwise operations, for Python's operators and ufuncs.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
#
# Common operands have fast paths: C-contiguous arrays of one type and shape, or such an array and a
# number. apply() handles all others.

from libc.stdint cimport int64_t, uint64_t

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_WOULD_WAIT
from cupola._elementwise cimport (
    CUPOLA_BOOL, CUPOLA_COMPLEX64, CUPOLA_ELEMENTS, CUPOLA_FLOAT16, CUPOLA_FLOAT64,
    cupola_elementwise, cupola_elementwise_flat, cupola_operand, cupola_scalar,
)
from cupola._send cimport forget_line, note_line
from cupola.abi cimport require
from cupola.array_data cimport ARRAY, ArrayData, is_freed, lay, new_array
from cupola.copy cimport compact, copy_on_device, overlap
from cupola.device cimport device_text
from cupola.error cimport check
from cupola.interface cimport foreign_array, is_foreign
from cupola.layout cimport MAX_AXES, broadcast, bytes_of
from cupola.memory cimport allocate
from cupola.arrays.promotion cimport (
    EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL, POSITIVE, POWER, RECIPROCAL, SQRT,
    SQUARE, WEAK_COMPLEX, WEAK_FLOAT, WEAK_INT, Plan, dtype_of, element_code, element_of,
    free_plan, letter_of, name_of, plan_of, plan_with, size_of,
)
from cupola.stream cimport Stream, current_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError


# -- results ----------------------------------------------------------------------------------


cdef ArrayData result_of(tuple shape, Py_ssize_t size, int element, int device, Stream queue):
    cdef type kind = ARRAY
    cdef ArrayData array = <ArrayData>kind.__new__(kind)
    array.element = element
    array.itemsize = size_of(element)
    array.size = size
    array.nbytes = size * array.itemsize
    array.shape = shape
    array.dtype = dtype_of(element)
    array.kind = letter_of(element)
    array.device_index = device
    array.contiguous = array.direct = True
    array.live = True
    array.memory = allocate(device, array.nbytes, queue)
    array.start = array.memory.address
    return array


cdef inline int use(ArrayData x, Stream queue) except -1:
    if x.memory is None or x.memory.stream.native != queue.native:
        x.used_on(queue)
    return 0


cdef int run_flat(
    const Plan* plan, ArrayData out, uint64_t x, uint64_t y, const cupola_scalar* scalar,
    Stream queue
) except -1:
    cdef int operation = plan.operation, element = plan.element, status
    cdef uint64_t to = out.start
    cdef size_t count = out.size
    status = cupola_elementwise_flat(
        operation, element, to, x, y, scalar, count, queue.native, True)
    if status == CUPOLA_WOULD_WAIT:
        note_line()
        with nogil:
            status = cupola_elementwise_flat(
                operation, element, to, x, y, scalar, count, queue.native, False)
        forget_line()
    return check(status)


# -- scalars ----------------------------------------------------------------------------------


cdef object GENERIC = np.generic
cdef object NDARRAY = np.ndarray
cdef dict SCALARS = {
    dtype_of(_element).type: _element for _element in range(CUPOLA_BOOL, CUPOLA_ELEMENTS)}


cdef int kind_of_scalar(object value):
    """A code of promotion.pxd; 0 where it is not a number."""
    if type(value) is float:
        return WEAK_FLOAT
    if type(value) is int:
        return WEAK_INT
    if type(value) is bool:
        return CUPOLA_BOOL
    if type(value) is complex:
        return WEAK_COMPLEX
    code = SCALARS.get(type(value))
    if code is not None:
        return code
    if isinstance(value, GENERIC):
        return element_of(value.dtype)
    # As in NumPy, only Python's own number types are weak, not subclasses.
    return element_of(np.asarray(value).dtype) if isinstance(value, (int, float, complex)) else 0


cdef int put_scalar(cupola_scalar* scalar, object value, int element) except -1:
    """Returns 1 where an integer is below the type's range, 2 above it, else 0."""
    cdef complex number
    if CUPOLA_FLOAT16 <= element <= CUPOLA_FLOAT64:
        scalar.parts[0] = value
        return 0
    if element >= CUPOLA_COMPLEX64:
        number = value
        scalar.parts[0], scalar.parts[1] = number.real, number.imag
        return 0
    if element == CUPOLA_BOOL:
        scalar.integer = bool(value)
        return 0
    value = value.__index__() if hasattr(value, "__index__") else int(bool(value))
    bits = 8 * size_of(element)
    unsigned = dtype_of(element).kind == "u"
    if value < (0 if unsigned else -1 << (bits - 1)):
        return 1
    if value >> (bits if unsigned else bits - 1) > 0:
        return 2
    scalar.integer = value if value < 1 << 63 else value - (1 << 64)
    return 0


cdef bint is_comparison(int number) noexcept:
    return (
        number == EQUAL or number == NOT_EQUAL or number == LESS or number == LESS_EQUAL
        or number == GREATER or number == GREATER_EQUAL)


cdef object compare_out_of_range(int number, object value, int element, int side, bint first):
    """The result of comparing any element with an integer outside of its type's range."""
    if not is_comparison(number):
        raise OverflowError(
            f"Python integer {value} out of bounds for {dtype_of(element)}")
    there, here = (1 if side == 2 else -1), 0
    if first:
        there, here = here, there
    if number == EQUAL:
        return False
    if number == NOT_EQUAL:
        return True
    if number == LESS or number == LESS_EQUAL:
        return here < there
    return here > there


# -- fast paths ------------------------------------------------------------------------------


cdef inline bint is_same(tuple one, tuple other) except -1:
    """Whether two shapes are equal; small ints are shared objects."""
    cdef Py_ssize_t axis, ndim = len(one)
    if one is other:
        return True
    if len(other) != ndim:
        return False
    for axis in range(ndim):
        if one[axis] is not other[axis] and <Py_ssize_t>one[axis] != <Py_ssize_t>other[axis]:
            return False
    return True


cdef inline bint is_plain(ArrayData x) noexcept:
    return (
        x.contiguous and x.element != 0 and not x.start & (x.itemsize - 1) and not is_freed(x))


cdef inline bint is_aside(ArrayData x, ArrayData out) noexcept:
    """Whether no element is overwritten before it was read."""
    return (
        x.start + x.nbytes <= out.start or out.start + out.nbytes <= x.start
        or (x.start == out.start and x.itemsize == out.itemsize))


cdef inline bint takes(ArrayData out, ArrayData x, int result) except -1:
    return (
        is_plain(out) and out.element == result and not out.readonly and is_aside(x, out)
        and out.device_index == x.device_index
        and is_same(out.shape, x.shape))


cdef ArrayData run(
    const Plan* plan, ArrayData x, ArrayData y, const cupola_scalar* scalar, bint scalar_first,
    ArrayData out
):
    cdef Stream queue = current_stream(x.device_index)
    cdef uint64_t first = x.start, second = 0
    if out is None:
        out = result_of(x.shape, x.size, plan.result, x.device_index, queue)
    else:
        use(out, queue)
    use(x, queue)
    if y is not None:
        second = y.start
        use(y, queue)
    elif scalar_first:
        first, second = 0, first
    run_flat(plan, out, first, second, scalar, queue)
    return out


cdef object binary_to(int number, object left, object right, ArrayData out):
    """Compute into `out`, or a new array where it is None."""
    cdef ArrayData x, y
    cdef const Plan* plan
    if type(left) is ARRAY:
        if type(right) is not ARRAY:
            return with_scalar(number, <ArrayData>left, right, False, out)
        x, y = <ArrayData>left, <ArrayData>right
        if (
            is_plain(x) and is_plain(y) and x.element == y.element
            and x.device_index == y.device_index
            and is_same(x.shape, y.shape)
        ):
            plan = plan_of(number, x.element, y.element)
            if plan.element == x.element and plan.flat and (
                out is None or (takes(out, x, plan.result) and is_aside(y, out))
            ):
                return run(plan, x, y, NULL, False, out)
    elif type(right) is ARRAY:
        return with_scalar(number, <ArrayData>right, left, True, out)
    return apply(number, left, right, out, None)


cdef object with_scalar(int number, ArrayData x, object value, bint first, ArrayData out):
    cdef int kind
    cdef const Plan* plan
    cdef cupola_scalar scalar
    if is_plain(x):
        kind = kind_of_scalar(value)
        if kind:
            plan = plan_of(number, kind if first else x.element, x.element if first else kind)
            if plan.element == x.element and plan.flat and (
                out is None or takes(out, x, plan.result)
            ):
                if plan.truth:
                    value = bool(value)
                if not is_refused(number, plan, value, first) and (
                    put_scalar(&scalar, value, plan.element) == 0
                ):
                    return run(plan, x, None, &scalar, first, out)
    return apply(number, value, x, out, None) if first else apply(number, x, value, out, None)


cdef object unary_to(int number, ArrayData x, ArrayData out):
    cdef const Plan* plan
    if is_plain(x):
        plan = plan_of(number, x.element, 0)
        if plan.element == x.element and plan.flat and (
            out is None or takes(out, x, plan.result)
        ):
            return run(plan, x, None, NULL, False, out)
    return apply(number, x, ABSENT, out, None)


cdef object binary(int number, object left, object right):
    return binary_to(number, left, right, None)


cdef object inplace(int number, object left, object right):
    return binary_to(number, left, right, <ArrayData>left)


cdef object unary(int number, object x):
    return unary_to(number, <ArrayData>x, None)


cdef inline bint is_refused(int number, const Plan* plan, object value, bint first) except -1:
    """Whether it is an integer to a negative power, where the exponent is known here."""
    return number == POWER and not first and plan.element < CUPOLA_FLOAT16 and value < 0


cdef object power(object base, object exponent):
    cdef ArrayData x = base
    # As in NumPy, these exponents are separate operations, which round once.
    if type(exponent) is int or type(exponent) is float:
        if exponent == 2:
            if type(exponent) is int or x.kind in b"fc":
                return unary(SQUARE, x)
        elif x.kind == c"f":
            if exponent == 0.5:
                return unary(SQRT, x)
            if exponent == -1:
                return unary(RECIPROCAL, x)
    return binary(POWER, x, exponent)


# -- general path -------------------------------------------------------------------------------


cdef object ABSENT = object()  # no second operand; None would be an invalid operand


cdef object operand_of(object value):
    """An array, a number, or NotImplemented."""
    if isinstance(value, ArrayData):
        (<ArrayData>value).require_live()
        return value
    if isinstance(value, NDARRAY):
        if value.ndim == 0:
            return operand_of(value[()])
        raise ArgumentTypeError(
            f"a numpy.ndarray of shape {value.shape} is in host memory, and is not copied to a "
            "device implicitly: use cupola.to_device(it), or get() to compute on the host")
    if kind_of_scalar(value):
        return value
    return foreign_array(value) if is_foreign(value) else NotImplemented


cdef object apply(int number, object left, object right, object out, object dtype):
    """Compute with any operands; `right` is ABSENT for unary operations."""
    cdef const Plan* plan
    cdef Plan* own = NULL
    cdef int first, second = 0
    left = operand_of(left)
    if left is NotImplemented:
        return NotImplemented
    first = element_code(<ArrayData>left) if isinstance(left, ArrayData) else kind_of_scalar(left)
    if right is not ABSENT:
        other = operand_of(right)
        if other is NotImplemented:
            if (number == EQUAL or number == NOT_EQUAL) and isinstance(right, (list, tuple)):
                # Python would compare identities, without an error.
                raise ArgumentTypeError(
                    f"a {type(right).__name__} is not copied to a device implicitly: use "
                    "cupola.to_device(it), or get() to compute on the host")
            return NotImplemented
        right = other
        if isinstance(right, ArrayData):
            second = element_code(<ArrayData>right)
        else:
            second = kind_of_scalar(right)
    if not isinstance(left, ArrayData) and not isinstance(right, ArrayData):
        raise ArgumentTypeError(
            f"out is an array on a device, but no operand of {name_of(number)} is; "
            "compute on the host and use out.set()")
    if dtype is not None:
        own = plan_with(number, first, second, dtype)
        plan = own
    else:
        plan = plan_of(number, first, second)
    try:
        return planned(plan, number, left, right, out)
    finally:
        free_plan(own)


cdef object planned(const Plan* plan, int number, object left, object right, object out):
    cdef cupola_scalar scalar
    cdef ArrayData x = left if isinstance(left, ArrayData) else None
    cdef ArrayData y = right if isinstance(right, ArrayData) else None
    cdef ArrayData target, made
    cdef Stream queue
    cdef int side = 0, device = (x if x is not None else y).device_index
    if x is not None and y is not None and y.device_index != device:
        raise ArgumentValueError(
            f"the operands are on {device_text(device)} and {device_text(y.device_index)}; "
            "cupola.to_device(array, device=...) copies one of them")
    queue = current_stream(device)
    target = target_of(plan, x, y, out, queue)
    scalar.parts[0] = scalar.parts[1] = 0
    if x is None or (y is None and right is not ABSENT):
        value = left if x is None else right
        if is_refused(number, plan, value, x is None):
            raise ArgumentValueError("integers to negative integer powers are not allowed")
        if plan.truth:
            value = bool(value)
        side = put_scalar(&scalar, value, plan.element)
        if side:
            target.fill(compare_out_of_range(number, value, plan.element, side, x is None))
            return target
    if plan.function:
        return run_function(plan, target, x, y, &scalar, queue)
    if out is not None and size_of(plan.result) < 4 and element_code(target) != plan.result:
        # A result of a wider type is wrapped or rounded to its own type before the cast.
        made = shaped_like(target, dtype_of(plan.result), queue)
        run_any(plan.operation, plan.element, made, x, y, &scalar, queue, True)
        convert(made, target, queue, False)
        return target
    run_any(plan.operation, plan.element, target, x, y, &scalar, queue, out is None)
    return target


cdef ArrayData run_function(
    const Plan* plan, ArrayData target, ArrayData x, ArrayData y, const cupola_scalar* scalar,
    Stream queue
):
    """Compute with casts of operands before and of the result after."""
    cdef ArrayData made = target
    if x is not None and x.element != plan.element:
        x = cast(x, dtype_of(plan.element), queue)
    if y is not None and y.element != plan.element:
        y = cast(y, dtype_of(plan.element), queue)
    if element_code(target) != plan.result:
        made = shaped_like(target, dtype_of(plan.result), queue)
    run_any(plan.operation, plan.element, made, x, y, scalar, queue, made is not target)
    if made is not target:
        convert(made, target, queue, False)
    return target


cdef ArrayData target_of(const Plan* plan, ArrayData x, ArrayData y, object out, Stream queue):
    """The array for the result: `out`, after checks, or a new array."""
    cdef tuple shape = joint_shape(x, y)
    cdef ArrayData like = y if x is None else x, target
    cdef Py_ssize_t size = 1
    result = dtype_of(plan.result)
    if out is None:
        # Keep the memory order of axes where all operands have the same order.
        if len(shape) > 1 and not like.contiguous and (
            x is None or y is None or (x.shape == y.shape and x.get_strides() == y.get_strides())
        ):
            return shaped_like(like, result, queue)
        for length in shape:
            size *= length
        bytes_of(shape, size_of(plan.result))  # raises where the result is too large
        return result_of(shape, size, plan.result, queue.device_index, queue)
    if not isinstance(out, ArrayData):
        raise ArgumentTypeError(
            f"out must be a cupola.Array where an operand is one, got {type(out).__name__}")
    target = out
    target.require_writable()
    if target.device_index != queue.device_index:
        raise ArgumentValueError(
            f"out is on {device_text(target.device_index)}, the operands are on "
            f"{device_text(queue.device_index)}")
    element_code(target)
    if target.shape != shape:
        broadcast(shape, (0,) * len(shape), target.shape)  # raises where it doesn't fit
    if not np.can_cast(result, target.dtype, "same_kind"):
        raise ArgumentTypeError(
            f"results of {result} can't be stored in {target.dtype}: the cast is not of "
            "the same kind; use astype() to convert them")
    return target


cdef tuple joint_shape(ArrayData x, ArrayData y):
    cdef Py_ssize_t new, axis
    cdef tuple long, short
    cdef list joint
    if x is None or y is None:
        return (y if x is None else x).shape
    if x.shape == y.shape:
        return x.shape
    long, short = x.shape, y.shape
    if len(long) < len(short):
        long, short = short, long
    new = len(long) - len(short)
    joint = list(long)
    for axis in range(len(short)):
        if joint[new + axis] == 1:
            joint[new + axis] = short[axis]
        elif short[axis] != 1 and short[axis] != joint[new + axis]:
            raise ArgumentValueError(
                f"operands of shapes {x.shape} and {y.shape} can't be broadcast together")
    return tuple(joint)


cdef ArrayData shaped_like(ArrayData like, object dtype, Stream queue):
    """A new array of the same shape and memory order, of another type."""
    cdef ArrayData made = new_array(like.shape, dtype, queue.device_index, queue)
    cdef Py_ssize_t axis, step
    if like.contiguous:
        return made
    strides = like.get_strides()
    order = sorted(
        range(len(like.shape)), key=lambda axis: (-abs(strides[axis]), axis))
    steps = [0] * len(order)
    step = made.itemsize
    for axis in reversed(order):
        steps[axis] = step
        step *= like.shape[axis] or 1
    return lay(
        like.shape, tuple(steps), dtype, made.memory, None, made.start, made.device_index)


cdef ArrayData copy_if_overlapping(ArrayData x, ArrayData target, Stream queue):
    """The operand, or a copy where it would be overwritten before it was read."""
    if x is None or not overlap(x, target):
        return x
    if x.start == target.start and x.itemsize == target.itemsize and (
        x.shape == target.shape and x.get_strides() == target.get_strides()
    ):
        return x
    return compact(x, "C", queue)


cdef bint is_aligned(ArrayData x) except -1:
    """Whether each element is aligned to its size, as device loads and stores require."""
    cdef uint64_t all = x.start
    if x.steps is not None:
        for step in x.steps:
            all |= <uint64_t><int64_t>step
    return not all & <uint64_t>(x.itemsize - 1)


cdef ArrayData aligned(ArrayData x, Stream queue):
    return x if x is None or is_aligned(x) else compact(x, "C", queue)


cdef struct Layout:
    int64_t shape[MAX_AXES]
    int64_t out[MAX_AXES]
    int64_t x[MAX_AXES]
    int64_t y[MAX_AXES]


cdef int lay_out(cupola_operand* operand, int64_t* strides, ArrayData array, tuple shape) except -1:
    """Set its strides, in bytes, for a shape that it broadcasts to."""
    cdef Py_ssize_t new, axis
    cdef int64_t step
    operand.address = 0
    operand.element = 0
    operand.strides = strides
    if array is None:
        return 0
    operand.address = array.start
    operand.element = element_code(array)
    new = len(shape) - len(array.shape)
    if array.steps is None:
        step = array.itemsize
        for axis in range(len(array.shape) - 1, -1, -1):
            strides[new + axis] = step
            step *= <Py_ssize_t>array.shape[axis]
    else:
        for axis in range(len(array.shape)):
            strides[new + axis] = array.steps[axis]
    for axis in range(new):
        strides[axis] = 0
    if array.shape != shape:
        for axis in range(len(array.shape)):
            if array.shape[axis] == 1:
                strides[new + axis] = 0
    return 0


cdef int run_any(
    int operation, int element, ArrayData target, ArrayData x, ArrayData y,
    const cupola_scalar* scalar, Stream queue, bint fresh
) except -1:
    """All operands broadcast to the target's shape; `fresh`: no operand shares its memory."""
    cdef Layout layout
    cdef ArrayData aside
    cdef cupola_operand out, first, second
    cdef int ndim = <int>len(target.shape), axis, status
    if target.size == 0:
        return 0
    if not fresh:
        x, y = copy_if_overlapping(x, target, queue), copy_if_overlapping(y, target, queue)
    x, y = aligned(x, queue), aligned(y, queue)
    if not is_aligned(target):
        aside = shaped_like(target, target.dtype, queue)
        run_any(operation, element, aside, x, y, scalar, queue, True)
        return copy_on_device(target, aside, queue)
    for axis in range(ndim):
        layout.shape[axis] = target.shape[axis]
    lay_out(&out, layout.out, target, target.shape)
    lay_out(&first, layout.x, x, target.shape)
    lay_out(&second, layout.y, y, target.shape)
    # Before the launches, since one of several may fail.
    use(target, queue)
    if x is not None:
        use(x, queue)
    if y is not None:
        use(y, queue)
    note_line()
    with nogil:
        status = cupola_elementwise(
            operation, element, &out, &first, &second, scalar, layout.shape, ndim, queue.native)
    forget_line()
    return check(status)


cdef ArrayData cast(ArrayData source, object dtype, Stream queue):
    cdef ArrayData made
    source.require_live()
    element_code(source)
    if not element_of(dtype):
        raise ArgumentTypeError(f"elements can't be cast to {dtype} on a device")
    if source.contiguous:
        made = result_of(
            source.shape, source.size, element_of(dtype), source.device_index, queue)
    else:
        made = shaped_like(source, dtype, queue)
    convert(source, made, queue, True)
    return made


cdef int convert(ArrayData source, ArrayData target, Stream queue, bint fresh) except -1:
    """Convert each element of an array into another array, of any type and the same shape."""
    cdef cupola_scalar zero
    cdef const Plan* plan
    cdef int origin = element_code(source), element = element_code(target)
    zero.parts[0] = zero.parts[1] = 0
    if element == CUPOLA_BOOL:
        plan = plan_of(NOT_EQUAL, origin, origin)
        return run_any(plan.operation, origin, target, source, None, &zero, queue, fresh)
    if element == CUPOLA_FLOAT16 and size_of(origin) >= 8 and origin >= CUPOLA_FLOAT16:
        element = CUPOLA_FLOAT64  # rounds once
    plan = plan_of(POSITIVE, CUPOLA_FLOAT64, 0)
    return run_any(plan.operation, element, target, source, None, &zero, queue, fresh)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

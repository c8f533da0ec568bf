# cupola/arrays/reduce.pyx - axes, types and outputs of reductions.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False

from libc.stdint cimport int64_t, uint64_t

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_WOULD_WAIT
from cupola._elementwise cimport CUPOLA_BOOL, CUPOLA_INT64, cupola_operand
from cupola._reduce cimport (
    CUPOLA_ALL, CUPOLA_ANY, CUPOLA_DOT, CUPOLA_INDEX_OF_MAXIMUM, CUPOLA_INDEX_OF_MINIMUM,
    CUPOLA_MAXIMUM, CUPOLA_MEAN, CUPOLA_MINIMUM, CUPOLA_PRODUCT, CUPOLA_SUM, cupola_reduce,
)
from cupola._send cimport forget_line, note_line
from cupola.abi cimport require
from cupola.array_data cimport ArrayData, new_array
from cupola.copy cimport compact, copy_on_device, overlap
from cupola.arrays.elementwise_call cimport aligned, binary, cast, is_aligned, result_of
from cupola.device cimport device_text
from cupola.element cimport native_dtype
from cupola.error cimport check
from cupola.interface cimport foreign_array, is_foreign
from cupola.layout cimport MAX_AXES, as_dtype
from cupola.arrays.promotion cimport MULTIPLY, dtype_of, element_code, element_of
from cupola.stream cimport Stream, current_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

cdef enum:
    ELEMENTS = 15
    AXES_OF_AN_INDEX = 8

cdef list UFUNCS = [
    np.add, np.multiply, np.minimum, np.maximum, np.logical_or, np.logical_and]
cdef list NAMES = ["sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax", "dot"]
cdef dict REDUCTIONS = {ufunc: number for number, ufunc in enumerate(UFUNCS)}
cdef tuple EMPTY = ()
# The default result type of a reduction of a type; 0: not looked up yet.
cdef int[10][ELEMENTS] RESULTS


# -- types ------------------------------------------------------------------------------------


cdef inline bint is_index(int reduction) noexcept:
    return reduction == CUPOLA_INDEX_OF_MINIMUM or reduction == CUPOLA_INDEX_OF_MAXIMUM


cdef int element_of_result(int reduction, int element) except -1:
    """The default result type, which is also the computed type."""
    if RESULTS[reduction][element] == 0:
        RESULTS[reduction][element] = resolved(reduction, dtype_of(element), None, None)
    return RESULTS[reduction][element]


# NumPy's common type of two types; 0: not looked up yet.
cdef int[ELEMENTS][ELEMENTS] COMMON


cdef int common_of(int first, int second) except -1:
    if COMMON[first][second] == 0:
        COMMON[first][second] = element_of(np.result_type(dtype_of(first), dtype_of(second)))
    return COMMON[first][second]


cdef int resolved(int reduction, object kind, object dtype, object out) except -1:
    """The computed type by NumPy's rules, for elements of `kind` and an output of type `out`."""
    if is_index(reduction):
        return CUPOLA_INT64
    if dtype is not None:
        dtype = native_dtype(dtype)
    if reduction == CUPOLA_MEAN:
        if dtype is None:
            result = np.dtype(np.float64) if kind.kind in "biu" else kind
        elif dtype.kind in "fc" or element_of(dtype) == 0:
            result = dtype
        else:
            raise ArgumentTypeError(f"a mean needs a float or complex dtype, got {dtype}")
    else:
        wanted = {} if dtype is None else {"signature": (dtype, None, None)}
        # Raises as NumPy does. Elements may be cast to any requested type.
        result = UFUNCS[reduction].resolve_dtypes(
            (out, kind, None), reduction=True, casting="unsafe", **wanted)[2]
    if element_of(result) == 0:
        raise ArgumentTypeError(
            f"{NAMES[reduction]} of {kind} gives {result}, for which cupola has no kernel")
    return element_of(result)


cdef int of_truth(int reduction):
    """The corresponding reduction of truth values."""
    if reduction == CUPOLA_SUM or reduction == CUPOLA_MAXIMUM:
        return CUPOLA_ANY
    if reduction == CUPOLA_PRODUCT or reduction == CUPOLA_MINIMUM:
        return CUPOLA_ALL
    return reduction


# -- axes -------------------------------------------------------------------------------------


cdef uint64_t axes_of(object axis, Py_ssize_t ndim, int reduction) except? 0:
    """A bit for each axis that is reduced."""
    cdef uint64_t mask = 0
    cdef Py_ssize_t place
    if axis is None:
        return (<uint64_t>1 << ndim) - 1 if ndim < 64 else ~<uint64_t>0
    if type(axis) is int and -ndim <= axis < ndim:
        place = axis
        return <uint64_t>1 << (place + ndim if place < 0 else place)
    if is_index(reduction) and isinstance(axis, tuple):
        raise ArgumentTypeError(f"argmin and argmax take one axis or None, got {axis!r}")
    for each in axis if isinstance(axis, tuple) else (axis,):
        if not hasattr(each, "__index__"):
            raise ArgumentTypeError(
                f"an axis is an int, a tuple of ints or None, got {axis!r}")
        each = each.__index__()
        if ndim == 0 and not isinstance(axis, tuple) and -1 <= each <= 0 and (
            reduction != CUPOLA_MEAN
        ):
            return 0  # as in NumPy, whose mean alone refuses such an axis
        if not -ndim <= each < ndim:
            raise ArgumentValueError(
                f"axis {each} is out of bounds for an array of {ndim} axes")
        place = each % ndim
        if mask >> place & 1:
            raise ArgumentValueError(f"axis {place} stands twice in {axis!r}")
        mask |= <uint64_t>1 << place
    return mask


cdef tuple shape_of(tuple shape, uint64_t axes, bint keep):
    cdef Py_ssize_t i
    cdef list lengths = []
    for i in range(len(shape)):
        if not axes >> i & 1:
            lengths.append(shape[i])
        elif keep:
            lengths.append(1)
    return tuple(lengths)


# -- reductions -------------------------------------------------------------------------------


cdef struct Layout:
    int64_t shape[MAX_AXES]
    int64_t out[MAX_AXES]
    int64_t x[MAX_AXES]
    int64_t y[MAX_AXES]


cdef int run(
    int reduction, int element, const cupola_operand* out, const cupola_operand* x,
    const cupola_operand* y, const int64_t* shape, int ndim, uint64_t axes, Stream queue
) except -1:
    cdef int status = cupola_reduce(
        reduction, element, out, x, y, shape, ndim, axes, queue.native, True)
    if status == CUPOLA_WOULD_WAIT:
        note_line()
        with nogil:
            status = cupola_reduce(
                reduction, element, out, x, y, shape, ndim, axes, queue.native, False)
        forget_line()
    return check(status)


cdef object reduce(
    int reduction, object array, object axis, object dtype, object out, object keepdims,
    object initial, object where
):
    cdef ArrayData x = array, target
    cdef int element, result
    cdef uint64_t axes
    cdef tuple shape
    cdef Stream queue
    cdef cupola_operand to, source
    cdef int64_t length, step
    cdef Py_ssize_t place
    x.require_live()
    if initial is not None or where is not True:
        raise ArgumentTypeError(
            f"{NAMES[reduction]}: initial= and where= are not supported; copy the array "
            "with get()")
    element_code(x)
    if axis is None and dtype is None and out is None and not keepdims and x.contiguous and (
        x.size > 0 and not x.start & (x.itemsize - 1)
    ):
        # The fast path: all elements, in memory order.
        result = element_of_result(reduction, x.element)
        queue = current_stream(x.device_index)
        target = result_of(EMPTY, 1, result, x.device_index, queue)
        length, step = x.size, x.itemsize
        to.address, to.element, to.strides = target.start, result, &step
        source.address, source.element, source.strides = x.start, x.element, &step
        element = x.element if is_index(reduction) else result
        if result == CUPOLA_BOOL:
            reduction, element = of_truth(reduction), x.element
        x.used_on(queue)
        run(reduction, element, &to, &source, NULL, &length, 1, 1, queue)
        return target
    axes = axes_of(axis, len(x.shape), reduction)
    if out is not None:
        if isinstance(out, tuple) and len(out) == 1:
            out = out[0]
        if not isinstance(out, ArrayData):
            raise ArgumentTypeError(
                f"out must be a cupola.Array, got {type(out).__name__}")
        element_code(<ArrayData>out)
    if dtype is None and out is None:
        result = element_of_result(reduction, x.element)
    else:
        result = resolved(
            reduction, x.dtype, None if dtype is None else as_dtype(dtype),
            (<ArrayData>out).dtype if out is not None and reduction <= CUPOLA_PRODUCT else None)
    if x.size == 0 and (
        reduction == CUPOLA_MINIMUM or reduction == CUPOLA_MAXIMUM or is_index(reduction)
    ):
        for place in range(len(x.shape)):
            if axes >> place & 1 and x.shape[place] == 0:  # even without results
                raise ArgumentValueError(f"{NAMES[reduction]} of no elements is not defined")
    shape = shape_of(x.shape, axes, bool(keepdims))
    queue = current_stream(x.device_index)
    target = target_of(reduction, shape, result, out, queue)
    if target.size == 0:
        return target
    if x.size == 0:
        return fill_empty(reduction, target, queue)
    return reduce_into(reduction, target, x, result, axes, out is None, queue)


cdef ArrayData target_of(int reduction, tuple shape, int result, object out, Stream queue):
    """The checked `out`, or a new array."""
    cdef ArrayData target
    if out is None and not shape:
        return result_of(EMPTY, 1, result, queue.device_index, queue)
    if out is None:
        target = new_array(shape, dtype_of(result), queue.device_index, queue)
        target.element = result
        return target
    target = out
    target.require_writable()
    if target.device_index != queue.device_index:
        raise ArgumentValueError(
            f"out is on {device_text(target.device_index)}, the array is on "
            f"{device_text(queue.device_index)}")
    if target.shape != shape:
        raise ArgumentValueError(f"out has shape {target.shape}, the result {shape}")
    if is_index(reduction) and target.element != CUPOLA_INT64:
        raise ArgumentTypeError(f"out must be of int64 for indices, got {target.dtype}")
    if reduction == CUPOLA_DOT and target.element != result:
        raise ArgumentTypeError(
            f"out must have the type of the products, {dtype_of(result)}, not "
            f"{target.dtype}")
    if not np.can_cast(dtype_of(result), target.dtype, "same_kind"):
        raise ArgumentTypeError(
            f"results of {dtype_of(result)} can't be stored in {target.dtype}: the cast is "
            "not of the same kind")
    return target


cdef ArrayData fill_empty(int reduction, ArrayData target, Stream queue):
    """Fill in the result of a reduction of no elements, where it is defined."""
    if reduction == CUPOLA_MEAN:
        nan = float("nan")
        target.fill(complex(nan, nan) if target.kind == c"c" else nan, queue)
    else:
        target.fill(
            np.array(reduction == CUPOLA_PRODUCT or reduction == CUPOLA_ALL, target.dtype), queue)
    return target


cdef ArrayData reduce_into(
    int reduction, ArrayData target, ArrayData x, int result, uint64_t axes, bint fresh,
    Stream queue
):
    """The target has the result type; `fresh`: no operand shares its memory."""
    cdef Layout layout
    cdef cupola_operand to, source
    cdef ArrayData made = target
    cdef int element = result, ndim = <int>len(x.shape), axis, place = 0
    cdef bint kept_all = len(target.shape) == ndim
    cdef tuple steps
    if is_index(reduction):
        element = x.element
        if ndim > AXES_OF_AN_INDEX and not x.contiguous:
            x = compact(x, "C", queue)
    elif result == CUPOLA_BOOL:
        reduction, element = of_truth(reduction), x.element
    x = aligned(x, queue)
    element_code(x)
    if not fresh and (
        overlap(x, target) or element_code(target) != result or not is_aligned(target)
    ):
        made = new_array(target.shape, dtype_of(result), queue.device_index, queue)
    steps = x.get_strides()
    for axis in range(ndim):
        layout.shape[axis] = x.shape[axis]
        layout.x[axis] = steps[axis]
    steps = made.get_strides()
    for axis in range(ndim):
        layout.out[axis] = 0
        if kept_all:
            layout.out[axis] = steps[axis]
        elif not axes >> axis & 1:
            layout.out[axis] = steps[place]
            place += 1
    to.address, to.element, to.strides = made.start, element_code(made), layout.out
    source.address, source.element, source.strides = x.start, x.element, layout.x
    # Before the launches, since one of several may fail.
    x.used_on(queue)
    made.used_on(queue)
    run(reduction, element, &to, &source, NULL, layout.shape, ndim, axes, queue)
    if made is not target:
        if target.element != result:
            made = cast(made, target.dtype, queue)
        copy_on_device(target, made, queue)
    return target


# -- products ---------------------------------------------------------------------------------


cdef object factor_of(object value):
    """An array, or a number unchanged."""
    if isinstance(value, ArrayData):
        (<ArrayData>value).require_live()
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        raise ArgumentTypeError(
            f"a numpy.ndarray of shape {value.shape} is in host memory, and is not copied to a "
            "device implicitly: use cupola.to_device(it)")
    return foreign_array(value) if is_foreign(value) else value


cdef object dot(object first, object second, object out):
    cdef ArrayData x, y
    first, second = factor_of(first), factor_of(second)
    if not isinstance(first, ArrayData) or not isinstance(second, ArrayData) or not (
        (<ArrayData>first).shape and (<ArrayData>second).shape
    ):
        if out is not None:
            return np.multiply(first, second, out=out)
        product = binary(MULTIPLY, first, second)
        if product is NotImplemented:
            raise ArgumentTypeError(
                f"dot takes arrays and numbers, got {type(first).__name__} and "
                f"{type(second).__name__}")
        return product
    x, y = first, second
    if len(x.shape) > 1 and len(y.shape) > 1:
        from cupola.arrays.products import dot as dot_of_stacks
        return dot_of_stacks(x, y, out)
    return product_of(x, y, out)


cdef object matmul(object first, object second, object out):
    first, second = factor_of(first), factor_of(second)
    if not isinstance(first, ArrayData) or not isinstance(second, ArrayData):
        return NotImplemented
    for each in (first, second):
        if not (<ArrayData>each).shape:
            raise ArgumentValueError("the operator @ takes arrays with axes; use * for numbers")
    if len((<ArrayData>first).shape) > 1 and len((<ArrayData>second).shape) > 1:
        from cupola.arrays.products import matmul as matmul_of_stacks
        return matmul_of_stacks(first, second, out)
    return product_of(first, second, out)


cdef ArrayData product_of(ArrayData x, ArrayData y, object out):
    """The sum of products over the last axis of one and the only axis of the other."""
    cdef Layout layout
    cdef cupola_operand to, source, factor
    cdef ArrayData target, made
    cdef int ndim, axis, last, result, place = 0
    cdef Stream queue
    cdef tuple steps, shape
    cdef Py_ssize_t at = len(x.shape) - 1, other = max(len(y.shape) - 2, 0)
    if x.shape[at] != y.shape[other]:
        raise ArgumentValueError(
            f"shapes {x.shape} and {y.shape} don't fit: {x.shape[at]} (axis {at}) elements by "
            f"{y.shape[other]} (axis {other})")
    if x.device_index != y.device_index:
        raise ArgumentValueError(
            f"the operands are on devices {x.device_index} and {y.device_index}; "
            "cupola.to_device(array, device=...) copies one of them")
    element_code(x)
    element_code(y)
    result = common_of(x.element, y.element)
    last = <int>at
    if len(y.shape) > 1:  # products commute; the library expects the array with several axes first
        x, y, last = y, x, <int>other
    ndim = <int>len(x.shape)
    queue = current_stream(x.device_index)
    shape = EMPTY if ndim == 1 else shape_of(x.shape, <uint64_t>1 << last, False)
    if out is not None and not isinstance(out, ArrayData):
        raise ArgumentTypeError(f"out must be a cupola.Array, got {type(out).__name__}")
    if out is not None:
        element_code(<ArrayData>out)
    target = made = target_of(CUPOLA_DOT, shape, result, out, queue)
    if target.size == 0:
        return target
    if x.size == 0:
        return fill_empty(CUPOLA_DOT, target, queue)
    x, y = aligned(x, queue), aligned(y, queue)
    element_code(x)
    element_code(y)
    if out is not None and (
        overlap(x, target) or overlap(y, target) or not is_aligned(target)
    ):
        made = new_array(shape, target.dtype, queue.device_index, queue)
    steps = x.get_strides()
    for axis in range(ndim):
        layout.shape[axis] = x.shape[axis]
        layout.x[axis] = steps[axis]
        layout.y[axis] = layout.out[axis] = 0
    layout.y[last] = y.get_strides()[0]
    steps = made.get_strides()
    for axis in range(ndim):
        if axis != last:
            layout.out[axis] = steps[place]
            place += 1
    to.address, to.element, to.strides = made.start, element_code(made), layout.out
    source.address, source.element, source.strides = x.start, x.element, layout.x
    factor.address, factor.element, factor.strides = y.start, y.element, layout.y
    for array in (x, y, made):
        (<ArrayData>array).used_on(queue)
    run(
        CUPOLA_DOT, result, &to, &source, &factor, layout.shape, ndim, <uint64_t>1 << last, queue)
    if made is not target:
        copy_on_device(target, made, queue)
    return target


# -- NumPy's protocol -------------------------------------------------------------------------


cdef object reduce_ufunc(object ufunc, tuple inputs, dict options):
    number = REDUCTIONS.get(ufunc)
    if number is None:
        raise ArgumentTypeError(
            f"numpy.{ufunc.__name__}.reduce has no kernel in cupola; copy the array with get()")
    initial = options.get("initial")
    if not isinstance(inputs[0], ArrayData):
        raise ArgumentTypeError("out is a cupola.Array, and what is reduced is not")
    if number >= CUPOLA_ANY and options.get("dtype") not in (None, bool, np.dtype(bool)):
        raise ArgumentTypeError(f"numpy.{ufunc.__name__}.reduce gives bool")
    dtype = options.get("dtype") if number < CUPOLA_ANY else None
    return reduce(
        number, inputs[0], options.get("axis", 0), dtype, options.get("out"),
        options.get("keepdims", False), initial, options.get("where", True))


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

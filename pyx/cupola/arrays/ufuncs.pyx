# cupola/arrays/ufuncs.pyx - NumPy's ufuncs of arrays: elementwise operations and reductions.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require
from cupola.array_data cimport ARRAY
from cupola.arrays.elementwise_call cimport ABSENT, apply, binary_to, unary_to
from cupola.arrays.promotion cimport number_of
from cupola.arrays.reduce cimport matmul, reduce_ufunc
from cupola.element cimport native_dtype

from cupola.exceptions import ArgumentTypeError

cdef object MATMUL = np.matmul


cdef object call_ufunc(object ufunc, str method, tuple inputs, dict options):
    cdef int number = number_of(ufunc)
    if method == "reduce":
        return reduce_ufunc(ufunc, inputs, options)
    if method == "accumulate":
        from cupola.arrays.scans import accumulate
        return accumulate(ufunc, *inputs, **options)
    if method == "reduceat":
        from cupola.arrays.segments import reduceat
        return reduceat(ufunc, *inputs, **options)
    if ufunc is MATMUL and method == "__call__" and not options.keys() - {"out"}:
        out = options.get("out")
        return matmul(inputs[0], inputs[1], out[0] if type(out) is tuple else out)
    out = options.pop("out", None)
    dtype = options.pop("dtype", None)
    where = options.pop("where", True)
    options.pop("subok", None)
    if options.get("casting") == "same_kind":
        del options["casting"]
    if options.get("order") in ("K", "A", "C"):
        del options["order"]
    if method != "__call__":
        raise ArgumentTypeError(
            f"numpy.{ufunc.__name__}.{method} is not supported on a device; use get() to copy")
    if number < 0:
        raise ArgumentTypeError(
            f"numpy.{ufunc.__name__} has no kernel in cupola; copy the array with get()")
    if where is not True:
        raise ArgumentTypeError(
            f"numpy.{ufunc.__name__}: where= is not supported on a device; multiply by the mask or "
            "copy the array with get()")
    if options:
        raise ArgumentTypeError(
            f"numpy.{ufunc.__name__}: {', '.join(options)}= is not supported on a device")
    if type(out) is tuple:
        out = out[0]
    if dtype is not None:
        dtype = native_dtype(np.dtype(dtype))
    elif out is None or type(out) is ARRAY:
        if len(inputs) == 2:
            return binary_to(number, inputs[0], inputs[1], out)
        if type(inputs[0]) is ARRAY:
            return unary_to(number, inputs[0], out)
    return apply(number, inputs[0], inputs[1] if len(inputs) == 2 else ABSENT, out, dtype)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

# cupola/arrays/reductions.pyx - the base class of arrays with reductions and products.
# cython: language_level=3

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola._reduce cimport (
    CUPOLA_ALL, CUPOLA_ANY, CUPOLA_INDEX_OF_MAXIMUM, CUPOLA_INDEX_OF_MINIMUM, CUPOLA_MAXIMUM,
    CUPOLA_MEAN, CUPOLA_MINIMUM, CUPOLA_PRODUCT, CUPOLA_SUM,
)
from cupola.abi cimport require
from cupola.arrays.operators cimport Operators
from cupola.arrays.reduce cimport dot, matmul, reduce

from cupola.exceptions import ArgumentTypeError

cdef object DOT = np.dot
# A NumPy function that returns False on any error.
cdef tuple UNTOLD = (np.array_equiv,)
cdef object NDARRAY = np.ndarray


cdef class Reductions(Operators):
    """Reductions of arrays along axes, by NumPy's rules.

    ``x.sum()`` and ``numpy.sum(x)`` are equivalent; ``numpy.add.reduce(x)``, ``numpy.dot(x, y)``
    and similar calls work too. All are queued on the current stream, do not wait, and return a
    `cupola.Array`, also for one element. ``x.sum().item()``, ``float(x.sum())`` and ``if x.any():``
    wait for it.

    Common parameters:

    axis : None, int or tuple of int
        The axes to reduce; negative ones count from the end, None is all axes.
    dtype : data-type, optional
        The computed and result type. By default NumPy's: sums and products of integers and bool
        are of int64 or uint64.
    out : Array, optional
        The output, of the result's shape and a type of the same kind.
    keepdims : bool
        Keep the reduced axes, with a length of 1.

    ``initial=`` and ``where=`` raise an error.

    Integers have NumPy's bits; they wrap. The order of additions of floats depends only on the
    array's shape, so the bits are the same in each run and on each device. The rounding error of
    2^28 contiguous float32 is at most ``34 * eps * sum(abs(x))`` (NumPy's pairwise sum: 39). It
    grows about with the logarithm of the number of elements. Along axes other than the last, NumPy
    adds row by row; its rounding error is much larger than cupola's. float16 is added in float32.

    Raises
    ------
    ArgumentValueError
        Where there is no such axis, `out` has another shape, or `min`, `max`, `argmin` or `argmax`
        has a result without elements.
    ArgumentTypeError
        Where the elements, `dtype` or `out` have a type without a kernel.
    """

    def sum(self, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
        """The sum of elements, 0 of none; see `Reductions`."""
        return reduce(CUPOLA_SUM, self, axis, dtype, out, keepdims, initial, where)

    def prod(self, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
        """The product of elements, 1 of none; see `Reductions`."""
        return reduce(CUPOLA_PRODUCT, self, axis, dtype, out, keepdims, initial, where)

    def min(self, axis=None, out=None, keepdims=False, initial=None, where=True):
        """The least element, or NaN if any element is NaN; see `Reductions`."""
        return reduce(CUPOLA_MINIMUM, self, axis, None, out, keepdims, initial, where)

    def max(self, axis=None, out=None, keepdims=False, initial=None, where=True):
        """The greatest element, or NaN if any element is NaN; see `Reductions`."""
        return reduce(CUPOLA_MAXIMUM, self, axis, None, out, keepdims, initial, where)

    def any(self, axis=None, out=None, keepdims=False, *, where=True):
        """Whether any element is true, as bool; NaN is true. See `Reductions`."""
        return reduce(CUPOLA_ANY, self, axis, None, out, keepdims, None, where)

    def all(self, axis=None, out=None, keepdims=False, *, where=True):
        """Whether all elements are true, as bool; NaN is true. See `Reductions`."""
        return reduce(CUPOLA_ALL, self, axis, None, out, keepdims, None, where)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
        """The arithmetic mean, of integers in float64; NaN of no elements. See `Reductions`.

        The sum of integers of up to 32 bits is exact before it is divided.
        """
        return reduce(CUPOLA_MEAN, self, axis, dtype, out, keepdims, None, where)

    def argmin(self, axis=None, out=None, *, keepdims=False):
        """The index of the first least element, or of the first NaN, as int64.

        Along one axis, or in the flattened array with None. See `Reductions`.
        """
        return reduce(CUPOLA_INDEX_OF_MINIMUM, self, axis, None, out, keepdims, None, True)

    def argmax(self, axis=None, out=None, *, keepdims=False):
        """The index of the first greatest element, or of the first NaN, as int64.

        Along one axis, or in the flattened array with None. See `Reductions`.
        """
        return reduce(CUPOLA_INDEX_OF_MAXIMUM, self, axis, None, out, keepdims, None, True)

    def dot(self, other, out=None):
        """The sum of products over the last axis of this array and the only axis of `other`.

        Either of the two may be the array with a single axis. For a number or an array without axes
        it is the product, and for arrays with several axes `cupola.dot`. The result has NumPy's
        common type; the work is queued on the current stream. Products and sums of floats are
        fused, in an order that depends on the shapes.

        Parameters
        ----------
        other : Array
        out : Array, optional
            Of the result's shape and a type of the same kind.

        Returns
        -------
        Array

        Raises
        ------
        ArgumentValueError
            Where the axes differ in length.
        """
        return dot(self, other, out)

    def __matmul__(self, other):
        return matmul(self, other, None)

    def __rmatmul__(self, other):
        return matmul(other, self, None)

    def __array_function__(self, function, types, args, kwargs):
        """Implements NumPy's functions that `cupola.arrays` has, and ``numpy.dot``.

        Other functions of NumPy use their default implementation.

        A default implementation that calls a method of the array, as that of ``numpy.sum`` does,
        works. One that computes on the host raises an error: arrays are not copied implicitly.
        """
        for kind in types:
            if not issubclass(kind, (Reductions, NDARRAY)):
                return NotImplemented
        if function is DOT:
            return dot_of(*args, **kwargs)
        from cupola.arrays.numpy_functions import numpy_functions
        implementation = numpy_functions.get(function)
        if implementation is not None:
            return implementation(*args, **kwargs)
        if function in UNTOLD:  # these functions would return False for the error
            raise ArgumentTypeError(
                f"numpy.{function.__name__} computes on the host, and arrays are not copied there "
                "implicitly: use (x == y).all(), or copy the arrays with get()")
        return function._implementation(*args, **kwargs)


def dot_of(a, b, out=None):
    return dot(a, b, out)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

# cupola/reductions.pyx - sums, extremes and products of arrays, as a class that they inherit from.
# cython: language_level=3

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola._reduce cimport (
    CUPOLA_ALL, CUPOLA_ANY, CUPOLA_INDEX_OF_MAXIMUM, CUPOLA_INDEX_OF_MINIMUM, CUPOLA_MAXIMUM,
    CUPOLA_MEAN, CUPOLA_MINIMUM, CUPOLA_PRODUCT, CUPOLA_SUM,
)
from cupola.abi cimport require
from cupola.operators cimport Operators

from cupola.exceptions import ArgumentTypeError

cdef object DOT = np.dot
# NumPy's functions that take every error for a no.
cdef tuple UNTOLD = (np.array_equal, np.array_equiv)
cdef object NDARRAY = np.ndarray


cdef class Reductions(Operators):
    """Arrays reduced along axes, by NumPy's rules.

    ``x.sum()`` and ``numpy.sum(x)`` are the same, so are ``numpy.add.reduce(x)``,
    ``numpy.dot(x, y)`` and their like. All of them are queued on the current stream, wait for
    nothing, and give a `cupola.Array`, also of a single element: ``x.sum().item()``,
    ``float(x.sum())`` and ``if x.any():`` wait for it.

    Parameters they share:

    axis : None, int or tuple of int
        Along which to reduce; negative ones count from the end, None is all of them.
    dtype : data-type, optional
        What it is done in, and of what the result is. By default as NumPy has it: sums and
        products of integers and bool are of int64 or uint64.
    out : Array, optional
        Where to put the result: of its shape, and of a type of the same kind.
    keepdims : bool
        Leave the axes that were reduced in, with a length of 1.

    ``initial=`` and ``where=`` are refused with an error.

    Integers are NumPy's, bit for bit; they wrap. What is added to what in a sum of floats is
    decided by the array's shape alone, so it has the same bits in each run and on each device. Its
    rounding error is at most ``34 * eps * sum(abs(x))`` for 2^28 float32 that follow each other
    (NumPy's pairwise sum: 39), and grows with the logarithm of their number, nearly; along other
    axes than the last, where NumPy adds row after row, it is far less than there. float16 is added
    in float32.

    Raises
    ------
    ArgumentValueError
        Where there is no such axis, `out` has another shape, or, of `min`, `max`, `argmin` and
        `argmax`, there are results without elements.
    ArgumentTypeError
        Where the elements, `dtype` or `out` are of a type for which there is no kernel.
    """

    def sum(self, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
        """The sum of elements, 0 of none; see `Reductions`."""
        return BY.reduce(CUPOLA_SUM, self, axis, dtype, out, keepdims, initial, where)

    def prod(self, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
        """The product of elements, 1 of none; see `Reductions`."""
        return BY.reduce(CUPOLA_PRODUCT, self, axis, dtype, out, keepdims, initial, where)

    def min(self, axis=None, out=None, keepdims=False, initial=None, where=True):
        """The least element, NaN where there is one; see `Reductions`."""
        return BY.reduce(CUPOLA_MINIMUM, self, axis, None, out, keepdims, initial, where)

    def max(self, axis=None, out=None, keepdims=False, initial=None, where=True):
        """The greatest element, NaN where there is one; see `Reductions`."""
        return BY.reduce(CUPOLA_MAXIMUM, self, axis, None, out, keepdims, initial, where)

    def any(self, axis=None, out=None, keepdims=False, *, where=True):
        """Whether an element is true, as bool; NaN is. See `Reductions`."""
        return BY.reduce(CUPOLA_ANY, self, axis, None, out, keepdims, None, where)

    def all(self, axis=None, out=None, keepdims=False, *, where=True):
        """Whether all elements are true, as bool; NaN is. See `Reductions`."""
        return BY.reduce(CUPOLA_ALL, self, axis, None, out, keepdims, None, where)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
        """The arithmetic mean, of integers in float64; NaN of no elements. See `Reductions`.

        The sum of integers of up to 32 bits is exact before it is divided.
        """
        return BY.reduce(CUPOLA_MEAN, self, axis, dtype, out, keepdims, None, where)

    def argmin(self, axis=None, out=None, *, keepdims=False):
        """Where the least element is, the first of equals or of NaN, as int64.

        Along one axis, or, with None, in the flattened array. See `Reductions`.
        """
        return BY.reduce(CUPOLA_INDEX_OF_MINIMUM, self, axis, None, out, keepdims, None, True)

    def argmax(self, axis=None, out=None, *, keepdims=False):
        """Where the greatest element is, the first of equals or of NaN, as int64.

        Along one axis, or, with None, in the flattened array. See `Reductions`.
        """
        return BY.reduce(CUPOLA_INDEX_OF_MAXIMUM, self, axis, None, out, keepdims, None, True)

    def dot(self, other, out=None):
        """The sum of products over the last axis of this array and the one axis of `other`.

        Either may be the one of a single axis; of a number, or arrays without axes, it is their
        product. The result is of NumPy's common type, queued on the current stream. Products of
        floats and their sums are fused, in an order that the shapes decide.

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
            Where the axes differ in length, or both arrays have several: products of matrices
            have no kernel.
        """
        return BY.dot(self, other, out)

    def __matmul__(self, other):
        return BY.matmul(self, other)

    def __rmatmul__(self, other):
        return BY.matmul(other, self)

    def __array_function__(self, function, types, args, kwargs):
        """``numpy.dot``; NumPy's other functions do what they do with any object.

        Of those some call a method of the array, as ``numpy.sum`` does, and all others end in the
        error that an array is not copied to the host silently.
        """
        for kind in types:
            if not issubclass(kind, (Reductions, NDARRAY)):
                return NotImplemented
        if function is DOT:
            return dot_of(*args, **kwargs)
        if function in UNTOLD:  # they take the error for a no
            raise ArgumentTypeError(
                f"numpy.{function.__name__} computes on the host, where no array is copied to "
                "silently: use (x == y).all(), or copy the arrays with get()")
        return function._implementation(*args, **kwargs)


def dot_of(a, b, out=None):
    return BY.dot(a, b, out)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

# cupola/arrays/numpy_array.pyx - the class of all arrays: it adds NumPy's interface.
# cython: language_level=3
"""The class of all arrays. Functions of `cupola` with its methods' names document these methods."""

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require
from cupola.array_data cimport ArrayData
from cupola.arrays.elementwise_call cimport cast
from cupola.arrays.reductions cimport Reductions
from cupola.arrays.ufuncs cimport call_ufunc
from cupola.device cimport device_index
from cupola.layout cimport as_int
from cupola.stream cimport Stream

from cupola.array import read_now, register
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


cdef tuple KEYS = None  # functions of cupola.arrays.keys, imported at the first use


cdef int load_keys() except -1:
    global KEYS
    from cupola.arrays.keys import get_items, set_items
    KEYS = get_items, set_items
    return 0


cdef class Array(Reductions):
    """An array in a device's memory, of any NumPy dtype except objects.

    Made by `cupola.to_device`, `empty`, `zeros`, `full`, `asarray` and similar functions. Kernels
    accept it for a pointer parameter if it is C-contiguous. So does every library that reads
    ``__cuda_array_interface__`` or ``__dlpack__``.

    Indexing by ints, slices, ``...`` and None, `reshape`, `transpose` and `view` give views of
    the same memory, as in NumPy. Indexing by arrays of integers or bool gives a copy. The memory is
    freed when the last view is gone, after the queued work that uses it.
    """

    # Dask takes the class of blocks with the highest one, where blocks of several classes meet.
    __array_priority__ = 100.0

    cdef object items_at(self, object key):
        if KEYS is None:
            load_keys()
        return KEYS[0](self, key)

    cdef int set_items_at(self, object key, object value) except -1:
        if KEYS is None:
            load_keys()
        KEYS[1](self, key, value)
        return 0

    cdef ArrayData converted_to(self, object dtype, Stream stream):
        return cast(self, dtype, stream)

    def __array_ufunc__(self, ufunc, str method not None, *inputs, **options):
        """NumPy's ufuncs on a device: ``numpy.sin(array)``, also with ``out=`` and ``dtype=``.

        The work is queued on the current stream of the arrays' device. Types and shapes of results
        are NumPy's, and bits too where they are exactly defined. Functions are within a few units
        of the last place. docs/how-to/arrays.md lists the functions and unsupported cases.
        """
        return call_ufunc(ufunc, method, inputs, options)

    def __contains__(self, value):
        # Without this method Python would compare the value with each row, which may have several
        # elements.
        same = self == value
        return bool(same.any()) if isinstance(same, Array) else bool(same)

    # -- numbers

    def __bool__(self):
        if self.size != 1:
            raise ArgumentValueError(
                f"whether an array of {self.size} elements is true is not defined; copy it with "
                "get() and use any() or all()")
        return number_of(self, bool)

    def __int__(self):
        return number_of(self, int)

    def __float__(self):
        return number_of(self, float)

    def __complex__(self):
        return number_of(self, complex)

    # -- views

    @property
    def real(self):
        """A view of the real parts; of other numbers the array itself."""
        return part(self, 0)

    @property
    def imag(self):
        """A view of the imaginary parts; of other numbers zeros."""
        return part(self, 1)

    @property
    def mT(self):
        """A view with its last two axes exchanged."""
        if len(self.shape) < 2:
            raise ArgumentValueError(
                f"mT exchanges the last two axes; the array has {len(self.shape)}")
        return self.swapaxes(-1, -2)

    def swapaxes(self, axis1, axis2):
        """A view with two axes exchanged."""
        count = len(self.shape)
        order = list(range(count))
        axis1, axis2 = as_int("axis1", axis1), as_int("axis2", axis2)
        for axis in (axis1, axis2):
            if not -count <= axis < count:
                raise ArgumentValueError(f"swapaxes: there is no axis {axis} of {count}")
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return self.transpose(order)

    def squeeze(self, axis=None):
        """A view without axes of length 1; see `cupola.squeeze`."""
        from cupola.arrays.shapes import squeeze
        return squeeze(self, axis)

    # -- copies

    def flatten(self, order="C"):
        """A copy of the elements along one axis, in order "C" or "F"."""
        if order not in ("C", "F"):
            raise ArgumentValueError(f"flatten: an order is 'C' or 'F', got {order!r}")
        return (self if order == "C" else self.transpose()).copy().reshape(-1)

    def conj(self):
        """The complex conjugates."""
        return np.conjugate(self)

    conjugate = conj

    def round(self, decimals=0, out=None):
        """The elements rounded to a number of decimals, ties to even; see `cupola.round`."""
        from cupola.arrays.comparisons import round
        return round(self, decimals, out)

    def clip(self, min=None, max=None, out=None):
        """The elements limited to an interval; see `cupola.clip`."""
        from cupola.arrays.arithmetic import clip
        return clip(self, min, max, out)

    def repeat(self, repeats, axis=None):
        """Each element several times; see `cupola.repeat`."""
        from cupola.arrays.arrangement import repeat
        return repeat(self, repeats, axis)

    # -- statistics

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None):
        """The variance; see `cupola.var`."""
        from cupola.arrays.statistics import var
        return var(self, axis, dtype, out, ddof, keepdims, correction=correction)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None):
        """The standard deviation; see `cupola.std`."""
        from cupola.arrays.statistics import std
        return std(self, axis, dtype, out, ddof, keepdims, correction=correction)

    # -- scans, sorts, searches

    def cumsum(self, axis=None, dtype=None, out=None):
        """Cumulative sums; see `cupola.cumsum`."""
        from cupola.arrays.scans import cumsum
        return cumsum(self, axis, dtype, out)

    def cumprod(self, axis=None, dtype=None, out=None):
        """Cumulative products; see `cupola.cumprod`."""
        from cupola.arrays.scans import cumprod
        return cumprod(self, axis, dtype, out)

    def sort(self, axis=-1, kind=None, order=None, *, stable=None):
        """Sort the array itself along an axis; see `cupola.sort`."""
        from cupola.arrays.sorts import sort
        self[...] = sort(self, axis, kind, order, stable=stable)

    def argsort(self, axis=-1, kind=None, order=None, *, stable=None):
        """The indices that sort the array; see `cupola.argsort`."""
        from cupola.arrays.sorts import argsort
        return argsort(self, axis, kind, order, stable=stable)

    def searchsorted(self, v, side="left", sorter=None):
        """Where values belong in this sorted array; see `cupola.searchsorted`."""
        from cupola.arrays.searching import searchsorted
        return searchsorted(self, v, side, sorter)

    # -- elements by index

    def take(self, indices, axis=None, out=None, mode="raise"):
        """Elements by their indices along an axis; see `cupola.take`."""
        from cupola.arrays.indexing import take
        return take(self, indices, axis, out, mode)

    def put(self, indices, values, mode="raise"):
        """Set elements of the flattened array by their indices; see `cupola.put`."""
        from cupola.arrays.indexing import put
        put(self, indices, values, mode)

    def compress(self, condition, axis=None, out=None):
        """The slices along an axis for which a condition holds; see `cupola.compress`."""
        from cupola.arrays.selection import compress
        return compress(condition, self, axis, out)

    def nonzero(self):
        """The indices of elements that are not zero, an array for each axis. Waits for them."""
        from cupola.arrays.selection import nonzero
        return nonzero(self)

    # -- the array API standard

    def __array_namespace__(self, *, api_version=None):
        """`cupola.array_api`, whose functions take this array.

        Parameters
        ----------
        api_version : str, optional
            The version of the standard; the newest by default.
        """
        from cupola import array_api
        if api_version not in (None, *array_api.VERSIONS):
            raise ArgumentValueError(
                f"cupola.array_api implements the versions {', '.join(array_api.VERSIONS)} of the "
                f"standard, not {api_version!r}")
        return array_api

    def to_device(self, device, /, *, stream=None):
        """A copy on another device; this array itself where it is there already.

        Parameters
        ----------
        device : Device or int
        stream : Stream, optional
            The stream of the copy; by default the current one.
        """
        from cupola.creation import to_device
        if device_index(device) == self.device_index:
            return self
        return to_device(self, device=device, stream=stream)


cdef object part(ArrayData array, int number):
    array.require_live()
    if array.dtype.kind != "c":
        if number == 0:
            return array
        from cupola.creation import zeros_like
        return zeros_like(array)
    kind = np.dtype(f"f{array.itemsize // 2}")
    return array.view_as(array.shape, array.get_strides(), number * kind.itemsize, kind)


cdef object number_of(object array, object kind):
    """The only element as a Python number, by the rule of the installed NumPy."""
    if array.size != 1:
        array.item()  # raises the error
    host = read_now(array, f"{kind.__name__}()")
    try:
        return kind(host)
    except TypeError as error:
        raise ArgumentTypeError(
            f"{kind.__name__}() of an array of shape {array.shape}: {error}; use item()") from None


register(Array)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

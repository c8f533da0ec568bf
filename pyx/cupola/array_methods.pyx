# cupola/array_methods.pyx - the base class of arrays with NumPy's methods.
# cython: language_level=3
"""Methods of arrays that are functions of `cupola` too, which say what they take and return."""

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require
from cupola.array_data cimport ArrayData
from cupola.layout cimport as_int
from cupola.reductions cimport Reductions

from cupola.exceptions import ArgumentValueError


cdef class ArrayMethods(Reductions):
    """NumPy's methods. The functions are in `cupola.arrays`, which imports this class."""

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
        from cupola import squeeze
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
        from cupola import round
        return round(self, decimals, out)

    def clip(self, min=None, max=None, out=None):
        """The elements limited to an interval; see `cupola.clip`."""
        from cupola import clip
        return clip(self, min, max, out)

    def repeat(self, repeats, axis=None):
        """Each element several times; see `cupola.repeat`."""
        from cupola import repeat
        return repeat(self, repeats, axis)

    # -- statistics

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None):
        """The variance; see `cupola.var`."""
        from cupola import var
        return var(self, axis, dtype, out, ddof, keepdims, correction=correction)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None):
        """The standard deviation; see `cupola.std`."""
        from cupola import std
        return std(self, axis, dtype, out, ddof, keepdims, correction=correction)

    # -- scans, sorts, searches

    def cumsum(self, axis=None, dtype=None, out=None):
        """Cumulative sums; see `cupola.cumsum`."""
        from cupola import cumsum
        return cumsum(self, axis, dtype, out)

    def cumprod(self, axis=None, dtype=None, out=None):
        """Cumulative products; see `cupola.cumprod`."""
        from cupola import cumprod
        return cumprod(self, axis, dtype, out)

    def sort(self, axis=-1, kind=None, order=None, *, stable=None):
        """Sort the array itself along an axis; see `cupola.sort`."""
        from cupola import sort
        self[...] = sort(self, axis, kind, order, stable=stable)

    def argsort(self, axis=-1, kind=None, order=None, *, stable=None):
        """The indices that sort the array; see `cupola.argsort`."""
        from cupola import argsort
        return argsort(self, axis, kind, order, stable=stable)

    def searchsorted(self, v, side="left", sorter=None):
        """Where values belong in this sorted array; see `cupola.searchsorted`."""
        from cupola import searchsorted
        return searchsorted(self, v, side, sorter)

    # -- elements by index

    def take(self, indices, axis=None, out=None, mode="raise"):
        """Elements by their indices along an axis; see `cupola.take`."""
        from cupola import take
        return take(self, indices, axis, out, mode)

    def put(self, indices, values, mode="raise"):
        """Set elements of the flattened array by their indices; see `cupola.put`."""
        from cupola import put
        put(self, indices, values, mode)

    def compress(self, condition, axis=None, out=None):
        """The slices along an axis for which a condition holds; see `cupola.compress`."""
        from cupola import compress
        return compress(condition, self, axis, out)

    def nonzero(self):
        """The indices of elements that are not zero, an array for each axis. Waits for them."""
        from cupola import nonzero
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
        from cupola import Device, to_device
        if Device(device).index == self.device_index:
            return self
        return to_device(self, device=device, stream=stream)


cdef object part(ArrayData array, int number):
    array.require_live()
    if array.dtype.kind != "c":
        if number == 0:
            return array
        from cupola import zeros_like
        return zeros_like(array)
    kind = np.dtype(f"f{array.itemsize // 2}")
    return array.view_as(array.shape, array.get_strides(), number * kind.itemsize, kind)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

# cupola/pycuda/_gpu_array.py - the class of arrays of the device.
"""GPUArray over cupola's arrays: its arithmetic is compiled when cupola is built."""

from __future__ import annotations

import math
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

import cupola
from cupola.pycuda import driver as drv
from cupola.pycuda._byte_order import in_machine_order
from cupola.pycuda._contexts import current
from cupola.pycuda._errors import translate
from cupola.pycuda._host_memory import pagelocked_empty
from cupola.pycuda._indexing import indexed
from cupola.pycuda._strides import ArrayFlags, as_shape, contiguous_strides, like_strides


def _on(stream: Any) -> Any:
    """The context in which operations go to a stream."""
    return nullcontext() if stream is None else stream._stream


def _raw(value: Any) -> Any:
    """cupola's operand for one of PyCUDA's."""
    return value.array if isinstance(value, GPUArray) else value


def _result_type(*operands: Any) -> np.dtype[Any]:
    return np.result_type(
        *(one.dtype if isinstance(one, (GPUArray, np.generic, np.ndarray)) else one
          for one in operands)
    )  # fmt: skip


def _arithmetic_type(name: str, *operands: Any) -> np.dtype[Any]:
    kind = _result_type(*operands)
    if name == "divide" and kind.kind in "iub":
        return np.dtype(np.float64)
    if name in ("power", "floor_divide", "remainder") and kind.kind == "b":
        return np.dtype(np.int8)  # NumPy computes these operations of bool in int8
    return kind


def _shape_of(*operands: Any) -> tuple[int, ...]:
    arrays = [one for one in operands if isinstance(one, GPUArray)]
    shapes = {one.shape for one in arrays if one.shape != ()}
    if len(shapes) > 1:
        raise NotImplementedError(
            f"Broadcasting binary operator with shapes: {', '.join(map(str, shapes))}"
        )
    return shapes.pop() if shapes else ()


class GPUArray:
    """An array in the memory of a device.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data-type
    allocator : callable, optional
        Takes bytes and returns an object whose `int` is an address.
    base : object, optional
        Kept, as the owner of `gpudata`.
    gpudata : object, optional
        Memory to use, an object whose `int` is an address.
    strides : sequence of int, optional
        In bytes.
    order : {"C", "F"}
    """

    __array_priority__ = 100
    __array_ufunc__ = None  # NumPy's scalars leave operators to this class

    def __init__(
        self, shape, dtype, allocator=drv.mem_alloc, base=None, gpudata=None, strides=None,
        order="C",
    ):  # fmt: skip
        self.shape = as_shape(shape)
        self.dtype = np.dtype(dtype)
        if gpudata is None and not self.dtype.isnative:
            self.dtype = self.dtype.newbyteorder("=")
        if strides is not None:
            self.strides = tuple(strides)
        elif order in ("C", "F"):
            self.strides = contiguous_strides(self.dtype.itemsize, self.shape, order)
        else:
            raise ValueError(f"invalid order: {order!r}")
        self.size = self.mem_size = math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize
        self.allocator = allocator or drv.mem_alloc
        self.base = base
        if gpudata is None and self.nbytes:
            gpudata = self.allocator(self.nbytes)
        self.gpudata = gpudata

    @cached_property
    def array(self) -> cupola.Array:
        """The same elements as a `cupola.Array`."""
        if self.gpudata is None:
            return cupola.empty(self.shape, self.dtype)
        return cupola.Array.from_address(
            int(self.gpudata), self.shape, self.dtype, strides=self.strides, owner=self.gpudata,
            device=current()._owner._device,
        )  # fmt: skip

    @property
    def ptr(self):
        """The address of the first element."""
        memory = self.gpudata
        if type(memory) is drv.DeviceAllocation:
            return memory._address or int(memory)
        return 0 if memory is None else int(memory)

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape, "strides": self.strides, "data": (self.ptr, False),
            "typestr": self.dtype.str, "stream": None, "version": 3,
        }  # fmt: skip

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @cached_property
    def flags(self):
        """The contiguity: `c_contiguous`, `f_contiguous`, `forc`."""
        return ArrayFlags(self)

    def set(self, ary, async_=False, stream=None, **kwargs):
        """Copy a host array of the same shape and dtype in."""
        async_ = kwargs.pop("async", async_)
        if ary.size != self.size:
            raise ValueError(
                f"ary and self must be the same size: ary has {ary.size} elements, self {self.size}"
            )
        if ary.shape != self.shape:
            raise ValueError(f"ary has the shape {ary.shape}, self {self.shape}")
        ary = in_machine_order(ary)
        if ary.dtype != self.dtype:
            raise ValueError(
                f"ary has the dtype {ary.dtype}, self {self.dtype}: pass ary.astype({self.dtype})"
            )
        if self.size:
            self.array.set(ary, stream._stream if stream is not None else None)
            if not async_ and stream is not None:
                stream.synchronize()

    def set_async(self, ary, stream=None):
        """Queue a copy of a host array."""
        return self.set(ary, async_=True, stream=stream)

    def get(self, ary=None, pagelocked=False, async_=False, stream=None, **kwargs):
        """Copy to a host array of the same shape and dtype; by default to a new host array."""
        kwargs.pop("async", None)
        if ary is None:
            order = "F" if self.flags.f_contiguous and not self.flags.c_contiguous else "C"
            make = pagelocked_empty if pagelocked else np.empty
            ary = make(self.shape, self.dtype, order)
        else:
            if ary.size != self.size:
                raise ValueError(
                    f"self and ary must be the same size: self has {self.size} elements, ary "
                    f"{ary.size}"
                )
            if ary.dtype != self.dtype:
                raise TypeError(f"ary has the dtype {ary.dtype}, self {self.dtype}")
            if ary.shape != self.shape:
                self.reshape(ary.shape).get(ary, stream=stream)
                return ary
        if self.size and async_ and self.flags.forc and ary.strides == self.strides:
            drv.memcpy_dtoh_async(ary, self.gpudata, stream)
        elif self.size:
            try:
                self.array.get(ary, stream._stream if stream is not None else None)
            except cupola.Error as error:
                raise translate(error) from error
        return ary

    def get_async(self, stream=None, ary=None):
        """Copy to a page-locked host array in a stream."""
        return self.get(ary, pagelocked=ary is None, async_=True, stream=stream)

    def copy(self):
        """A contiguous copy with the axes in the same order."""
        made = self._like()
        self._into(made, self.array)
        return made

    def _like(self, dtype: Any = None, shape: Any = None) -> GPUArray:
        """A new array of the same allocator, with axes in this array's order."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        if shape is not None and shape != self.shape:
            return GPUArray(shape, kind, self.allocator)
        if self.flags.c_contiguous:
            made = GPUArray(self.shape, kind, self.allocator)
            made.flags = self.flags
            return made
        strides = like_strides(kind.itemsize, self.shape, self.strides)
        return GPUArray(self.shape, kind, self.allocator, strides=strides)

    @staticmethod
    def _into(out: GPUArray, values: Any, stream: Any = None) -> GPUArray:
        """Write values to an array, converted to its dtype."""
        if out.size:
            with _on(stream):
                out.array.set(values if values.dtype == out.dtype else values.astype(out.dtype))
        return out

    def _compute(self, ufunc: Any, *operands: Any, out: Any = None, dtype: Any = None,
                 stream: Any = None) -> GPUArray:  # fmt: skip
        """An operation of NumPy's name on the operands."""
        shape = _shape_of(*operands)
        kind = np.dtype(dtype) if dtype is not None else _result_type(*operands)
        if out is None:
            like = next(one for one in operands if isinstance(one, GPUArray) and one.shape == shape)
            out = like._like(kind)
        if not out.size:
            return out
        values = [_raw(one) for one in operands]
        try:
            with _on(stream):
                if np.can_cast(kind, out.dtype, "same_kind"):
                    ufunc(*values, out=out.array)
                else:
                    self._into(out, ufunc(*values))
        except cupola.Error as error:
            raise translate(error) from error
        return out

    def __str__(self):
        return str(self.get())

    def __repr__(self):
        return repr(self.get())

    def __hash__(self):
        raise TypeError("GPUArrays are not hashable.")

    def __bool__(self):
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() "
                "or a.all()"
            )
        return bool(self.get().reshape(())[()])

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # Arithmetic.

    def mul_add(self, selffac, other, otherfac, add_timer=None, stream=None, out=None):
        """``selffac * self + otherfac * other``."""
        kind = _result_type(self, other)
        out = self._like(kind) if out is None else out
        with _on(stream):
            left = self.array * kind.type(selffac)
            np.add(left, _raw(other) * kind.type(otherfac), out=out.array)
        return out

    def _binary(name: str, swapped: bool = False) -> Any:  # noqa: N805
        ufunc = getattr(np, name)

        def method(self, other):
            if not _is_operand(other):
                return NotImplemented
            kind = _arithmetic_type(name, self, other)
            operands = (other, self) if swapped else (self, other)
            return self._compute(ufunc, *operands, dtype=kind)

        return method

    def _inplace(name: str) -> Any:  # noqa: N805
        ufunc = getattr(np, name)

        def method(self, other):
            kind = _arithmetic_type(name, self, other)
            return self._compute(ufunc, self, other, out=self, dtype=kind)

        return method

    __add__, __radd__, __iadd__ = _binary("add"), _binary("add", True), _inplace("add")
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", True)
    __isub__ = _inplace("subtract")
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", True)
    __imul__ = _inplace("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", True)
    __itruediv__ = _inplace("divide")
    __div__, __rdiv__, __idiv__ = __truediv__, __rtruediv__, __itruediv__
    __pow__, __rpow__, __ipow__ = _binary("power"), _binary("power", True), _inplace("power")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _binary("floor_divide", True)
    __ifloordiv__ = _inplace("floor_divide")
    __mod__, __rmod__, __imod__ = (
        _binary("remainder"), _binary("remainder", True), _inplace("remainder"),
    )  # fmt: skip

    def __divmod__(self, other):
        if not _is_operand(other):
            return NotImplemented
        return self // other, self % other

    def __rdivmod__(self, other):
        if not _is_operand(other):
            return NotImplemented
        return other // self, other % self

    def __pos__(self):
        return self

    def __neg__(self):
        return self._compute(np.negative, self)

    def __abs__(self):
        return self._compute(np.absolute, self, dtype=self.dtype.type().real.dtype)

    def _comparison(name: str) -> Any:  # noqa: N805
        ufunc = getattr(np, name)

        def method(self, other):
            if not _is_operand(other):
                return NotImplemented
            shape = _shape_of(self, other)
            out = (self if self.shape == shape else other)._like(self.dtype)
            return self._into(out, ufunc(self.array, _raw(other))) if out.size else out

        return method

    __eq__, __ne__ = _comparison("equal"), _comparison("not_equal")
    __le__, __ge__ = _comparison("less_equal"), _comparison("greater_equal")
    __lt__, __gt__ = _comparison("less"), _comparison("greater")

    def fill(self, value, stream=None):
        """Set all elements. Returns the array."""
        if self.size:
            self.array.fill(value, stream._stream if stream is not None else None)
        return self

    def reverse(self, stream=None):
        """A copy with the elements in the other order."""
        if self.ndim != 1:
            raise NotImplementedError("reverse() is for arrays of one axis")
        return self._into(self._like(), self.array[::-1], stream)

    def astype(self, dtype, stream=None):
        """A copy in another dtype."""
        return self._into(self._like(dtype), self.array, stream)

    def any(self, stream=None, allocator=None):
        """Whether any element is true, as an array without axes."""
        return _reduced(self, "any", np.bool_, stream, allocator)

    def all(self, stream=None, allocator=None):
        """Whether all elements are true, as an array without axes."""
        return _reduced(self, "all", np.bool_, stream, allocator)

    # Views.

    def _view(self, shape, strides, offset=0, dtype=None):
        gpudata = self.gpudata
        if offset and gpudata is not None:
            gpudata = _Offset(gpudata, offset)
        return GPUArray(
            shape, self.dtype if dtype is None else dtype, self.allocator, base=self,
            gpudata=gpudata, strides=strides,
        )  # fmt: skip

    def reshape(self, *shape, **kwargs):
        """The elements in another shape, without a copy; one length may be -1.

        Raises
        ------
        RuntimeError
            Where the array is not contiguous.
        """
        order = kwargs.pop("order", "C")
        if kwargs:
            raise TypeError(f"unknown keyword arguments: {', '.join(kwargs)}")
        if len(shape) == 1 and np.iterable(shape[0]):
            shape = tuple(shape[0])
        lengths = [int(length) for length in shape]
        if lengths.count(-1) > 1:
            raise ValueError("can only specify one unknown dimension")
        if -1 in lengths:
            rest = -math.prod(lengths)
            lengths[lengths.index(-1)] = self.size // rest if rest else 0
        if math.prod(lengths) != self.size:
            raise ValueError(f"total size of new array must be unchanged: {self.size}")
        if not self.flags.forc:
            raise RuntimeError("only contiguous arrays may be used as arguments to reshape()")
        if order == "A":
            order = "F" if self.flags.f_contiguous and not self.flags.c_contiguous else "C"
        return self._view(
            tuple(lengths), contiguous_strides(self.dtype.itemsize, tuple(lengths), order)
        )

    def ravel(self):
        """The elements along one axis."""
        return self.reshape(self.size)

    def view(self, dtype=None):
        """The bytes of the elements as another dtype."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        old, new = self.dtype.itemsize, kind.itemsize
        if old == new:
            return self._view(self.shape, self.strides, dtype=kind)
        if not self.flags.forc or not self.shape:
            raise ValueError("a view in a dtype of another size needs a contiguous array")
        axis = self.ndim - 1 if self.flags.c_contiguous else 0
        shape = list(self.shape)
        if shape[axis] * old % new:
            raise ValueError("new type not compatible with array")
        shape[axis] = shape[axis] * old // new
        order = "C" if self.flags.c_contiguous else "F"
        return self._view(tuple(shape), contiguous_strides(new, tuple(shape), order), dtype=kind)

    def squeeze(self):
        """A view without axes of length 1."""
        kept = [axis for axis, length in enumerate(self.shape) if length != 1]
        return self._view(
            tuple(self.shape[axis] for axis in kept), tuple(self.strides[axis] for axis in kept)
        )

    def transpose(self, axes=None):
        """A view with the axes in another order."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"axes is an order of the {self.ndim} axes, got {axes}")
        return self._view(
            tuple(self.shape[axis] for axis in order), tuple(self.strides[axis] for axis in order)
        )

    @property
    def T(self):  # noqa: N802
        """A view with the axes in reverse order."""
        return self.transpose()

    def __getitem__(self, index):
        shape, strides, offset = indexed(self.shape, self.strides, index)
        return self._view(shape, strides, offset)

    def __setitem__(self, index, value):
        part = self[index]
        if isinstance(value, GPUArray):
            if value.shape != part.shape and value.shape != ():
                raise ValueError(f"cannot assign the shape {value.shape} to {part.shape}")
            part._into(part, value.array)
        elif isinstance(value, np.ndarray):
            part.set(value)
        else:
            part.fill(value)

    # Complex numbers.

    def _part(self, place: int) -> GPUArray:
        kind = self.dtype.type().real.dtype
        whole = cupola.Array.from_address(
            self.ptr + place * kind.itemsize, self.shape, kind, strides=self.strides,
            owner=self.gpudata, device=current()._owner._device,
        )  # fmt: skip
        return self._into(self._like(kind), whole)

    @property
    def real(self):
        """The real parts; the array itself where it is real."""
        return self._part(0) if self.dtype.kind == "c" and self.size else self

    @property
    def imag(self):
        """The imaginary parts; zeros where it is real."""
        return self._part(1) if self.dtype.kind == "c" and self.size else self._like().fill(0)

    def conj(self, out=None):
        """The complex conjugates; the array itself where it is real."""
        if self.dtype.kind != "c":
            return self if out is None else self._into(out, self.array)
        return self._compute(np.conjugate, self, out=out)

    conjugate = conj

    # Textures.

    def bind_to_texref(self, texref, allow_offset=False):
        """Let a texture reference read the array; returns the offset in elements, which is 0."""
        return texref.set_address(self.gpudata, self.nbytes, allow_offset) // self.dtype.itemsize

    def bind_to_texref_ext(
        self, texref, channels=1, allow_double_hack=False, allow_complex_hack=False,
        allow_offset=False,
    ):  # fmt: skip
        """The same, and set the reference's format."""
        from cupola.pycuda._cuda_arrays import _PACKED, dtype_to_array_format

        kind, count = self.dtype, channels
        if (kind == np.float64 and allow_double_hack) or (kind.kind == "c" and allow_complex_hack):
            if channels != 1:
                raise ValueError("packed elements have one channel")
            kind, count = _PACKED[kind]
        texref.set_format(dtype_to_array_format(kind), count)
        if np.dtype(kind).kind in "iu":
            texref.set_flags(texref.get_flags() | drv.TRSF_READ_AS_INTEGER)
        return self.bind_to_texref(texref, allow_offset)


class _Offset(drv.PointerHolderBase):
    """An address behind the start of another owner's memory."""

    def __init__(self, owner: Any, offset: int) -> None:
        self.owner, self._at = owner, int(owner) + offset

    def get_pointer(self):
        return self._at

    def free(self):
        """Free the memory."""
        self.owner.free()


def _is_operand(value: Any) -> bool:
    return isinstance(value, (GPUArray, int, float, complex, np.generic)) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def _reduced(a: GPUArray, name: str, dtype: Any, stream: Any, allocator: Any) -> GPUArray:
    out = GPUArray((), dtype, allocator or a.allocator)
    try:
        with _on(stream):
            if name == "sum":
                a.array.sum(dtype=out.dtype, out=out.array)
            else:
                getattr(a.array, name)(out=out.array)
    except cupola.Error as error:
        raise translate(error) from error
    return out

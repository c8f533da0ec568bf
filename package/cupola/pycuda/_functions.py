# cupola/pycuda/_functions.py - modules, functions and their arguments.
"""Modules and functions of ``pycuda.driver``."""

from __future__ import annotations

import time
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

import cupola
from cupola.declare.element_types import OF_ML_DTYPES, VECTORS, itemsize
from cupola.element import natural_alignment
from cupola.pycuda import _calls
from cupola.pycuda._byte_order import in_machine_order, is_in_machine_order
from cupola.pycuda._constants import function_attribute
from cupola.pycuda._contexts import current
from cupola.pycuda._errors import LogicError, RuntimeError, translate, translated
from cupola.pycuda._host_memory import ManagedAllocation, managed_of
from cupola.pycuda._memory import (
    DeviceAllocation,
    PointerHolderBase,
    described,
    host_memory,
    is_on_device,
    mem_alloc,
    memcpy_dtoh,
    memcpy_dtoh_async,
    memcpy_htod,
    memcpy_htod_async,
)
from cupola.pycuda._streams import Event, stream_of
from cupola.pycuda._textures import SurfaceReference, TextureReference


class ArgumentHandler:
    """A host array as an argument; `get_device_alloc` gives its memory on the device."""

    def __init__(self, ary):
        self.array = ary
        self.dev_alloc = None

    def get_device_alloc(self):
        """The memory on the device, allocated at the first call."""
        if self.dev_alloc is None:
            self.dev_alloc = mem_alloc(self.array.nbytes)
        return self.dev_alloc

    def pre_call(self, stream):
        """Runs before the launch."""

    def _check(self, place: int, wanted: np.dtype[Any] | None) -> None:
        """Refuse what is no array of the host, before anything is copied.

        `wanted` is the type of the elements that the kernel's pointer has, where it is known.
        """
        what = f"parameter #{place} (0-based), drv.{type(self).__name__}"
        device = is_on_device(self.array)
        if device or not hasattr(self.array, "nbytes"):
            remedy = "pass it without the wrapper" if device else "pass a NumPy array"
            raise TypeError(
                f"{what}: expected an array of the host, got {described(self.array)}: {remedy}"
            )
        if not self.array.nbytes:
            raise LogicError(f"{what}: the array has no elements: pass np.intp(0) as the address")
        if is_in_machine_order(self.array):  # another order is copied first
            host_memory(self.array, what, isinstance(self, Out))
        if isinstance(self.array, (np.ndarray, np.generic)):
            check_elements(what, self.array.dtype, wanted)


class In(ArgumentHandler):
    """A host array that is copied to the device before the launch."""

    def pre_call(self, stream):
        """Copy the array to the device."""
        host = in_machine_order(self.array)
        if stream is None or host is not self.array:
            memcpy_htod(self.get_device_alloc(), host)
        else:
            memcpy_htod_async(self.get_device_alloc(), host, stream)


class Out(ArgumentHandler):
    """A host array that is copied from the device after the launch."""

    def post_call(self, stream):
        """Copy the array from the device."""
        if not is_in_machine_order(self.array):
            host = np.empty(self.array.shape, self.array.dtype.newbyteorder("="))
            (stream or current()).synchronize()
            memcpy_dtoh(host, self.get_device_alloc())
            self.array[...] = host
        elif stream is None:
            memcpy_dtoh(self.array, self.get_device_alloc())
        else:
            memcpy_dtoh_async(self.array, self.get_device_alloc(), stream)


class InOut(In, Out):
    """A host array that is copied to the device and back."""


_USUAL = 256  # bytes; memory that was not cut is aligned to them
_SCALARS = {np.dtype(letter).type for letter in "?bBhHiIlLqQefdFD"}


def check_elements(
    what: str, dtype: np.dtype[Any], wanted: np.dtype[Any] | None, kinds: bool = False
) -> None:
    """Refuse an array of numbers that have another size than those of the kernel's pointer.

    A complex number is two floats. Structs, bytes without a type and pointers to unknown elements
    (`wanted` is None) fit any array. PyCUDA's programs pass float32 for an ``int*``, as bits;
    with `kinds`, floats and integers do not fit each other.

    Raises
    ------
    TypeError
        Where the elements do not fit. `what` names the argument.
    """
    if wanted is None or wanted == dtype or not {dtype.kind, wanted.kind} <= _FAMILIES.keys():
        return
    alike = not kinds or _FAMILIES[dtype.kind] == _FAMILIES[wanted.kind]
    if _width(dtype) != _width(wanted) or not alike:
        raise TypeError(
            f"{what}: the kernel takes a pointer to {wanted}, got an array of {dtype}: convert it "
            f"with array.astype(np.{wanted}), or pass array.view(np.{wanted}) for the same bytes"
        )


_FAMILIES = {"b": "i", "i": "i", "u": "i", "f": "f", "c": "f"}


def _element(parameter: Any) -> np.dtype[Any] | None:
    """The type of the numbers that a pointer leads to, also of those in vectors such as float4.

    None where it is unknown, and for vectors of bytes: programs pass ``uint32`` for a ``uchar4*``.
    """
    if parameter.kind != "pointer":
        return None
    if parameter.type not in VECTORS:
        return parameter.dtype
    part, _ = VECTORS[parameter.type]
    return None if part in OF_ML_DTYPES or itemsize(part) == 1 else np.dtype(part)


def _width(dtype: np.dtype[Any]) -> int:
    """Bytes of a number, or of a part of a complex number."""
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def _checked_address(
    place: int, address: int, dtype: np.dtype[Any], wanted: np.dtype[Any] | None
) -> int:
    """The address of elements that a kernel can access."""
    check_elements(f"parameter #{place} (0-based)", dtype, wanted)
    if not dtype.isnative:
        raise TypeError(
            f"invalid type on parameter #{place} (0-based): elements of {dtype} are not in the "
            "machine's byte order: copy the array to the device with gpuarray.to_gpu"
        )
    if address % _USUAL and address % natural_alignment(dtype):
        raise ValueError(
            f"parameter #{place} (0-based): the address of elements of {dtype} is not a multiple "
            f"of {natural_alignment(dtype)}: pass a copy"
        )
    return address


def _argument(place: int, value: Any, wanted: np.dtype[Any] | None = None) -> Any:
    """cupola's argument for one of PyCUDA's.

    `wanted` is the type of the elements of a pointer, None where it is not known.
    """
    kind = type(value)
    if kind is DeviceAllocation:
        return value._address or int(value)  # which raises where it was freed
    if kind in _SCALARS or isinstance(value, (np.number, np.bool_, np.void)):
        return value
    if isinstance(value, (DeviceAllocation, PointerHolderBase, ManagedAllocation)):
        return int(value)
    gpudata = getattr(value, "gpudata", None)
    if gpudata is not None:
        return _checked_address(place, int(value.ptr), value.dtype, wanted)
    if isinstance(value, np.ndarray):
        if managed_of(value):
            address = value.__array_interface__["data"][0]
            return _checked_address(place, address, value.dtype, wanted)
        return in_machine_order(value).tobytes()
    if hasattr(value, "__cuda_array_interface__"):
        interface = value.__cuda_array_interface__
        dtype = np.dtype(interface["typestr"])
        return _checked_address(place, interface["data"][0], dtype, wanted)
    if isinstance(value, cupola.texture.TextureObject):
        return value
    if isinstance(value, (int, float, complex, str)):
        sized = {float: "np.float32(x)", complex: "np.complex64(z)"}.get(kind, "np.int32(n)")
        raise TypeError(
            f"invalid type on parameter #{place} (0-based): {kind.__name__} has no size; pass a "
            f"NumPy scalar such as {sized}"
        )
    if hasattr(value, "__index__"):  # memory of a pool, or of another library
        return value.__index__()
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise TypeError(
            f"invalid type on parameter #{place} (0-based): {type(value).__name__}: pass a "
            "gpuarray, drv.In(array), a NumPy scalar, np.intp(0) for a null pointer, or for a "
            "struct its bytes or a structured NumPy scalar"
        ) from None


class Function:
    """A kernel of a module."""

    def __init__(self, kernel: cupola.Kernel, module: Module) -> None:
        self._kernel, self._module = kernel, module
        self._arguments: list[Any] | None = None
        self._shared, self._texrefs = 0, []
        self._block: tuple[int, int, int] | None = None  # the block of the deprecated calls
        self._configured: dict[Any, Any] = {}
        # The elements of each parameter that is a pointer; None where they are not known.
        self._elements = [_element(one) for one in kernel.params]

    def _wanted(self, place: int) -> np.dtype[Any] | None:
        """The type of the elements of a parameter, where it is known."""
        return self._elements[place] if place < len(self._elements) else None

    def __call__(
        self,
        *args,
        block=None,
        grid=(1, 1),
        stream=None,
        shared=0,
        texrefs=(),
        time_kernel=False,
        **kwargs,
    ):
        """Launch: block= is required; grid=, stream=, shared=, texrefs=, time_kernel= are not."""
        if kwargs:
            raise ValueError(
                f"extra keyword arguments: {', '.join(kwargs)}; known are block, grid, stream, "
                "shared, texrefs, time_kernel"
            )
        if block is None:
            raise ValueError("must specify block size: pass block=(x, y, z)")
        handlers, values = [], []
        for place, value in enumerate(args):
            if isinstance(value, ArgumentHandler):
                value._check(place, self._wanted(place))
                handlers.append(value)
                values.append(int(value.get_device_alloc()))
            else:
                if isinstance(value, (np.ndarray, bytes, bytearray, memoryview)):
                    self._check_array(place, value)
                values.append(_argument(place, value, self._wanted(place)))
        for handler in handlers:
            handler.pre_call(stream)
        if time_kernel:
            current().synchronize()
            began = time.perf_counter()
        self._launch(grid, block, stream, shared, values, texrefs)
        if time_kernel:
            (stream or current()).synchronize()
            took = time.perf_counter() - began
        for handler in handlers:
            if isinstance(handler, Out):
                handler.post_call(stream)
        return took if time_kernel else None

    def _check_array(self, place: int, array: Any) -> None:
        """Refuse host memory for a pointer; for a struct it is passed by value."""
        params = self._kernel.params
        pointer = place < len(params) and params[place].kind.endswith("pointer")
        if pointer and not (isinstance(array, np.ndarray) and managed_of(array)):
            raise TypeError(_host_array(place, self._kernel.title))

    def _launch(self, grid, block, stream, shared, values, texrefs=()):
        for texref in texrefs or self._texrefs:
            texref._bind()
        try:
            launch = self._configured.get((grid, block, stream, shared))
        except TypeError:  # a list
            grid, block, launch = tuple(grid), tuple(block), None
        try:
            if launch is None:
                launch = self._kernel[grid, block, stream_of(stream), shared]
                if len(self._configured) >= _MOST_CONFIGURED:
                    self._configured.clear()
                self._configured[grid, block, stream, shared] = launch
            launch(*values)
        except cupola.Error as error:
            raise translate(error) from error

    def prepare(self, arg_types, shared=None, texrefs=()):
        """Set the types of the arguments, for `prepared_call`. Returns the function.

        Parameters
        ----------
        arg_types : iterable
            Letters of `struct` with P, F and D, or data types of NumPy.
        """
        self._arguments = [
            converter(place, kind, self._wanted(place)) for place, kind in enumerate(arg_types)
        ]
        self._shared = shared or 0
        self._texrefs = list(texrefs)
        return self

    def _prepared(self, args):
        if self._arguments is None:
            raise LogicError("prepare() was not called on this function")
        if len(args) != len(self._arguments):
            raise TypeError(
                f"the function was prepared for {len(self._arguments)} arguments, got {len(args)}"
            )
        return [convert(value) for convert, value in zip(self._arguments, args, strict=True)]

    def prepared_call(self, grid, block, *args, shared_size=None, **kwargs):
        """Launch with arguments of the prepared types."""
        _no_more(kwargs)
        shared = self._shared if shared_size is None else shared_size
        self._launch(grid, block, None, shared, self._prepared(args))

    def prepared_async_call(self, grid, block, stream, *args, shared_size=None, **kwargs):
        """Launch in a stream with arguments of the prepared types."""
        _no_more(kwargs)
        shared = self._shared if shared_size is None else shared_size
        self._launch(grid, block, stream, shared, self._prepared(args))

    def prepared_timed_call(self, grid, block, *args, shared_size=None, **kwargs):
        """Launch, and return a function that waits and returns the seconds that it took."""
        _no_more(kwargs)
        began, ended = Event().record(), Event()
        self.prepared_call(grid, block, *args, shared_size=shared_size)
        ended.record()

        def seconds():
            ended.synchronize()
            return began.time_till(ended) * 1e-3

        return seconds

    def get_attribute(self, attr):
        """The value of a `function_attribute`."""
        with translated():
            return self._kernel.attribute(int(attr))

    def set_attribute(self, attr, value):
        """Set a `function_attribute`."""
        _calls.call("cuFuncSetAttribute", _pointer(self._kernel.handle), int(attr), int(value))

    def set_cache_config(self, fc):
        """Set a `func_cache`."""
        _calls.call("cuFuncSetCacheConfig", _pointer(self._kernel.handle), int(fc))

    def set_shared_config(self, sc):
        """Set a `shared_config`."""
        _calls.call("cuFuncSetSharedMemConfig", _pointer(self._kernel.handle), int(sc))

    def __getattr__(self, name):
        attribute = function_attribute.__members__.get(name.upper())
        if attribute is None or not name.islower():
            raise AttributeError(f"pycuda.driver.Function has no attribute {name!r}")
        return self.get_attribute(attribute)

    # Deprecated in PyCUDA since 2011.

    def param_set_texref(self, texref):
        """Let launches use a texture reference."""
        self._texrefs.append(texref)

    def set_block_shape(self, x, y, z):
        """Set the block of `launch_grid`."""
        self._block = (x, y, z)

    def set_shared_size(self, bytes):
        """Set the shared memory of `launch_grid`."""
        self._shared = bytes

    def param_set(self, *args):
        """Set the arguments of `launch_grid`."""
        self._set = [
            _argument(place, value, self._wanted(place)) for place, value in enumerate(args)
        ]

    def launch(self):
        """Launch one block."""
        self.launch_grid(1, 1)

    def launch_grid(self, width, height):
        """Launch a grid of two axes."""
        self.launch_grid_async(width, height, None)

    def launch_grid_async(self, width, height, stream):
        """Launch a grid of two axes in a stream."""
        if self._block is None or not hasattr(self, "_set"):
            raise LogicError("call set_block_shape() and param_set() before the launch")
        self._launch((width, height), self._block, stream, self._shared, self._set)


def _no_more(kwargs):
    if kwargs:
        raise TypeError(f"unknown keyword arguments: {', '.join(kwargs)}")


def _pointer(handle: int) -> Any:
    from ctypes import c_void_p

    return c_void_p(handle)


_MOST_CONFIGURED = 64  # grids, blocks and streams that a function keeps
_LETTERS = {letter: np.dtype(letter).type for letter in "bBhHiIlLqQfdFD"}


def _host_array(place: int, kernel: str = "") -> str:
    return (
        f"{kernel + ': ' if kernel else ''}invalid type on parameter #{place} (0-based): the "
        "kernel takes a pointer, got an array in host memory: pass drv.In(array), drv.Out(array) "
        "or drv.InOut(array), or gpuarray.to_gpu(array)"
    )


def _number(value: Any, complex_too: bool) -> Any:
    """A number as NumPy's scalar. NumPy's types would also read texts, and take None as NaN."""
    found = np.asarray(value)
    floats = found.dtype.kind in "OV" and hasattr(value, "__float__")
    if found.ndim or not (floats or found.dtype.kind in ("biufc" if complex_too else "biuf")):
        raise TypeError
    return float(value) if floats else found[()]


def converter(place: int, kind: Any, wanted: np.dtype[Any] | None = None) -> Any:
    """A function that makes a launch's argument of a value, for a prepared type.

    `wanted` is the type of the elements of a pointer, None where it is not known.
    """
    if isinstance(kind, str) and kind == "P":

        def address(value: Any) -> Any:
            if isinstance(value, np.ndarray) and not managed_of(value):
                raise TypeError(_host_array(place))
            return value if type(value) is int else _argument(place, value, wanted)

        return address
    try:
        dtype = np.dtype(_LETTERS.get(kind, kind) if isinstance(kind, str) else kind)
    except TypeError:
        raise TypeError(
            f"prepare: arg_types[{place}]: expected a letter of struct, P, F, D or a dtype, got "
            f"{kind!r}"
        ) from None
    scalar = dtype.type
    if dtype.names is not None:

        def struct(value: Any) -> Any:
            try:
                if isinstance(value, (tuple, np.void, np.ndarray)):
                    return np.asarray(value, dtype).reshape(())[()]
            except (TypeError, ValueError):
                pass
            raise TypeError(
                f"parameter #{place} (0-based): expected a struct of {dtype}, got {value!r}"
            )

        return struct
    # The launch converts Python's numbers, and checks their range.
    plain = {"f": float, "i": int, "u": int}.get(dtype.kind, scalar)

    def number(value: Any) -> Any:
        if type(value) is plain:
            return value
        try:
            if plain is int:
                return index(value)
            return scalar(_number(value, dtype.kind == "c"))
        except (TypeError, ValueError):
            raise TypeError(
                f"parameter #{place} (0-based): expected {dtype}, got {value!r}"
            ) from None

    return number


class Module:
    """A loaded image."""

    def __init__(self, module: cupola.Module) -> None:
        self._module = module
        self._functions: dict[str, Function] = {}

    def get_function(self, name):
        """The function of that name; one object for all calls."""
        found = self._functions.get(name)
        if found is None:
            try:
                found = Function(self._module.kernel(name), self)
            except cupola.NotFoundError as error:
                raise LogicError(
                    f"cuModuleGetFunction failed: named symbol not found: {error}"
                ) from None
            self._functions[name] = found
        return found

    def get_global(self, name):
        """Address and bytes of a variable."""
        try:
            variable = self._module.globals[name]
        except cupola.NotFoundError as error:
            raise LogicError(f"cuModuleGetGlobal failed: named symbol not found: {error}") from None
        return _Variable(variable), variable.nbytes

    def get_texref(self, name):
        """A texture reference of the module."""
        with translated():
            if name not in self._module.textures:
                raise LogicError(
                    f"cuModuleGetTexRef failed: named symbol not found: {name}. Compilers of CUDA "
                    "12 and newer make no texture references: pass a cupola.Texture as an argument"
                )
        return TextureReference(self._module, name)

    def get_surfref(self, name):
        """A surface reference of the module."""
        return SurfaceReference(self._module, name)


class _Variable(int):
    """The address of a variable, which keeps its module."""

    def __new__(cls, variable: Any) -> _Variable:
        made = super().__new__(cls, variable.address)
        made.variable = variable
        return made


def module_from_file(filename):
    """Load an image: a cubin, a fatbin or PTX."""
    try:
        content = Path(filename).read_bytes()
    except FileNotFoundError:
        raise RuntimeError(f"cuModuleLoad failed: file not found: {filename}") from None
    return module_from_buffer(content)


def module_from_buffer(buffer, options=(), message_handler=None):
    """Load an image from memory.

    Parameters
    ----------
    buffer : bytes-like or str
        A cubin, a fatbin or PTX.
    options : sequence of (jit_option, value)
        Refused unless it is empty: cupola sets the options of the driver's compiler.
    message_handler : callable, optional
        Called with success, information and errors.
    """
    if options:
        raise NotImplementedError(
            "options of the driver's compiler are not supported: set the environment variable "
            "CUDA_FORCE_PTX_JIT and similar ones, or compile with options of SourceModule"
        )
    content = buffer.encode() if isinstance(buffer, str) else bytes(memoryview(buffer))
    device = current()._owner._device
    try:
        loaded = cupola.Module(content, device=device)
    except cupola.ImageError as error:
        if message_handler is not None:
            message_handler(False, "", error.log)
        raise LogicError(f"cuModuleLoadDataEx failed: {error}") from error
    if message_handler is not None:
        message_handler(True, loaded.log, "")
    return Module(loaded)

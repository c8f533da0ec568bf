# cupola/tensor_map.pyx - descriptors by which kernels copy boxes of an array.
# cython: language_level=3
"""Tensor maps."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola._argument cimport ArrayDescriptor
from cupola._attribute_docs cimport document_attributes
from cupola._tensor_map cimport (
    CUPOLA_TENSOR_MAP_AXES, CUPOLA_TENSOR_MAP_BFLOAT16, CUPOLA_TENSOR_MAP_BYTES,
    CUPOLA_TENSOR_MAP_FLOAT16, CUPOLA_TENSOR_MAP_FLOAT32, CUPOLA_TENSOR_MAP_FLOAT32_FTZ,
    CUPOLA_TENSOR_MAP_FLOAT64, CUPOLA_TENSOR_MAP_INT32, CUPOLA_TENSOR_MAP_INT64,
    CUPOLA_TENSOR_MAP_TFLOAT32, CUPOLA_TENSOR_MAP_TFLOAT32_FTZ, CUPOLA_TENSOR_MAP_UINT16,
    CUPOLA_TENSOR_MAP_UINT32, CUPOLA_TENSOR_MAP_UINT64, CUPOLA_TENSOR_MAP_UINT8,
    cupola_tensor_map_encode, cupola_tensor_map_request,
)
from cupola.abi cimport require
from cupola.array cimport Array
from cupola.device cimport known_device
from cupola.error cimport check
from cupola.layout cimport as_shape

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["TensorMap"]

# Element types by name, with the bytes of an element.
cdef dict ELEMENTS = {
    "uint8": (CUPOLA_TENSOR_MAP_UINT8, 1), "uint16": (CUPOLA_TENSOR_MAP_UINT16, 2),
    "uint32": (CUPOLA_TENSOR_MAP_UINT32, 4), "int32": (CUPOLA_TENSOR_MAP_INT32, 4),
    "uint64": (CUPOLA_TENSOR_MAP_UINT64, 8), "int64": (CUPOLA_TENSOR_MAP_INT64, 8),
    "float16": (CUPOLA_TENSOR_MAP_FLOAT16, 2), "float32": (CUPOLA_TENSOR_MAP_FLOAT32, 4),
    "float64": (CUPOLA_TENSOR_MAP_FLOAT64, 8), "bfloat16": (CUPOLA_TENSOR_MAP_BFLOAT16, 2),
    "float32_ftz": (CUPOLA_TENSOR_MAP_FLOAT32_FTZ, 4),
    "tfloat32": (CUPOLA_TENSOR_MAP_TFLOAT32, 4),
    "tfloat32_ftz": (CUPOLA_TENSOR_MAP_TFLOAT32_FTZ, 4),
}
# For elements without a type of their own: a copy moves their bits.
cdef dict BITS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


cdef str elements_of(object dtype, object asked):
    """The name of the element type in a tensor map."""
    if asked is None:
        found = dtype.name if dtype.name in ELEMENTS else BITS.get(dtype.itemsize)
        if found is None or not dtype.isnative or dtype.names is not None:
            raise ArgumentTypeError(
                f"a tensor map copies native elements of 1, 2, 4 or 8 bytes, got {dtype}")
        return found
    if asked not in ELEMENTS:
        raise ArgumentValueError(f"elements is one of {', '.join(ELEMENTS)}, got {asked!r}")
    if ELEMENTS[asked][1] != dtype.itemsize:
        raise ArgumentTypeError(
            f"elements={asked!r} has {ELEMENTS[asked][1]} bytes, the array's {dtype} has "
            f"{dtype.itemsize}")
    return asked


cdef int bytes_option(str name, object value, tuple choices) except -1:
    if value not in choices:
        raise ArgumentValueError(
            f"{name} is {', '.join(map(str, choices[:-1]))} or {choices[-1]} bytes, got {value!r}")
    return value


cdef class TensorMap(ArrayDescriptor):
    """A box of an array that a kernel copies as a whole: it takes a ``CUtensorMap`` by value.

    Devices of compute capability 9.0 and newer copy such boxes between device memory and shared
    memory (``cp.async.bulk.tensor``). The parameter is ``const __grid_constant__ CUtensorMap``.

    Parameters
    ----------
    array : Array
        Of 1 to 5 axes. Its last axis is contiguous, and its address and other strides are multiples
        of 16 bytes. The map keeps the array. `asarray` gives an array of other libraries' memory.
    box : int or sequence of int
        The elements of a box along each axis, 1 to 256. A row of it (the last axis) is a multiple
        of 16 bytes.
    steps : sequence of int, optional
        Every ``steps[k]``-th element along axis `k` is copied, 1 to 8; by default all.
    elements : str, optional
        The type of an element if it differs from the array's: ``"bfloat16"`` for bits in uint16,
        ``"tfloat32"``, ``"float32_ftz"`` or ``"tfloat32_ftz"`` for float32, which are rounded, or
        whose subnormal values become zeros.
    swizzle : int
        0, 32, 64 or 128: the bytes within which rows are permuted in shared memory.
    promotion : int
        0, 64, 128 or 256: the bytes that the L2 cache reads at once.
    fill : str
        ``"zero"`` or ``"nan"``: the value of elements outside of the array.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        One of these is invalid, or the device is older.
    """

    def __init__(self, array, box, *, steps=None, elements=None, swizzle=0, promotion=0,
                 fill="zero"):
        cdef cupola_tensor_map_request request
        cdef Array held
        cdef int index, device
        cdef unsigned axis
        if self.described is not None:
            raise TypeError("a TensorMap is initialized only once")
        if not isinstance(array, Array):
            raise ArgumentTypeError(
                f"a tensor map is of a cupola.Array, got {type(array).__name__}; "
                "cupola.asarray(x) gives one of other libraries' device memory")
        held = array
        held.require_live()
        box, count = as_shape(box), len(held.shape)
        steps = (1,) * count if steps is None else as_shape(steps)
        if not 1 <= count <= CUPOLA_TENSOR_MAP_AXES:
            raise ArgumentValueError(f"a tensor map is of 1 to 5 axes, the array has {count}")
        for name, value in (("box", box), ("steps", steps)):
            if len(value) != count:
                raise ArgumentValueError(
                    f"{name} has a number for each of the array's {count} axes, got {value}")
            if max(value) > 256:  # checked before the value is narrowed to 32 bits
                raise ArgumentValueError(f"{name} is at most 256 along each axis, got {value}")
        if fill not in ("zero", "nan"):
            raise ArgumentValueError(f"fill is 'zero' or 'nan', got {fill!r}")
        strides = held.get_strides()
        if strides[count - 1] != held.itemsize and held.shape[count - 1] != 1:
            raise ArgumentValueError(
                "the last axis of a tensor map is contiguous, got an array with strides "
                f"{strides}; copy it with x.copy()")
        self.elements = elements_of(held.dtype, elements)
        self.swizzle = bytes_option("swizzle", swizzle, (0, 32, 64, 128))
        self.promotion = bytes_option("promotion", promotion, (0, 64, 128, 256))
        memset(&request, 0, sizeof(request))
        request.address = held.get_address()
        request.type = ELEMENTS[self.elements][0]
        request.axes = count
        request.swizzle, request.promotion = self.swizzle, self.promotion
        request.fill_nan = fill == "nan"
        for axis in range(request.axes):  # the driver counts from the innermost axis
            index = request.axes - 1 - axis
            if strides[index] < 0:
                raise ArgumentValueError(
                    f"a tensor map needs positive strides, got {strides}; copy the array with "
                    "x.copy()")
            request.sizes[axis] = held.shape[index]
            request.strides[axis] = <int64_t>strides[index]
            request.box[axis], request.steps[axis] = box[index], steps[index]
        device = held.device_index
        with nogil:
            check(cupola_tensor_map_encode(device, &request, self.encoded))
        self.box, self.steps, self.fill = box, steps, fill
        self.bytes, self.nbytes = self.encoded, CUPOLA_TENSOR_MAP_BYTES
        self.described = held

    @property
    def array(self):
        """The array that a kernel accesses; the map keeps it."""
        return self.described

    @property
    def device(self):
        """The device of the array."""
        return known_device(self.described.device_index)

    def __bytes__(self):
        """The driver's ``CUtensorMap``, for kernels that read it from device memory."""
        return (<char*>self.encoded)[:CUPOLA_TENSOR_MAP_BYTES] if self.nbytes else b""

    def __repr__(self):
        return f"<cupola.TensorMap of boxes {self.box} of {self.described!r}>"


document_attributes(TensorMap, {
    "box": "The elements of a box along each axis, a tuple of int.",
    "steps": "Distances of copied elements along each axis, in elements, a tuple of int.",
    "elements": "The type of an element, a str.",
    "swizzle": "The bytes within which rows are permuted in shared memory, or 0.",
    "promotion": "The bytes that the L2 cache reads at once, or 0.",
    "fill": "The value of elements outside of the array, ``\"zero\"`` or ``\"nan\"``.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

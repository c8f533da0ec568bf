# cupola/texture.pyx - CUDA arrays, and the textures and surfaces that read and write them.
# cython: language_level=3
"""Textures and surfaces."""

cimport cython
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memset

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola._attribute_docs cimport document_attributes
from cupola._texture cimport (
    CUPOLA_ARRAY_LAYERED, CUPOLA_ARRAY_SURFACE, CUPOLA_BOX_ARRAY, CUPOLA_BOX_DEVICE,
    CUPOLA_BOX_HOST, CUPOLA_BOX_UNIFIED, cupola_box, cupola_copy_box, cupola_cuda_array_create,
    cupola_cuda_array_handle, cupola_cuda_array_release, cupola_cuda_array_retain,
    cupola_cuda_array_shape, cupola_sampling,
    cupola_surface_create, cupola_surface_handle, cupola_surface_release, cupola_texture_handle,
    cupola_texture_memory, cupola_texture_of_array, cupola_texture_of_memory,
    cupola_texture_release,
)
from cupola.abi cimport require
from cupola.array cimport Array, host_address
from cupola.copy cimport require_source
from cupola.device cimport device_index, device_text, known_device
from cupola.element cimport native_dtype
from cupola.error cimport check
from cupola._free_threading cimport load, store
from cupola.handles cimport cupola_cuda_array
from cupola.layout cimport as_shape
from cupola.stream cimport Stream, as_stream, captures

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["CudaArray", "Surface", "Texture"]

# Numbered as the driver's CUarray_format.
cdef dict FORMATS = {"u1": 1, "u2": 2, "u4": 3, "i1": 8, "i2": 9, "i4": 10, "f2": 16, "f4": 32}
cdef tuple ADDRESS_MODES = ("wrap", "clamp", "mirror", "border")
BOX_KINDS = {
    "host": CUPOLA_BOX_HOST, "device": CUPOLA_BOX_DEVICE, "array": CUPOLA_BOX_ARRAY,
    "unified": CUPOLA_BOX_UNIFIED,
}


cdef int format_of(object dtype) except -1:
    if not dtype.isnative:
        raise ArgumentTypeError(
            f"texels of {dtype} are not in the machine's byte order; pass "
            "cupola.to_device(x.get()), which converts it")
    found = FORMATS.get(dtype.str[1:])
    if found is None:
        raise ArgumentTypeError(
            f"texels are integers of 8, 16 or 32 bits, float16 or float32, got {dtype}; view "
            "other elements as channels of these, as in x.view(np.int32) with channels=2")
    return found


cdef int channels_of(object channels) except -1:
    if channels not in (1, 2, 4):
        raise ArgumentValueError(f"channels is 1, 2 or 4, got {channels!r}")
    return channels


cdef class CudaArray:
    """Texels in a layout of the driver's choice, for textures and surfaces.

    Parameters
    ----------
    shape : int or sequence of int
        ``(width,)``, ``(height, width)`` or ``(depth, height, width)`` in texels; with `layered`
        the first axis is the layers.
    dtype : data-type
        The type of a channel: an integer of 8, 16 or 32 bits, float16 or float32.
    channels : int
        1, 2 or 4 channels of a texel. Host arrays have them as a last axis where there are several.
    layered : bool
        Whether the first axis is a number of layers, between which nothing is interpolated.
    surface : bool
        Whether kernels may write it, by a `Surface`.
    device : Device or int, optional
        By default the current one.
    """

    def __cinit__(self):
        self.native = NULL

    def __init__(self, shape, dtype=np.float32, *, channels=1, bint layered=False,
                 bint surface=False, device=None):
        cdef cupola_cuda_array_shape given
        cdef int index = device_index(device)
        if self.native != NULL:
            raise TypeError("a CudaArray is initialized only once")
        self.shape = as_shape(shape)
        self.dtype = native_dtype(np.dtype(dtype))
        self.channels = channels_of(channels)
        if max(self.shape, default=0) > 2**31:  # before it is narrowed to 64 bits
            raise ArgumentValueError(
                f"no axis of a CudaArray has so many texels, got the shape {self.shape}")
        self.layered, self.surface = layered, surface
        self.device_index = index
        axes = len(self.shape) - (1 if layered else 0)
        if not 1 <= axes <= (2 if layered else 3) or 0 in self.shape:
            raise ArgumentValueError(
                f"a CudaArray has 1 to {'2 axes and the layers' if layered else '3 axes'} of at "
                f"least 1 texel, got the shape {self.shape}")
        memset(&given, 0, sizeof(given))
        given.width = self.shape[-1]
        given.height = self.shape[-2] if axes > 1 else 0
        given.depth = self.shape[0] if axes > 2 or layered else 0
        given.format = format_of(self.dtype)
        given.channels = self.channels
        given.flags = (
            (CUPOLA_ARRAY_LAYERED if layered else 0) | (CUPOLA_ARRAY_SURFACE if surface else 0))
        with nogil:
            check(cupola_cuda_array_create(index, &given, &self.native))

    def __dealloc__(self):
        with nogil:
            cupola_cuda_array_release(self.native)

    cdef cupola_cuda_array* retained(self) except NULL:
        cdef cupola_cuda_array* native
        with cython.critical_section(self):
            native = self.native
            if native != NULL:
                cupola_cuda_array_retain(native)
        if native == NULL:
            raise ArgumentValueError("this cupola.CudaArray was freed, or never initialized")
        return native

    @property
    def nbytes(self):
        """Bytes of its texels."""
        return int(np.prod(self.shape)) * self.channels * self.dtype.itemsize

    @property
    def handle(self):
        """The driver's handle, a ``CUarray``, as an int."""
        cdef cupola_cuda_array* native = self.retained()
        cdef uintptr_t handle = <uintptr_t>cupola_cuda_array_handle(native)
        with nogil:
            cupola_cuda_array_release(native)
        return handle

    @property
    def device(self):
        """The device that owns its memory."""
        return known_device(self.device_index)

    def set(self, source, stream=None):
        """Copy all texels in.

        Parameters
        ----------
        source : array_like or Array
            Of the array's shape, with the channels as a last axis where there are several, and of
            its dtype. An `Array` has to be C-contiguous.
        stream : Stream, optional
            The stream of the copy; by default the current one. Host memory was read when the call
            returns, unless it is page-locked and a stream is given.
        """
        cdef Stream queue = as_stream(stream, self.device_index)
        cdef bint captured = captures(queue, None)
        if not isinstance(source, Array):
            host = np.asarray(source, self.dtype, order="C")
            require_source(source, host, queue)
            source = host
            captures(queue, source)
        self.copy(source, queue, True)
        if stream is None and not captured and not isinstance(source, Array):
            with nogil:
                queue.wait_done()

    def get(self, out=None, stream=None):
        """Copy all texels out. Waits for the stream where the target is on the host.

        Parameters
        ----------
        out : numpy.ndarray or Array, optional
            A C-contiguous target; by default a new array on the host.
        stream : Stream, optional
            The stream of the copy; by default the current one.

        Returns
        -------
        numpy.ndarray or Array

        Notes
        -----
        While the stream is being captured, each launch of the graph writes the returned array.
        """
        cdef Stream queue = as_stream(stream, self.device_index)
        if out is None:
            out = np.empty(self.texels(), self.dtype)
        elif not isinstance(out, (Array, np.ndarray)):
            raise ArgumentTypeError(
                f"out is a numpy.ndarray or a cupola.Array, got {type(out).__name__}")
        captured = captures(queue, out)  # each launch of the graph writes it
        self.copy(out, queue, False)
        if not captured and not isinstance(out, Array):
            with nogil:
                queue.wait_done()
        return out

    def texels(self):
        """The shape of a host array with its texels: `shape`, and channels where there are several.

        Returns
        -------
        tuple of int
        """
        return (*self.shape, self.channels) if self.channels > 1 else self.shape

    cdef object copy(self, object memory, Stream queue, bint into):
        if tuple(memory.shape) != self.texels() or memory.dtype != self.dtype:
            raise ArgumentValueError(
                f"the array has texels of shape {self.texels()} and dtype {self.dtype}, got "
                f"{tuple(memory.shape)} and {memory.dtype}")
        if not memory.flags.c_contiguous:
            raise ArgumentValueError("texels are copied from and to C-contiguous arrays: pass a "
                                     "copy")
        axes = self.shape
        row = axes[-1] * self.channels * self.dtype.itemsize
        rows = axes[-2] if len(axes) - (1 if self.layered else 0) > 1 else 1
        depth = self.nbytes // (row * rows)
        if isinstance(memory, Array):
            (<Array>memory).used_on(queue)
            box = ("device", memory.address, 0, 0, 0, row, rows)
        else:
            if not into and not memory.flags.writeable:
                raise ArgumentValueError("out is read-only")
            box = ("host", host_address(memory), 0, 0, 0, row, rows)
        mine = ("array", self, 0, 0, 0, 0, 0)
        copy_box(mine if into else box, box if into else mine, row, rows, depth, queue)

    def free(self):
        """Free it now, instead of with the last reference. Textures of it keep its memory."""
        cdef cupola_cuda_array* native
        with cython.critical_section(self):
            native = self.native
            store(self.native, <cupola_cuda_array*>NULL)
        with nogil:
            cupola_cuda_array_release(native)

    def __repr__(self):
        gone = ", freed" if load(self.native) == NULL else ""
        return (
            f"<cupola.CudaArray of {self.shape}, {self.channels} x {self.dtype} on "
            f"{device_text(self.device_index)}{gone}>")


cdef int read_box(tuple box, cupola_box* out, cupola_cuda_array** retained) except -1:
    """`retained` receives a reference of the box's array, which the caller releases."""
    kind, at, x, y, z, pitch, height = box
    memset(out, 0, sizeof(out[0]))
    out.kind = BOX_KINDS[kind]
    out.x, out.y, out.z, out.pitch, out.height = x, y, z, pitch, height
    if kind == "array":
        out.array = retained[0] = (<CudaArray?>at).retained()
    else:
        out.address = at
    return 0


def copy_box(tuple to not None, tuple source not None, size_t width, size_t rows, size_t depth,
             Stream stream not None):
    """Queue a copy of ``depth`` slices of ``rows`` rows of ``width`` bytes.

    Parameters
    ----------
    to, source : tuple
        ``(kind, where, x, y, z, pitch, height)``: ``"array"`` with a `CudaArray`, or ``"host"``,
        ``"device"`` or ``"unified"`` with an address. The box begins ``x`` bytes, ``y`` rows and
        ``z`` slices from the start, in memory with rows ``pitch`` bytes apart and slices of
        ``height`` rows.
    stream : Stream
    """
    cdef cupola_box target, origin
    cdef cupola_cuda_array* retained[2]
    retained[0] = retained[1] = NULL
    try:
        read_box(to, &target, &retained[0])
        read_box(source, &origin, &retained[1])
        with nogil:
            check(cupola_copy_box(&target, &origin, width, rows, depth, stream.native))
    finally:
        with nogil:
            cupola_cuda_array_release(retained[0])
            cupola_cuda_array_release(retained[1])


cdef int address_mode(object mode) except -1:
    if mode not in ADDRESS_MODES:
        raise ArgumentValueError(f"address is one of {ADDRESS_MODES}, or a tuple of them, got "
                                 f"{mode!r}")
    return ADDRESS_MODES.index(mode)


cdef class TextureObject:
    """A texture or surface: a kernel takes it as ``cudaTextureObject_t`` or
    ``cudaSurfaceObject_t``.
    """

    @property
    def device(self):
        """The device it is on."""
        return known_device(self.device_index)


cdef int read_array(
    Texture texture, CudaArray array, const cupola_sampling* sampling, int channels
) except -1:
    cdef cupola_cuda_array* native = array.retained()
    try:
        if channels not in (1, array.channels):
            raise ArgumentValueError(
                f"the CudaArray has {array.channels} channels, got channels={channels}")
        if sampling.linear and array.dtype.kind != "f" and not sampling.normalized_values:
            refuse_linear(array.dtype)
        texture.device_index = array.device_index
        with nogil:
            check(cupola_texture_of_array(native, sampling, &texture.native))
    finally:
        with nogil:
            cupola_cuda_array_release(native)
    return 0


cdef class Texture(TextureObject):
    """Reads of texels: a kernel takes it as a ``cudaTextureObject_t``.

    Parameters
    ----------
    source : CudaArray or Array
        An `Array` is read in place: with one axis by ``tex1Dfetch``, with two axes and rows that
        are contiguous by ``tex2D``. The texture keeps the memory.
    address : {"wrap", "clamp", "mirror", "border"} or tuple of them
        The values beyond the texels, for all axes, or for x, y and z. "wrap" and "mirror" need
        normalized coordinates.
    filter : {"point", "linear"}
        "linear" interpolates between texels, which needs float results.
    normalized : bool
        Whether coordinates run from 0 to 1 along each axis.
    read : {"element", "normalized_float"}
        Whether integers are read as they are, or as floats of 0 to 1, signed ones of -1 to 1.
    border : sequence of 4 floats
        The texel of the address mode "border".
    channels : int
        Of an `Array`: 1, 2 or 4 elements, along its last axis, are a texel. That axis comes on top
        of the one or two named above.

    Raises
    ------
    ArgumentValueError
        Where memory has not the alignment that textures need; copy it to a `CudaArray`.
    """

    def __cinit__(self):
        self.native = NULL

    def __init__(self, source, *, address="clamp", str filter="point", bint normalized=False,
                 str read="element", border=(0, 0, 0, 0), int channels=1):
        cdef cupola_sampling sampling
        cdef cupola_texture_memory memory
        cdef int place, index
        if self.native != NULL:
            raise TypeError("a Texture is initialized only once")
        modes = (address,) * 3 if isinstance(address, str) else tuple(address)
        if not 1 <= len(modes) <= 3 or len(tuple(border)) != 4:
            raise ArgumentValueError(
                "address is one mode or 1 to 3 of them, border has 4 floats; got "
                f"{address!r} and {border!r}")
        if filter not in ("point", "linear"):
            raise ArgumentValueError(f"filter is 'point' or 'linear', got {filter!r}")
        if read not in ("element", "normalized_float"):
            raise ArgumentValueError(f"read is 'element' or 'normalized_float', got {read!r}")
        memset(&sampling, 0, sizeof(sampling))
        for place in range(3):
            sampling.address[place] = address_mode(modes[min(place, len(modes) - 1)])
        for place in range(4):
            sampling.border[place] = border[place]
        sampling.linear = filter == "linear"
        sampling.normalized_coordinates = normalized
        sampling.normalized_values = read == "normalized_float"
        if isinstance(source, CudaArray):
            read_array(self, <CudaArray>source, &sampling, channels)
        elif isinstance(source, Array):
            if sampling.linear and source.dtype.kind != "f" and not sampling.normalized_values:
                refuse_linear(source.dtype)
            texture_memory(<Array>source, channels_of(channels), &memory)
            index = self.device_index = (<Array>source).device_index
            with nogil:
                check(cupola_texture_of_memory(index, &memory, &sampling, &self.native))
        else:
            raise ArgumentTypeError(
                "a texture reads a cupola.CudaArray or a cupola.Array, got "
                f"{type(source).__name__}; put host data into a CudaArray by its set()")
        self.source = source
        self.handle = cupola_texture_handle(self.native)

    def __dealloc__(self):
        with nogil:
            cupola_texture_release(self.native)

    def __repr__(self):
        return f"<cupola.Texture {self.handle:#x} of {self.source!r}>"


def refuse_linear(dtype):
    raise ArgumentValueError(
        f"filter='linear' interpolates floats; read {dtype} with read='normalized_float'")


cdef int texture_memory(Array array, int channels, cupola_texture_memory* out) except -1:
    cdef tuple shape = array.shape, strides = array.get_strides()
    array.require_live()
    cdef int64_t item = array.itemsize
    if channels > 1:
        if not shape or shape[len(shape) - 1] != channels or strides[len(shape) - 1] != item:
            raise ArgumentValueError(
                f"channels={channels} needs a contiguous last axis of {channels} elements, got "
                f"the shape {shape}")
        shape, strides = shape[:-1], strides[:-1]
        item *= channels
    if len(shape) not in (1, 2) or 0 in shape or strides[len(shape) - 1] != item or (
            len(shape) == 2 and strides[0] < shape[1] * item):
        raise ArgumentValueError(
            "a texture of a cupola.Array reads one or two axes of texels with contiguous rows, "
            f"got the shape {array.shape} with strides {array.get_strides()}; copy it to a "
            "CudaArray")
    memset(out, 0, sizeof(out[0]))
    out.address = array.get_address()
    out.width = shape[len(shape) - 1]
    if len(shape) == 2:
        out.height, out.pitch = shape[0], strides[0]
    out.format = format_of(array.dtype)
    out.channels = channels
    return 0


cdef class Surface(TextureObject):
    """Reads and writes of texels: a kernel takes it as a ``cudaSurfaceObject_t``.

    Parameters
    ----------
    array : CudaArray
        Made with ``surface=True``. The surface keeps it.
    """

    def __cinit__(self):
        self.native = NULL

    def __init__(self, CudaArray array not None):
        if self.native != NULL:
            raise TypeError("a Surface is initialized only once")
        cdef cupola_cuda_array* native = array.retained()
        try:
            if not array.surface:
                raise ArgumentValueError("a surface needs a CudaArray made with surface=True")
            with nogil:
                check(cupola_surface_create(native, &self.native))
        finally:
            with nogil:
                cupola_cuda_array_release(native)
        self.source = array
        self.device_index = array.device_index
        self.handle = cupola_surface_handle(self.native)

    def __dealloc__(self):
        with nogil:
            cupola_surface_release(self.native)

    def __repr__(self):
        return f"<cupola.Surface {self.handle:#x} of {self.source!r}>"


document_attributes(CudaArray, {
    "shape": "The number of texels along each axis, a tuple of int.",
    "dtype": "The type of a channel, a `numpy.dtype`.",
    "channels": "The number of channels of a texel.",
    "layered": "Whether the first axis is a number of layers.",
    "surface": "Whether kernels may write it, by a `Surface`.",
    "device_index": "The index of the device, an int.",
})
document_attributes(TextureObject, {
    "handle": "The driver's ``CUtexObject`` or ``CUsurfObject``, an int.",
    "device_index": "The index of the device, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

# cupola/kernels.pyx - functions that run the shipped kernels on NumPy and device arrays.
# cython: language_level=3
"""Functions that run cupola's shipped kernels."""

from libc.math cimport isfinite, isinf
from libc.stdint cimport uint64_t

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BORDER_CLAMP, CUPOLA_BORDER_ZERO, CUPOLA_BUILD_ID,
    cupola_convolve_async, cupola_hello, cupola_library_path,
    cupola_module, cupola_module_shipped, cupola_saxpy_async,
)
from cupola.abi cimport require
from cupola.array cimport Array, new_array
from cupola.device cimport device_index, device_text
from cupola._dimensions cimport integer_text
from cupola.element cimport indirect_text, is_direct
from cupola.error cimport check
from cupola.kernel cimport Kernel
from cupola.module cimport adopt
from cupola.stream cimport Stream, as_stream, refuse_capture

from cupola.creation import asarray, to_device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, ImageError

__all__ = ["convolve", "hello", "mandelbrot", "saxpy", "shipped_kernels"]

cdef object FLOAT32 = np.dtype(np.float32)
cdef object UINT8 = np.dtype(np.uint8)
cdef object INT_MAX = 2**31 - 1
cdef dict BORDERS = {"zero": CUPOLA_BORDER_ZERO, "clamp": CUPOLA_BORDER_CLAMP}
cdef dict SQUARES = {size: f"convolve_{size}" for size in (3, 5, 7)}  # filters with own kernels
cdef dict modules = {}


def shipped_kernels(device=None):
    """The shipped kernels as a module: ``cupola.shipped_kernels()["saxpy"]``.

    Parameters
    ----------
    device : Device or int, optional
        By default the current one.

    Returns
    -------
    Module
    """
    cdef int index = device_index(device)
    cdef cupola_module* native = NULL
    if index not in modules:
        from cupola.image import manifest as manifests
        with nogil:
            check(cupola_module_shipped(index, &native))
        library = (<bytes>cupola_library_path()).decode()
        manifest = manifests.read(library.rpartition("/")[0] + "/kernels.json")
        modules.setdefault(index, adopt(native, "cupola's kernels", manifest))
    return modules[index]


# The arguments of kernels, which CUDA places as C does.
cdef struct ConvolutionArguments:
    uint64_t image, filter, out
    int height, width, channels, clamps

cdef struct PictureArguments:
    uint64_t lattice, graph
    int iterations
    float bound
    int side


cdef class FamilyLaunch:
    """The launch of a family's variant for one key; see `cupola.tuning.own_source.chosen`."""

    cdef Kernel kernel
    cdef unsigned grid[3]
    cdef unsigned block[3]
    cdef size_t nbytes  # of the arguments, as a C struct of them has

    def __init__(self, family, variant, int index, tuple sizes):
        found = shipped.launch_of(family, variant, sizes)
        self.kernel = family.kernel(variant, (), index)
        self.grid = [found.grid[0], 1, 1]
        self.block = [found.block[0], 1, 1]
        self.nbytes = (self.kernel.buffer_bytes() + 7) // 8 * 8

    cdef int launch(self, const void* arguments, size_t nbytes, Stream stream) except -1:
        if nbytes != self.nbytes:
            raise ImageError(
                f"{self.kernel.name}: its parameters have {self.nbytes} bytes in the shipped "
                f"image, and {nbytes} are expected: the build is inconsistent")
        with nogil:
            self.kernel.launch_packed(self.grid, self.block, arguments, stream, 0)
        return 0


cdef object shipped = None  # the module cupola.tuning.shipped, which the first use imports
cdef dict families = {}


cdef FamilyLaunch family_launch(str name, tuple key):
    """The launch of a shipped kernel; the key has the device, and sizes of the call."""
    global shipped
    family = families.get(name)
    if family is None:
        from cupola.tuning import shipped as module
        shipped = module
        family = families[name] = getattr(module, name)
    cdef dict launches = family.launches
    found = launches.get(key)
    if found is None:
        found = shipped.chosen(family, key[0], key[1:], FamilyLaunch)
    return <FamilyLaunch>found


cdef bint on_device(object value):
    return isinstance(value, Array) or hasattr(value, "__cuda_array_interface__")


cdef class CallContext:
    """The device and stream of one call, checked against its arrays."""

    cdef str function
    cdef object dtype
    cdef bint host
    cdef int device
    cdef Stream stream

    cdef object operand(self, str name, object value):
        """Check an operand: an array of the function's dtype, of NumPy or on a device."""
        if on_device(value):
            value = asarray(value)  # raises where the array was freed
        elif not isinstance(value, np.ndarray):
            try:
                value = np.asarray(memoryview(value))
            except TypeError:
                raise ArgumentTypeError(
                    f"{self.function}: {name} must be a {self.dtype} array of NumPy or of a "
                    f"device, got {type(value).__name__}") from None
        if value.dtype != self.dtype:
            raise ArgumentTypeError(
                f"{self.function}: {name} must have dtype {self.dtype}, got {value.dtype}")
        return value

    cdef object settle(self, dict operands, object stream):
        """Check that all operands are on the host or on one device; returns them in order."""
        values = [
            None if value is None and name == "out" else self.operand(name, value)
            for name, value in operands.items()]
        places = {
            name: f"on {device_text((<Array>value).device_index)}" if isinstance(value, Array)
            else "on the host"
            for name, value in zip(operands, values, strict=True) if value is not None}
        if len(set(places.values())) > 1:
            listed = ", ".join([f"{name} is {place}" for name, place in places.items()])
            raise ArgumentTypeError(
                f"{self.function}: its arrays must be on the host or on one device, but {listed}; "
                "cupola.to_device copies there, get() back")
        self.host = not isinstance(values[0], Array)
        self.device = device_index(None) if self.host else (<Array>values[0]).device_index
        self.stream = as_stream(stream, self.device)
        if self.host:
            refuse_capture(
                self.stream, self.function, "pass device arrays, as of cupola.to_device(array)")
        return values

    cdef Array inward(self, object value):
        if not isinstance(value, Array):
            return to_device(value, device=self.device, stream=self.stream)
        if is_direct(value.dtype, (<Array>value).start, (<Array>value).nbytes):
            return <Array>value
        return value.copy(stream=self.stream)  # the elements of the array are not aligned

    cdef Array outward(self, object out, tuple shape):
        """A device array for the result."""
        if out is not None:
            if out.shape != shape:
                raise ArgumentValueError(
                    f"{self.function}: out has shape {out.shape}, the result {shape}")
            if isinstance(out, Array):
                if (<Array>out).readonly:
                    raise ArgumentValueError(f"{self.function}: out is read-only")
                if not is_direct(out.dtype, (<Array>out).start, (<Array>out).nbytes):
                    raise ArgumentValueError(
                        f"{self.function}: out is {indirect_text(out.dtype, 'an aligned array')}")
                return <Array>out
            if not (out.flags.c_contiguous and out.flags.writeable):
                raise ArgumentValueError(
                    f"{self.function}: out must be C-contiguous and writable")
        return new_array(shape, self.dtype, self.device, self.stream)

    cdef int refuse_overlap(self, str name, Array source, Array made, bint same) except -1:
        """Refuse an output that overlaps a source; `same`: it may be exactly the same memory."""
        if source.nbytes and source.start < made.start + made.nbytes \
                and made.start < source.start + source.nbytes \
                and not (same and source.start == made.start):
            raise ArgumentValueError(
                f"{self.function}: out overlaps {name}, which is still being read")
        return 0

    cdef object answer(self, Array made, object out, list arrays):
        """The result, on the side of the operands."""
        for array in arrays:
            (<Array>array).used_on(self.stream)
        made.used_on(self.stream)
        if not self.host:
            return made
        result = made.get(out, stream=self.stream)
        with nogil:
            self.stream.wait_done()
        return result


cdef CallContext context_of(str function, object dtype=FLOAT32):
    cdef CallContext place = CallContext.__new__(CallContext)
    place.function = function
    place.dtype = dtype
    return place


cdef int whole(str function, str name, object value) except -1:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(
            f"{function}: {name} must be an int, got {value!r} of {type(value).__name__}")
    value = value.__index__()
    if not 0 <= value <= INT_MAX:
        raise ArgumentValueError(
            f"{function}: {name} must be 0 to {INT_MAX}, got {integer_text(value)}")
    return value


cdef float number(str function, str name, object value) except? -1:
    cdef double wide
    if isinstance(value, (str, bytes)):
        raise ArgumentTypeError(f"{function}: {name} must be a number, got {value!r}")
    try:
        wide = value
    except OverflowError:
        wide = float("nan")
        fits = False
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{function}: {name} must be a number, got {type(value).__name__}") from None
    else:
        fits = not (isinf(<float>wide) and not isinf(wide))
    if not fits:
        raise ArgumentValueError(f"{function}: {name} is outside of the range of float32")
    return <float>wide


def mandelbrot(
    size=512, lo=-2, hi=2, iterations=256, bound=2, *, lattice=None, out=None, stream=None
):
    """The Mandelbrot set: which points of a square of the complex plane stay bounded.

    Element ``[row, column]`` is 1 where z -> z * z + c, from z = 0 on, stays within `bound` for
    `iterations` steps, with c = ``lattice[column] + 1j * lattice[size - 1 - row]``: row 0 is at
    the top of the plane. Else it is 0.

    Parameters
    ----------
    size : int
        Points along a side.
    lo, hi : float
        First and last coordinate of the lattice, along both axes.
    iterations : int
        The number of steps; with 0 every point is bounded.
    bound : float
        Largest absolute value, at least 0.
    lattice : (size,) float32 array, optional
        The coordinates, in any order, instead of `size`, `lo` and `hi`. A NumPy array or a device
        array (a `cupola.Array` or anything with ``__cuda_array_interface__``).
    out : (size, size) float32 array, optional
        The output, on the same side (host or device) as `lattice`.
    stream : Stream, optional
        By default this thread's current one.

    Returns
    -------
    numpy.ndarray or Array
        (size, size) float32. With `lattice` or `out` on a device it is a `cupola.Array`, which is
        complete when the stream has done the work.

    Raises
    ------
    ArgumentError
        For wrong sizes, shapes and dtypes.
    """
    cdef CallContext place = context_of("mandelbrot")
    cdef Array points, made
    cdef int steps = whole("mandelbrot", "iterations", iterations)
    cdef float most = number("mandelbrot", "bound", bound)
    cdef int side
    cdef PictureArguments arguments
    if lattice is None:
        lattice = np.linspace(
            number("mandelbrot", "lo", lo), number("mandelbrot", "hi", hi),
            whole("mandelbrot", "size", size), dtype=np.float32)
        if on_device(out):
            lattice = to_device(lattice, device=asarray(out).device_index, stream=stream)
    lattice, out = place.settle({"lattice": lattice, "out": out}, stream)
    if len(lattice.shape) != 1:
        raise ArgumentValueError(f"mandelbrot: lattice must have one axis, got {lattice.shape}")
    side = whole("mandelbrot", "the number of points", lattice.shape[0])
    made = place.outward(out, (side, side))
    points = place.inward(lattice)
    place.refuse_overlap("the lattice", points, made, False)
    if not most >= 0:
        raise ArgumentValueError(f"mandelbrot: bound must be at least 0, got {bound!r}")
    if side:
        arguments = PictureArguments(points.start, made.start, steps, most * most, side)
        family_launch("mandelbrot", (place.device, side, steps)).launch(
            &arguments, sizeof(arguments), place.stream)
    return place.answer(made, out, [points])


cdef float finite(str function, str name, object value) except? -1:
    cdef float found = number(function, name, value)
    if not isfinite(found):
        raise ArgumentValueError(f"{function}: {name} must be finite, got {value!r}")
    return found


def mandelbrot_image(
    width=1536, height=1024, center=(-0.65, 0), span=3.6, iterations=500, samples=3, *,
    out=None, stream=None
):
    """A coloured picture of the Mandelbrot set by escape time, smooth and anti-aliased.

    A point c is black where z -> z * z + c, from z = 0 on, keeps abs(z) <= 256 for `iterations`
    steps. Else its colour follows from the step that leaves that bound, and continuously from
    abs(z) there. A pixel is the mean light of `samples` x `samples` points. Points are float32:
    below a span of about 1e-4 neighbouring points fall together.

    Parameters
    ----------
    width, height : int
        Pixels of a row, and of a column.
    center : (float, float)
        Real and imaginary part of the point in the middle.
    span : float
        Width of the picture in the complex plane; the height follows, as pixels are square.
    iterations : int
        Most steps for a point.
    samples : int
        Points of a pixel along each axis, 1 to 16.
    out : (height, width, 3) uint8 array, optional
        Where the result goes: of NumPy, or of a device (a `cupola.Array` or anything with
        ``__cuda_array_interface__``).
    stream : Stream, optional
        By default this thread's current one.

    Returns
    -------
    numpy.ndarray or Array
        (height, width, 3) uint8: red, green and blue in sRGB, row 0 at the top. With an `out` on
        a device it is a `cupola.Array`, which is complete when the stream gets there.

    Raises
    ------
    ArgumentTypeError
        For sizes that are no int, numbers that are none, and an `out` of another dtype.
    ArgumentValueError
        For sizes, numbers and shapes out of range.
    """
    cdef str name = "mandelbrot_image"
    cdef CallContext place = context_of(name, UINT8)
    cdef Array made
    cdef int columns = whole(name, "width", width), rows = whole(name, "height", height)
    cdef int steps = whole(name, "iterations", iterations)
    cdef int points = whole(name, "samples", samples)
    cdef float extent = finite(name, "span", span)
    try:
        real, imag = center
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{name}: center must be two numbers, real and imaginary part, got {center!r}"
        ) from None
    real, imag = finite(name, "center[0]", real), finite(name, "center[1]", imag)
    if not 1 <= points <= 16:
        raise ArgumentValueError(f"{name}: samples must be 1 to 16, got {points}")
    if not extent > 0:
        raise ArgumentValueError(f"{name}: span must be more than 0, got {span!r}")
    # The kernel numbers the points of a row, and of a column, in float32.
    for axis, size in (("width", columns), ("height", rows)):
        if size > 2**24 // points:
            raise ArgumentValueError(
                f"{name}: {axis} must be at most {2**24 // points} with samples={points}, got "
                f"{size}")
    (out,) = place.settle({"out": out}, stream)
    made = place.outward(out, (rows, columns, 3))
    if made.size:
        kernel = shipped_kernels(place.device)[name]
        kernel[min((made.size // 3 + 127) // 128, INT_MAX), 128, place.stream](
            made, real, imag, 0.5 * extent / (columns * points), steps, columns, rows, points)
    return place.answer(made, out, [])


def saxpy(a, x, y, out=None, stream=None):
    """a * x + y, in float32: the product is rounded, then the sum, as NumPy does.

    Parameters
    ----------
    a : float
    x, y : float32 array
        Of the same shape; both NumPy arrays, or both device arrays (a `cupola.Array` or anything
        with ``__cuda_array_interface__``).
    out : float32 array, optional
        The output, on the same side (host or device) as `x`. It may be `x` or `y`, but not overlap
        them otherwise.
    stream : Stream, optional
        By default this thread's current one.

    Returns
    -------
    numpy.ndarray or Array
        Of the shape of `x`. On a device it is a `cupola.Array`, which is complete when the stream
        gets there.

    Raises
    ------
    ArgumentTypeError
        For dtypes other than float32, and arrays in different places.
    ArgumentValueError
        For shapes that differ.
    """
    cdef CallContext place = context_of("saxpy")
    cdef Array first, second, made
    cdef float factor = number("saxpy", "a", a)
    x, y, out = place.settle({"x": x, "y": y, "out": out}, stream)
    if x.shape != y.shape:
        raise ArgumentValueError(f"saxpy: x has shape {x.shape}, y has shape {y.shape}")
    made = place.outward(out, x.shape)
    first, second = place.inward(x), place.inward(y)
    place.refuse_overlap("x", first, made, True)
    place.refuse_overlap("y", second, made, True)
    with nogil:
        check(cupola_saxpy_async(
            factor, first.start, second.start, made.start, first.size, place.stream.native))
    return place.answer(made, out, [first, second])


def convolve(image, filter, border="zero", out=None, stream=None):
    """2-D correlation of an image with a small filter, which is not flipped.

    Parameters
    ----------
    image : (height, width) or (height, width, channels) float32 array
        Of NumPy, or of a device (a `cupola.Array` or anything with ``__cuda_array_interface__``).
    filter : (odd, odd) float32 array
        On the same side (host or device); its middle is at the computed point. Each channel is
        filtered by itself.
    border : {"zero", "clamp"}
        Values outside of the image: zeros, or the nearest point's.
    out : float32 array, optional
        The output, on the same side; it must not overlap image or filter.
    stream : Stream, optional
        By default this thread's current one.

    Returns
    -------
    numpy.ndarray or Array
        Of the shape of `image`. On a device it is a `cupola.Array`, which is complete when the
        stream gets there.

    Raises
    ------
    ArgumentTypeError
        For dtypes other than float32, and arrays in different places.
    ArgumentValueError
        For wrong shapes and borders.
    """
    cdef CallContext place = context_of("convolve")
    cdef Array source, weights, made
    cdef int height, width, channels, rows, columns, edge
    cdef ConvolutionArguments arguments
    if not isinstance(border, str) or border not in BORDERS:
        raise ArgumentValueError(f"convolve: border must be 'zero' or 'clamp', got {border!r}")
    edge = BORDERS[border]
    image, filter, out = place.settle({"image": image, "filter": filter, "out": out}, stream)
    if len(image.shape) not in (2, 3):
        raise ArgumentValueError(
            "convolve: image must have shape (height, width) or (height, width, channels), got "
            f"{image.shape}")
    if len(filter.shape) != 2 or filter.shape[0] % 2 == 0 or filter.shape[1] % 2 == 0:
        raise ArgumentValueError(
            f"convolve: filter must have two axes of odd size, got {filter.shape}")
    height, width, channels = [
        whole("convolve", "a size of the image", axis) for axis in (*image.shape, 1)[:3]]
    rows, columns = [whole("convolve", "a size of the filter", axis) for axis in filter.shape]
    made = place.outward(out, image.shape)
    source, weights = place.inward(image), place.inward(filter)
    place.refuse_overlap("the image", source, made, False)
    place.refuse_overlap("the filter", weights, made, False)
    if rows == columns and rows in SQUARES:
        if made.nbytes:
            arguments = ConvolutionArguments(
                source.start, weights.start, made.start, height, width, channels,
                edge == CUPOLA_BORDER_CLAMP)
            family_launch(SQUARES[rows], (place.device, height, width, channels)).launch(
                &arguments, sizeof(arguments), place.stream)
    else:
        with nogil:
            check(cupola_convolve_async(
                source.start, weights.start, made.start, height, width, channels, rows, columns,
                edge, place.stream.native))
    return place.answer(made, out, [source, weights])


def hello(blocks=1, threads=1):
    """Print ``Hello World From GPU!`` once for each thread, and wait for the kernel.

    Parameters
    ----------
    blocks : int
        Blocks of the grid.
    threads : int
        Threads per block.
    """
    cdef unsigned grid = whole("hello", "blocks", blocks)
    cdef unsigned block = whole("hello", "threads", threads)
    with nogil:
        check(cupola_hello(grid, block))


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

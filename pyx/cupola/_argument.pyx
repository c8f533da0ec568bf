# cupola/_argument.pyx - checks Python arguments and packs them for a launch.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
#
# These run for every argument of every launch. Common arguments are recognized by their exact type
# and create no Python object; put_other packs the rest. C++ checks kinds, widths and ranges.

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.ref cimport Py_DECREF, PyObject
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t,
)
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import _ctypes
from collections.abc import Mapping

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_CONST, CUPOLA_ERROR_TYPE, CUPOLA_ERROR_VALUE,
    CUPOLA_FLOAT, CUPOLA_HIDDEN, CUPOLA_INTEGER, CUPOLA_POINTER, CUPOLA_STRUCT, cupola_address_find,
    cupola_argument_bytes, cupola_argument_count, cupola_argument_float, cupola_argument_int,
    cupola_argument_pointer, cupola_argument_refuse, cupola_argument_uint, cupola_capture_hold,
    cupola_captures, cupola_device_count, cupola_driver_beside, cupola_kernel_device,
    cupola_kernel_parameter_bytes, cupola_kernel_parameter_count, cupola_kernel_parameters,
    cupola_kernel_release, cupola_kernel_retain, cupola_memory_use, cupola_stream_handle,
    cupola_stream_retain, cupola_stream_synchronize, text,
)
from cupola._callback cimport drop, hold
from cupola._foreign cimport Foreign, remember, try_read
from cupola._free_threading cimport FREE_THREADED, load
from cupola._names cimport KeywordBinder, binder_of
from cupola._number cimport store_float, store_integer
from cupola._send cimport Queue, follow, hold_queue, open_queue, tuple_items
from cupola.abi cimport require
from cupola.array cimport Array, foreign_array, is_foreign
from cupola.array_data cimport is_freed, owner_of
from cupola._dimensions cimport integer_text
from cupola.device cimport device_text, is_same_driver
from cupola.element cimport (
    Element, element_fits, element_of, indirect_text, is_native, low_bits_of, native_array,
    wanted_text,
)
from cupola.error cimport check
from cupola.interface cimport Interface, interface_of
from cupola.memory cimport PER_THREAD, Memory
from cupola.stream cimport adopt
from cupola.tensor cimport has_dlpack
from cupola.texture cimport TextureObject
from cupola.transfer cimport Transfer

from cupola.exceptions import ArgumentError, ArgumentTypeError

cdef extern from *:
    """
    /* NumPy's public arrayscalars.h lays every scalar down as an object's head and the value. */
    template <class T>
    static inline T numpy_scalar_value(PyObject* object) {
        struct Scalar { PyObject_HEAD T value; };
        return reinterpret_cast<Scalar*>(object)->value;
    }
    """
    T numpy_scalar_value[T](PyObject* object)

cdef extern from "Python.h":
    double PyFloat_AS_DOUBLE(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object value) except? 0xFFFFFFFFFFFFFFFF
    double PyLong_AsDouble(object value) except? -1.0


cdef dict scalar_codes():
    """NumPy's scalar types, with kind letter and size packed in one number."""
    codes = {}
    for scalar in set(np.sctypeDict.values()):
        dtype = np.dtype(scalar)
        if dtype.kind in "biufc" and dtype.itemsize <= 16 and scalar is not np.longdouble:
            codes[scalar] = ord(dtype.kind) << 8 | dtype.itemsize
    return codes


cdef dict SCALARS = scalar_codes()

cdef enum Scalar:
    BOOL = (c"b" << 8) + 1
    INT8 = (c"i" << 8) + 1
    INT16 = (c"i" << 8) + 2
    INT32 = (c"i" << 8) + 4
    INT64 = (c"i" << 8) + 8
    UINT8 = (c"u" << 8) + 1
    UINT16 = (c"u" << 8) + 2
    UINT32 = (c"u" << 8) + 4
    UINT64 = (c"u" << 8) + 8
    FLOAT16 = (c"f" << 8) + 2
    FLOAT32 = (c"f" << 8) + 4
    FLOAT64 = (c"f" << 8) + 8
    COMPLEX64 = (c"c" << 8) + 8
    COMPLEX128 = (c"c" << 8) + 16


cdef str type_text(object value):
    """ "an int", "a numpy.ndarray"."""
    cdef type kind = type(value)
    name = kind.__qualname__
    if kind.__module__ == "cupola" or kind.__module__.startswith("cupola."):
        name = f"cupola.{name}"
    elif kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


cdef Signature signature_of(cupola_kernel* native):
    cdef Signature signature = Signature.__new__(Signature)
    cdef size_t index
    cupola_kernel_retain(native)
    signature.native = native
    # The count comes first: another thread may declare the first parameters meanwhile.
    signature.total = signature.count = cupola_kernel_parameter_count(native)
    signature.parameters = cupola_kernel_parameters(native)
    while signature.count and signature.parameters[signature.count - 1].kind & CUPOLA_HIDDEN:
        signature.count -= 1
    signature.nbytes = cupola_kernel_parameter_bytes(native)
    signature.device_index = cupola_kernel_device(native)
    signature.fitting = set()
    signature.elements = <Element*>calloc(signature.count + 1, sizeof(Element))
    if signature.elements == NULL:
        raise MemoryError
    for index in range(signature.count):
        if signature.parameters[index].kind & CUPOLA_POINTER:
            signature.elements[index] = element_of(text(signature.parameters[index].type))
    return signature


cdef int hold_captured(object value, cupola_stream* stream) except -1:
    """If the stream is being captured, let the graph keep another library's memory alive."""
    cdef int held = 0, status
    kept = hold(value)
    status = cupola_capture_hold(stream, <PyObject*>kept, drop, &held)
    if status != 0 or not held:
        Py_DECREF(kept)
    return check(status)


cdef inline int use_memory(Memory memory, cupola_stream* stream) except -1:
    """`Memory.use`, without a call in the common case."""
    if FREE_THREADED or <uintptr_t>cupola_stream_handle(stream) == PER_THREAD:
        return memory.use(stream)
    return 0 if memory.native == NULL else check(cupola_memory_use(memory.native, stream))


cdef int put_fields(Signature signature, char* buffer, size_t index, object value) except -1:
    """A struct by its fields: a mapping or a tuple."""
    cdef const cupola_parameter* parameter = &signature.parameters[index]
    layout = None if signature.layouts is None else signature.layouts[index]
    came = type_text(value)
    from cupola.core.struct_guess import remedy
    from cupola.core.struct_values import packed
    if layout is not None and layout.names is not None:
        try:
            made = packed(value, layout)
        except ArgumentError as error:
            status = CUPOLA_ERROR_TYPE if isinstance(error, TypeError) else CUPOLA_ERROR_VALUE
            return signature.refuse(
                index, f"{came}; {error} (kernel.params[{index}].dtype is {layout})", status)
        return signature.put_buffer(buffer, index, made.tobytes())
    if not parameter.kind & CUPOLA_STRUCT or (
        parameter.kind & CUPOLA_POINTER and isinstance(value, tuple)
    ):
        return signature.refuse_host(index, value)
    return signature.refuse(index, f"{came}; {remedy(value, parameter.size)}")


cdef int put_ctypes(Signature signature, char* buffer, size_t index, object value) except -1:
    """A struct or an array of ctypes, whose fields are checked where NumPy knows them."""
    known = index, type(value)
    if known in signature.fitting:
        return signature.put_buffer(buffer, index, value)
    try:
        dtype = np.dtype(type(value))
    except Exception:  # the struct has bit fields or pointers
        return signature.put_buffer(buffer, index, value)
    if dtype.itemsize == 0:
        return signature.put_buffer(buffer, index, value)
    found = np.frombuffer(value, dtype.base)
    if dtype.names is not None:
        return signature.put_buffer(buffer, index, found[0])
    if is_native(dtype):
        signature.fitting.add(known)
    return signature.put_buffer(buffer, index, native_array(found).tobytes())


cdef class ArrayDescriptor:
    """A struct that a kernel takes by value, and by which it accesses an array."""

    def __cinit__(self):
        self.bytes = NULL


# Signatures that declarations replaced form a chain, which may be long.
@cython.trashcan(True)
cdef class Signature:
    def __cinit__(self):
        self.native = NULL
        self.elements = NULL

    def __dealloc__(self):
        free(self.elements)
        cupola_kernel_release(self.native)

    cdef int describe(self, str title, object told, object fixed) except -1:
        cdef size_t index
        self.layouts = [one.dtype if one.kind == "struct" else None for one in told]
        self.fixed = fixed
        for index in range(self.count):
            # Types of pointers do not tell the alignment of structs, and what a kernel relies on.
            if told[index].dtype is not None and "pointer" in told[index].kind:
                self.elements[index].low_bits |= low_bits_of(told[index].dtype)
            self.elements[index].further_bits |= told[index].align - 1
            self.elements[index].low_bits |= told[index].align - 1
        given = told[:self.count]
        if any([one.descriptor is not None for one in given]):
            from cupola.core.descriptors import Descriptors
            self.descriptors = Descriptors(title, given)  # of a struct or several parameters
        return 0

    cdef KeywordBinder names(self):
        cdef KeywordBinder made
        with cython.critical_section(self):
            made = self.names_
        if made is None:
            made = binder_of(self.native, self.parameters, self.count, self.descriptors)
            with cython.critical_section(self):
                made = self.names_ = made if self.names_ is None else self.names_
        return made

    # csrc/runtime/launch/argument.cpp and module/parameter.cpp write the rest of the text.
    cdef int refuse(self, size_t index, str came, int status=CUPOLA_ERROR_TYPE) except -1:
        return check(cupola_argument_refuse(
            self.native, index, status, came.encode(errors="replace")))

    cdef int pack(self, tuple arguments, char* buffer, cupola_stream* stream) except -1:
        cdef Queue queue
        cdef int pending
        open_queue(&queue, None, self.device_index)
        queue.native = stream
        pending = self.pack_array(
            tuple_items(arguments), PyTuple_GET_SIZE(arguments), buffer, &queue)
        if pending & EXPAND:
            return self.pack(self.expanded(tuple_items(arguments)), buffer, stream)
        if pending & AWAIT:
            follow(stream, queue.awaited)
        return pending & ~AWAIT

    cdef int pack_array(
        self, PyObject** arguments, Py_ssize_t count, char* buffer, Queue* queue
    ) except -1:
        cdef size_t index
        cdef int pending = NOTHING, one
        if <size_t>count != self.count:
            if self.descriptors is not None:
                if count == self.descriptors.count:
                    return EXPAND
                self.descriptors.refuse_count(count)
            check(cupola_argument_count(self.native, count))
        for index in range(self.count):
            one = self.put_usual(buffer, index, <object>arguments[index], &queue.owning_stream)
            if one == OTHER:
                hold_queue(queue)
                one = self.put_other(buffer, index, <object>arguments[index], queue.native, queue)
            pending |= one
        return pending

    cdef int put(self, char* buffer, size_t index, object value, cupola_stream* stream) except -1:
        cdef cupola_stream* owning_stream = NULL
        cdef int pending = self.put_usual(buffer, index, value, &owning_stream)
        return self.put_other(buffer, index, value, stream, NULL) if pending == OTHER else pending

    cdef int put_usual(
        self, char* buffer, size_t index, object value, cupola_stream** owning_stream
    ) except -1:
        cdef int overflow = 0
        cdef long long integer
        cdef double number
        cdef Array array
        cdef cupola_stream* stream
        if type(value) is Array:
            array = <Array>value
            if is_freed(array):
                self.refuse(index, "a cupola.Array that was freed", CUPOLA_ERROR_VALUE)
            if not self.parameters[index].kind & CUPOLA_POINTER:
                if self.descriptors is not None:
                    return OTHER
                self.refuse_array(index, "a cupola.Array", "x.get()")
            if not array.direct:
                self.refuse_memory(
                    index, "a cupola.Array", array.contiguous, array.dtype, "x.copy()")
            if not element_fits(&self.elements[index], array.kind, array.itemsize, array.start):
                self.refuse_element(index, "a cupola.Array", array.dtype, array.start, "x")
            if array.device_index != self.device_index:
                self.refuse_device(index, "a cupola.Array", array.device_index)
            if array.readonly:
                self.refuse_readonly(index, value)
            # The parameter was just found to be a pointer: no check remains.
            memcpy(buffer + self.parameters[index].offset, &array.start, sizeof(array.start))
            if array.memory is None:
                return USE if array.owner is not None and cupola_captures() else NOTHING
            stream = array.memory.stream.native
            if owning_stream[0] == NULL:
                owning_stream[0] = stream
            return NOTHING if owning_stream[0] == stream else USE
        if type(value) is float:
            number = PyFloat_AS_DOUBLE(value)
            if not store_float(&self.parameters[index], buffer, number):
                check(cupola_argument_float(self.native, buffer, index, number))
            return NOTHING
        if type(value) is int:
            integer = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow == 0 and store_integer(&self.parameters[index], buffer, integer):
                return NOTHING
            if self.descriptors is not None and self.descriptors.takes_sizes(index):
                return OTHER
            if overflow == 0:
                check(cupola_argument_int(self.native, buffer, index, integer))
            else:
                self.put_large(buffer, index, value, overflow)
            return NOTHING
        return OTHER

    cdef int put_address(
        self, char* buffer, size_t index, uint64_t address, str came
    ) except -1:
        if cupola_argument_pointer(self.native, buffer, index, address) != 0:
            return self.refuse(index, came)
        return 0

    cdef int put_large(self, char* buffer, size_t index, object value, int sign) except -1:
        """An int that is no int64."""
        cdef uint32_t kind = self.parameters[index].kind
        if sign > 0 and value.bit_length() <= 64:
            check(cupola_argument_uint(
                self.native, buffer, index, PyLong_AsUnsignedLongLong(value)))
        elif kind & CUPOLA_FLOAT and not kind & CUPOLA_INTEGER and value.bit_length() <= 1023:
            check(cupola_argument_float(self.native, buffer, index, PyLong_AsDouble(value)))
        else:
            self.refuse(
                index, f"the integer {integer_text(value)}, which is out of its range",
                CUPOLA_ERROR_VALUE)
        return 0

    cdef int put_scalar(self, char* buffer, size_t index, object value, int code) except -1:
        """A NumPy scalar, by NumPy's same_kind rule: for example, no float becomes an integer."""
        cdef PyObject* scalar = <PyObject*>value
        cdef int64_t integer
        cdef double number
        if code == FLOAT64:
            number = numpy_scalar_value[double](scalar)
        elif code == FLOAT32:
            number = numpy_scalar_value[float](scalar)
        elif code == FLOAT16:
            number = value
        elif code == COMPLEX64 or code == COMPLEX128:
            return self.put_complex(buffer, index, value.real, value.imag)
        elif code == UINT64:
            return check(cupola_argument_uint(
                self.native, buffer, index, numpy_scalar_value[uint64_t](scalar)))
        else:
            if code == INT64:
                integer = numpy_scalar_value[int64_t](scalar)
            elif code == INT32:
                integer = numpy_scalar_value[int32_t](scalar)
            elif code == UINT32:
                integer = numpy_scalar_value[uint32_t](scalar)
            elif code == INT16:
                integer = numpy_scalar_value[int16_t](scalar)
            elif code == UINT16:
                integer = numpy_scalar_value[uint16_t](scalar)
            elif code == INT8:
                integer = numpy_scalar_value[int8_t](scalar)
            else:  # UINT8, BOOL
                integer = numpy_scalar_value[uint8_t](scalar)
            return check(cupola_argument_int(self.native, buffer, index, integer))
        return check(cupola_argument_float(self.native, buffer, index, number))

    cdef int put_other(
        self, char* buffer, size_t index, object value, cupola_stream* stream, Queue* queue
    ) except -1:
        cdef Foreign foreign
        cdef int pending
        if self.parameters[index].kind & CUPOLA_POINTER:
            if try_read(value, self.device_index, stream, &foreign):
                if not foreign.address & <uint64_t>(foreign.itemsize - 1) and element_fits(
                    &self.elements[index], foreign.kind, foreign.itemsize, foreign.address
                ):
                    memcpy(
                        buffer + self.parameters[index].offset, &foreign.address,
                        sizeof(foreign.address))
                    if cupola_captures():
                        hold_captured(value, stream)
                    if not foreign.ordered:
                        return NOTHING
                    return self.await_stream(stream, foreign.stream, queue)
        elif self.descriptors is not None:
            pending = self.put_described(buffer, index, value, stream)
            if pending != OTHER:
                return pending
        if value is None:
            return self.put_address(buffer, index, 0, "None")
        if isinstance(value, bool):
            check(cupola_argument_int(self.native, buffer, index, value is True))
            return NOTHING
        if type(value) is Memory:
            return self.put_memory(buffer, index, <Memory>value)
        if isinstance(value, Transfer):
            if not element_fits(
                &self.elements[index], (<Transfer>value).kind, (<Transfer>value).itemsize, 0
            ):
                self.refuse_transfer(index, <Transfer>value)
            # The address comes later; check now that the parameter is a pointer. Any address but
            # null will do: after a null, each launch is inspected for nulls.
            self.put_address(buffer, index, 1, f"cupola.{type(value).__name__}")
            return TRANSFER
        if isinstance(value, TextureObject):
            return self.put_texture(buffer, index, <TextureObject>value)
        if isinstance(value, ArrayDescriptor):
            return self.put_descriptor(buffer, index, <ArrayDescriptor>value)
        code = SCALARS.get(type(value))
        if code is not None:
            self.put_scalar(buffer, index, value, code)
            return NOTHING
        if isinstance(value, int):
            return self.put(buffer, index, int(value), stream)
        if isinstance(value, (float, np.longdouble)):
            check(cupola_argument_float(self.native, buffer, index, value))
            return NOTHING
        if isinstance(value, complex):
            self.put_complex(buffer, index, value.real, value.imag)
            return NOTHING
        if isinstance(value, (bytes, np.void)):
            self.put_buffer(buffer, index, value)
            return NOTHING
        if isinstance(value, (dict, tuple)):
            return put_fields(self, buffer, index, value)
        if isinstance(value, np.generic) and value.dtype.kind == "V":  # a number of ml_dtypes
            if self.parameters[index].kind & CUPOLA_FLOAT:
                check(cupola_argument_float(self.native, buffer, index, value))
            else:
                self.put_buffer(buffer, index, value.tobytes())
            return NOTHING
        if isinstance(value, np.ndarray):
            # An array without axes is a value, unless the parameter may be a pointer.
            if value.ndim == 0 and not self.parameters[index].kind & CUPOLA_POINTER:
                return self.put(buffer, index, value[()], stream)
        elif not isinstance(value, str):
            return self.put_foreign(buffer, index, value, stream)
        return self.refuse_host(index, value)

    cdef int await_stream(self, cupola_stream* stream, uint64_t other, Queue* queue) except -1:
        """Let the launch wait for another stream's work, which makes the data."""
        if queue == NULL:
            follow(stream, other)
            return NOTHING
        # Reading later arguments may queue more work there, which also comes before the launch.
        if queue.awaited != other and queue.awaited != 0:
            follow(stream, queue.awaited)
        queue.awaited = other
        return AWAIT

    cdef int put_memory(self, char* buffer, size_t index, Memory memory) except -1:
        """Raw memory, which has no element type."""
        cdef uint64_t address = load(memory.address)  # 0 only after `native` became NULL
        if load(memory.native) == NULL:
            self.refuse(index, "a cupola.Memory that was freed", CUPOLA_ERROR_VALUE)
        if memory.device_index != self.device_index and (
            not memory.pinned and not memory.managed
            or not is_same_driver(memory.device_index, self.device_index)
        ):
            self.refuse_device(index, "a cupola.Memory", memory.device_index)
        if memory.write_protected:
            self.refuse_readonly(index, memory)
        self.put_address(buffer, index, address, "a cupola.Memory")
        if address & self.elements[index].low_bits:
            self.refuse(
                index, f"a cupola.Memory at an address that is no multiple of "
                f"{self.elements[index].low_bits + 1}", CUPOLA_ERROR_VALUE)
        return NOTHING if memory.stream is None else USE

    cdef int put_texture(self, char* buffer, size_t index, TextureObject texture) except -1:
        """A handle, in a parameter that is no pointer. A graph finds the texture by it."""
        if texture.handle == 0 or not (
            self.parameters[index].kind & CUPOLA_INTEGER
            and self.parameters[index].size == sizeof(texture.handle)
        ):
            self.refuse(index, type_text(texture))
        if texture.device_index != self.device_index:
            self.refuse_device(index, type_text(texture), texture.device_index)
        return check(cupola_argument_uint(self.native, buffer, index, texture.handle))

    cdef int put_descriptor(
        self, char* buffer, size_t index, ArrayDescriptor descriptor
    ) except -1:
        """A struct with an array's address in it. A graph finds the array's memory by it."""
        cdef Array array = descriptor.described
        came = type_text(descriptor)
        if array is None or self.parameters[index].kind & CUPOLA_POINTER:
            self.refuse(index, came)
        if is_freed(array):
            self.refuse(index, f"{came} of an array that was freed", CUPOLA_ERROR_VALUE)
        if array.device_index != self.device_index:
            self.refuse_device(index, came, array.device_index)
        if cupola_argument_bytes(
            self.native, buffer, index, descriptor.bytes, descriptor.nbytes
        ) != 0:
            self.refuse(index, came)
        return USE

    cdef int put_foreign(
        self, char* buffer, size_t index, object value, cupola_stream* stream
    ) except -1:
        """Device memory of other libraries, ctypes objects, and objects with an integer value."""
        if isinstance(value, _ctypes._SimpleCData):
            return self.put(buffer, index, value.value, stream)
        if isinstance(value, _ctypes.Union):
            return self.put_buffer(buffer, index, value)
        if isinstance(value, _ctypes.Structure) or (
            isinstance(value, _ctypes.Array) and not self.parameters[index].kind & CUPOLA_POINTER
        ):
            return put_ctypes(self, buffer, index, value)
        if isinstance(value, Mapping):
            return put_fields(self, buffer, index, value)
        if hasattr(value, "__cuda_array_interface__") or has_dlpack(value):
            return self.put_interface(buffer, index, value, stream)
        # A host array of one integer has __index__ too, but its value is no address.
        if hasattr(value, "__index__") and not (
            self.parameters[index].kind & CUPOLA_POINTER and hasattr(value, "__dlpack__")
        ):
            try:
                number = value.__index__()
            except TypeError:
                return self.refuse_host(index, value)
            return self.put(buffer, index, number, stream)
        return self.refuse_host(index, value)

    cdef int put_interface(
        self, char* buffer, size_t index, object value, cupola_stream* stream
    ) except -1:
        cdef Interface interface
        cdef int device = -1, devices = 1
        kind = type_text(value)
        try:
            interface = interface_of(value, self.device_index)
        except ArgumentTypeError as error:
            self.refuse(index, f"{kind}; {error}")
        if not interface.direct:
            self.refuse_memory(
                index, kind, interface.contiguous, interface.dtype, "a contiguous copy")
        if not element_fits(
            &self.elements[index], interface.kind, interface.itemsize, interface.address
        ):
            self.refuse_element(
                index, kind, interface.dtype, interface.address, "cupola.asarray(x)")
        if interface.readonly:
            self.refuse_readonly(index, value)
        if interface.address:
            devices = 2 if cupola_driver_beside() else 0
            if not devices:
                check(cupola_device_count(&devices))
        if devices > 1:
            check(cupola_address_find(interface.address, self.device_index, &device))
            if device != self.device_index and device >= 0:
                self.refuse_device(index, kind, device)
        self.put_address(buffer, index, interface.address, kind)
        interface.wait_for_data(stream)
        if cupola_captures():
            hold_captured(value, stream)
        remember(type(value))
        return NOTHING

    cdef int put_complex(self, char* buffer, size_t index, double real, double imag) except -1:
        cdef float single[2]
        cdef double both[2]
        cdef int status
        if self.parameters[index].size == sizeof(single):
            single[0], single[1] = <float>real, <float>imag
            status = cupola_argument_bytes(self.native, buffer, index, single, sizeof(single))
        else:
            both[0], both[1] = real, imag
            status = cupola_argument_bytes(self.native, buffer, index, both, sizeof(both))
        if status != 0:
            return self.refuse(index, f"the complex number {complex(real, imag)}")
        return 0

    cdef tuple expanded(self, PyObject** arguments):
        cdef size_t index
        given = []
        for index, place in enumerate(self.descriptors.places):
            given.append(self.device_array(place, <object>arguments[index]))
        return self.descriptors.expanded(given)

    cdef object device_array(self, size_t place, object value):
        """The value; for a parameter that takes an array, another library's array as an Array."""
        if not self.descriptors.takes_array(place) or isinstance(value, Array):
            return value
        if not is_foreign(value):
            self.descriptors.refuse_value(place, type_text(value))
        return foreign_array(value)

    cdef int put_described(
        self, char* buffer, size_t index, object value, cupola_stream* stream
    ) except -1:
        """Packs the struct of an array or of sizes; OTHER: the value is the struct itself."""
        cdef Array array
        if not self.descriptors.takes_array(index):
            if not self.descriptors.takes_sizes(index):
                return OTHER
            made = self.descriptors.packed(index, value)
            if made is None:
                return OTHER
            self.put_buffer(buffer, index, made)
            return NOTHING
        if isinstance(value, Array):
            array = <Array>value
        elif is_foreign(value):
            array = <Array>foreign_array(value)
            interface_of(value, self.device_index).wait_for_data(stream)
        else:
            return OTHER
        if is_freed(array):
            self.refuse(index, "a cupola.Array that was freed", CUPOLA_ERROR_VALUE)
        if array.device_index != self.device_index:
            self.refuse_device(index, type_text(value), array.device_index)
        self.put_buffer(buffer, index, self.descriptors.packed(index, array))
        if array is value:
            return USE
        if cupola_captures():
            hold_captured(value, stream)
        return NOTHING

    cdef int put_buffer(self, char* buffer, size_t index, object value) except -1:
        """Raw bytes, of exactly the parameter's size."""
        cdef Py_buffer view
        cdef int status
        raw = value
        if isinstance(value, np.void):
            self.check_layout(index, value)
            raw = (value if is_native(value.dtype) else native_array(value)).tobytes()
        PyObject_GetBuffer(raw, &view, PyBUF_SIMPLE)
        try:
            status = cupola_argument_bytes(self.native, buffer, index, view.buf, view.len)
        finally:
            PyBuffer_Release(&view)
        if status == CUPOLA_ERROR_TYPE and self.parameters[index].kind & CUPOLA_POINTER:
            return self.refuse_host(index, value)
        return check(status)

    cdef int check_layout(self, size_t index, object value) except -1:
        """Check that a structured scalar's fields have the kernel's offsets."""
        layout = None if self.layouts is None else self.layouts[index]
        if layout is None or value.dtype.names is None:
            return 0
        known = index, value.dtype
        if value.dtype is layout or known in self.fitting:
            return 0
        from cupola.core.struct_values import difference
        other = difference(value.dtype, layout)
        if other:
            return self.refuse(
                index, f"a numpy.void of {value.dtype}, {other}; the kernel's struct is "
                f"{layout} (kernel.params[{index}].dtype)")
        self.fitting.add(known)
        return 0

    cdef int refuse_memory(
        self, size_t index, str came, bint contiguous, object dtype, str copy
    ) except -1:
        """For an array whose memory no kernel can take."""
        if not contiguous:
            return self.refuse(
                index, f"{came} that is not C-contiguous; pass {copy}, or its address as an int",
                CUPOLA_ERROR_VALUE)
        return self.refuse(
            index, f"{came} {indirect_text(dtype, copy)}",
            CUPOLA_ERROR_VALUE if is_native(dtype) else CUPOLA_ERROR_TYPE)

    cdef int refuse_element(
        self, size_t index, str came, object dtype, uint64_t address, str array
    ) except -1:
        """The error for elements that the parameter does not take; `array`: what to convert."""
        cdef Element* element = &self.elements[index]
        if element_fits(element, dtype.kind.encode()[0], dtype.itemsize, 0):
            return self.refuse(
                index, f"{came} at an address that is no multiple of {element.low_bits + 1}; pass "
                "a copy", CUPOLA_ERROR_VALUE)
        wanted = wanted_text(element, self.parameters[index].type, dtype)
        return self.refuse(
            index, f"{came} of {dtype}; "
            + (f"convert it with {array}.astype({wanted!r}), or " if wanted else "")
            + "to ignore the type, pass its address as an int")

    cdef int refuse_transfer(self, size_t index, Transfer value) except -1:
        """The error for a host array whose elements the parameter does not take."""
        name = type(value).__name__
        wanted = wanted_text(&self.elements[index], self.parameters[index].type, value.array.dtype)
        came = f"cupola.{name} of a numpy.ndarray of {value.array.dtype}"
        if wanted and value.outward:
            came += f"; convert it, y = array.astype({wanted!r}), and pass cupola.{name}(y)"
        elif wanted:
            came += f"; pass cupola.{name}(array.astype({wanted!r}))"
        return self.refuse(index, came)

    cdef int refuse_array(self, size_t index, str came, str host) except -1:
        """The error for an array where the parameter is no pointer; `host`: the array's text."""
        return self.refuse(
            index, f"{came}; the parameter is no pointer: pass one element, {host}.ravel()[0]")

    cdef int refuse_device(self, size_t index, str came, int device) except -1:
        return self.refuse(
            index, f"{came} on {device_text(device)}; the kernel is loaded on "
            f"{device_text(self.device_index)}", CUPOLA_ERROR_VALUE)

    cdef int refuse_readonly(self, size_t index, object value) except -1:
        cdef const cupola_parameter* parameter = &self.parameters[index]
        # Constness is known where the element type is known.
        if parameter.type[0] != 0 and not parameter.kind & CUPOLA_CONST:
            self.refuse(index, f"{type_text(value)} that is read-only", CUPOLA_ERROR_VALUE)
        return 0

    cdef int refuse_host(self, size_t index, object value) except -1:
        came = type_text(value)
        in_memory = PyObject_CheckBuffer(value) or isinstance(value, (list, tuple))
        if in_memory or hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
            came += " in host memory"
            if not self.parameters[index].kind & CUPOLA_POINTER:
                return self.refuse_array(index, came, "numpy.asarray(x)")
            came += (
                "; pass cupola.In(array), cupola.Out(array) or cupola.InOut(array) to copy it "
                "around the call, or cupola.to_device(array); captures, graphs and prepared "
                "launches take only the second, made before")
        return self.refuse(index, came)

    cdef list begin(self, PyObject** arguments, char* buffer, cupola_stream* stream):
        cdef size_t index
        cdef Memory memory
        cdef list begun = []
        cupola_stream_retain(stream)
        queue = adopt(stream)
        for index in range(self.count):
            argument = <object>arguments[index]
            if isinstance(argument, Transfer):
                memory = (<Transfer>argument).begin(self.device_index, queue)
                check(cupola_argument_pointer(self.native, buffer, index, memory.address))
                begun.append((argument, memory, queue))
        return begun

    cdef int end(self, list begun, cupola_stream* stream) except -1:
        cdef bint wait = False
        for transfer, memory, queue in begun:
            wait |= (<Transfer>transfer).end(memory, queue)
        if wait:
            with nogil:
                check(cupola_stream_synchronize(stream))
        return 0

    cdef int use(self, PyObject** arguments, cupola_stream* stream) except -1:
        cdef size_t index
        for index in range(self.count):
            argument = <object>arguments[index]
            if isinstance(argument, ArrayDescriptor):
                argument = (<ArrayDescriptor>argument).described
            if type(argument) is Array:
                if (<Array>argument).memory is not None:
                    if (<Array>argument).memory.stream.native != stream:
                        use_memory((<Array>argument).memory, stream)
                elif owner_of(<Array>argument) is not None:
                    hold_captured(owner_of(<Array>argument), stream)
            elif type(argument) is Memory and (<Memory>argument).stream is not None:
                if (<Memory>argument).stream.native != stream:
                    (<Memory>argument).use(stream)
        return 0


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

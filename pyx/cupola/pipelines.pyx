# cupola/pipelines.pyx - a pipeline's chunks and slots, and the steps of a schedule.
# cython: language_level=3, nonecheck=True
"""The chunks and slots of a pipeline, for schedules."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_dimensions
from cupola._argument cimport TRANSFER, Signature
from cupola._attribute_docs cimport document_attributes
from cupola._dimensions cimport read_dimensions
from cupola._pipeline cimport (
    CUPOLA_PIPELINE_INPUT, CUPOLA_PIPELINE_OUTPUT, CUPOLA_PIPELINE_STOPPED,
    cupola_pipeline_add_slot, cupola_pipeline_array, cupola_pipeline_chunk,
    cupola_pipeline_chunks, cupola_pipeline_create, cupola_pipeline_download,
    cupola_pipeline_drain, cupola_pipeline_failed, cupola_pipeline_fill, cupola_pipeline_finish,
    cupola_pipeline_launch, cupola_pipeline_ready, cupola_pipeline_release, cupola_pipeline_run,
    cupola_pipeline_set_call, cupola_pipeline_set_kernel, cupola_pipeline_set_report,
    cupola_pipeline_slots, cupola_pipeline_upload,
)
from cupola.abi cimport require
from cupola.array cimport Array, host_address, is_pinned, new_array
from cupola.device cimport device_text, known_device
from cupola.element cimport Element, element_fits
from cupola.error cimport fail
from cupola.handles cimport cupola_memory
from cupola.kernel cimport Kernel, packer_in
from cupola.memory cimport Memory, allocate_pinned

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["Chunk"]


def page_locked(device, nbytes):
    """Allocate page-locked memory, as a `Memory`."""
    return allocate_pinned(device, nbytes, False)


def is_page_locked(host):
    """Whether the driver knows all of a contiguous host array as page-locked memory."""
    first = host_address(host)
    return host.nbytes > 0 and is_pinned(first) and is_pinned(first + host.nbytes - 1)


cdef class Chunk:
    """Rows of the host arrays that a device processes together.

    In the arguments of a pipeline's kernel, ``Chunk.length``, ``Chunk.start``, ``Chunk.stop`` and
    ``Chunk.index`` are placeholders for the values of the current chunk.
    """

    def __init__(self, int64_t index, int64_t start, int64_t stop):
        self.index, self.start, self.stop = index, start, stop

    @property
    def length(self):
        """The number of rows."""
        return self.stop - self.start

    @property
    def rows(self):
        """The rows as a slice: ``array[chunk.rows]``."""
        return slice(self.start, self.stop)

    def __eq__(self, other):
        if not isinstance(other, Chunk):
            return NotImplemented
        return (self.index, self.start, self.stop) == (other.index, other.start, other.stop)

    def __hash__(self):
        return hash((self.index, self.start, self.stop))

    def __reduce__(self):
        return Chunk, (self.index, self.start, self.stop)

    def __repr__(self):
        return f"<cupola.Chunk {self.index}: rows {self.start} to {self.stop - 1}>"


cdef class Slot:
    """A stream with memory for one chunk at a time; made by `cupola.pipeline`.

    A chunk is processed in five steps, each a method: `fill`, `upload`, `launch`, `download`,
    `drain`. Different threads may work on different slots. A step raises an error while another
    thread is in a step of the same slot, and after the pipeline has ended.
    """

    def __init__(self):
        raise TypeError("slots are made by cupola.pipeline")

    @property
    def device(self):
        """The device it belongs to."""
        return known_device(self.stream.device_index)

    @property
    def chunk(self):
        """The current `Chunk`, or None."""
        cdef int64_t index = self.pipeline.chunk_in(self.index)
        return None if index < 0 else self.pipeline.chunk(index)

    @property
    def inputs(self):
        """Device arrays, cut to the length of the current chunk."""
        return self.cut(self.pipeline.inputs)

    @property
    def outputs(self):
        """Device arrays, cut to the length of the current chunk."""
        return self.cut(self.pipeline.outputs)

    @property
    def staging(self):
        """The page-locked memory for each host array, or None where it needs none."""
        return self.pinned

    cdef tuple cut(self, tuple which):
        cdef int64_t index = self.pipeline.chunk_in(self.index)
        length = 0 if index < 0 else self.pipeline.chunk(index).length
        cdef Array array
        if not self.arrays:
            raise ArgumentValueError("this pipeline has ended")
        found = []
        for place in which:
            array = self.arrays[place]
            found.append(array.view_as((length, *array.shape[1:]), None, 0))
        return tuple(found)

    def fill(self, chunk):
        """Copy a chunk of the inputs to page-locked memory, unless they are page-locked.

        Parameters
        ----------
        chunk : Chunk or int
            Each chunk is processed once.
        """
        cdef int64_t index = chunk.index if isinstance(chunk, Chunk) else chunk
        with nogil:
            self.pipeline.fill(self.index, index)

    def upload(self):
        """Queue the copies to the device."""
        with nogil:
            self.pipeline.upload(self.index)

    def launch(self):
        """Queue the kernel."""
        with nogil:
            self.pipeline.launch(self.index)

    def download(self):
        """Queue the copies of the outputs from the device."""
        with nogil:
            self.pipeline.download(self.index)

    def drain(self):
        """Wait for the queued work, and copy to the outputs unless these are page-locked.

        The slot is then free for another chunk.
        """
        with nogil:
            self.pipeline.drain(self.index)

    @property
    def ready(self):
        """Whether the device is done with the chunk, so that `drain` would not wait."""
        cdef int ready
        with nogil:
            ready = self.pipeline.is_ready(self.index)
        return ready != 0

    def __repr__(self):
        return (
            f"<cupola.Slot {self.index} on {device_text(self.stream.device_index)}: "
            f"{self.chunk!r}>")


cdef int require_elements(Signature signature, object arguments, tuple hosts) except -1:
    """Refuse a host array whose elements are not the kernel's, in words for a host array."""
    cdef size_t index
    cdef Element* element
    for index in range(min(signature.count, <size_t>len(arguments))):
        value = arguments[index]
        if not isinstance(value, HostArgument):
            continue
        dtype, element = hosts[(<HostArgument>value).index].dtype, &signature.elements[index]
        if not element_fits(element, dtype.kind.encode()[0], dtype.itemsize, 0):
            known = chr(element.kind) in "iufc"
            how = f", array.astype('{chr(element.kind)}{element.size}')" if known else ""
            signature.refuse(
                index, f"a host array of {dtype}; pass a converted copy{how}, and assign the "
                "results of an output to the array after the call")
    return 0


cdef class Pipeline:
    """The chunks and slots that a schedule is called with.

    Made by `cupola.pipeline`; it ends when the schedule returns.
    """

    def __cinit__(self):
        self.native = NULL

    def __init__(self, tuple hosts, tuple inputs, tuple outputs, int64_t length):
        cdef cupola_pipeline_array* arrays
        cdef size_t count = len(hosts), i
        if self.native != NULL:
            raise TypeError("a Pipeline is initialized only once")
        self.hosts, self.inputs, self.outputs = hosts, inputs, outputs
        self.rows, self.length = len(hosts[0]), length
        self.slots, self.caught, self.kept = (), [], []
        arrays = <cupola_pipeline_array*>calloc(count, sizeof(cupola_pipeline_array))
        if arrays == NULL:
            raise MemoryError
        axes = [np.array([host.shape, host.strides], np.int64) for host in hosts]
        try:
            for i in range(count):
                arrays[i].host = <void*>host_address(hosts[i])
                arrays[i].shape = <const int64_t*>host_address(axes[i][0])
                arrays[i].strides = <const int64_t*>host_address(axes[i][1])
                arrays[i].ndim = hosts[i].ndim
                arrays[i].itemsize = hosts[i].itemsize
                arrays[i].flags = (
                    (CUPOLA_PIPELINE_INPUT if i in inputs else 0)
                    | (CUPOLA_PIPELINE_OUTPUT if i in outputs else 0))
            self.outcome(cupola_pipeline_create(arrays, count, length, &self.native))
        finally:
            free(arrays)
        self.chunk_count = cupola_pipeline_chunks(self.native)

    def __dealloc__(self):
        with nogil:
            cupola_pipeline_release(self.native)

    def add_slot(self, Stream stream not None, tuple pinned not None):
        """Add a slot; `pinned` has page-locked `Memory` or None for each array."""
        cdef Slot slot = Slot.__new__(Slot)
        cdef size_t count = len(self.hosts), i
        cdef cupola_memory** device = <cupola_memory**>calloc(2 * count, sizeof(cupola_memory*))
        cdef cupola_memory** staging = device + count
        if device == NULL:
            raise MemoryError
        rows = min(self.length, self.rows)
        try:
            slot.arrays = tuple([
                new_array((rows, *host.shape[1:]), host.dtype, stream.device_index, stream)
                for host in self.hosts])
            for i in range(count):
                device[i] = (<Array>slot.arrays[i]).memory.native
                if pinned[i] is not None:
                    staging[i] = (<Memory>pinned[i]).native
            self.outcome(
                cupola_pipeline_add_slot(self.native, stream.native, device, staging, &slot.index))
        finally:
            free(device)
        slot.pipeline, slot.stream, slot.pinned = self, stream, pinned
        self.slots += (slot,)
        self.slot_count = len(self.slots)

    def set_kernel(self, size_t index, Kernel kernel not None, list forms, which):
        """Set a slot's launch.

        Parameters
        ----------
        forms : list of (grid, block, shared, arguments)
            A `HostArgument` among the arguments stands for a host array's device memory; a grid of
            0 launches nothing.
        which : numpy.ndarray of uint32
            The index of each chunk's form.
        """
        cdef Slot slot = self.slots[index]
        cdef Signature signature = packer_in(kernel)
        cdef size_t count = len(forms), i
        cdef cupola_dimensions* dimensions
        cdef char* buffers
        cdef const uint32_t* chosen = <const uint32_t*>host_address(which)
        dimensions = <cupola_dimensions*>calloc(count, sizeof(cupola_dimensions))
        buffers = <char*>calloc(count * signature.nbytes + 1, 1)
        try:
            if dimensions == NULL or buffers == NULL:
                raise MemoryError
            for i in range(count):
                grid, block, shared, arguments = forms[i]
                require_elements(signature, arguments, self.hosts)
                values = tuple([
                    slot.arrays[(<HostArgument>value).index] if isinstance(value, HostArgument) else
                    value for value in arguments])
                read_dimensions(
                    kernel.title, kernel.device_index, 1 if grid == 0 else grid, block, shared,
                    signature.fixed, &dimensions[i])
                if grid == 0:
                    dimensions[i].grid[0] = 0
                if signature.pack(
                    values, buffers + i * signature.nbytes, slot.stream.native
                ) & TRANSFER:
                    raise ArgumentTypeError(
                        f"{kernel.title}: In, Out and InOut copy around one call; a pipeline's "
                        "host arrays are its inputs and outputs; put other arrays on the device: "
                        "cupola.to_device(array)")
                self.kept.append(values)
            self.outcome(cupola_pipeline_set_kernel(
                self.native, index, kernel.native, dimensions, buffers, count, chosen))
            self.kept.append(kernel)
        finally:
            free(dimensions)
            free(buffers)

    def set_function(self, function):
        """Set the function that queues a chunk: ``function(chunk, stream, inputs, outputs)``."""
        self.function = function
        self.outcome(cupola_pipeline_set_call(self.native, call_function, <void*>self))

    def set_progress(self, progress, double interval):
        """Set the function called with the number of finished rows, and its interval in seconds."""
        self.progress = progress
        self.outcome(
            cupola_pipeline_set_report(self.native, call_progress, <void*>self, interval))

    def chunk(self, int64_t index):
        """The chunk at an index."""
        if not 0 <= index < self.chunk_count:
            raise IndexError(f"there is no chunk {index}: the pipeline has {self.chunk_count}")
        start = index * self.length
        return Chunk(index, start, min(start + self.length, self.rows))

    @property
    def chunks(self):
        """All chunks, in the order of their rows."""
        return [self.chunk(index) for index in range(self.chunk_count)]

    def device_array(self, size_t slot, size_t place):
        """A slot's device memory for the host array at a place in `hosts`, for a whole chunk."""
        return (<Slot>self.slots[slot]).arrays[place]

    def run(self):
        """Run the default schedule: chunks in order, slots in round-robin order."""
        with nogil:
            self.run_all()

    def finish(self, bint succeeded):
        """End the pipeline: wait until no thread is in a step and no device uses its memory.

        Parameters
        ----------
        succeeded : bool
            Whether all chunks must have been processed.

        Raises
        ------
        DriverError, ArgumentValueError
            Where it `succeeded` but work failed or a chunk is missing. Always within one of the
            pipeline's own steps.
        """
        cdef int status
        try:
            with nogil:
                status = cupola_pipeline_finish(self.native, succeeded)
            self.outcome(status)
        finally:
            if cupola_pipeline_slots(self.native) == 0:  # the pipeline has ended
                for slot in self.slots:
                    (<Slot>slot).arrays = (<Slot>slot).pinned = ()
                self.slots, self.kept, self.function, self.progress = (), [], None, None

    def failed(self):
        """The first and last chunk that the first failure may belong to.

        Returns
        -------
        tuple of Chunk or None
        """
        cdef int64_t first, last
        cupola_pipeline_failed(self.native, &first, &last)
        return None if first < 0 else (self.chunk(first), self.chunk(last))

    cdef int outcome(self, int status) except -1 nogil:
        if status == 0:
            return 0
        if status == CUPOLA_PIPELINE_STOPPED:
            with gil:
                raise self.caught.pop()
        return fail(status)

    cdef int fill(self, size_t slot, int64_t chunk) except -1 nogil:
        return self.outcome(cupola_pipeline_fill(self.native, slot, chunk))

    cdef int upload(self, size_t slot) except -1 nogil:
        return self.outcome(cupola_pipeline_upload(self.native, slot))

    cdef int launch(self, size_t slot) except -1 nogil:
        return self.outcome(cupola_pipeline_launch(self.native, slot))

    cdef int download(self, size_t slot) except -1 nogil:
        return self.outcome(cupola_pipeline_download(self.native, slot))

    cdef int drain(self, size_t slot) except -1 nogil:
        return self.outcome(cupola_pipeline_drain(self.native, slot))

    cdef int64_t chunk_in(self, size_t slot) noexcept nogil:
        return cupola_pipeline_chunk(self.native, slot)

    cdef int is_ready(self, size_t slot) except -1 nogil:
        cdef int ready = 0
        self.outcome(cupola_pipeline_ready(self.native, slot, &ready))
        return ready

    cdef int run_all(self) except -1 nogil:
        return self.outcome(cupola_pipeline_run(self.native))

    def __repr__(self):
        return (
            f"<cupola.Pipeline {self.rows} rows in {self.chunk_count} chunks, "
            f"{self.slot_count} slots>")


cdef class HostArgument:
    """A placeholder in a kernel's arguments for the device memory of a host array."""

    cdef readonly size_t index

    def __init__(self, size_t index):
        self.index = index


cdef int call_function(void* data, size_t index, int64_t chunk) noexcept nogil:
    with gil:
        pipeline = <Pipeline>data
        try:
            slot = <Slot>pipeline.slots[index]
            with slot.stream:
                pipeline.function(
                    pipeline.chunk(chunk), slot.stream, slot.inputs, slot.outputs)
        except BaseException as error:
            pipeline.caught.append(error)
            return 1
        return 0


cdef int call_progress(void* data, int64_t rows) noexcept nogil:
    with gil:
        pipeline = <Pipeline>data
        try:
            PyErr_CheckSignals()
            if pipeline.progress is not None:
                pipeline.progress(rows, pipeline.rows)
        except BaseException as error:
            pipeline.caught.append(error)
            return 1
        return 0


document_attributes(Chunk, {
    "index": "The number of the chunk; 0 for the first one.",
    "start": "The first row of the chunk in the host arrays.",
    "stop": "The row after the last row of the chunk in the host arrays.",
})
document_attributes(Slot, {
    "pipeline": "The `Pipeline`.",
    "index": "The number of the slot.",
    "stream": "The `Stream` of its work.",
})
document_attributes(Pipeline, {
    "chunk_count": "The number of chunks.",
    "slot_count": "The number of slots.",
    "rows": "The number of rows of the host arrays.",
    "length": "The rows of a chunk; the last one may have fewer.",
    "slots": "The slots, a tuple of `Slot`.",
    "hosts": "The host arrays, a tuple of `numpy.ndarray`.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

# cython: language_level=3
# tests/extending.pyx - a third party's module, for test_extending.py.
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from cupola.array cimport Array
from cupola.device cimport Device
from cupola.driver cimport CUdevice, CUresult, check_result, cuDeviceGet, cuDeviceGetCount
from cupola.error cimport check
from cupola.event cimport Event
from cupola.kernel cimport Kernel
from cupola.launch cimport Launch
from cupola.memory cimport (
    Memory, copy_on_device, copy_to_device, copy_to_host, fill_values,
)
from cupola.stream cimport Stream


def queue(Launch launch, Stream stream, int count):
    """Without Python's lock."""
    cdef int i
    with nogil:
        for i in range(count):
            launch.queue(stream)


def queue_each(list launches, Stream stream):
    cdef Launch launch
    for launch in launches:
        launch.queue(stream)  # with the lock


def set_float(Launch launch, size_t index, double value):
    with nogil:
        launch.set_float(index, value)


def set_int(Launch launch, size_t index, long long value):
    with nogil:
        launch.set_int(index, value)


def set_uint(Launch launch, size_t index, unsigned long long value):
    with nogil:
        launch.set_uint(index, value)


def set_pointer(Launch launch, size_t index, uint64_t value):
    with nogil:
        launch.set_pointer(index, value)


def set_bytes(Launch launch, size_t index, bytes value):
    cdef const char* data = value
    cdef size_t size = len(value)
    with nogil:
        launch.set_bytes(index, data, size)


def packed(Kernel kernel, double a, Array x, Array out, Stream stream, unsigned block):
    """saxpy(a, x, x, out) by a buffer of the caller's own."""
    cdef unsigned[3] grid = [1, 1, 1]
    cdef unsigned[3] threads = [block, 1, 1]
    cdef char[64] buffer
    cdef uint64_t source = x.get_address(), target = out.get_address()
    cdef Py_ssize_t n = x.size
    assert kernel.buffer_bytes() <= sizeof(buffer)
    with nogil:
        kernel.put_float(buffer, 0, a)
        kernel.put_pointer(buffer, 1, source)
        kernel.put_pointer(buffer, 2, source)
        kernel.put_pointer(buffer, 3, target)
        kernel.put_uint(buffer, 4, n)
        kernel.launch_packed(grid, threads, buffer, stream, 0)


def packed_int(Kernel kernel, size_t index, int64_t value):
    """A buffer whose bytes were 0x55 each before put_int."""
    cdef char[64] buffer
    memset(buffer, 0x55, sizeof(buffer))
    assert kernel.buffer_bytes() <= sizeof(buffer)
    with nogil:
        kernel.put_int(buffer, index, value)
    return buffer[:sizeof(buffer)]


def there_and_back(const unsigned char[::1] values, Memory first, Memory second, Stream stream):
    """Host to device to device to host; the bytes that came, with the last four filled."""
    cdef bytearray came = bytearray(values.shape[0])
    cdef unsigned char[::1] out = came
    cdef size_t n = values.shape[0]
    cdef uint64_t one = first.address, two = second.address
    with nogil:
        copy_to_device(one, &values[0], n, stream)
        copy_on_device(two, one, n, stream)
        fill_values(two + n - 4, 0x01020304, 4, 1, stream)
        copy_to_host(&out[0], two, n, stream)
        stream.wait_done()
    return bytes(came)


def refused_fill(Memory memory, int width, Stream stream):
    cdef uint64_t to = memory.address
    with nogil:
        fill_values(to, 0, width, 1, stream)


def marks(Event start, Event stop, Launch launch, Stream stream, Stream other):
    """(seconds, whether all is done) of a launch that another stream waits for."""
    cdef double seconds
    cdef int done
    with nogil:
        start.record_on(stream)
        launch.queue(stream)
        stop.record_on(stream)
        stop.hold_up(other)
        other.wait_done()
        stop.wait_done()
        done = stop.is_done() and stream.is_done()
        seconds = stop.seconds_since(start)
    return seconds, done != 0


def handles(Stream stream, Event event, Kernel kernel):
    return (
        <size_t>stream.get_handle(), <size_t>event.get_handle(), <size_t>kernel.get_handle())


def device_count():
    cdef int count = 0
    with nogil:
        check_result(cuDeviceGetCount(&count), "cuDeviceGetCount")
    return count


def refused_device():
    cdef CUdevice device
    cdef CUresult code
    with nogil:
        code = cuDeviceGet(&device, 9999)
        check_result(code, "cuDeviceGet")


def status(int value):
    with nogil:
        check(value)


def index_of(Device device not None):
    return device.index

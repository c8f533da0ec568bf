"""Copies of every shape, of every kind."""

import ctypes
from ctypes import byref, c_size_t, c_ubyte, c_void_p

from cudart.memory_structures import (
    ON_DEVICE,
    ON_HOST,
    UNSIGNED,
    BatchCopy,
    Channel,
    Copy,
    CopyAttributes,
    Extent,
    Location,
    Operand,
    PeerCopy,
    Pitched,
    Position,
)
from cudart.runtime import (
    DEFAULT,
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    HOST_TO_HOST,
)

BYTES = Channel(8, 0, 0, 0, UNSIGNED)
INTS = Channel(32, 0, 0, 0, UNSIGNED)


def _numbers(count=256):
    return (c_ubyte * count)(*[n % 251 for n in range(count)])


def _device(runtime, count=256):
    """Device memory with the numbers."""
    pointer = runtime.handle("cudaMalloc", count)
    runtime.cudaMemcpy(pointer, _numbers(count), count, HOST_TO_DEVICE)
    return pointer


def _note(runtime, what, pointer, count=256):
    """A checksum of device memory, which tells places apart."""
    runtime.cudaDeviceSynchronize()
    found = (c_ubyte * count)()
    runtime.cudaMemcpy(found, pointer, count, DEVICE_TO_HOST)
    runtime.note(what, sum((n + 1) * byte for n, byte in enumerate(found)))


def _array(runtime, width, height=0, channel=BYTES):
    return runtime.handle("cudaMallocArray", byref(channel), width, height, 0)


def of_bytes(runtime):
    host, more = _numbers(), (c_ubyte * 256)()
    device, other = _device(runtime), runtime.handle("cudaMalloc", 256)
    stream = runtime.handle("cudaStreamCreate")
    copies = [
        (more, host, HOST_TO_HOST),
        (other, host, HOST_TO_DEVICE),
        (other, device, DEVICE_TO_DEVICE),
        (more, device, DEVICE_TO_HOST),
        (more, host, DEFAULT),
        (other, host, DEFAULT),
        (other, device, DEFAULT),
        (more, device, DEFAULT),
        (more, device, 5),
        (more, device, -1),
    ]
    for name, last in [
        ("cudaMemcpy", ()),
        ("cudaMemcpyAsync", (stream,)),
        ("cudaMemcpy_ptds", ()),
        ("cudaMemcpyAsync_ptsz", (0,)),
    ]:
        for to, source, kind in copies:
            runtime.note("kind", kind)
            runtime.cudaMemset(other, 0, 256)
            ctypes.memset(more, 0, 256)
            getattr(runtime, name)(to, source, 200, kind, *last)
            _note(runtime, "device", other)
            runtime.note("host", sum(more))
    for kind in (HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT, 5):
        runtime.note("kind", kind)
        runtime.cudaMemcpy(other, device, 0, kind)
        runtime.cudaMemcpy(None, None, 0, kind)
        runtime.cudaMemcpyAsync(None, None, 0, kind, stream)
    runtime.cudaMemcpy(None, host, 8, HOST_TO_DEVICE)
    runtime.cudaMemcpy(device, None, 8, HOST_TO_DEVICE)
    runtime.cudaMemcpy(None, device, 8, DEVICE_TO_HOST)
    runtime.cudaMemcpy(host, None, 8, DEVICE_TO_HOST)
    runtime.cudaMemcpy(None, device, 8, DEFAULT)


def of_rows(runtime):
    host, more = _numbers(), (c_ubyte * 256)()
    device, other = _device(runtime), runtime.handle("cudaMalloc", 256)
    stream = runtime.handle("cudaStreamCreate")
    for name, last in [
        ("cudaMemcpy2D", ()),
        ("cudaMemcpy2DAsync", (stream,)),
        ("cudaMemcpy2D_ptds", ()),
        ("cudaMemcpy2DAsync_ptsz", (0,)),
    ]:
        call = getattr(runtime, name)
        for to, source, kind in [
            (more, host, HOST_TO_HOST),
            (other, host, HOST_TO_DEVICE),
            (other, device, DEVICE_TO_DEVICE),
            (more, device, DEVICE_TO_HOST),
            (other, host, DEFAULT),
            (more, device, DEFAULT),
        ]:
            runtime.note("kind", kind)
            runtime.cudaMemset(other, 0, 256)
            ctypes.memset(more, 0, 256)
            call(to, 16, source, 20, 7, 3, kind, *last)
            _note(runtime, "device", other)
            runtime.note("host", [sum(more), sum(more[:16]), sum(more[:32])])
        call(other, 16, host, 20, 17, 3, HOST_TO_DEVICE, *last)
        call(other, 20, host, 16, 17, 3, HOST_TO_DEVICE, *last)
        call(other, 16, host, 16, 17, 1, HOST_TO_DEVICE, *last)
        call(other, 16, host, 16, 17, 0, HOST_TO_DEVICE, *last)
        call(other, 0, host, 0, 0, 3, HOST_TO_DEVICE, *last)
        call(other, 16, host, 16, 7, 3, 5, *last)
        call(other, 16, host, 16, 0, 3, 5, *last)
        call(None, 16, host, 16, 7, 3, HOST_TO_DEVICE, *last)
        call(other, 16, None, 16, 7, 3, HOST_TO_DEVICE, *last)


def of_boxes(runtime):
    host, device = _numbers(4096), _device(runtime, 4096)
    other = runtime.handle("cudaMalloc", 4096)
    stream = runtime.handle("cudaStreamCreate")
    array = runtime.handle("cudaMalloc3DArray", byref(INTS), Extent(8, 5, 4), 0)
    second = runtime.handle("cudaMalloc3DArray", byref(INTS), Extent(8, 5, 4), 0)
    narrow = runtime.handle("cudaMalloc3DArray", byref(BYTES), Extent(32, 5, 4), 0)
    from_host = Pitched(ctypes.addressof(host), 40, 40, 5)
    from_device, to_device = Pitched(device, 40, 40, 5), Pitched(other, 48, 48, 6)
    extent = Extent(5, 3, 2)
    zeros = (c_ubyte * 4096)()
    for made in (array, second):
        source = Pitched(ctypes.addressof(zeros), 32, 32, 5)
        runtime.cudaMemcpy3D(
            byref(Copy(source=source, to_array=made, extent=Extent(8, 5, 4), kind=1))
        )
    good = {
        "host to device": Copy(source=from_host, target=to_device, extent=extent, kind=1),
        "device to device": Copy(
            source=from_device, from_position=Position(3, 1, 1), target=to_device,
            to_position=Position(7, 2, 1), extent=extent, kind=3,
        ),
        "to array": Copy(
            source=from_host, from_position=Position(3, 1, 1), to_array=array,
            to_position=Position(2, 1, 1), extent=extent, kind=1,
        ),
        "between arrays": Copy(
            from_array=array, to_array=second, to_position=Position(1, 0, 0), extent=extent, kind=3,
        ),
        "from array": Copy(
            from_array=second, from_position=Position(1, 1, 0), target=to_device,
            to_position=Position(3, 0, 0), extent=extent, kind=3,
        ),
        "default": Copy(from_array=second, target=to_device, extent=extent, kind=4),
        "one row without a pitch": Copy(
            source=Pitched(device, 0, 0, 0), target=to_device, extent=Extent(5, 1, 1), kind=3
        ),
        "no width": Copy(source=from_host, target=to_device, extent=Extent(0, 3, 2), kind=1),
        "no depth": Copy(source=from_host, target=to_device, extent=Extent(5, 3, 0), kind=1),
    }  # fmt: skip
    bad = {
        "no source": Copy(target=to_device, extent=extent, kind=1),
        "no target": Copy(source=from_host, extent=extent, kind=1),
        "two sources": Copy(
            source=from_host, from_array=array, target=to_device, extent=extent, kind=3
        ),
        "two targets": Copy(
            source=from_host, to_array=array, target=to_device, extent=extent, kind=1
        ),
        "kind": Copy(source=from_host, target=to_device, extent=extent, kind=5),
        "array of the host": Copy(from_array=array, target=to_device, extent=extent, kind=1),
        "to array of the host": Copy(source=from_device, to_array=array, extent=extent, kind=2),
        "other elements": Copy(from_array=array, to_array=narrow, extent=extent, kind=3),
        "pitch": Copy(
            source=Pitched(device, 4, 4, 5), target=to_device, extent=extent, kind=3
        ),
        "height": Copy(
            source=Pitched(device, 40, 40, 2), target=to_device, extent=extent, kind=3
        ),
        "beyond the array": Copy(
            source=from_host, to_array=array, to_position=Position(4, 0, 0), extent=extent, kind=1
        ),
        "deeper": Copy(source=from_host, to_array=array, extent=Extent(5, 3, 5), kind=1),
    }  # fmt: skip
    for name, last in [
        ("cudaMemcpy3D", ()),
        ("cudaMemcpy3DAsync", (stream,)),
        ("cudaMemcpy3D_ptds", ()),
        ("cudaMemcpy3DAsync_ptsz", (0,)),
    ]:
        for what, copy in good.items():
            runtime.cudaMemset(other, 0, 4096)
            getattr(runtime, name)(byref(copy), *last)
            _note(runtime, what, other, 4096)
        for what, copy in bad.items():
            runtime.note("wrong", what)
            getattr(runtime, name)(byref(copy), *last)
        getattr(runtime, name)(None, *last)


def between_devices(runtime):
    device, other = _device(runtime), runtime.handle("cudaMalloc", 4096)
    array = runtime.handle("cudaMalloc3DArray", byref(BYTES), Extent(16, 4, 0), 0)
    stream = runtime.handle("cudaStreamCreate")
    runtime.cudaMemcpyPeer(other, 0, device, 0, 100)
    _note(runtime, "bytes", other)
    runtime.cudaMemcpyPeerAsync(other, 0, device + 8, 0, 100, stream)
    _note(runtime, "bytes", other)
    for to, source in [(99, 0), (0, 99), (-1, 0)]:
        runtime.cudaMemcpyPeer(other, to, device, source, 100)
        runtime.cudaMemcpyPeerAsync(other, to, device, source, 100, stream)
    runtime.cudaMemcpyPeer(other, 0, device, 0, 0)
    runtime.cudaMemcpyPeer(0, 0, device, 0, 8)
    source, target = Pitched(device, 16, 16, 4), Pitched(other, 20, 20, 6)
    for name, last in [
        ("cudaMemcpy3DPeer", ()),
        ("cudaMemcpy3DPeerAsync", (stream,)),
        ("cudaMemcpy3DPeer_ptds", ()),
        ("cudaMemcpy3DPeerAsync_ptsz", (0,)),
    ]:
        for copy in [
            PeerCopy(source=source, target=target, extent=Extent(5, 3, 2)),
            PeerCopy(source=source, to_array=array, extent=Extent(5, 3, 1)),
            PeerCopy(from_array=array, target=target, extent=Extent(5, 3, 1)),
            PeerCopy(source=source, target=target, extent=Extent(0, 3, 2)),
            PeerCopy(source=source, target=target, extent=Extent(5, 3, 2), to_device=99),
            PeerCopy(source=source, target=target, extent=Extent(5, 3, 2), from_device=-1),
            PeerCopy(target=target, extent=Extent(5, 3, 2)),
            PeerCopy(source=source, target=target, extent=Extent(18, 3, 2)),
        ]:
            runtime.cudaMemset(other, 0, 256)
            getattr(runtime, name)(byref(copy), *last)
            _note(runtime, "box", other)
        getattr(runtime, name)(None, *last)


def of_arrays(runtime):
    host, more, device = _numbers(), (c_ubyte * 256)(), _device(runtime)
    array, other = _array(runtime, 16, 8), _array(runtime, 16, 8)
    stream = runtime.handle("cudaStreamCreate")
    for suffix, last in [("", ()), ("Async", (stream,)), ("_ptds", ()), ("Async_ptsz", (0,))]:
        to = getattr(runtime, "cudaMemcpy2DToArray" + suffix)
        back = getattr(runtime, "cudaMemcpy2DFromArray" + suffix)
        to(array, 0, 0, host, 16, 16, 8, HOST_TO_DEVICE, *last)
        to(array, 3, 2, device, 20, 7, 3, DEVICE_TO_DEVICE, *last)
        to(array, 3, 2, host, 20, 7, 3, DEFAULT, *last)
        runtime.cudaDeviceSynchronize()
        back(more, 20, array, 1, 1, 9, 5, DEVICE_TO_HOST, *last)
        runtime.cudaDeviceSynchronize()
        runtime.note("back", list(more[:100]))
        back(device, 16, array, 0, 0, 16, 8, DEVICE_TO_DEVICE, *last)
        for arguments in [
            (array, 0, 0, host, 16, 16, 8, DEVICE_TO_HOST),
            (array, 0, 0, host, 16, 16, 8, HOST_TO_HOST),
            (array, 0, 0, host, 16, 16, 8, 5),
            (array, 0, 0, host, 8, 16, 8, HOST_TO_DEVICE),
            (array, 8, 0, host, 16, 16, 8, HOST_TO_DEVICE),
            (array, 0, 1, host, 16, 16, 8, HOST_TO_DEVICE),
            (array, 0, 0, host, 16, 0, 8, HOST_TO_DEVICE),
            (array, 0, 0, None, 16, 16, 8, HOST_TO_DEVICE),
            (None, 0, 0, host, 16, 16, 8, HOST_TO_DEVICE),
        ]:
            to(*arguments, *last)
        for arguments in [
            (more, 16, array, 0, 0, 16, 8, HOST_TO_DEVICE),
            (more, 8, array, 0, 0, 16, 8, DEVICE_TO_HOST),
            (more, 16, array, 0, 1, 16, 8, DEVICE_TO_HOST),
            (None, 16, array, 0, 0, 16, 8, DEVICE_TO_HOST),
            (more, 16, None, 0, 0, 16, 8, DEVICE_TO_HOST),
        ]:
            back(*arguments, *last)
    for name in ("cudaMemcpy2DArrayToArray", "cudaMemcpy2DArrayToArray_ptds"):
        call = getattr(runtime, name)
        call(other, 2, 1, array, 0, 2, 9, 3, DEVICE_TO_DEVICE)
        runtime.cudaMemcpy2DFromArray(more, 16, other, 0, 0, 16, 8, DEVICE_TO_HOST)
        runtime.note("middle", list(more[16:64]))
        call(other, 2, 1, array, 0, 2, 9, 3, DEFAULT)
        call(other, 2, 1, array, 0, 2, 9, 3, HOST_TO_DEVICE)
        call(other, 9, 1, array, 0, 2, 9, 3, DEVICE_TO_DEVICE)
        call(other, 0, 0, None, 0, 0, 9, 3, DEVICE_TO_DEVICE)
        call(None, 0, 0, array, 0, 0, 9, 3, DEVICE_TO_DEVICE)


def of_counts(runtime):
    host, more = _numbers(), (c_ubyte * 128)()
    array, wide = _array(runtime, 16, 8), _array(runtime, 32, 4)
    stream = runtime.handle("cudaStreamCreate")
    runtime.cudaMemcpy2DToArray(array, 0, 0, more, 16, 16, 8, HOST_TO_DEVICE)
    for suffix, last in [("", ()), ("Async", (stream,)), ("_ptds", ()), ("Async_ptsz", (0,))]:
        to = getattr(runtime, "cudaMemcpyToArray" + suffix)
        back = getattr(runtime, "cudaMemcpyFromArray" + suffix)
        for x, y, count in [(0, 0, 128), (5, 1, 3), (5, 1, 20), (5, 1, 50), (0, 2, 32), (3, 0, 0)]:
            to(array, x, y, host, count, HOST_TO_DEVICE, *last)
            runtime.cudaDeviceSynchronize()
            ctypes.memset(more, 0, 128)
            back(more, array, x, y, count, DEVICE_TO_HOST, *last)
            runtime.cudaDeviceSynchronize()
            runtime.note(f"count {x, y, count}", sum(more))
        to(array, 0, 0, host, 129, HOST_TO_DEVICE, *last)
        to(array, 16, 0, host, 8, HOST_TO_DEVICE, *last)
        to(array, 0, 8, host, 8, HOST_TO_DEVICE, *last)
        to(array, 0, 0, host, 8, DEVICE_TO_HOST, *last)
        to(array, 0, 0, None, 8, HOST_TO_DEVICE, *last)
        to(None, 0, 0, host, 8, HOST_TO_DEVICE, *last)
        back(more, array, 0, 0, 8, HOST_TO_DEVICE, *last)
        back(more, None, 0, 0, 8, DEVICE_TO_HOST, *last)
        back(None, array, 0, 0, 8, DEVICE_TO_HOST, *last)
        runtime.cudaDeviceSynchronize()
    for name in ("cudaMemcpyArrayToArray", "cudaMemcpyArrayToArray_ptds"):
        call = getattr(runtime, name)
        call(wide, 5, 1, array, 3, 2, 60, DEVICE_TO_DEVICE)
        call(wide, 0, 0, array, 0, 0, 0, DEVICE_TO_DEVICE)
        runtime.cudaMemcpy2DFromArray(more, 32, wide, 0, 0, 32, 4, DEVICE_TO_HOST)
        runtime.note("middle", list(more[37:97]))
        call(wide, 0, 0, array, 0, 0, 129, DEVICE_TO_DEVICE)
        call(wide, 0, 0, array, 0, 0, 8, HOST_TO_DEVICE)
        call(wide, 0, 0, None, 0, 0, 8, DEVICE_TO_DEVICE)
        call(None, 0, 0, array, 0, 0, 8, DEVICE_TO_DEVICE)


def batches(runtime):
    host, device = _numbers(), _device(runtime)
    other = runtime.handle("cudaMalloc", 256)
    stream = runtime.handle("cudaStreamCreate")
    targets = (c_void_p * 2)(other, other + 100)
    sources = (c_void_p * 2)(ctypes.addressof(host), device + 10)
    sizes = (c_size_t * 2)(50, 60)
    attributes = CopyAttributes(1, Location(ON_HOST, 0), Location(ON_DEVICE, 0), 0)
    index, failed = (c_size_t * 1)(0), c_size_t(7)
    for suffix in ("", "_ptsz"):
        call = getattr(runtime, "cudaMemcpyBatchAsync" + suffix)
        last = (byref(failed), stream) if runtime.major == 12 else (stream,)
        runtime.cudaMemset(other, 0, 256)
        call(targets, sources, sizes, 2, byref(attributes), index, 1, *last)
        _note(runtime, "batch", other)
        call(targets, sources, sizes, 0, byref(attributes), index, 1, *last)
        call(targets, sources, sizes, 2, byref(attributes), index, 0, *last)
        call(targets, sources, sizes, 2, None, index, 1, *last)
        call(targets, None, sizes, 2, byref(attributes), index, 1, *last)
        call(None, sources, sizes, 2, byref(attributes), index, 1, *last)
        call(targets, sources, None, 2, byref(attributes), index, 1, *last)
        call(targets, sources, sizes, 2, byref(attributes), index, 1, *last[:-1], 0)
        call(targets, sources, sizes, 2, byref(CopyAttributes(99)), index, 1, *last)


def batches_of_boxes(runtime):
    device, other = _device(runtime), runtime.handle("cudaMalloc", 256)
    stream, failed = runtime.handle("cudaStreamCreate"), c_size_t(7)
    copy = BatchCopy(order=1, extent=Extent(5, 3, 2))
    copy.source, copy.target = Operand(1), Operand(1)
    for operand, pointer in [(copy.source, device), (copy.target, other)]:
        operand.of.pointer, operand.of.row, operand.of.layer = pointer, 16, 4
        operand.of.location = Location(ON_DEVICE, 0)
    for suffix in ("", "_ptsz"):
        call = getattr(runtime, "cudaMemcpy3DBatchAsync" + suffix)
        middle = (byref(failed),) if runtime.major == 12 else ()
        runtime.cudaMemset(other, 0, 256)
        call(1, byref(copy), *middle, 0, stream)
        _note(runtime, "batch", other)
        call(0, byref(copy), *middle, 0, stream)
        call(1, None, *middle, 0, stream)
        call(1, byref(copy), *middle, 1, stream)
        call(1, byref(copy), *middle, 0, 0)
        call(1, byref(BatchCopy(order=1)), *middle, 0, stream)

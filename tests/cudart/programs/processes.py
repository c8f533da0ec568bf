"""Memory and pools that another process opens."""

import array
import json
import os
import socket
from ctypes import byref, c_int, c_uint64, c_void_p

from cudart.memory_structures import ON_DEVICE, IpcHandle, Location, PoolProps

PINNED, FD = 1, 1


def _with_child(runtime, parent, child):
    """Run `parent` here and `child` in a new process, both before any other call.

    Both get the end of a socket. The transcript of the child follows that of the parent.
    """
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process == 0:
        ours.close()
        child(runtime, theirs)
        theirs.sendall(json.dumps([runtime.transcript, sorted(runtime.called)]).encode())
        os._exit(0)
    theirs.close()
    parent(runtime, ours)
    text = b""
    while part := ours.recv(4096):
        text += part
    transcript, called = json.loads(text)
    runtime.transcript += transcript
    runtime.called |= set(called)
    runtime.note("status of the child", os.waitpid(process, 0)[1])


def memory(runtime):
    def parent(runtime, end):
        handle = IpcHandle()
        pointer = runtime.upload([1, 2, 3, 4])
        runtime.cudaIpcGetMemHandle(byref(handle), pointer)
        end.sendall(bytes(handle))
        end.recv(1)
        runtime.note("written", runtime.ints(pointer, 4))
        end.sendall(b".")

    def child(runtime, end):
        handle, opened = IpcHandle.from_buffer_copy(end.recv(64)), c_void_p()
        runtime.cudaIpcOpenMemHandle(byref(opened), handle, 1)
        runtime.note("read", runtime.ints(opened, 4))
        runtime.cudaMemset(opened, 0, 8)
        runtime.cudaDeviceSynchronize()
        end.sendall(b".")
        end.recv(1)
        runtime.cudaIpcCloseMemHandle(opened)
        runtime.cudaIpcCloseMemHandle(opened)

    _with_child(runtime, parent, child)


def pools(runtime):
    def parent(runtime, end):
        props = PoolProps(PINNED, FD, Location(ON_DEVICE, 0))
        pool = runtime.handle("cudaMemPoolCreate", byref(props))
        file, data = c_int(), (c_uint64 * 8)()
        runtime.cudaMemPoolExportToShareableHandle(byref(file), pool, FD, 0)
        pointer = runtime.handle("cudaMallocFromPoolAsync", 64, pool, 0)
        runtime.cudaMemsetAsync(pointer, 1, 64, 0)
        runtime.cudaDeviceSynchronize()
        runtime.cudaMemPoolExportPointer(data, pointer)
        socket.send_fds(end, [bytes(data)], [file.value])
        end.recv(1)
        runtime.cudaFreeAsync(pointer, 0)
        runtime.cudaDeviceSynchronize()

    def child(runtime, end):
        data, files, _, _ = socket.recv_fds(end, 64, 1)
        data = array.array("Q", data)
        pool = runtime.handle("cudaMemPoolImportFromShareableHandle", files[0], FD, 0)
        pointer = runtime.handle("cudaMemPoolImportPointer", pool, (c_uint64 * 8)(*data))
        runtime.note("read", runtime.ints(pointer, 4))
        runtime.cudaMallocFromPoolAsync(byref(c_void_p()), 64, pool, 0)
        runtime.cudaFreeAsync(pointer, 0)
        runtime.cudaDeviceSynchronize()
        end.sendall(b".")

    _with_child(runtime, parent, child)

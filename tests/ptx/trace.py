"""The content key of what a test does on a device: its PTX, its launches and the data it gives.

Values that no two processes share are replaced: an address by its allocation and offset, a handle
by the order in which it was made. So a key is the same in each process, on the CPU device and on
NVIDIA's driver, and does not depend on the test's name or its place in the file.
"""

import ctypes
import hashlib

import numpy as np

# Calls that make memory: where the address and the size stand among the arguments.
ALLOCATIONS = {"cuMemAlloc_v2", "cuModuleGetGlobal_v2"}
HANDLES = {"cuTexObjectCreate", "cuSurfObjectCreate"}
HOST = 1  # CU_MEMORYTYPE_HOST
LINEAR, PITCH = 2, 3  # CU_RESOURCE_TYPE_


def digest(data, size=8):
    return int.from_bytes(hashlib.blake2b(data, digest_size=size).digest(), "little")


def number(argument):
    """The value of a ctypes integer, which may be given by reference."""
    return getattr(argument, "_obj", argument).value


class Trace:
    def __init__(self):
        self._hash = hashlib.blake2b(digest_size=8)
        self._starts, self._ends = np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        self._handles, self._opaque = {}, {}

    def key(self):
        """Of all that was done so far."""
        return int.from_bytes(self._hash.copy().digest(), "little")

    def add(self, *parts):
        """Bytes or text, one event."""
        for part in parts:
            part = part.encode() if isinstance(part, str) else bytes(part)
            self._hash.update(len(part).to_bytes(8, "little") + part)

    def stands_for(self, data, meaning):
        """Bytes whose layout is the driver's own, as those of a tensor map are."""
        self._opaque[bytes(data)] = repr(meaning)

    def call(self, name, arguments):
        """A call of the driver that is about to be made."""
        self.add(name)
        for argument in arguments:
            self._argument(argument)
        if name == "cuMemcpyHtoD_v2":
            _, source, size = arguments
            self.data(ctypes.string_at(source.value, size.value) if size.value else b"")
        elif name == "cuMemcpy3D_v2":
            copy = arguments[0]._obj
            if copy.srcType == HOST:
                size = copy.srcPitch * copy.srcHeight * copy.depth
                self.data(ctypes.string_at(copy.srcHost, size))

    def made(self, name, arguments):
        """The same call, after it succeeded."""
        if name in ALLOCATIONS:
            start, size = number(arguments[0]), number(arguments[1])
            self._starts = np.append(self._starts, np.uint64(start))
            self._ends = np.append(self._ends, np.uint64(start + size))
        elif name in HANDLES:
            self._handles[number(arguments[0])] = f"handle {len(self._handles)}"

    def parameter(self, argument):
        """Of a kernel: a NumPy scalar, or a ctypes value."""
        data = argument.tobytes() if isinstance(argument, np.generic) else bytes(argument)
        value = getattr(argument, "value", None)
        if isinstance(argument, ctypes.c_uint64) and value in self._handles:
            self.add(self._handles[value])
        else:
            self.data(data)

    def data(self, data):
        """Bytes, in which addresses may stand."""
        if data in self._opaque:
            data = self._opaque[data].encode()
        elif len(data) % 8 == 0 and self._starts.size:
            words = np.frombuffer(data, np.uint64).copy()
            addresses = []
            for at in np.flatnonzero((words >= self._starts.min()) & (words < self._ends.max())):
                of = np.flatnonzero((self._starts <= words[at]) & (words[at] < self._ends))
                if of.size:  # the latest: what was there before is gone
                    addresses.append((-int(of[-1]), int(at), int(words[at] - self._starts[of[-1]])))
                    words[at] = 0
            for n, at, offset in sorted(addresses):
                self.add(f"at {at}: {-n}+{offset}")
            data = words.tobytes()
        self.add(data)

    def _argument(self, argument):
        argument = getattr(argument, "_obj", argument)
        if isinstance(argument, bytes):
            self.add(argument)
        elif isinstance(argument, ctypes.Structure):
            self._structure(argument)
        elif isinstance(argument, (ctypes.c_uint64, ctypes.c_int, ctypes.c_uint, ctypes.c_float)):
            self.data(bytes(argument))

    def _structure(self, structure):
        for name, *_ in structure._fields_:
            value = getattr(structure, name)
            if isinstance(value, ctypes.Union):  # the union of a resource: memory, or a handle
                kinds = {LINEAR: "linear", PITCH: "pitch"}
                value = getattr(value, kinds[structure.type]) if structure.type in kinds else 0
            if isinstance(value, ctypes.Structure):
                self._structure(value)
            elif isinstance(value, ctypes.Array):
                self.add(value)
            elif not name.endswith(("Host", "Array", "Context")):
                self.data(
                    np.float64(value).tobytes()
                    if isinstance(value, float)
                    else int(value or 0).to_bytes(8, "little", signed=(value or 0) < 0)
                )

"""cuda.core: a cubin of a program for the default architecture, and a cubin of two objects."""

import numpy as np
from cuda.core import (
    Buffer,
    Device,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Linker,
    LinkerOptions,
    Program,
    ProgramOptions,
    launch,
)

device = Device()
device.set_current()
print(device.name)
stream, pinned = device.create_stream(), LegacyPinnedMemoryResource()


def result(code, name):
    memory = device.memory_resource.allocate(4 * 32, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=32), code.get_kernel(name), memory)
    host = np.from_dlpack(pinned.allocate(4 * 32)).view(np.int32)
    memory.copy_to(Buffer.from_handle(host.ctypes.data, host.nbytes), stream=stream)
    stream.sync()
    return host


plain = Program('extern "C" __global__ void a(int* x) { x[threadIdx.x] = 3; }', code_type="c++")
np.testing.assert_array_equal(result(plain.compile("cubin"), "a"), 3)

apart = ProgramOptions(relocatable_device_code=True)
first = Program("__device__ int value() { return 7; }", code_type="c++", options=apart)
second = Program(
    'extern __device__ int value(); extern "C" __global__ void b(int* x) '
    "{ x[threadIdx.x] = value(); }",
    code_type="c++",
    options=apart,
)
parts = [first.compile("cubin"), second.compile("cubin")]
linked = Linker(*parts, options=LinkerOptions(arch=f"sm_{device.arch}")).link("cubin")
np.testing.assert_array_equal(result(linked, "b"), 7)
print("well")

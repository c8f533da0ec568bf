"""cuda.core: a program to PTX, memory of the device's pool, launches, events, a graph."""

import numpy as np
from cuda.bindings import driver
from cuda.core import (
    Buffer,
    Device,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Program,
    ProgramOptions,
    launch,
)

SOURCE = r"""
template <class T>
__global__ void scale(T* x, T factor, unsigned long long n) {
    const unsigned long long step = blockDim.x * gridDim.x;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        x[i] *= factor;
}
"""

device = Device()
device.set_current()
print(device.name)
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"compute_{device.arch}")
program = Program(SOURCE, code_type="c++", options=options)
code = program.compile("ptx", name_expressions=("scale<float>", "scale<double>"))

for name, kind in (("scale<float>", np.float32), ("scale<double>", np.float64)):
    kernel = code.get_kernel(name)
    host = np.arange(5000, dtype=kind)
    memory = device.memory_resource.allocate(host.nbytes, stream=stream)
    pinned = np.from_dlpack(LegacyPinnedMemoryResource().allocate(host.nbytes)).view(kind)
    pinned[:] = host
    aside = Buffer.from_handle(pinned.ctypes.data, host.nbytes)
    memory.copy_from(aside, stream=stream)
    config = LaunchConfig(grid=8, block=128)
    before = stream.record()
    launch(stream, config, kernel, memory, kind(3), np.uint64(host.size))
    after = stream.record()
    memory.copy_to(aside, stream=stream)
    stream.sync()
    np.testing.assert_array_equal(pinned, 3 * host)
    assert before.is_done and after.is_done
    memory.close(stream)

kernel = code.get_kernel("scale<float>")
host = np.ones(256, np.float32)
memory = device.memory_resource.allocate(host.nbytes, stream=stream)
memory.fill(b"\0\0\x80\x3f", stream=stream)  # 1.0f
builder = stream.create_graph_builder().begin_building()
for _ in range(4):
    launch(builder, LaunchConfig(grid=1, block=256), kernel, memory, np.float32(2), np.uint64(256))
graph = builder.end_building().complete()
graph.launch(stream)
graph.launch(stream)
stream.sync()
(status,) = driver.cuMemcpyDtoH(host.ctypes.data, int(memory.handle), host.nbytes)
assert status == 0
np.testing.assert_array_equal(host, 256)
print("well")

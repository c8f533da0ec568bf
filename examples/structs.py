# examples/structs.py - structs with pointers in them, in device memory, filled from the host.
"""Two arrays of different lengths go to one kernel as an array of structs.

python examples/structs.py

The kernel, which cupola ships, doubles one array a block:

    struct DeviceArray {
        int length;
        int pad;      // the pointer lies at a multiple of eight bytes
        float* ptr;
    };
    __global__ void double_array(DeviceArray* arrays) {
        DeviceArray array = arrays[blockIdx.x];
        for (int i = threadIdx.x; i < array.length; i += blockDim.x) array.ptr[i] *= 2;
    }
"""

import numpy as np

import cupola

# The struct as NumPy sees it; align=True lays it out as C does, so that offsets need no counting.
DEVICE_ARRAY = np.dtype([("length", np.int32), ("ptr", np.uint64)], align=True)
assert DEVICE_ARRAY.itemsize == 16 and DEVICE_ARRAY.fields["ptr"][1] == 8


def fill(address, array, owner):
    """Write one struct to device memory: a field is an array of no axes at address + offset."""
    for name, value in (("length", array.size), ("ptr", array.address)):
        dtype, offset = DEVICE_ARRAY.fields[name][:2]
        field = cupola.Array.from_address(address + offset, (), dtype, owner=owner)
        field.set(np.array(value, dtype))


double_array = cupola.shipped_kernels()["double_array"]

first = cupola.to_device(np.array([1, 2, 3], np.float32))
second = cupola.to_device(np.array([0, 4], np.float32))

structs = cupola.alloc(2 * DEVICE_ARRAY.itemsize)
fill(structs.address, first, structs)
fill(structs.address + DEVICE_ARRAY.itemsize, second, structs)
print("original arrays:", first.get(), second.get())

double_array[2, 32](structs.address)  # a block each
print("doubled both:", first.get(), second.get())
assert first.get().tolist() == [2, 4, 6] and second.get().tolist() == [0, 8]

double_array[1, 32](structs.address + DEVICE_ARRAY.itemsize)  # the structs begin at the second one
print("doubled the second only:", first.get(), second.get())
assert first.get().tolist() == [2, 4, 6] and second.get().tolist() == [0, 16]

# The way back: an array over the memory that a struct on the device points to. from_address checks
# no size or type; it keeps `owner` alive.
both = cupola.Array.from_address(structs.address, 2, DEVICE_ARRAY, owner=structs).get()
seen = [
    cupola.Array.from_address(int(one["ptr"]), int(one["length"]), np.float32, owner=whose)
    for one, whose in zip(both, (first, second), strict=True)
]
print("through the structs' pointers:", *(array.get() for array in seen))
assert seen[1].get().tolist() == [0, 16]

# examples/doubling.py - sixteen numbers are doubled, each time with less to write.
"""From explicit allocation and copies to an expression.

python examples/doubling.py
"""

import numpy as np

import cupola

a = np.arange(16, dtype=np.float32).reshape(4, 4)
print("a:", a, sep="\n")

# CUDA C++ from a string, compiled at run time. Each thread of a 4 x 4 block has one element.
module = cupola.compile(r"""
extern "C" __global__ void doublify(float* a) {
    a[4 * threadIdx.y + threadIdx.x] *= 2;
}
extern "C" __global__ void doubled(const float* from, float* to) {
    const int i = 4 * threadIdx.y + threadIdx.x;
    to[i] = 2 * from[i];
}
""")
doublify = module["doublify"]
grid, block = 1, (4, 4)

# 1. Every step by hand: allocate, copy in, launch, copy out.
memory = cupola.alloc(a.nbytes)
memory.copy_from(a)
doublify[grid, block](memory.address)
result = np.empty_like(a)
memory.copy_to(result)
print("doubled by hand:", result, sep="\n")
assert (result == 2 * a).all()

# 2. Host arrays as arguments, copied around the call: In before it, Out after it, InOut both.
result = np.empty_like(a)
module["doubled"][grid, block](cupola.In(a), cupola.Out(result))
print("doubled from one array to another:", result, sep="\n")
assert (result == 2 * a).all()
doublify[grid, block](cupola.InOut(result))
print("doubled again where it is:", result, sep="\n")
assert (result == 4 * a).all()

# 3. Prepared: the arguments are checked and packed once, and each call only launches. The memory
#    still has what the first part left there.
launch = doublify.prepare(grid, block, memory.address)
for _ in range(3):
    launch()
memory.copy_to(result)
memory.release()
print("doubled three times more:", result, sep="\n")
assert (result == 16 * a).all()

# 4. A device array knows its shape and type, is freed automatically, and is passed to launches.
on_device = cupola.to_device(a)
doublify[grid, block](on_device)
print("a device array, doubled:", on_device.get(), sep="\n")
assert (on_device.get() == 2 * a).all()

# 5. And it computes, by kernels that were compiled when cupola was built.
print("2 * a:", (2 * cupola.to_device(a)).get(), sep="\n")
assert ((2 * cupola.to_device(a)).get() == 2 * a).all()

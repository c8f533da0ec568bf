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
""")
doublify = module["doublify"]
grid, block = 1, (4, 4)

# 1. Every step by hand: allocate, copy in, launch, copy out.
memory = cupola.alloc(a.nbytes)
memory.copy_from(a)
doublify[grid, block](memory.address)
doubled = np.empty_like(a)
memory.copy_to(doubled)
memory.release()
print("doubled by hand:", doubled, sep="\n")
assert (doubled == 2 * a).all()

# 2. A host array as an argument, copied around the call: In before it, Out after it, InOut both.
doubled = a.copy()
doublify[grid, block](cupola.InOut(doubled))
print("doubled where it is:", doubled, sep="\n")
assert (doubled == 2 * a).all()

# 3. A device array stays where the kernels are: there is one copy in and one copy out, however many
#    launches are in between.
on_device = cupola.to_device(a)
doublify[grid, block](on_device)
doublify[grid, block](on_device)
print("doubled twice:", on_device.get(), sep="\n")
assert (on_device.get() == 4 * a).all()

# 4. Prepared: the arguments are checked and packed once, and each call only launches.
launch = doublify.prepare(grid, block, on_device)
for _ in range(3):
    launch()
print("and three times more:", on_device.get(), sep="\n")
assert (on_device.get() == 32 * a).all()

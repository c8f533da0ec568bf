"""Tensor maps in the layout of a GPU, as the CuTe DSL writes them without the driver."""

import numpy as np

# By the driver's number of a type: the number in the map, and whether elements become tf32.
TYPES = {
    **{n: (n, 0) for n in range(8)}, 8: (9, 0), 9: (10, 0), 10: (8, 0), 11: (7, 1), 12: (8, 1),
    13: (11, 0), 14: (12, 0), 15: (13, 0),
}  # fmt: skip
NEWER = 1 << 1 | 1 << 21  # in maps for compute capability 10.0


def words(kind, address, sizes, strides, box, steps, swizzle=0, promotion=0, fill=0, newer=0):
    """The words of a tiled map; axes are numbered from the innermost one."""
    number, tf32 = TYPES[kind]
    assert swizzle <= 4  # the bits of others are not known
    head = newer | (len(sizes) - 1) << 4 | number << 7 | min(swizzle, 3) << 13 | fill << 15
    head |= tf32 << 16 | promotion << 17 | (swizzle == 4) << 19
    halves = [0] * 16
    halves[0], halves[1] = address & 0xFFFFFFFF, address >> 32
    halves[2] = head
    for n, stride in enumerate(strides):
        halves[3 + n] = stride // 16 & 0xFFFFFFFF
        halves[7] |= stride >> 36 << 4 * n
    for n, size in enumerate(sizes):
        halves[8 + n] = size - 1
        halves[13] |= (steps[n] - 1) << 3 * n
        if n:
            halves[14] |= (box[n] - 1) << 8 * (n - 1)
    halves[13] |= (box[0] - 1) << 24
    return np.array([*halves, *[0] * 16], np.uint32).view(np.uint64)

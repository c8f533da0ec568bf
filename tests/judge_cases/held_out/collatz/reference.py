"""Steps of Collatz' sequence until 1; none for 0 and 1."""

import numpy as np

operation = dict(
    kernels="collatz",
    inputs={"start": "uint32[n]"},
    outputs={"steps": "int32[n]"},
    arguments=["start", "steps", "n"],
    grid=["ceildiv(n, 128)"],
    block=[128],
)
sizes = {"n": (0, 4000)}
ranges = {"start": (0, 1000000)}


def reference(start):
    value = start.astype(np.int64)
    steps = np.zeros(len(start), np.int32)
    while (busy := value > 1).any():
        odd = busy & (value % 2 == 1)
        even = busy & ~odd
        value[odd] = 3 * value[odd] + 1
        value[even] //= 2
        steps += busy
    return steps

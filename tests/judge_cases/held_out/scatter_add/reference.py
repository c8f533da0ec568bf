"""Adds values to the totals that indices name, in place; sums wrap as int32 does."""

import numpy as np

operation = dict(
    kernels="scatter_add",
    inputs={"totals": "int32[m]", "index": "int32[n]", "values": "int32[n]"},
    outputs={},
    mutates=["totals"],
    arguments=["totals", "index", "values", "n"],
    grid=["ceildiv(n, 256)"],
    block=[256],
)
sizes = {"m": (1, 200), "n": (0, 5000)}
ranges = {"index": (0, "m")}


def reference(totals, index, values):
    np.add.at(totals, index, values)
    return totals

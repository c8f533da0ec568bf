"""Sums of segments; segment s has the elements from offsets[s] to before offsets[s + 1]."""

import numpy as np

operation = dict(
    kernels="segment_sums",
    inputs={"offsets": "int32[points]", "values": "float32[n]"},
    outputs={"sums": "float32[points - 1]"},
    arguments=["offsets", "values", "sums", "points - 1"],
    grid=["ceildiv(points - 1, 4)"],
    block=[128],
)
sizes = {"points": (1, 150), "n": (0, 3000)}
rtol, atol = 1e-4, 1e-3


def inputs(rng, sizes):
    inner = rng.integers(0, sizes["n"], max(0, sizes["points"] - 2), endpoint=True)
    ends = [0] if sizes["points"] == 1 else [0, sizes["n"]]
    return {
        "offsets": np.sort(np.concatenate([inner, ends])).astype(np.int32),
        "values": rng.uniform(-8, 8, sizes["n"]).astype(np.float32),
    }


def reference(offsets, values):
    total = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return np.diff(total[offsets]).astype(np.float32)

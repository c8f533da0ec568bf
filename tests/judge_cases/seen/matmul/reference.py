"""A product of two matrices."""

operation = dict(
    kernels="matmul",
    inputs={"a": "float32[m, k]", "b": "float32[k, n]"},
    outputs={"c": "float32[m, n]"},
    arguments=["a", "b", "c", "m", "n", "k"],
    grid=["ceildiv(n, 16)", "ceildiv(m, 16)"],
    block=[16, 16],
)
sizes = {"m": (0, 70), "n": (0, 70), "k": (0, 100)}
ranges = {"a": (-4, 4), "b": (-4, 4)}
rtol, atol = 1e-4, 1e-3


def reference(a, b):
    return (a.astype("float64") @ b).astype("float32")

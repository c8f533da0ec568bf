"""a * x + b."""

operation = dict(
    kernels="saxpy",
    inputs={"x": "float32[n]", "b": "float32[n]"},
    outputs={"y": "float32[n]"},
    scalars={"a": "float"},
    arguments=["a", "x", "b", "y", "n"],
    grid=["ceildiv(n, 256)"],
    block=[256],
)
sizes = {"n": (0, 20000)}
ranges = {"x": (-4, 4), "b": (-4, 4), "a": (-4, 4)}
rtol, atol = 1e-5, 1e-5


def reference(a, x, b):
    return (a * x.astype("float64") + b).astype("float32")

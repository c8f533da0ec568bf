"""The quotient of two integers, rounded down. The divisor is positive."""

operation = dict(
    kernels="floor_divide",
    inputs={"a": "int32[n]", "b": "int32[n]"},
    outputs={"q": "int32[n]"},
    arguments=["a", "b", "q", "n"],
    grid=["ceildiv(n, 256)"],
    block=[256],
)
sizes = {"n": (0, 20000)}
ranges = {"b": (1, 5000)}


def reference(a, b):
    return a // b

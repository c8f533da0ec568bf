"""Products of many small matrices of integers, modulo 2**32."""

operation = dict(
    kernels="batched_products",
    inputs={"a": "int32[batch, m, k]", "b": "int32[batch, k, n]"},
    outputs={"c": "int32[batch, m, n]"},
    arguments=["a", "b", "c", "batch", "m", "n", "k"],
    grid=["ceildiv(batch, 8)"],
    block=[32, 8],
)
sizes = {"batch": (0, 70000), "m": (1, 6), "k": (0, 5), "n": (1, 7)}


def reference(a, b):
    return a @ b

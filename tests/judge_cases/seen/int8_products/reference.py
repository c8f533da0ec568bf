"""Inner products of the rows of two matrices of int8, in int32."""

operation = dict(
    kernels="int8_products",
    inputs={"a": "int8[m, k]", "b": "int8[n, k]"},
    outputs={"c": "int32[m, n]"},
    arguments=["a", "b", "c", "m", "n", "k"],
    grid=["ceildiv(n, 16)", "ceildiv(m, 16)"],
    block=[16, 16],
)
sizes = {"m": (0, 60), "n": (0, 60), "k": (0, 300)}


def reference(a, b):
    return a.astype("int32") @ b.astype("int32").T

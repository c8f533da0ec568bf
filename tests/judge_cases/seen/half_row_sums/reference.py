"""Sums of rows of float16, in float32."""

operation = dict(
    kernels="half_row_sums",
    inputs={"x": "float16[rows, columns]"},
    outputs={"sums": "float32[rows]"},
    arguments=["x", "sums", "rows", "columns"],
    grid=["ceildiv(rows, 4)"],
    block=[128],
)
sizes = {"rows": (0, 120), "columns": (0, 1500)}
ranges = {"x": (-2, 2)}
rtol, atol = 1e-4, 1e-3


def reference(x):
    return x.sum(axis=1, dtype="float64").astype("float32")

"""Sums of columns."""

operation = dict(
    kernels="column_sums",
    inputs={"x": "float32[rows, columns]"},
    outputs={"sums": "float32[columns]"},
    arguments=["x", "sums", "rows", "columns"],
    grid=["ceildiv(columns, 256)"],
    block=[256],
)
sizes = {"rows": (0, 300), "columns": (0, 600)}
ranges = {"x": (-8, 8)}
rtol, atol = 1e-4, 1e-3


def reference(x):
    return x.sum(axis=0, dtype="float64").astype("float32")

"""Sums of rows."""

operation = dict(
    kernels="row_sums",
    inputs={"x": "float32[rows, columns]"},
    outputs={"sums": "float32[rows]"},
    arguments=["x", "sums", "rows", "columns"],
    grid=["rows"],
    block=[256],
)
sizes = {"rows": (0, 200), "columns": (0, 700)}
ranges = {"x": (-8, 8)}
rtol, atol = 1e-4, 1e-3


def reference(x):
    return x.sum(axis=1, dtype="float64").astype("float32")

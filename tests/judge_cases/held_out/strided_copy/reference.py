"""Twice a matrix, whose strides the kernel gets."""

operation = dict(
    kernels="strided_copy",
    inputs={"x": "float32[rows, columns]"},
    outputs={"y": "float32[rows, columns]"},
    strided=["x"],
    arguments=["x", "y", "rows", "columns", "stride(x, 0)", "stride(x, 1)"],
    grid=["ceildiv(columns, 128)", "rows"],
    block=[128],
)
sizes = {"rows": (0, 60), "columns": (0, 500)}
rtol, atol = 0, 0


def reference(x):
    return x * 2

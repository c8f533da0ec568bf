"""Rows of a large table, by their numbers."""

operation = dict(
    kernels="gather_rows",
    inputs={"table": "uint8[vocabulary, width]", "ids": "int32[n]"},
    outputs={"rows": "uint8[n, width]"},
    arguments=["table", "ids", "rows", "n", "width"],
    grid=["n"],
    block=[128],
)
sizes = {"vocabulary": (1, 70000), "width": (0, 40000), "n": (0, 50)}
ranges = {"ids": (0, "vocabulary")}


def reference(table, ids):
    return table[ids]

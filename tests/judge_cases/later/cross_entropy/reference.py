"""Cross entropy of rows of logits and their labels; the loss of a label below 0 is 0."""

import numpy as np

operation = dict(
    kernels="cross_entropy",
    inputs={"logits": "float32[rows, classes]", "labels": "int32[rows]"},
    outputs={"losses": "float32[rows]"},
    arguments=["logits", "labels", "losses", "rows", "classes"],
    grid=["rows"],
    block=[128],
)
sizes = {"rows": (0, 120), "classes": (1, 700)}
ranges = {"logits": (-90, 90), "labels": (-1, "classes")}
rtol, atol = 1e-4, 1e-4


def reference(logits, labels):
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]
    return np.where(labels < 0, 0.0, losses).astype(np.float32)

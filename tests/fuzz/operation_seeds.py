"""Writes tests/fuzz/seeds/operation_fuzz: declarations in their compiled form, and tensors

python tests/fuzz/operation_seeds.py
"""

import struct
from pathlib import Path

from cupola.declare.compiled import compiled
from cupola.declare.operation import read

FOLDER = Path(__file__).parent / "seeds" / "operation_fuzz"
PLAIN = {"kernels": "k", "grid": [1], "block": [1]}
HEAT = {
    "kernels": {"float32": "a", "float64": "b"},
    "inputs": {"u": "T[ny, nx]"},
    "outputs": {"v": "T[ny, nx]"},
    "scalars": {"alpha": "float"},
    "arguments": ["u", "v", "ny", "nx", "alpha"],
    "grid": ["ceildiv(nx, 32)", "ceildiv(ny, 8)"],
    "block": [32, 8],
}
EXPRESSIONS = {
    **PLAIN,
    "inputs": {"x": "float32[n]"},
    "outputs": {"y": "float32[((n + 1) * 2 - 3) / 4 % 5]"},
    "arguments": ["x", "y", f"{2**63 - 1} * n"],
    "checks": ["ceildiv(n, 2) != min(n, 3, 4)"],
}
LOOP = {
    **PLAIN,
    "inputs": {"x": "float32[n, n - 1]", "y": "float32[n / 2]"},
    "outputs": {"z": "float32[max(1, n)]"},
    "arguments": ["x", "y", "z"],
    "vmap": "batch-first",
}
NORM = {
    "kernels": {"float32, bfloat16": "a", "float16, float8_e4m3fn": "b"},
    "inputs": {
        "x": "T[*rows, n]",
        "w": "S[broadcast(n)]",
        "bias": "S[n]?",
        "cache": "float32[4, n]",
    },
    "mutates": ["cache"],
    "strided": ["x"],
    "outputs": {"y": "T[*rows, n]"},
    "workspace": {"sums": "float32[blocks]"},
    "scalars": {"k": "int", "flag": "bool"},
    "sizes": {"blocks": "ceildiv(rows * n, 256)"},
    "checks": ["n % 4 == 0", "max(n, k) <= 8192"],
    "arguments": [
        *("x", "w", "bias", "cache", "y", "sums"),
        *("stride(x, 0) + sizeof(T) * present(bias)", "batch()"),
    ],
    "grid": ["rows"],
    "block": ["min(n, 256)"],
    "cluster": [2],
    "shared": "4 * n",
    "cooperative": True,
    "priority": 0,
    "carveout": 50,
    "align": 16,
    "vmap": "batch",
}


def tensor(kind, address, *lengths, code=b""):
    """The bytes that operation_fuzz.cpp makes a tensor of."""
    return struct.pack("<BQ", kind, address) + code + bytes(lengths)


FLOATS = 8 | 16  # in host memory
CALLS = {
    "heat": (HEAT, tensor(2 | FLOATS, 4096, 2, 3) + tensor(2 | FLOATS, 8192, 2, 3)),
    "heat_contradiction": (HEAT, tensor(2 | FLOATS, 4096, 2, 3) + tensor(2 | FLOATS, 8192, 2, 4)),
    "expressions": (EXPRESSIONS, tensor(1 | FLOATS, 4096, 3) + tensor(1 | FLOATS, 8192, 1)),
    "loop": (
        LOOP,
        tensor(3 | FLOATS, 4096, 2, 3, 2)
        + tensor(2 | FLOATS, 8192, 2, 1)
        + tensor(2 | FLOATS, 12288, 2, 3)
        + b"\1\2",
    ),
    "norm": (
        NORM,
        tensor(3 | FLOATS, 4096, 2, 2, 4)
        + tensor(1 | 8, 8192, 4, code=b"\4\20")
        + tensor(1 | 8 | 64, 12288, 4, code=b"\4\20")
        + tensor(2 | FLOATS, 16384, 4, 4)
        + tensor(3 | FLOATS, 20480, 2, 2, 4)
        + tensor(1 | FLOATS, 24576, 1)
        + bytes(24),
    ),
}


def seeds():
    """Names and bytes of the seeds."""
    for name, (table, tensors) in CALLS.items():
        declaration = compiled(read(table, name))
        yield name, struct.pack("<H", len(declaration)) + declaration + tensors


if __name__ == "__main__":
    for name, seed in seeds():
        (FOLDER / name).write_bytes(seed)

# cupola/core/parts.py - the parts of cupola that an installation can lack.
"""The parts of cupola: folders that the rest of the package does without."""

from __future__ import annotations

from cupola.exceptions import MissingFileError

# The folders and modules of each part, without "cupola.". Without all of these parts, cupola loads
# and launches kernels, and builds packages with kernels.
PARTS = {
    "arrays": ("array_api", "arrays", "fft", "linalg", "random"),
    "cluster": ("distributed", "mpi", "nccl", "chunks.cluster"),
    "pycuda": ("pycuda",),
    "tools": ("coverage", "judging", "tools.debug", "tools.run"),
}
ABOUT = {
    "arrays": "NumPy's interface of arrays",
    "cluster": "arrays and kernels in Dask, MPI and NCCL",
    "pycuda": "PyCUDA's interface",
    "tools": "the debugger, the coverage of kernels, the judge, and the environment of cupola run",
}


def part_of(module: str | None) -> str | None:
    """The part that a module belongs to; None for a module that every installation has."""
    name = (module or "").partition("cupola.")[2]
    for part, members in PARTS.items():
        for member in members:
            if name == member or name.startswith(f"{member}."):
                return part
    return None


def missing_part(what: str, part: str) -> MissingFileError:
    """The error for a use of a part that is not installed."""
    return MissingFileError(
        f"{what} needs the part {part!r} of cupola ({ABOUT[part]}), which is not installed: "
        "install cupola with all of its parts"
    )

"""tests/families.py - a family whose kernel says which variant ran, and tables of measurements."""

import numpy as np

import cupola
from cupola.declare.tuning_table import DeviceRecord, Row
from cupola.tuning import tables

SOURCE = """
template <int BLOCK, typename T> __global__ void mark(T* x, int n, int* which) {
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) x[i] += 1;
    if (i == 0) *which = BLOCK;
}
"""
DATE = "2026-11-29T06:00:00Z"


def family(**changed):
    """By default with three variants, one key and two element types."""
    given = {
        "kernel": "mark<{BLOCK}, {x}>",
        "tunables": {"BLOCK": [32, 64, 128]},
        "default": {"BLOCK": 64},
        "sizes": {"m": "size(x)"},
        "key": ["m"],
        "grid": "ceildiv(m, BLOCK)",
        "block": "BLOCK",
        "types": {"x": {"float32": "float", "float64": "double"}},
        "name": "mark",
    }
    return cupola.family(changed.pop("source", SOURCE), **{**given, **changed})


def row(key, block, types=("float32",), seconds=1e-6, default=2e-6, date=DATE):
    return Row(tuple(types), tuple(key), {"BLOCK": block}, seconds, 0.01, default, 3, date)


def store(family, *rows, **device):
    """Add rows to the user's table of this device, or of one that differs as it says."""
    about = vars(tables.device_record(cupola.Device()))
    return tables.store(DeviceRecord(**{**about, **device}), family.rows(rows))


def ran(family, size, dtype=np.float32, **named):
    """The variant that a call launches, which the kernel itself tells."""
    x, which = cupola.zeros(size, dtype), cupola.zeros(1, np.int32)
    family(x, size, which, **named)
    assert (x.get() == 1).all()
    return int(which.get()[0])


def chosen(family, size, dtype=np.float32):
    """The variant that `choose` names."""
    x, which = cupola.empty(size, dtype), cupola.empty(1, np.int32)
    return family.choose(x, size, which)["BLOCK"]


def explained(family, size, dtype=np.float32):
    x, which = cupola.empty(size, dtype), cupola.empty(1, np.int32)
    return family.explain(x, size, which)

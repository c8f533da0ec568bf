"""The mathematical functions that nvcc links from libdevice, at special and random values, within
the errors that CUDA's documentation states.
"""

from ctypes import c_int

import numpy as np
import pytest

from . import libdevice


@pytest.fixture(scope="module")
def exact():
    return libdevice.exact()


@pytest.fixture(scope="module")
def module(started):
    started.make_current()
    loaded = started.load(libdevice.module_text())
    yield loaded
    loaded.unload()


COUNT = 300


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float", "double"])
@pytest.mark.parametrize("row", libdevice.FUNCTIONS, ids=lambda row: row[0])
def test_function(row, dtype, module, exact, driver):
    name, arity, single, double, domain = row
    rng = np.random.default_rng(len(name) * 7 + arity)
    x = libdevice.values(domain, dtype, COUNT, rng)
    sources = [x]
    if arity == 2:
        sources = [x, rng.permutation(x)]
        if domain == "order":
            sources[0] = rng.integers(0, 9, x.size).astype(dtype)
    out = np.zeros_like(x)
    kind = "float" if dtype == np.float32 else "double"
    module.run(f"{kind}_{name}", (x.size + 127) // 128, 128, [*sources, out, c_int(x.size)])
    reference = np.asarray(exact(name, *sources))
    with np.errstate(all="ignore"):
        rounded = reference.astype(dtype)
    if domain == "order":  # the error's bound is absolute, or depends on the order
        bound = 3e-5 if dtype == np.float32 else 1e-11
        inside = np.abs(rounded) < 1e3
        assert np.all(
            np.abs(out - rounded)[inside] <= bound * np.maximum(1, np.abs(rounded[inside]))
        )
        return
    assert (np.isnan(out) == np.isnan(rounded)).all(), sources[0][
        np.isnan(out) != np.isnan(rounded)
    ]
    number = ~np.isnan(rounded)
    distance = libdevice.steps(out[number], rounded[number])
    bound = single if dtype == np.float32 else double
    worst = int(np.argmax(distance))
    where = [s[number][worst] for s in sources]
    assert distance[worst] <= bound, (
        f"{name}({', '.join(map(repr, where))}) is {reference[number][worst]!r}, "
        f"gave {out[number][worst]!r}: {distance[worst]} units"
    )

"""Algorithms of dask.array over blocks of device arrays, beside NumPy."""

from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest

import cupola
import cupola.distributed.dask_array
from cupola.exceptions import Error

HOST = np.random.default_rng(7).normal(size=(24, 30))
HOLES = np.where(HOST > 1, np.nan, HOST)
INTS = (HOST * 3).astype("i4")
EDGES = np.linspace(-3, 3, 9)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def blocks_of(host, chunks=(8, 10)):
    chunks = chunks if host.ndim == 2 else 7
    return da.from_array(host, chunks=chunks).to_backend("cupola")


def check(collection, expected, is_exact=False, has_meta=True):
    """The result is on the device, and NumPy's."""
    found = collection.compute()
    assert isinstance(collection._meta, cupola.Array) or not has_meta
    assert isinstance(found, cupola.Array)
    assert found.shape == np.shape(expected) and found.dtype == np.asarray(expected).dtype
    if is_exact:
        assert np.array_equal(found.get(), expected)
    else:
        np.testing.assert_allclose(found.get(), expected, rtol=1e-12, atol=1e-12)


# -- functions of da or np that take both kinds of arrays

SAME = {
    "add": lambda xp, x: x + 1,
    "scalar types": lambda xp, x: x * np.float64(2) - True,
    "functions": lambda xp, x: xp.sqrt(abs(x)) + x**2,
    "comparison": lambda xp, x: (x > 0) & (x < 1),
    "broadcasting": lambda xp, x: x + x[:1] - x[:, :1],
    "astype": lambda xp, x: x.astype("f4"),
    "view": lambda xp, x: x.view("i8"),
    "round": lambda xp, x: x.round(1),
    "clip": lambda xp, x: x.clip(-1, 1),
    "maximum": lambda xp, x: xp.maximum(x, 0),
    "isnan": lambda xp, x: xp.isnan(x),
    "where": lambda xp, x: xp.where(x > 0, x, -x),
    "where, number": lambda xp, x: xp.where(x > 0, x, 0),
    "slice": lambda xp, x: x[3:20:2, ::-1],
    "integer": lambda xp, x: x[5],
    "new axis": lambda xp, x: x[None, :, None],
    "fancy rows": lambda xp, x: x[[1, 5, 20, 3]],
    "fancy columns": lambda xp, x: x[:, [1, 5, 5, 29]],
    "take": lambda xp, x: xp.take(x, [3, 1], axis=0),
    "concatenate": lambda xp, x: xp.concatenate([x, x * 2], axis=1),
    "stack": lambda xp, x: xp.stack([x, x * 2]),
    "block": lambda xp, x: xp.block([[x, x], [x, x]]),
    "reshape": lambda xp, x: x.reshape(720),
    "ravel": lambda xp, x: x.ravel(),
    "transpose": lambda xp, x: x.T,
    "swapaxes": lambda xp, x: x.swapaxes(0, 1),
    "squeeze": lambda xp, x: x[:1].squeeze(),
    "flip": lambda xp, x: xp.flip(x, 0),
    "roll": lambda xp, x: xp.roll(x, 3, axis=0),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=0),
    "pad": lambda xp, x: xp.pad(x, 2, mode="constant"),
    "pad, edge": lambda xp, x: xp.pad(x, 2, mode="edge"),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 24, 30)),
    "diff": lambda xp, x: xp.diff(x, axis=0),
    "tril": lambda xp, x: xp.tril(x),
    "diag": lambda xp, x: xp.diag(x[0]),
    "diagonal": lambda xp, x: xp.diagonal(x),
    "cumsum": lambda xp, x: xp.cumsum(x, axis=0),
    "cumsum, axis 1": lambda xp, x: xp.cumsum(x, axis=1),
    "cumprod": lambda xp, x: xp.cumprod(x, axis=0),
    "matmul": lambda xp, x: x @ x.T,
    "dot": lambda xp, x: x.dot(x.T),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=([0], [0])),
    "outer": lambda xp, x: xp.outer(x[0], x[1]),
    "norm": lambda xp, x: xp.linalg.norm(x),
    "norm of rows": lambda xp, x: xp.linalg.norm(x, axis=1),
    "median": lambda xp, x: xp.median(x, axis=0),
    "quantile": lambda xp, x: xp.quantile(x, 0.3, axis=0),
    "average": lambda xp, x: xp.average(x, axis=0),
    "cov": lambda xp, x: xp.cov(x),
    "corrcoef": lambda xp, x: xp.corrcoef(x),
    "ptp": lambda xp, x: xp.ptp(x, axis=0),
    "histogram": lambda xp, x: xp.histogram(x, bins=7, range=(-3, 3))[0],
    "histogram, edges": lambda xp, x: xp.histogram(x, bins=EDGES)[0],
    "digitize": lambda xp, x: xp.digitize(x, EDGES),
    "searchsorted": lambda xp, x: xp.searchsorted(abs(x[0]).cumsum(axis=0), x[1]),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x > 1),
    "compress": lambda xp, x: xp.compress(np.arange(24) % 2 == 0, x, axis=0),
    "ones_like": lambda xp, x: xp.ones_like(x),
    "full_like": lambda xp, x: xp.full_like(x, 3),
    "real part": lambda xp, x: (x + 1j * x).imag,
}


# Dask gives these results the meta of NumPy's arrays; the blocks are on the device all the same.
WITHOUT_META = {"histogram", "histogram, edges", "quantile"}


@pytest.mark.parametrize("name", SAME)
def test_as_numpy(name):
    function = SAME[name]
    check(function(da, blocks_of(HOST)), function(np, HOST), has_meta=name not in WITHOUT_META)


REDUCTIONS = ["sum", "mean", "var", "std", "min", "max", "any", "all", "prod", "argmin", "argmax"]
SEVERAL_AXES = [None, 0, 1, -1, (0, 1)]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", SEVERAL_AXES)
def test_reductions(name, axis):
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = None
    for keepdims in (False, True):
        expected = getattr(HOST, name)(axis=axis, keepdims=keepdims)
        check(getattr(blocks_of(HOST), name)(axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_integers(name):
    check(getattr(blocks_of(INTS), name)(axis=0), getattr(INTS, name)(axis=0))


@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd"]
)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_without_nan(name, axis):
    check(getattr(da, name)(blocks_of(HOLES), axis=axis), getattr(np, name)(HOLES, axis=axis))


@pytest.mark.parametrize("name", ["nanargmin", "nanargmax"])
def test_indices_without_nan(name):
    check(getattr(da, name)(blocks_of(HOLES), axis=1), getattr(np, name)(HOLES, axis=1))


def test_nan_of_whole_blocks():
    """Dask calls nanargmin with blocks that are all NaN, and expects a ValueError."""
    host = HOST.copy()
    host[:8] = np.nan
    check(da.nanargmin(blocks_of(host), axis=0), np.nanargmin(host, axis=0))
    check(da.nanmax(blocks_of(host), axis=0), np.nanmax(host, axis=0))


def test_masks():
    x = blocks_of(HOST)
    assert np.array_equal(x[x > 0].compute().get(), HOST[HOST > 0])
    assert np.array_equal(x[x[:, 0] > 0].compute().get(), HOST[HOST[:, 0] > 0])


def test_points():
    check(blocks_of(HOST).vindex[[1, 5, 20], [3, 3, 29]], HOST[[1, 5, 20], [3, 3, 29]])


def test_assignments():
    x, host = blocks_of(HOST).copy(), HOST.copy()
    x[:3] = 0.0
    x[x > 1] = -1.0
    host[:3] = 0
    host[host > 1] = -1
    check(x, host, is_exact=True)


@pytest.mark.parametrize("boundary", ["none", "reflect", "periodic", "nearest", 0])
def test_map_overlap(boundary):
    def smooth(block):
        return (block + np.roll(block, 1, axis=0) + np.roll(block, -1, axis=1)) / 3

    options = {"depth": 2, "boundary": boundary, "dtype": float}
    expected = da.from_array(HOST, chunks=(8, 10)).map_overlap(smooth, **options).compute()
    check(blocks_of(HOST).map_overlap(smooth, **options), expected)


def test_map_blocks_and_rechunk():
    x = blocks_of(HOST)
    check(x.map_blocks(lambda block: block * 2), HOST * 2)
    check(x.rechunk((5, 7)), HOST, is_exact=True)
    assert x.rechunk((5, 7)).chunks[0] == (5, 5, 5, 5, 4)


def test_coarsen_and_generalized_functions():
    x = blocks_of(HOST)
    expected = HOST.reshape(12, 2, 15, 2).sum((1, 3))
    check(da.coarsen(np.sum, x, {0: 2, 1: 2}), expected, has_meta=False)
    rows = x.rechunk((8, 30))
    check(da.apply_gufunc(lambda block: block.sum(-1), "(i)->()", rows), HOST.sum(-1))


def test_sorts():
    x = blocks_of(HOST)
    check(da.topk(x, 3, axis=0), np.sort(HOST, axis=0)[::-1][:3], is_exact=True)
    check(da.topk(x, -3, axis=1), np.sort(HOST, axis=1)[:, :3], is_exact=True)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_percentile(method):
    """Dask approximates, so that of NumPy's blocks is the reference. Equal values have no order."""
    host = da.from_array(HOST.ravel(), chunks=97)
    options = {"q": [5, 25, 50, 90], "method": method}
    expected = da.percentile(host, **options).compute()
    check(da.percentile(host.to_backend("cupola"), **options), expected)


def test_unique():
    assert np.array_equal(da.unique(blocks_of(INTS)).compute().get(), np.unique(INTS))
    counts = abs(INTS).ravel()
    check(da.bincount(blocks_of(counts), minlength=12), np.bincount(counts, minlength=12))
    check(da.isin(blocks_of(INTS), [1, 2]), np.isin(INTS, [1, 2]))


# -- where the blocks are


def test_a_device_array_is_cut_into_blocks():
    for make in (da.from_array, da.asarray):
        check(make(cupola.to_device(HOST)) + 1, HOST + 1)
    x = da.from_array(cupola.to_device(HOST), chunks=(5, 30))
    assert x.numblocks == (5, 1)
    check(x, HOST, is_exact=True)


def test_persist_keeps_the_blocks_on_the_device():
    x = (blocks_of(HOST) + 1).persist()
    assert all(isinstance(block, cupola.Array) for block in x.dask.values())
    check(x, HOST + 1)


def test_to_backend_there_and_back():
    x = blocks_of(HOST)
    assert x.to_backend("cupola") is x
    back = x.to_backend("numpy")
    assert isinstance(back._meta, np.ndarray)
    assert np.array_equal(back.compute(), HOST)


@pytest.fixture
def backend():
    with dask.config.set({"array.backend": "cupola"}):
        yield


def test_creation_by_the_backend(backend):
    check(da.ones((5, 4), chunks=2), np.ones((5, 4)))
    check(da.zeros(5, dtype="i4", chunks=3), np.zeros(5, "i4"))
    check(da.full((3, 3), 7, chunks=2), np.full((3, 3), 7))
    check(da.arange(10, chunks=3), np.arange(10))
    check(da.arange(1, 10, 2, dtype="f4", chunks=3), np.arange(1, 10, 2, "f4"))
    empty = da.empty((3, 4), dtype="i2", chunks=2)
    assert (empty.compute().shape, empty.dtype) == ((3, 4), np.dtype("i2"))
    assert isinstance(empty._meta, cupola.Array)


def test_random_numbers_by_the_backend(backend):
    x = da.random.default_rng(3).normal(2, size=(100, 100), chunks=50)
    found = x.compute()
    assert isinstance(found, cupola.Array)
    assert abs(float(found.mean()) - 2) < 0.05 and abs(float(found.std()) - 1) < 0.05
    blocks = found.get()
    assert not np.array_equal(blocks[:50, :50], blocks[50:, 50:])
    again = da.random.default_rng(3).normal(2, size=(100, 100), chunks=50).compute()
    assert np.array_equal(blocks, again.get())
    dice = da.random.default_rng(3).integers(1, 7, 1000, chunks=100).compute().get()
    assert set(dice) == {1, 2, 3, 4, 5, 6}
    with pytest.raises(Error, match="default_rng"):
        da.random.random(5)


# -- what does not work says so; docs/how-to/dask.md lists it

REFUSED = {
    "a host operand": (lambda x: x + da.from_array(HOST, chunks=(8, 10)), "cupola.to_device"),
    "einsum": (lambda x: da.einsum("ij,kj->ik", x, x), "use dask.array.tensordot"),
    "argtopk": (lambda x: da.argtopk(x, 3, axis=0), "cupola.to_device"),
    "nonzero": (lambda x: da.nonzero(x > 1)[0], "not copied implicitly"),
    "argwhere": (lambda x: da.argwhere(x > 1), "not copied implicitly"),
    "density": (lambda x: da.histogram(x, 7, (-3, 3), density=True)[0], "cupola.to_device"),
    "host weights": (lambda x: da.average(x, 0, weights=np.arange(24.0)), "cupola.to_device"),
    "counts": (lambda x: da.unique(x, return_counts=True)[1], "structured arrays"),
    "qr": (lambda x: da.linalg.qr(x.rechunk((8, 30)))[1], "not copied implicitly"),
    "svd": (lambda x: da.linalg.svd(x.rechunk((24, 30)))[1], "not copied implicitly"),
    "gradient": (lambda x: da.gradient(x, axis=0), "not copied implicitly"),
    "select": (lambda x: da.select([x > 0], [x], 0), "not copied implicitly"),
    "apply_along_axis": (lambda x: da.apply_along_axis(np.sum, 0, x), "not copied implicitly"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing_is_an_error(name):
    function, message = REFUSED[name]
    with pytest.raises((Error, ValueError), match=message):
        function(blocks_of(HOST)).compute()


PAGE = (Path(__file__).parents[1] / "docs/how-to/dask.md").read_text()
WORK = ["sum", "mean", "var", "std", "min", "max", "prod"]
WORK += [f"nan{one}" for one in WORK]
ERRORS = [
    "nancumsum",
    "nancumprod",
    "nan_to_num",
    "angle",
    "i0",
    "sinc",
    "modf",
    "frexp",
    "spacing",
]
ERRORS += ["nonzero", "argwhere"]
GAPS = np.where(np.arange(48) % 7 == 3, np.nan, np.arange(48.0)).reshape(8, 6)


@pytest.mark.parametrize("name", WORK)
def test_functions_that_the_page_says_work(name):
    assert name in PAGE
    x = da.from_array(GAPS, chunks=(4, 3)).to_backend("cupola")
    for axis in (None, 0, 1):
        found = getattr(da, name)(x, axis=axis).compute()
        assert isinstance(found, cupola.Array)
        np.testing.assert_allclose(found.get(), getattr(np, name)(GAPS, axis=axis))


@pytest.mark.parametrize("name", ERRORS)
def test_functions_that_the_page_says_are_errors(name):
    assert name in PAGE
    x = da.from_array(GAPS, chunks=(4, 3)).to_backend("cupola")
    options = {"axis": 0} if "cum" in name else {}
    with pytest.raises(cupola.exceptions.ArgumentTypeError):
        found = getattr(da, name)(x, **options)
        dask.compute(found)


@pytest.mark.parametrize(("name", "kind"), [("indices", cupola.Array), ("tri", cupola.Array),
                                            ("eye", np.ndarray)])  # fmt: skip
def test_functions_that_make_blocks(name, kind):
    with dask.config.set({"array.backend": "cupola"}):
        argument = (4, 4) if name == "indices" else 4
        found = getattr(da, name)(argument, chunks=2).compute()
    assert isinstance(found, kind)

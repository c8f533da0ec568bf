"""One operation with the arrays of every library in one process, in turns."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import operations
from test_op import made

import cupola

U = np.arange(35, dtype=np.float32).reshape(5, 7)


def of_cupola(driver):
    return cupola.to_device(U), lambda v: v.get()


def of_numpy(driver):
    if driver == "cuda":
        pytest.skip("NumPy's arrays need the CPU device")
    return U, np.asarray


def of_cupy(driver):
    cupy = pytest.importorskip("cupy")
    if driver == "cpu":
        pytest.skip("CuPy has no CPU device")
    return cupy.asarray(U), cupy.asnumpy


def of_torch(driver):
    torch = pytest.importorskip("torch")
    if driver == "cuda" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    there = torch.tensor(U, device="cpu" if driver == "cpu" else "cuda")
    return there, lambda v: v.cpu().numpy()


def of_jax(driver):
    jax = pytest.importorskip("jax")
    platform = "cpu" if driver == "cpu" else "gpu"
    if jax.default_backend() != platform:
        pytest.skip(f"JAX's arrays are not on the platform {platform}")
    return jax.numpy.asarray(U), np.asarray


KINDS = [of_cupola, of_numpy, of_cupy, of_torch, of_jax]


@pytest.fixture
def arrays(driver):
    """The arrays that there are, with the functions that make NumPy's of results."""
    found = {}
    for kind in KINDS:
        try:
            found[kind] = kind(driver)
        except pytest.skip.Exception:
            continue
    return found


@pytest.mark.parametrize("first", KINDS)
def test_in_turns(arrays, first):
    """Each library comes first once: the order in which they load the driver must not count."""
    if first not in arrays:
        pytest.skip(f"{first.__name__}: the library, or its device, is not here")
    step = made(operations.PLANE)
    kinds = [first, *(kind for kind in arrays if kind is not first)]
    for alpha in (2.0, 3.0, 4.0):  # the first call is general, the second prepares the third
        results = {kind: step(arrays[kind][0], alpha) for kind in kinds}
        for kind, v in results.items():
            there, numpy_of = arrays[kind]
            assert type(v) is type(there)
            np.testing.assert_array_equal(numpy_of(v), alpha * U)


def test_an_array_of_another_library_is_refused(arrays):
    both = made(operations.BOTH)
    del arrays[of_cupola]  # after one of cupola's, other libraries' device memory is taken
    for one, other in itertools.pairwise(arrays):
        with pytest.raises(cupola.ArgumentTypeError, match="like the first argument"):
            both(arrays[one][0][0], arrays[other][0][0])

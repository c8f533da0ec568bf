"""Declared operations of the library: checks of a call, the choice of a kernel, launches."""

import ctypes

import numpy as np
import operations
import pytest
from operations import native, tensor
from working import refused

import cupola
from cupola.declare.compiled import compiled
from cupola.declare.operation import read
from cupola.native_operation import NativeOperation


@pytest.fixture
def plane(driver):
    u = cupola.to_device(np.arange(35, dtype=np.float32).reshape(5, 7))
    return native(operations.PLANE), u, cupola.zeros((5, 7), np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_is_chosen_by_the_element_type(driver, dtype):
    u = cupola.to_device(np.arange(35, dtype=dtype).reshape(5, 7))
    v = cupola.zeros((5, 7), dtype)
    native(operations.PLANE).launch((tensor(u), tensor(v)), (3.0,))
    assert (v.get() == 3 * u.get()).all()


def test_a_mutated_input_a_workspace_and_shared_memory(driver):
    x = cupola.to_device(np.arange(100, dtype=np.float32))
    cache, sums, total = (cupola.zeros(n, np.float32) for n in (100, 64, 1))
    operation = native(operations.ACCUMULATE)
    for _ in range(2):
        operation.launch(tuple(map(tensor, (cache, x, total, sums))), (64,))
    assert total.get()[0] == 4950 and (cache.get() == 2 * x.get()).all()


@pytest.mark.parametrize("width", [1, 6])
@pytest.mark.parametrize("given", [True, False])
def test_packs_broadcasts_and_optional_inputs(driver, width, given):
    x = np.arange(48, dtype=np.float32).reshape(2, 4, 6)
    w, bias = np.arange(1, width + 1, dtype=np.float32), np.arange(6, dtype=np.float32)
    arrays = [cupola.to_device(one) for one in (x, w, bias)] + [cupola.zeros((2, 4, 6), "f4")]
    tensors = [tensor(one) for one in arrays]
    if not given:
        tensors[2] = None
    native(operations.WEIGH).launch(tuple(tensors), ())
    assert (arrays[3].get() == x * w + (bias if given else 0)).all()


def test_several_outputs(driver):
    a, b = (cupola.to_device(np.arange(5, dtype=np.float32) * n) for n in (1, 3))
    out = [cupola.zeros(5, np.float32) for _ in range(2)]
    native(operations.BOTH).launch(tuple(map(tensor, (a, b, *out))), ())
    assert out[0].get().tolist() == [0, 4, 8, 12, 16]
    assert out[1].get().tolist() == [0, -2, -4, -6, -8]


def test_a_stream_and_another_librarys_handle(plane):
    operation, u, v = plane
    stream = cupola.Stream()
    operation.launch((tensor(u), tensor(v)), (2.0,), stream=stream)
    stream.synchronize()
    assert (v.get() == 2 * u.get()).all()
    for n in (3.0, 4.0):
        operation.launch((tensor(u), tensor(v)), (n,), handle=stream.handle)
        stream.synchronize()
        assert (v.get() == n * u.get()).all()


def test_empty_tensors_launch_nothing(plane):
    operation, _, _ = plane
    empty = (0, 2, 32, 2, 0, (0, 7), None)
    operation.launch((empty, empty), (2.0,))


@pytest.mark.parametrize("vmap", ["batch-first", "batch"])
def test_a_batch(driver, vmap):
    n, batch = 5, 4
    x = cupola.to_device(np.zeros((batch, n), np.float32))
    y = cupola.zeros((batch, n), np.float32)
    operation = native({**operations.NUMBER, "vmap": vmap} if vmap == "batch" else LOOPED)
    operation.launch((tensor(x), tensor(y)), (), batched=(True, True), batch=batch)
    expected = np.arange(batch) if vmap == "batch" else np.zeros(batch)
    assert (y.get() == expected[:, None].repeat(n, 1)).all()
    with refused(cupola.ArgumentValueError, saying="must have the batch"):
        operation.launch((tensor(x), tensor(y)), (), batched=(True, False), batch=batch)
    with refused(cupola.ArgumentValueError, saying="batch of 3"):
        operation.launch((tensor(x), tensor(y)), (), batched=(True, True), batch=3)


LOOPED = {**operations.NUMBER, "vmap": "batch-first", "arguments": ["x", "y", "1", "n"]}
LOOPED["grid"] = ["ceildiv(n, 32)"]

HOST = (1, 0)
WRONG = [
    ("u", dict(shape=(5,), strides=(1,)), "argument u: expected T[ny, nx], which has 2 axes"),
    ("v", dict(shape=(7, 5), strides=(5, 1)), "output v: expected T[ny, nx], got shape (7, 5)"),
    ("v", dict(shape=(7, 5), strides=(5, 1)), "length 7 of axis 0, but ny is 5, by argument u"),
    ("v", dict(bits=64), "output v: expected elements of float32, which is T"),
    ("u", dict(code=0), "expected elements of int32"),
    ("u", dict(code=99), "elements of DLPack code 99"),
    ("u", dict(bits=12), "argument u: a DLPack tensor has elements of 12 bits"),
    ("u", dict(shape=(-5, 7)), "argument u: a DLPack tensor has a negative length"),
    ("u", dict(shape=(2**40, 2**40), strides=None), "argument u: a DLPack tensor has more"),
    ("u", dict(address=0), "argument u: a DLPack tensor has elements but no memory"),
    ("u", dict(strides=(1, 5)), "argument u: expected elements in C order, got strides (1, 5)"),
    ("u", dict(device_type=4), "argument u: DLPack's device type 4 is not supported"),
    ("v", dict(device=9), "all must be in one memory"),
    ("v", "u", "output v: its memory overlaps that of argument u"),
]


@pytest.mark.parametrize(("which", "change", "words"), WRONG)
def test_a_wrong_tensor_is_refused_and_nothing_is_launched(plane, which, change, words):
    operation, u, v = plane
    tensors = {"u": tensor(u), "v": tensor(v)}
    tensors[which] = (
        tensors[change] if isinstance(change, str) else tensor({"u": u, "v": v}[which], **change)
    )
    with refused(cupola.ArgumentError, saying=words) as raised:
        operation.launch(tuple(tensors.values()), (2.0,))
    assert str(raised.value).startswith("test.op: ")
    assert not v.get().any()


def test_wrong_counts_and_scalars(plane):
    operation, u, v = plane
    both = tensor(u), tensor(v)
    with refused(cupola.ArgumentTypeError, saying="takes 2 tensors, got 1"):
        operation.launch(both[:1], (2.0,))
    with refused(cupola.ArgumentTypeError, saying="takes 1 scalars, got 0"):
        operation.launch(both, ())
    with refused(cupola.ArgumentTypeError, saying="expected T[ny, nx], got no tensor"):
        operation.launch((None, both[1]), (2.0,))
    with refused(cupola.ArgumentTypeError, saying="a scalar is int or float"):
        operation.launch(both, ("2",))
    with refused(cupola.ArgumentValueError, saying="out of its range"):
        operation.launch(both, (1e300,))
    assert not v.get().any()


def test_checks_and_launches_that_are_too_large(driver):
    x, y = (cupola.zeros(8, np.float32) for _ in range(2))

    def launch(**changes):
        table = {**LOOPED, "vmap": "batch-first", **changes}
        native(table).launch((tensor(x), tensor(y)), ())

    with refused(cupola.ArgumentValueError, saying="expected n % 5 == 0, got 3 and 0"):
        launch(checks=["n % 5 == 0"])
    with refused(cupola.ArgumentValueError, saying="test.op: number: block (4096, 1, 1)"):
        launch(block=["n * 512"])
    with refused(cupola.ArgumentValueError, saying="block n - 8 is 0, expected 1 to"):
        launch(block=["n - 8"])
    with refused(cupola.ArgumentValueError, saying="test.op: the grid is empty, but output y has"):
        launch(grid=[0])
    with refused(cupola.ArgumentValueError, saying="test.op: number: argument 3"):
        launch(arguments=["x", "y", "1", "n * 1000000000"])
    with refused(cupola.ArgumentValueError, saying="multiple of 4096 bytes"):
        y = y[1:]
        x = x[1:]
        launch(align=4096)


def test_host_memory(driver):
    """The CPU device uses it in place; a GPU can't."""
    operation = native(operations.PLANE)
    u = np.arange(35, dtype=np.float32).reshape(5, 7)
    v = np.zeros_like(u)

    def host(array):
        return (array.ctypes.data, 2, 32, 1, 0, array.shape, None)

    if driver == "cuda":
        with refused(cupola.ArgumentValueError, saying="it is in host memory"):
            operation.launch((host(u), host(v)), (2.0,))
        return
    operation.launch((host(u), host(v)), (2.0,))
    assert (v == 2 * u).all()
    both = np.zeros(70, np.float32)  # neighbours in one page, read-only and written
    both[:35] = 1
    operation.launch((host(both[:35].reshape(5, 7)), host(both[35:].reshape(5, 7))), (2.0,))
    assert (both[35:] == 2).all()
    with refused(cupola.ArgumentValueError, saying="overlaps that of argument u"):
        operation.launch((host(both[:35].reshape(5, 7)), host(both[9:44].reshape(5, 7))), (2.0,))
    device = cupola.to_device(u)
    with refused(cupola.ArgumentValueError, saying="all must be in one memory"):
        operation.launch((host(u), tensor(device)), (2.0,))


KERNELS = [
    (dict(arguments=["u", "v", "ny", "nx"]), "takes 5 arguments, the declaration lists 4"),
    (dict(arguments=["v", "u", "ny", "nx", "alpha"]), "argument 0 (u) is a pointer to const float"),
    (dict(arguments=["u", "v", "alpha", "nx", "ny"]), "the scalar alpha"),
    (dict(mutates=["u"]), "which the kernel has to write"),
    (dict(kernels={"float64": "scale_plane<float>"}), "a tensor of float64, u"),
    (dict(kernels={"float32": "copy<float>"}), "takes 3 arguments"),
]


@pytest.mark.parametrize(("change", "words"), KERNELS)
def test_a_kernel_that_contradicts_the_declaration(driver, change, words):
    with refused(cupola.ArgumentTypeError, saying=words.replace(" (u)", "")):
        native({**operations.PLANE, **change})


def test_a_kernel_that_is_not_bound(driver):
    declaration = read(operations.PLANE, "test.op")
    operation = NativeOperation(compiled(declaration))
    assert operation.kernel_types() == ["float32", "float64"]
    assert operation.kernel_names() == ["scale_plane<float>", "scale_plane<double>"]
    operation.bind(1, operations.module()["scale_plane<double>"])
    assert operation.bound(1, 0) and not operation.bound(0, 0) and not operation.bound(1, 5)
    u = cupola.zeros((2, 2), np.float32)
    with refused(cupola.UnknownNameError, saying="no kernel for float32 is bound for device 0"):
        operation.launch((tensor(u), tensor(u.copy())), (2.0,))
    half = cupola.zeros((2, 2), np.float16)
    with refused(cupola.ArgumentTypeError, saying="no kernel for T = float16; there are kernels"):
        operation.launch((tensor(half), tensor(half.copy())), (2.0,))
    with refused(cupola.UnknownNameError, saying="no kernel 2"):
        operation.bind(2, operations.module()["scale_plane<double>"])


def test_the_entry_is_versioned():
    library = ctypes.CDLL(cupola.paths.library())
    assert library.cupola_op_version() == 2

"""Modules, kernels, prepared launches and arrays in other processes, by their content."""

import concurrent.futures
import copy
import gc
import multiprocessing
import os
import pickle

import images
import numpy as np
import pytest
from working import refused

import cupola


@pytest.fixture(scope="module")
def other(driver):
    """A process that receives only the pickles which it is sent."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
        yield lambda function, *arguments: pool.submit(function, *arguments).result(120)


def incremented(kernel):
    values = cupola.to_device(np.arange(5, dtype=np.int32))
    kernel[1, 8](values, 4)
    return values.get()


def of_module(module, name):
    return incremented(module[name]), module.name, module.kernels, module["axpy"].params


def sent(launch):
    launch()
    launch()
    return [one.get() if isinstance(one, cupola.Array) else one for one in launch]


@pytest.mark.parametrize("form", images.LOADABLE)
def test_modules(driver, other, form):
    module = cupola.load(images.FORMS[form]())
    values, name, kernels, params = other(of_module, module, "increment")
    np.testing.assert_array_equal(values, [1, 2, 3, 4, 4])
    assert (name, kernels, params) == (module.name, module.kernels, module["axpy"].params)


def test_kernels(driver, other):
    np.testing.assert_array_equal(
        other(incremented, images.module("described")["increment"]), [1, 2, 3, 4, 4]
    )


def shipped(kernel):
    return kernel.module is cupola.shipped_kernels(), kernel.title


def test_kernels_that_come_with_cupola(driver, other):
    kernel = cupola.shipped_kernels()["saxpy"]
    assert other(shipped, kernel) == (True, "saxpy")
    assert len(pickle.dumps(kernel)) < 500  # by name: the image is there already
    assert pickle.loads(pickle.dumps(kernel)) is kernel


@pytest.mark.parametrize("form", images.LOADABLE)
def test_launches_with_their_arguments(driver, other, form):
    """Also where the kernel's signature tells that the arguments are pointers."""
    axpy = cupola.load(images.FORMS[form]())["axpy"]
    x = cupola.to_device(np.arange(6, dtype=np.float32))
    out = cupola.zeros(6, np.float32)
    launch = axpy.prepare(2, (4, 1, 1), np.float32(2), x, x, out, 6, shared=64)
    result = other(sent, launch)
    np.testing.assert_array_equal(result[3], 3 * np.arange(6))
    assert result[0] == 2 and result[4] == 6
    np.testing.assert_array_equal(out.get(), np.zeros(6))  # the process changed its own copy
    copied = pickle.loads(pickle.dumps(launch))
    assert (copied.grid, copied.block, copied.shared) == ((2, 1, 1), (4, 1, 1), 64)
    assert copied[1] is copied[2]  # as it was here


def test_arguments_that_belong_to_a_process(driver):
    increment, values = images.module("described")["increment"], cupola.zeros(5, np.int32)
    for launch, saying in (
        (increment.prepare(1, 8, values, 4, stream=cupola.Stream()), "stream"),
        (increment.prepare(1, 8, values.address, 4), "address"),
    ):
        with refused(cupola.ArgumentError, TypeError, saying=("increment", saying)):
            pickle.dumps(launch)
    one = increment.prepare(1, 8, cupola.zeros((), np.int32), 1)  # an array that has __index__
    assert pickle.loads(pickle.dumps(one))[0].shape == ()
    nothing = images.module("described")["is_null"].prepare(1, 1, None, cupola.zeros((), np.int32))
    assert pickle.loads(pickle.dumps(nothing))[0] is None


@pytest.mark.parametrize(
    "host",
    [
        np.arange(12, dtype=np.int16).reshape(3, 4),
        np.zeros(0),
        np.array(1j),
        np.array([(1, 2.5), (3, 4.5)], "i4,f8"),
    ],
    ids=lambda host: str(host.dtype),
)
def test_arrays(driver, host):
    array = cupola.to_device(host)
    taken = pickle.loads(pickle.dumps(array))
    assert (taken.shape, taken.dtype, taken.device) == (array.shape, array.dtype, array.device)
    np.testing.assert_array_equal(taken.get(), host)
    if array.size:
        assert taken.address != array.address
    array.free()
    with refused(cupola.ArgumentError, saying="freed"):
        pickle.dumps(array)


def test_an_image_is_taken_once(driver):
    module = cupola.load(images.ptx())
    pickled = pickle.dumps((module, module["increment"]))
    first, kernel = pickle.loads(pickled)
    second, _ = pickle.loads(pickled)
    assert first is second and kernel is first["increment"]
    assert first is not module  # the second module has variables of its own
    module["bump"][1, 3]()
    assert first.globals["counter"].get(np.int32)[0] == 0
    assert copy.copy(module) is first
    first.unload()
    third, _ = pickle.loads(pickled)
    assert third is not first
    np.testing.assert_array_equal(incremented(third["increment"]), [1, 2, 3, 4, 4])


def test_what_was_unloaded_is_not_sent(driver):
    module = cupola.load(images.SCALE)
    module.unload()
    with refused(cupola.ArgumentError, saying="unloaded"):
        pickle.dumps(module)


def test_a_device_that_is_not_there(driver):
    function, (content, name, _, about, digest) = cupola.load(images.SCALE).__reduce__()
    with refused(cupola.NotFoundError, saying="99"):
        function(content, name, 99, about, digest)
    gc.collect()

"""An image is unloaded with the last reference to it, or at once on request."""

import gc
import resource
import weakref

import images
import numpy as np
import pytest
from test_module import works
from working import refused

import cupola

BIG = 64 << 20
# The kernel, and a variable so large that it has an allocation of its own.
WITH_VARIABLE = images.SCALE.read_bytes() + b"\n.visible .global .align 4 .b8 big[%d];\n" % BIG


class At:
    """An object at an address, for the pointer parameters of kernels."""

    def __init__(self, address):
        self.__cuda_array_interface__ = {
            "shape": (1,), "typestr": "|u1", "version": 3, "data": (address, False)
        }  # fmt: skip


def is_there(address):
    """Whether the driver has memory at the address: other processes may use the device, too."""
    try:
        cupola.asarray(At(address))
    except cupola.ArgumentError as error:
        assert "the driver does not know the address" in str(error)
        return False
    return True


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def use(module):
    """Makes each object that could be part of a reference cycle."""
    kernel = module["scale"]
    array = cupola.to_device(np.ones(8, np.float32))
    kernel[1, 8](array, 2.0, 8)
    kernel.forall(8)(array, 2.0, 8)
    launch = kernel.prepare(1, 8, array, 2.0, 8)
    launch()
    assert kernel.params and module.kernels and module.globals["big"].nbytes == BIG
    assert kernel.module is module
    cupola.Device().synchronize()
    return kernel, kernel[1, 8], launch


def test_the_image_goes_with_the_last_that_refers_to_it(driver, no_collector):
    module = cupola.load(WITH_VARIABLE)
    use(module)
    address = module.globals["big"].address
    watched = weakref.ref(module)
    assert is_there(address)
    del module
    assert watched() is None
    assert not is_there(address)


@pytest.mark.parametrize("which", range(3), ids=["kernel", "configured", "launch"])
def test_what_is_left_keeps_the_image(driver, no_collector, which):
    kept = use(cupola.load(WITH_VARIABLE))[which]
    kernel = kept if which == 0 else kept.kernel
    again = kernel.module
    address = again.globals["big"].address
    assert again is kernel.module and again.globals["big"].nbytes == BIG
    works_with(kernel)
    del again
    assert is_there(address)
    del kept, kernel
    assert not is_there(address)


def works_with(kernel):
    array = cupola.to_device(np.ones(4, np.float32))
    kernel[1, 4](array, 3.0, 4)
    np.testing.assert_array_equal(array.get(), [3, 3, 3, 3])


def test_a_variable_keeps_the_image(driver, no_collector):
    variable = cupola.load(WITH_VARIABLE).globals["big"]
    variable.set(bytes(BIG))
    address = variable.address
    assert is_there(address)
    del variable
    assert not is_there(address)


def test_unloading_waits_for_what_was_launched(driver):
    module = cupola.load(images.ptx())
    seed, steps = 3, 200_000
    value = cupola.to_device(np.array(seed, np.uint32))
    stream = cupola.Stream()
    cupola.Device().synchronize()
    module["congruential"][1, 1, stream](value, steps)
    module.unload()
    expected = seed
    for _ in range(steps):
        expected = (expected * 1664525 + 1013904223) % 2**32
    assert value.get() == expected


def test_what_was_unloaded_is_refused(driver):
    module = cupola.load(WITH_VARIABLE)
    kernel, ready, launch = use(module)
    variable = module.globals["big"]
    array = cupola.to_device(np.ones(8, np.float32))
    assert module.loaded and is_there(variable.address)
    module.unload()
    assert not module.loaded and "unloaded" in repr(module)
    assert not is_there(variable.address)
    uses = [
        lambda: ready(array, 2.0, 8),
        lambda: kernel[1, 8](array, 2.0, 8),
        lambda: kernel[2, 8],
        lambda: kernel.launch(1, 8, array, 2.0, 8),
        lambda: kernel.prepare(1, 8, array, 2.0, 8),
        lambda: kernel.forall(8)(array, 2.0, 8),
        lambda: launch(),
        lambda: kernel.registers,
        lambda: kernel.occupancy(8),
        lambda: module["another"],
        lambda: module[kernel.name],
        lambda: module.kernels,
        lambda: module.globals["big"],
        lambda: variable.get(),
        lambda: variable.set(bytes(BIG)),
    ]
    for each in uses:
        with refused(cupola.ArgumentError, ValueError, saying="unloaded"):
            each()
    module.unload()  # a second call changes nothing


@pytest.mark.parametrize("how", ["capture", "nodes", "child", "update"])
def test_what_a_graph_holds_is_not_unloaded(driver, no_collector, how):
    module, stream = cupola.load(images.SCALE), cupola.Stream()
    kernel = module["scale"]
    array = cupola.to_device(np.ones(8, np.float32))
    graph = cupola.Graph()
    if how == "capture":
        with stream.capture() as graph:
            kernel[1, 8](array, 2.0, 8)
            with pytest.raises(cupola.ArgumentError, match="captured"):
                module.unload()
    elif how == "nodes":
        graph.add_kernel(kernel, 1, 8, array, 2.0, 8)
    elif how == "child":
        inner = cupola.Graph()
        inner.add_kernel(kernel, 1, 8, array, 2.0, 8)
        graph.add_child(inner)
        del inner
    else:
        other = cupola.load(images.SCALE)["scale"]
        node = graph.add_kernel(other, 1, 8, array, 9.0, 8)
    run = graph.instantiate()
    if how == "update":
        run.update(node, array, 2.0, 8, kernel=kernel)
        del node
    del graph
    with refused(cupola.ArgumentError, ValueError, saying=("graph holds", "executable graphs")):
        module.unload()
    run(stream)
    stream.synchronize()
    np.testing.assert_array_equal(array.get(), np.full(8, 2))
    del run
    module.unload()
    with refused(cupola.ArgumentError, ValueError, saying="unloaded"):
        kernel[1, 8](array, 2.0, 8)


def test_the_kernels_of_cupola_stay(driver):
    with refused(cupola.ArgumentError, saying="can't be unloaded: cupola"):
        cupola.shipped_kernels().unload()


@pytest.mark.parametrize("explicit", [False, True], ids=["let go", "unloaded"])
def test_loading_again_and_again(driver, no_collector, explicit):
    def load(count):
        for _ in range(count):
            module = cupola.load(images.SCALE)
            works_with(module["scale"])
            if explicit:
                module.unload()
        cupola.Device().synchronize()
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return cupola.memory_info().free, most

    load(100)
    device, host = load(50)
    device_after, host_after = load(300)
    assert host_after <= host + (8 << 20)
    if driver == "cpu":  # a GPU may have other users
        assert device_after >= device - (4 << 20)
    works(cupola.load(images.ptx()))

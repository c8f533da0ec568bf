"""When an image is unloaded: with the last that refers to it, or at once where it is asked for."""

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
SLACK = 4 << 20  # what pools and the driver may keep
# The same kernel, and a variable which is seen in the device's memory.
WITH_VARIABLE = images.SCALE.read_bytes() + b"\n.visible .global .align 4 .b8 big[%d];\n" % BIG


def free():
    cupola.Device().synchronize()
    return cupola.memory_info().free


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def use(module):
    """Whatever might make a cycle."""
    kernel = module["scale"]
    array = cupola.to_device(np.ones(8, np.float32))
    kernel[1, 8](array, 2.0, 8)
    kernel.forall(8)(array, 2.0, 8)
    launch = kernel.prepare(1, 8, array, 2.0, 8)
    launch()
    assert kernel.params and module.kernels and module.globals["big"].nbytes == BIG
    assert kernel.module is module
    return kernel, kernel[1, 8], launch


def test_the_image_goes_with_the_last_that_refers_to_it(driver, no_collector):
    module = cupola.load(WITH_VARIABLE)
    use(module)
    before = free()
    watched = weakref.ref(module)
    del module
    assert watched() is None
    assert free() >= before + BIG - SLACK


@pytest.mark.parametrize("which", range(3), ids=["kernel", "configured", "launch"])
def test_what_is_left_keeps_the_image(driver, no_collector, which):
    kept = use(cupola.load(WITH_VARIABLE))[which]
    before = free()
    kernel = kept if which == 0 else kept.kernel
    again = kernel.module
    assert again is kernel.module and again.globals["big"].nbytes == BIG
    works_with(kernel)
    del again
    assert free() < before + SLACK
    del kept, kernel
    assert free() >= before + BIG - SLACK


def works_with(kernel):
    array = cupola.to_device(np.ones(4, np.float32))
    kernel[1, 4](array, 3.0, 4)
    np.testing.assert_array_equal(array.get(), [3, 3, 3, 3])


def test_a_variable_keeps_the_image(driver, no_collector):
    variable = cupola.load(WITH_VARIABLE).globals["big"]
    variable.set(bytes(BIG))
    before = free()
    del variable
    assert free() >= before + BIG - SLACK


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
    before = free()
    assert module.loaded
    module.unload()
    assert not module.loaded and "unloaded" in repr(module)
    assert free() >= before + BIG - SLACK
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
        lambda: module.kernels,
        lambda: module.globals["big"],
        lambda: variable.get(),
        lambda: variable.set(bytes(BIG)),
    ]
    for each in uses:
        with refused(cupola.ArgumentError, ValueError, saying="unloaded"):
            each()
    module.unload()  # which changes nothing


def test_the_kernels_of_cupola_stay(driver):
    with refused(cupola.ArgumentError, saying="stay loaded"):
        cupola.shipped_kernels().unload()


@pytest.mark.parametrize(
    "rounds", [300, pytest.param(10_000, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("explicit", [False, True], ids=["let go", "unloaded"])
def test_loading_again_and_again(driver, no_collector, rounds, explicit):
    def load(count):
        for _ in range(count):
            module = cupola.load(images.SCALE)
            works_with(module["scale"])
            if explicit:
                module.unload()
        return free(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    load(100)
    device, host = load(50)
    device_after, host_after = load(rounds)
    assert device_after >= device - SLACK
    assert host_after <= host + (8 << 20)
    works(cupola.load(images.ptx()))

"""__device__ and __constant__ variables of a module."""

import images
import numpy as np
import pytest
from working import refused

import cupola


@pytest.mark.parametrize("form", images.LOADABLE)
def test_variables(driver, form):
    module = cupola.load(images.FORMS[form]())
    table, weights = module.globals["table"], module.globals["weights"]
    assert (table.nbytes, weights.nbytes) == (64, 32)
    np.testing.assert_array_equal(weights.get(np.float32), np.arange(1, 9))
    out, values = cupola.zeros(16, np.int32), np.arange(16, dtype=np.int32) ** 3
    for value in (values, values.reshape(4, 4), values.tobytes(), np.array(values, order="F")):
        table.set(np.zeros(16, np.int32))
        table.set(value)
        module["lookup"][1, 16](out)
        np.testing.assert_array_equal(out.get(), values)
        assert table.get() == values.tobytes()
    weights.set(np.arange(8, dtype=np.float32))
    result = np.empty(8, np.float32)
    module["weigh"][1, 8](cupola.Out(result))
    np.testing.assert_array_equal(result, 2 * np.arange(8))


def test_variables_belong_to_their_module(driver):
    one, two = cupola.load(images.ptx()), cupola.load(images.ptx())
    for _ in range(3):
        one["bump"][5, 7]()
    assert one.globals["counter"].get(np.int32)[0] == 105
    assert two.globals["counter"].get(np.int32)[0] == 0


def test_wrong_values_for_variables(driver):
    module = images.module()
    table = module.globals["table"]
    table.set(np.arange(16, dtype=np.int32))
    for value in (np.zeros(15, np.int32), np.zeros(16), b"", 5, bytes(65)):
        with refused(cupola.ArgumentError, ValueError, saying=("table", "64 bytes")):
            table.set(value)
    with refused(cupola.ArgumentError, saying="table"):
        table.set(np.zeros(8, object))
    with refused(cupola.ArgumentError, ValueError, saying=("table", "64 bytes")):
        table.get("i4,i4,i4")
    np.testing.assert_array_equal(table.get(np.int32), range(16))
    for wrong in ("tabel", "", "axpy", "größe", "table\0"):
        assert wrong not in module.globals
        with refused(cupola.NotFoundError, KeyError, saying=wrong.rstrip("\0")):
            module.globals[wrong]


@pytest.mark.parametrize("form", images.LOADABLE)
def test_their_names(driver, form):
    variables = cupola.load(images.FORMS[form]()).globals
    assert list(variables) == ["both_sides", "boxes", "counter", "settings", "table", "weights"]
    assert len(variables) == 6 and all(name in variables for name in variables)


def test_their_names_in_a_compressed_image():
    variables = cupola.load(images.fatbin(compress=True)).globals
    with refused(cupola.NotFoundError, saying="compressed"):
        list(variables)
    assert "table" in variables


def test_a_module_without_variables(driver):
    assert list(cupola.load(images.SCALE).globals) == []


def test_managed_variables(driver):
    module = cupola.load(images.ptx())
    variable = module.globals["both_sides"]
    np.testing.assert_array_equal(variable.get(np.int32), [3, 4])
    module["swap"][1, 1]()
    np.testing.assert_array_equal(variable.get(np.int32), [4, 3])
    variable.set(np.array([5, 6], np.int32))
    module["swap"][1, 1]()
    np.testing.assert_array_equal(variable.array(np.int32).get(), [6, 5])


def test_as_arrays(driver):
    module = cupola.load(images.ptx())
    weights = module.globals["weights"].array(np.float32, (2, 4))
    np.testing.assert_array_equal(weights.get(), [[1, 2, 3, 4], [5, 6, 7, 8]])
    weights[0].set(np.full(4, 10, np.float32))
    out = cupola.zeros(4, np.float32)
    module["weigh"][1, 4](out)
    np.testing.assert_array_equal(out.get(), [20] * 4)
    counter = module.globals["counter"].array("i4", ())
    module["increment"][1, 1](counter, 1)  # as an argument
    assert counter.get() == 1 and counter.shape == ()
    assert module.globals["weights"].array("f4,f4").shape == (4,)
    assert module.globals["weights"].array("f4,f4").get().tolist()[1] == (10, 10)
    table = module.globals["table"].array(np.int32)
    table.set(np.arange(16, dtype=np.int32))
    module["lookup"][1, 16](looked := cupola.zeros(16, np.int32))
    np.testing.assert_array_equal(looked.get(), range(16))


def test_wrong_elements_and_shapes(driver):
    table = images.module().globals["table"]
    for how in (
        ("i4,i4,i4",),
        (object,),
        (np.int32, 15),
        (np.int32, (4, 5)),
        (np.int32, (-16, -1)),
    ):
        with refused(cupola.ArgumentError, ValueError):
            table.array(*how)


def test_an_array_over_a_variable_keeps_the_module(driver):
    module = cupola.load(images.ptx())
    array = module.globals["weights"].array(np.float32)
    part = array[2:4]
    del array
    with refused(cupola.ArgumentError, saying=("in use", "weights")):
        module.unload()
    del module
    np.testing.assert_array_equal(part.get(), [3, 4])
    module = cupola.load(images.ptx())
    del part
    module.globals["weights"].array(np.float32)
    module.unload()

"""__device__ and __constant__ variables of a module."""

import images
import numpy as np
import pytest
from working import refused

import cupola


@pytest.mark.parametrize("form", images.FORMS)
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

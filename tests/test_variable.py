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
        assert table.get(np.uint8).tobytes() == values.tobytes()
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
    for value in (np.zeros(15, np.int32), np.zeros(16), b"", np.int32(5), bytes(65)):
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
    assert list(variables) == ["both_sides", "boxes", "counter", "settings", "table", "weights"]


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


@pytest.fixture
def described(driver):
    return cupola.load(images.described())  # its manifest has the variables' types


@pytest.mark.parametrize(
    "value", [7, np.int8(7), np.int64(7), np.uint64(7), np.array(7, ">i8"), [7], np.array([[7]])]
)
def test_a_number_is_converted_to_the_dtype(described, value):
    counter = described.globals["counter"]
    counter.set(value)
    found = counter.get()
    assert found == 7 and type(found) is np.int32 and counter.dtype == np.int32


def test_arrays_are_converted_to_the_dtype(described):
    weights, table = described.globals["weights"], described.globals["table"]
    for value in ([[1, 2, 3, 4], [5, 6, 7, 8]], np.arange(1.0, 9.0), np.arange(1, 9, dtype="i1")):
        weights.set(np.zeros(8, np.float32))
        weights.set(value)
        described["weigh"][1, 8](out := cupola.zeros(8, np.float32))
        np.testing.assert_array_equal(out.get(), [2, 4, 6, 8, 10, 12, 14, 16])
        found = weights.get()
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, [[1, 2, 3, 4], [5, 6, 7, 8]])
    table.set(range(16))
    np.testing.assert_array_equal(table.get(), range(16))
    table.set(bytes(64))  # as they are
    assert table.get(np.uint8).shape == (64,) and not table.get().any()
    assert described.globals["both_sides"].get().tolist() == [3, 4]


def test_structs_are_read_by_their_fields(described):
    settings, boxes = described.globals["settings"], described.globals["boxes"]
    settings.set({"a": 1, "b": 2.5, "c": 3})
    assert settings.get().tolist() == (1, 2.5, 3.0) and settings.get()["b"] == 2.5
    boxes.set([(1, 2, 3), {"a": 4, "b": 5, "c": 6}])
    assert boxes.get().tolist() == [(1, 2, 3), (4, 5, 6)] and boxes.get().dtype == boxes.dtype
    boxes.set(boxes.get()[::-1])
    assert boxes.get()["a"].tolist() == [4, 1]


# A value, and the words of the error.
REFUSED = {
    "a float for an int": ("counter", np.float32(1.5), TypeError, "expected int32, got np.float32"),
    "Python's float": ("counter", 1.5, TypeError, "expected int32, got 1.5"),
    "text": ("counter", "7", TypeError, "expected int32"),
    "None": ("counter", None, TypeError, "expected int32"),
    "a mapping": ("counter", {"a": 1}, TypeError, "expected int32"),
    "out of range": ("counter", 2**31, ValueError, "-2147483648 to 2147483647"),
    "huge": ("counter", 2**70, ValueError, "the range of int32"),
    "out of range of a type": ("counter", np.uint32(2**31), ValueError, "the range of int32"),
    "one too many": ("counter", [1, 2], ValueError, "expected 1 of int32 (4 bytes), got 2"),
    "too few": ("table", np.zeros(15, np.int32), ValueError, "expected 16 of int32 (64 bytes)"),
    "bytes for numbers": ("table", np.zeros(64, np.uint8), ValueError, "got 64 of uint8"),
    "a float in a list": ("table", [0.5] * 16, TypeError, "expected int32"),
    "ragged": ("table", [[1], [2, 3]], TypeError, "expected int32"),
    "complex": ("weights", np.zeros(8, complex), TypeError, "expected float32"),
    "large": ("weights", [1e300] * 8, ValueError, "out of the range of float32"),
    "numbers for a struct": ("settings", np.zeros(4, np.float32), ValueError, "got 4 of float32"),
    "a number for a struct": ("settings", 5, TypeError, "expected [("),
    "one struct for two": ("boxes", [(1, 2, 3)], TypeError, "expected 2 structs"),
    "a wrong struct of two": ("boxes", [(1, 2, 3), (1, 2)], TypeError, "[1]: expected the 3"),
}


@pytest.mark.parametrize(("name", "value", "error", "says"), REFUSED.values(), ids=REFUSED)
def test_other_values_are_refused_by_the_dtype(described, name, value, error, says):
    before = described.globals[name].get(np.uint8)
    with refused(cupola.ArgumentError, error, saying=(name, says)):
        described.globals[name].set(value)
    np.testing.assert_array_equal(described.globals[name].get(np.uint8), before)


def test_a_captured_array_that_must_be_converted_is_refused(described):
    table, stream = described.globals["table"], cupola.Stream()
    with stream.capture() as graph:
        with pytest.raises(cupola.ArgumentTypeError, match="int32"):
            table.set(np.zeros(16, np.int64), stream=stream)
        table.set(list(range(16)), stream=stream)
    graph.instantiate().launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(table.get(), range(16))


# Values without a size, and what the error says.
UNKNOWN = {
    "an int": (7, "numpy.int32(7) if that is its declared type, which is guessed by its 4 bytes"),
    "a float": (0.5, "numpy.float32(0.5) if"),
    "a text": ("7", "got str"),
    "None": (None, "got NoneType"),
    "a tuple": ((0.5, 3), "options=['-G']"),
    "a list": ([7], "numpy.array(value, numpy.int32) if"),
    "a ragged list": ([[1], [2, 3]], "numpy.array(value, dtype)"),
    "a list of texts": (["7"], "numpy.array(value, dtype)"),
    "a list of mappings": ([{"a": 1}, {"a": 2}], "options=['-G']"),
    "a set": ({1, 2}, "got set"),
    "objects": (np.array([None]), "Python objects"),
    "another size": (np.int64(7), "an array of its elements' dtype"),
}


@pytest.mark.parametrize(("value", "text"), UNKNOWN.values(), ids=UNKNOWN)
def test_values_without_a_size_for_variables_of_unknown_type(driver, value, text):
    counter = cupola.load(images.ptx()).globals["counter"]
    assert counter.dtype is None and type(counter.get()) is bytes
    counter.set(np.int32(3))
    with refused(cupola.ArgumentError, saying=["counter", text]):
        counter.set(value)
    assert counter.get(np.int32)[0] == 3


def test_get_takes_a_dtype_alone(described):
    with refused(cupola.ArgumentTypeError, saying=("table", "expected a dtype", "ndarray")):
        described.globals["table"].get(np.zeros(16))

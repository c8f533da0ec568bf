"""The names that NumPy users type first work, or the error says what to use instead."""

import importlib
import re
import subprocess
import sys

import numpy as np
import pytest
from working import refused

import cupola


@pytest.mark.parametrize("dtype", [None, np.float32, "i8"])
def test_array_copies_host_data(driver, dtype):
    for source in ([1, 2, 3], np.arange(6).reshape(2, 3)[:, ::2], 4, (1.5, 2)):
        made = cupola.array(source, dtype)
        expected = np.array(source, dtype)
        assert type(made) is cupola.Array and made.dtype == expected.dtype
        np.testing.assert_array_equal(made.get(), expected)


def test_array_copies_device_memory(driver):
    x = cupola.array([1, 2, 3])
    same, other = cupola.array(x), cupola.array(x, dtype=np.float32, stream=cupola.Stream())
    x.fill(0)
    np.testing.assert_array_equal(same.get(), [1, 2, 3])
    np.testing.assert_array_equal(other.get(), np.array([1, 2, 3], np.float32))


def test_array_is_a_function_and_the_module_of_arrays(driver):
    """The order in which the two are used first does not matter."""
    code = """
import sys, cupola
{first}
import cupola.array
assert cupola.array([1, 2]).get().tolist() == [1, 2]
assert cupola.array.Array is cupola.Array is sys.modules["cupola.array"].Array
"""
    for first in ("", "cupola.array(1)", "from cupola.array import Array", "cupola.zeros(3)"):
        done = subprocess.run(
            [sys.executable, "-c", code.format(first=first)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_array_of_objects_is_refused(driver):
    for wrong in (None, [object()]):
        with refused(cupola.ArgumentError, TypeError, saying="dtype object"):
            cupola.array(wrong)


@pytest.mark.parametrize("limits", [(5,), (2, 9), (2, 9, 3), (0, 1, 0.25), (5, 0, -2), (0,)])
@pytest.mark.parametrize("dtype", [None, np.float32, np.int16])
def test_arange(driver, limits, dtype):
    made, expected = cupola.arange(*limits, dtype=dtype), np.arange(*limits, dtype=dtype)
    assert type(made) is cupola.Array and made.dtype == expected.dtype
    np.testing.assert_array_equal(made.get(), expected)


@pytest.mark.parametrize("named", [{"step": 2}, {"stop": 4}, {"start": 1, "stop": 9, "step": 3}])
def test_arange_by_names(driver, named):
    limits = () if "stop" in named else (5,)
    expected = np.arange(*limits, **named)
    np.testing.assert_array_equal(cupola.arange(*limits, **named).get(), expected)
    with pytest.raises(TypeError, match="'steps'"):
        cupola.arange(5, steps=2)


@pytest.mark.parametrize("limits", [(), ("a",), (1, 2, 3, 4), (0, 1, "x")])
def test_arange_of_nonsense(driver, limits):
    with refused(cupola.ArgumentError, TypeError, saying="arange"):
        cupola.arange(*limits)


COPIES = "on host copies, x.get(), or CuPy or PyTorch through DLPack: cupy.from_dlpack(x)"
NAMES = {
    **{
        name: f"use numpy.{name} {COPIES}"
        for name in (
            "einsum", "gradient", "kron",
        )
    },
    **{
        name: f"use x.{name}() or numpy.{name}(x), which compute on the device"
        for name in ("sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin")
    },
    **{name: f"use x.{name}()" for name in ("reshape", "ravel", "transpose", "astype")},
    **{name: f"use numpy.{name}(x), which computes" for name in ("sin", "add", "sqrt")},
    **{name: f"cupola.to_device(numpy.{name}(...))" for name in ("linspace", "eye", "meshgrid")},
    **{name: f"use numpy.{name}" for name in ("float32", "int64", "bool_", "complex64")},
    "ndarray": "cupola.Array",
    "asnumpy": "use x.get()",
    "RawKernel": "cupola.compile",
    "newaxis": "None",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_numpy_says_what_to_use(name):
    text = re.escape(f"cupola has no {name}: ") + ".*" + re.escape(NAMES[name])
    with pytest.raises(AttributeError, match=text):
        getattr(cupola, name)
    assert not hasattr(cupola, name)


@pytest.mark.parametrize("name", ["__path_of_numpy__", "__doc", "_core", "transmogrify"])
def test_a_name_of_nothing_is_a_plain_error(name):
    with pytest.raises(AttributeError, match=rf"^module 'cupola' has no attribute '{name}'$"):
        getattr(cupola, name)


NAMES_OF_MODULES = {
    "linalg.inv": "use numpy.linalg.inv on host copies, x.get(), or CuPy or PyTorch",
    "linalg.qr": "use numpy.linalg.qr on host copies",
    "linalg.solve": "use numpy.linalg.solve on host copies",
    "linalg.svd": "use numpy.linalg.svd on host copies",
    "linalg.LinAlgError": "use numpy.linalg.LinAlgError",
    "random.normal": "use cupola.random.default_rng(seed).normal(...)",
    "random.RandomState": "make a generator with cupola.random.default_rng(seed)",
    "cuda": "cupola.Device",
    "scipy": "cupyx.scipy",
    "sparse": "use scipy.sparse on host copies, x.get(), or cupyx.scipy.sparse",
}


@pytest.mark.parametrize("name", NAMES_OF_MODULES)
def test_a_name_of_a_module_says_what_to_use(name):
    module, _, missing = f"cupola.{name}".rpartition(".")
    with pytest.raises(AttributeError) as caught:
        getattr(importlib.import_module(module), missing)
    assert str(caught.value).startswith(f"{module} has no {missing}: ")
    assert NAMES_OF_MODULES[name] in str(caught.value) and caught.value.name == missing


@pytest.mark.parametrize("module", ["linalg", "fft", "random"])
def test_each_name_of_a_module_of_numpy_is_there_or_says_what_to_use(module):
    ours, numpys = getattr(cupola, module), getattr(np, module)
    for name in numpys.__all__:
        try:
            getattr(ours, name)
        except AttributeError as error:
            assert re.match(rf"cupola\.{module} has no {name}: (use|make) ", str(error)), error
    with pytest.raises(AttributeError, match=rf"^module 'cupola.{module}' has no attribute 'svt'$"):
        _ = ours.svt


PUBLIC = (
    "cupola",
    "cupola.array_api",
    "cupola.coverage",
    "cupola.distributed",
    "cupola.fft",
    "cupola.linalg",
    "cupola.mpi",
    "cupola.nccl",
    "cupola.paths",
    "cupola.random",
)


@pytest.mark.parametrize("module", PUBLIC)
def test_dir_shows_public_names_alone(module):
    found = importlib.import_module(module)
    shown = {name for name in dir(found) if not name.startswith("__")}
    assert shown == {name for name in found.__all__ if not name.startswith("__")}


def test_a_module_of_the_package_is_imported_without_numpy():
    code = "import sys; from cupola import image; from cupola.tools import command; "
    code += "from cupola.tools.command import png; "
    code += "assert 'numpy' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_the_errors_recommend_computes_on_the_device(driver):
    from cupola.core import numpy_names

    x = cupola.array([3.0, 1.0, 2.0])
    for name in numpy_names.METHODS:
        expected = getattr(np, name)(x.get())
        for found in (getattr(x, name)(), getattr(np, name)(x)):
            assert isinstance(found, cupola.Array) and found.item() == expected
    for name in numpy_names.METHODS_ALONE:
        assert callable(getattr(x, name))
    for name in numpy_names.MADE_ON_THE_HOST:
        assert callable(getattr(np, name)) and not hasattr(cupola, name)


def test_single_indices_still_work(driver):
    x = cupola.array([1.0, 2.0, 3.0])
    for index in (1, np.int64(1), np.array(1)):
        assert x[index].item() == 2
    with refused(cupola.ArgumentError, TypeError, saying="got a float"):
        x[1.0]


def test_functions_of_numpy_that_copy_say_what_to_use(driver):
    x = cupola.array([1.0, 2.0, 3.0])
    for use in (lambda: np.gradient(x), lambda: np.linalg.cond(x)):
        with refused(cupola.ArgumentError, TypeError, saying=("get()", "cupy.from_dlpack")):
            use()

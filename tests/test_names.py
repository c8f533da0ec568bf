"""Arguments by name, and what is shown of a kernel's parameters: as a manifest tells them."""

import inspect
import pickle
import pydoc

import images
import numpy as np
import pytest
from working import refused, refused_argument

import cupola


@pytest.fixture
def module(driver):
    return images.module("described")


@pytest.fixture
def named(driver):
    return cupola.load(images.described(images.NAMED))


@pytest.fixture
def arguments(module):
    x = np.arange(40, dtype=np.float32)
    arrays = {
        "x": cupola.to_device(x),
        "y": cupola.ones(40, np.float32),
        "out": cupola.zeros(40, np.float32),
    }
    return {"a": 3.0, **arrays, "n": 33}


def computed(arguments):
    """Whether it was done, and takes it back."""
    n = arguments["n"]
    out = arguments["out"].get()
    np.testing.assert_array_equal(out, np.where(np.arange(40) < n, 3 * np.arange(40) + 1, 0))
    arguments["out"].fill(0)


def test_each_way_to_launch_takes_names(module, arguments):
    kernel = module["axpy"]
    a, x, y, out, n = arguments.values()
    kernel[2, 32](**arguments)
    computed(arguments)
    kernel[2, 32](a, x, n=n, out=out, y=y)
    computed(arguments)
    kernel[2, 32](a, x, y, out, n=n)
    computed(arguments)
    kernel.forall(n)(out=out, x=x, y=y, a=a, n=n)
    computed(arguments)
    kernel.launch(2, 32, a, y=y, x=x, out=out, n=n, shared=64, stream=cupola.Stream.current())
    computed(arguments)
    kernel.launch(grid=2, block=32, **arguments)
    computed(arguments)
    bound = kernel[2, 32]
    type(bound).__call__(bound, a, x, y, n=n, out=out)
    computed(arguments)
    kernel.prepare(2, 32, a, x, n=n, y=y, out=out, shared=64)()
    computed(arguments)


def test_the_same_place_in_a_program_with_other_names(module, arguments):
    """Where a call's names stand is remembered: other names, in another order, are other ones."""
    kernel = module["axpy"]
    a, x, y, out, n = arguments.values()
    orders = [
        {"n": n, "out": out, "y": y, "x": x, "a": a},
        {"x": x, "a": a, "n": n, "y": y, "out": out},
    ]
    for _ in range(3):
        for order in orders:
            kernel[2, 32](**order)
            computed(arguments)
        for call in (
            lambda: kernel[2, 32](a, x, n=n, y=y, out=out),
            lambda: kernel[2, 32](a, n=n, y=y, out=out, x=x),
        ):
            call()
            computed(arguments)


def test_a_prepared_launch_by_name(module, arguments):
    launch = module["axpy"].prepare(2, 32, **arguments)
    launch["a"] = 5.0
    assert launch["a"] == launch[0] == 5.0 and launch["x"] is arguments["x"]
    launch()
    assert arguments["out"].get()[2] == 11.0
    launch["n"] = 1
    arguments["out"].fill(0)
    launch()
    assert arguments["out"].get()[:3].tolist() == [1.0, 0.0, 0.0]
    with refused(cupola.NotFoundError, KeyError, saying=("axpy", "outt", "did you mean out")):
        launch["outt"] = arguments["out"]
    with refused(KeyError, saying="axpy"):
        launch["b"]
    with refused(cupola.ArgumentError, TypeError, saying=("argument 0 (a)", "float", "str")):
        launch["a"] = "5"
    assert launch["a"] == 5.0


@pytest.mark.parametrize(
    ("positional", "names", "saying"),
    [
        (2, "x y out n", ("argument 1 (x)", "twice")),
        (1, "x y n", ("missing argument 3 (out)",)),
        (0, "a x", ("argument 2 (y), argument 3 (out), argument 4 (n)",)),
        (1, "x y outt n", ("no parameter outt", "did you mean out?")),
        (1, "x y out n zzz", ("no parameter zzz",)),
        (5, "n", ("twice",)),
        (4, "", ("takes 5 arguments", "got 4")),
    ],
)
def test_what_is_wrong_with_names(module, arguments, positional, names, saying):
    kernel = module["axpy"]
    given = {name: arguments.get(name, arguments["out"]) for name in names.split()}
    values = list(arguments.values())[:positional]
    ways = [
        lambda: kernel[1, 32](*values, **given),
        lambda: kernel.launch(1, 32, *values, **given),
        lambda: kernel.prepare(1, 32, *values, **given),
        lambda: kernel.forall(0)(*values, **given),
    ]
    for way in ways:
        with refused(cupola.ArgumentError, TypeError, saying=("axpy", "out", *saying)):
            way()
    assert not arguments["out"].get().any()


def test_too_many_of_both(module, arguments):
    with refused(cupola.ArgumentError, TypeError, saying=("takes 5", "got 6")):
        module["axpy"][1, 32](*arguments.values(), 6, n=3)


def test_errors_of_values_name_parameters(module, arguments):
    arguments["x"] = cupola.zeros(40, np.float64)
    with refused(TypeError, saying=("axpy: argument 1 (x)", "pointer to const float", "float64")):
        module["axpy"][1, 32](n=1, **{k: v for k, v in arguments.items() if k != "n"})


def test_elements_are_checked_against_the_type(named):
    """float32 where the kernel has double: both are named; an address is taken as it is."""
    out, single = cupola.zeros(2, np.float64), cupola.ones(4, np.float32)
    got = ("float32", "const double", "address as an int")
    refused_argument(named["flat"], 0, single, out, 2, error=TypeError, name="in", got=got)
    refused_argument(named["flat"], 1, out, single, 2, error=TypeError, name="out",
                     got=("float32", "double"))  # fmt: skip
    named["flat"][1, 1](single.address, out, n=1)
    assert out.get()[0] == single.get().view(np.float64)[0]


def test_names_that_launch_has_for_itself(named):
    kernel, out = named["clash"], cupola.zeros(1, np.int32)
    kernel[1, 1](out, stream=1, shared=2, **{"lambda": 3})
    assert out.get() == 123
    kernel.launch(1, 1, out, 4, 5, **{"lambda": 6}, shared=16)
    assert out.get() == 456
    prepared = kernel.prepare(1, 1, out, 1, 1, **{"lambda": 1}, stream=cupola.Stream())
    prepared["stream"] = 7
    prepared()
    cupola.Device().synchronize()
    assert out.get() == 711
    with refused(TypeError, saying=("missing argument 2 (shared)", "shared= of their own")):
        kernel.launch(1, 1, out, 4, shared=5, **{"lambda": 6})


def test_what_has_no_name_of_its_own(named):
    out = cupola.zeros(1, np.int32)
    named["pack"][1, 1](out, 1, 2, 3)
    assert out.get() == 6
    with refused(TypeError, saying=("pack", "no parameter rest", "several")):
        named["pack"][1, 1](out=out, first=1, rest=2)
    named["unnamed"][1, 1](out, 1, given=5)
    assert out.get() == 5
    with refused(TypeError, saying=("unnamed", "missing argument 1")):
        named["unnamed"][1, 1](out=out, given=5)


def test_an_image_without_names(driver):
    out = cupola.zeros(1)
    with refused(TypeError, saying=("scale", "values=", "by position")):
        cupola.load(images.SCALE)["scale"][1, 1](values=out)


def test_many_parameters(module):
    kernel, out = module["eighty"], cupola.zeros(1, np.uint32)
    kernel[1, 1](*range(80), out)
    expected = out.get()[0]
    names = [one.name for one in kernel.params]
    out.fill(0)
    kernel[1, 1](**dict(reversed(list(zip(names, [*range(80), out], strict=True)))))
    assert out.get()[0] == expected != 0


def test_a_kernel_tells_its_signature(module, named):
    for what in (module["axpy"], module["axpy"][1, 2]):
        found = inspect.signature(what)
        assert list(found.parameters) == ["a", "x", "y", "out", "n"]
        assert found.parameters["x"].annotation == "const float*"
        assert found.bind(1, 2, n=3, out=4, y=5).args == (1, 2, 5, 4, 3)
    kinds = [p.kind.name for p in inspect.signature(named["unnamed"]).parameters.values()]
    assert kinds == ["POSITIONAL_ONLY", "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD"]
    assert list(inspect.signature(named["clash"]).parameters)[-1] == "argument3"
    assert inspect.signature(named["pack"]).parameters["argument3"].annotation == "int"
    shown = pydoc.render_doc(module["axpy"])
    assert "axpy(float a, const float* x, const float* y, float* out, unsigned int n)" in shown
    assert "out : float*, elements of float32" in shown and "class Kernel" not in shown
    assert "grid : (2, 3) of int16, at 16" in named["fields"].__doc__
    assert type(module["axpy"]).__doc__.startswith("A kernel of a loaded image")


def test_a_kernel_is_no_function(module):
    with refused(cupola.ArgumentError, TypeError, saying=("axpy", "[grid, block]")):
        module["axpy"](1, 2)
    assert "Kernel[" in repr(type(module["axpy"])[[int]])


# -- structs ---------------------------------------------------------------------------------------


def filled(dtype):
    one = np.zeros((), dtype)
    one["Base"]["tag"] = 7
    one["Base"]["weight"] = 0.5
    one["grid"] = np.arange(6).reshape(2, 3)
    one["number"] = np.float32(1.5).tobytes()
    one["bits"]["low_middle"] = (5 | 99 << 3).to_bytes(2, "little")
    one["bits"]["c"] = -4
    one["h"] = 0.25
    one["flag"] = True
    return one


def test_a_struct_is_made_of_its_dtype(named):
    kernel = named["fields"]
    dtype = kernel.params[0].dtype
    values = cupola.to_device(np.array([1, 2.5], np.float32))
    one, out = filled(dtype), cupola.zeros(15, np.float64)
    one["values"] = values.address
    expected = [7, 0.5, *range(6), 1.5, 5, 99, -4, 0.25, 1, 2.5]
    for given in (one, one[()], one.tobytes()):
        out.fill(0)
        kernel[1, 1](d=given, out=out)
        assert out.get().tolist() == expected


def test_an_array_of_structs(named):
    kernel = named["each"]
    dtype = kernel.params[0].dtype
    assert dtype == named["fields"].params[0].dtype
    all_ = np.zeros(3, dtype)
    all_["Base"]["weight"] = [1, 2, 3]
    all_["grid"][:, 1, 2] = 10
    memory, out = cupola.to_device(all_.view(np.uint8)), cupola.zeros(3, np.float64)
    kernel[1, 1](all=memory.address, n=3, out=out)
    assert out.get().tolist() == [10, 20, 30]
    kernel[1, 1](cupola.InOut(all_), 3, out)
    assert out.get().tolist() == [10, 20, 30]


def test_structs_of_another_layout_are_refused(module):
    kernel, out = module["unpack"], cupola.zeros(3, np.float64)
    dtype = kernel.params[0].dtype
    assert dtype == np.dtype([("a", "i4"), ("b", "f4"), ("c", "f8")])
    others = [
        [("a", "i4"), ("b", "f4"), ("c", "f8")],
        [("x", "u4"), ("y", "f4"), ("z", "f8")],  # names, and signs, are the caller's
        [("a", "i4"), ("b", "V4"), ("c", "f8")],
    ]
    for other in others:
        for _ in range(2):
            kernel[1, 1](np.zeros((), other)[()], out)
    for other, what in [
        ([("b", "f4"), ("a", "i4"), ("c", "f8")], "b is float32 at 0, not a of int32"),
        ([("a", "i4"), ("b", "i4"), ("c", "f8")], "b is int32 at 4"),
        ([("c", "f8"), ("a", "i4"), ("b", "f4")], "c is float64 at 0"),
        ([("a", "i2"), ("p", "i2"), ("b", "f4"), ("c", "f8")], "a is int16 at 0"),
        ([("a", "i4"), ("s", [("t", "V2"), ("u", "i2")]), ("c", "f8")], "s.u is int16 at 6"),
    ]:
        refused_argument(kernel, 0, np.zeros((), other)[()], out, error=TypeError, name="box",
                         got=(what, "params[0].dtype"))  # fmt: skip
    saying = ("struct of 16 bytes", "8 bytes")
    with refused(cupola.ArgumentError, saying=saying):
        kernel[1, 1](np.zeros((), [("a", "i4"), ("b", "f4")])[()], out)


def test_dtypes_of_parameters(module, driver):
    dtypes = {one.name: one.dtype for one in module["axpy"].params}
    assert dtypes == {"a": np.float32, "x": np.float32, "y": np.float32, "out": np.float32,
                      "n": np.uint32}  # fmt: skip
    assert [one.const for one in module["axpy"].params] == [False, True, True, False, False]
    # Without a manifest, the types come from the C++ name.
    found = images.module("ptx")["accumulate"].params
    assert [one.dtype for one in found] == [np.int32, np.int32, np.int32]
    assert images.module("ptx")["axpy"].params[1].dtype is None
    assert pickle.loads(pickle.dumps(module["axpy"])).params == module["axpy"].params


def test_restrict(named):
    assert [one.restrict for one in named["flat"].params] == [True, False, False]


def test_stand_ins_for_names_are_nobody_elses():
    from cupola.core import signatures as parameters
    from cupola.core.result_types import Parameter

    given = [Parameter(name, "pointer", "float", 0, 8) for name in ("", "argument0")]
    shown = parameters.signature(given)
    assert list(shown.parameters) == ["argument0_", "argument0"]

"""Arguments of a launch that fill a struct or several parameters."""

import inspect
import pickle

import array_structs
import numpy as np
import pytest

import cupola


@pytest.fixture
def kernels(tmp_path):
    return array_structs.load(tmp_path)


def numbers(count=100):
    return cupola.to_device(np.arange(count, dtype=np.float32))


@pytest.mark.parametrize(("name", "factor"), [("twice", 2), ("thrice", 3)])
def test_an_array_by_position_and_by_name(kernels, name, factor):
    kernel, x, out = kernels[name], numbers(), cupola.zeros(100, np.float32)
    kernel[1, 128](x, out)
    assert np.array_equal(out.get(), factor * x.get())
    out.fill(0)
    kernel[1, 128](out=out[:50], x=x[::2])
    assert np.array_equal(out.get()[:50], factor * x.get()[::2]) and not out.get()[50:].any()
    kernel.launch(1, 128, x[::-1], out=out)
    assert np.array_equal(out.get(), factor * x.get()[::-1])
    kernel.forall(100)(x, out)
    assert np.array_equal(out.get(), factor * x.get())


@pytest.mark.parametrize(("name", "factor"), [("twice", 2), ("thrice", 3)])
def test_prepared_launches_graphs_and_other_libraries(kernels, name, factor):
    kernel, x, out = kernels[name], numbers(), cupola.zeros(100, np.float32)
    launch = kernel.prepare(1, 128, out, out)
    launch["x"] = x
    launch()
    assert np.array_equal(out.get(), factor * x.get())
    graph = cupola.Graph()
    graph.add_kernel(kernel, 1, 128, out, out)
    graph.instantiate()()
    assert np.array_equal(out.get(), factor * factor * x.get())

    class Foreign:
        __cuda_array_interface__ = x.__cuda_array_interface__

    kernel[1, 128](Foreign(), out)
    assert np.array_equal(out.get(), factor * x.get())
    stream = cupola.Stream()
    other = cupola.zeros(100, np.float32)
    kernel[1, 128, stream](x, other)
    stream.synchronize()
    assert np.array_equal(other.get(), factor * x.get())


def test_all_parameters_one_by_one(kernels):
    x, out = numbers(), cupola.zeros(100, np.float32)
    kernels["twice"][1, 128]({"data": x.address, "n": 100, "step": 1}, out)
    assert np.array_equal(out.get(), 2 * x.get())
    kernels["thrice"][1, 128](100, x, 4, out)
    assert np.array_equal(out.get(), 3 * x.get())


@pytest.mark.parametrize("name", ["twice", "thrice"])
def test_other_arrays_are_refused(kernels, name):
    kernel, x = kernels[name], numbers()
    for given, told in (
        (x.astype(np.float64), "got elements of float64"),
        (x.reshape(10, 10), "got one of 2 axes"),
    ):
        with pytest.raises(cupola.ArgumentTypeError, match=f"argument 0 .x.*float32.*{told}"):
            kernel[1, 128](given, x)
    with pytest.raises(cupola.ArgumentTypeError, match="host memory"):
        kernel[1, 128](x.get(), x)
    with pytest.raises(cupola.ArgumentTypeError, match="takes 2 arguments"):
        kernel[1, 128](x)
    x.free()
    with pytest.raises(cupola.ArgumentValueError, match="freed"):
        kernel[1, 128](x, numbers())


def test_what_the_code_relies_on_is_checked(tmp_path):
    load, x = array_structs.load, numbers()
    module = load(tmp_path)
    constant = cupola.Array.from_address(x.address, 100, "f4", owner=x, readonly=True)
    with pytest.raises(cupola.ArgumentValueError, match="the stride of 8 bytes of axis 0"):
        module["twice"][1, 128](x, x[::2])
    with pytest.raises(cupola.ArgumentValueError, match="read-only"):
        module["twice"][1, 128](x, constant)
    odd = cupola.zeros(401, np.uint8)
    odd = cupola.Array.from_address(odd.address + 1, 100, "f4", owner=odd)
    with pytest.raises(cupola.ArgumentValueError, match="got the address"):
        module["twice"][1, 128](odd, x)
    fixed = load(tmp_path, x={**array_structs.X, "shape": [64], "align": 16, "contiguous": True})
    with pytest.raises(cupola.ArgumentValueError, match="the length 100 of axis 0"):
        fixed["twice"][1, 128](x, x)
    with pytest.raises(cupola.ArgumentValueError, match=r"aligned to 16 bytes, got the address"):
        fixed["twice"][1, 128](x[1:65], x)
    with pytest.raises(cupola.ArgumentValueError, match=r"float32\[64::1\].*not C-contiguous"):
        fixed["twice"][1, 128](numbers(128)[::2], x)
    small = load(tmp_path, x={**array_structs.X, "values": [[0, 8, "data"], [8, 1, "shape.0"]]})
    with pytest.raises(cupola.ArgumentValueError, match="shape 0 is 200, out of the 8 bits"):
        small["twice"][1, 128](numbers(200), x)


def test_the_sizes_of_a_launch(tmp_path):
    sizes = {
        "kind": "sizes", "name": "dim", "parameters": 1, "shape": [None, None],
        "values": [[0, 4, "shape.0"], [4, 4, "shape.1"], [8, 8, "size"], [16, 8, "1"]],
    }  # fmt: skip
    kernel = array_structs.load(tmp_path, x=sizes)["twice"]
    out = cupola.zeros(0, np.float32)
    launch = kernel.prepare(1, 32, (3, 5), out)
    assert launch[0] == (3, 5)
    kernel[1, 32]({"data": 0, "n": 0, "step": 0}, out)
    for given in (3, (3, 5, 7)):
        with pytest.raises(cupola.ArgumentTypeError, match="the size of the launch, 2 ints"):
            kernel[1, 32](given, out)
    with pytest.raises(cupola.ArgumentValueError, match=r"got \(3, -1\)"):
        kernel[1, 32]((3, -1), out)


@pytest.mark.parametrize(
    ("which", "changes"),
    [
        ("x", {"values": [[0, 8, "data"], [20, 8, "size"]]}),
        ("x", {"parameters": 2}),
        ("several", {"parameters": 9}),
        ("several", {"values": [[0, 8, "data"]]}),
        ("several", {"values": [[0, 4, "size"]]}),
    ],
)
def test_a_descriptor_of_other_parameters_is_refused(tmp_path, which, changes):
    descriptor = {"x": array_structs.X, "several": array_structs.SEVERAL}[which]
    module = array_structs.load(tmp_path, **{which: {**descriptor, **changes}})
    with pytest.raises(cupola.ImageError, match="descriptor of x differs"):
        module["twice" if which == "x" else "thrice"]


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "matrix"}, {"shape": 3}, {"shape": [None] * 40}, {"steps": []}, {"align": 3},
        {"values": [[0, 8, "address"]]}, {"values": [[0, 8, "shape.1"]]},
        {"values": [[0, 3, "size"]]}, {"values": [[-1, 8, "size"]]}, {"parameters": 0},
        {"element": 4}, {"name": 4}, {"kind": "sizes"},
    ],
)  # fmt: skip
def test_a_malformed_descriptor_is_refused(tmp_path, changes):
    module = array_structs.load(tmp_path, x={**array_structs.X, **changes})
    with pytest.raises(cupola.ImageError, match="is malformed"):
        module["twice"]


def test_signatures_have_the_arguments(kernels):
    assert list(inspect.signature(kernels["thrice"]).parameters) == ["x", "out"]
    assert "x : a device array float32[:]" in kernels["thrice"].__doc__
    assert len(kernels["thrice"].params) == 4
    assert pickle.loads(pickle.dumps(kernels["thrice"])).name == "thrice"

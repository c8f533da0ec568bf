"""Operations over a family of variants: each call launches the variant of its sizes."""

import numpy as np
import pytest

import cupola
from cupola.declare.family_table import read
from cupola.exceptions import ArgumentTypeError
from cupola.tuning.family import CompiledSource, Family

SOURCE = """
template <typename T, int TX, int TY>
__global__ void scale(T* out, const T* x, int rows, int columns, T factor, int* variant) {
    const int column = blockIdx.x * TX + threadIdx.x, row = blockIdx.y * TY + threadIdx.y;
    if (row == 0 && column == 0) *variant = TX;
    const int at = row * columns + column;
    if (row < rows && column < columns) out[at] = factor * x[at];
}
"""
TABLE = {
    "name": "tests.scale",
    "kernel": "scale<{x}, {TX}, {TY}>",
    "tunables": {"TX": [8, 16, 32], "TY": [2, 4]},
    "default": {"TX": 8, "TY": 2},
    "types": {"x": {"float32": "float", "float64": "double"}},
    "sizes": {"points": "rows * shape(x, 1)"},
    "key": ["points"],
    "grid": ["ceildiv(columns, TX)", "ceildiv(rows, TY)"],
    "block": ["TX", "TY"],
}
OPERATION = {
    "inputs": {"x": "T[ny, nx]"},
    "outputs": {"out": "T[ny, nx]", "variant": "int32[1]"},
    "scalars": {"factor": "float"},
    "arguments": ["out", "x", "ny", "nx", "factor", "variant"],
}


class BySize(Family):
    """Takes wider blocks for larger matrices, as a table of measurements would."""

    def variant_for(self, given, types, index):
        assert types in (("float32",), ("float64",)) and index == 0
        (points,) = self.declaration.key_of(dict(zip(self.declaration.symbols, given, strict=True)))
        return (8, 2) if points < 100 else (16, 4) if points < 10_000 else (32, 4)


def family(**changes):
    return BySize(read({**TABLE, **changes}), CompiledSource(SOURCE))


@pytest.fixture(scope="module")
def scale():
    return cupola.op(family(), name="tests.scale", **OPERATION)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "width"), [((3, 5), 8), ((40, 30), 16), ((200, 300), 32)])
def test_the_sizes_choose_the_variant(driver, scale, dtype, shape, width):
    x = np.random.default_rng(0).random(shape).astype(dtype)
    for _ in range(3):  # the first call, and those that repeat it
        out, variant = scale(cupola.to_device(x), 3.0)
        assert variant.get() == [width] and np.array_equal(out.get(), dtype(3) * x)
    place = {"device": 0} if driver == "cuda" else {}
    out, variant = scale(x, 3.0, **place)  # NumPy's arrays
    assert list(variant) == [width] and np.array_equal(out, dtype(3) * x)


def test_under_jax(scale):
    jax = pytest.importorskip("jax")
    x = np.ones((40, 30), np.float32)
    for function in (scale, jax.jit(scale)):
        out, variant = function(jax.numpy.asarray(x), 2.0)
        assert int(variant[0]) == 16 and np.array_equal(out, 2 * x)
    large, variant = jax.jit(scale)(jax.numpy.ones((200, 300), "f4"), 2.0)
    assert int(variant[0]) == 32 and (np.asarray(large) == 2).all()


def test_the_length_of_an_array():
    source = """
    template <int N> __global__ void fill(float* out, const float* x) {
        const int i = blockIdx.x * N + threadIdx.x;
        out[i] = x[i] + N;
    }"""
    made = Family(
        read({
            "kernel": "fill<{N}>", "tunables": {"N": [8, 16]}, "default": {"N": 8},
            "grid": "size(x) / N", "block": "N", "key": ["n"],
            "sizes": {"n": "shape(x, 1) * shape(x, 0)"},
        }),
        CompiledSource(source),
    )  # fmt: skip
    operation = cupola.op(
        made, inputs={"x": "float32[a, b]"}, outputs={"out": "float32[a, b]"},
        arguments=["out", "x"],
    )  # fmt: skip
    assert (operation(cupola.zeros((4, 8), np.float32)).get() == 8).all()
    assert operation.__name__ == "fill"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"grid": ["1"]}, "grid: the family determines it: remove the key"),
        ({"kernels": "scale"}, "op takes the kernels as its first argument"),
        ({"arguments": ["out", "x"]}, "arguments: there are 2, and the kernel of the family tests."
         "scale takes 6: out, x, rows, columns, factor, variant"),
        ({"arguments": ["out", "x", "x", "nx", "factor", "variant"]},
         "computes its launch from the parameter rows: expected an integer there, got 'x'"),
        ({"arguments": ["out", "ny", "ny", "nx", "factor", "variant"]},
         "needs an array for the parameter x, got 'ny'"),
        ({"inputs": {"x": "int32[ny, nx]"}, "outputs": {"out": "int32[ny, nx]",
          "variant": "int32[1]"}}, "has no kernel for their element types"),
        ({"inputs": {"x": "T[*lead]"}, "outputs": {"out": "T[*lead]", "variant": "int32[1]"},
          "arguments": ["out", "x", "lead", "1", "factor", "variant"]},
         "needs the shape of x, and T[*lead] leaves some of its lengths open"),
        ({"inputs": {"x": "T[ny]"}}, "needs axis 1 of x, and T[ny] has 1"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_family(changes, text):
    with pytest.raises(cupola.ArgumentError) as caught:
        cupola.op(family(), **{**OPERATION, **changes})
    assert text in str(caught.value)


def test_a_parameter_that_the_kernel_lacks():
    with pytest.raises(ArgumentTypeError, match="uses height, which is no parameter"):
        cupola.op(family(grid=["height", "1"]), **OPERATION)

"""Arguments of operations for kernels that take an array as a struct or as several parameters."""

import array_structs
import pytest

from cupola.build.operation_arguments import filled
from cupola.declare.operation import DeclarationError, read

X, OUT, SEVERAL = array_structs.X, array_structs.OUT, array_structs.SEVERAL
STRUCTS = array_structs.manifest()["kernels"][0]["parameters"]
PARTS = array_structs.manifest()["kernels"][1]["parameters"]
SIZES = {
    "kind": "sizes", "name": "dim", "parameters": 1, "shape": [None, None],
    "values": [[0, 4, "shape.0"], [4, 4, "shape.1"], [8, 8, "size"], [16, 8, "1"]],
}  # fmt: skip


def declaration(arguments=("x", "out"), shape="n", **table):
    return read(
        dict(
            kernels="twice",
            inputs={"x": f"float32[{shape}]"},
            outputs={"out": "float32[n]"},
            arguments=list(arguments),
            grid=["n"],
            block=[1],
        )
        | table,
        "test.twice",
    )


def with_x(**changes):
    return [array_structs.struct("x", 0, 24, {**X, **changes}), STRUCTS[1]]


def test_structs():
    assert filled(declaration(), (), STRUCTS) == [
        {"size": 24, "fields": [[0, 8, "x"], [8, 4, "n"], [16, 8, "1"]]},
        {"size": 16, "fields": [[0, 8, "out"], [8, 4, "n"]]},
    ]
    strided = filled(declaration(strided=["x"]), (), STRUCTS)
    assert strided[0]["fields"][2] == [16, 8, "stride(x, 0)"]


def test_several_parameters():
    assert filled(declaration(), (), PARTS) == ["n", "x", "4 * 1", "out"]
    whole = ["n", "x", "4", "out"]
    assert filled(declaration(whole), (), PARTS) == whole


def test_the_sizes_of_a_launch():
    parameters = [array_structs.struct("dim", 0, 24, SIZES), *STRUCTS]
    found = filled(declaration([["n", "2 * n"], "x", "out"]), (), parameters)
    assert found[0] == {
        "size": 24,
        "fields": [[0, 4, "n"], [4, 4, "2 * n"], [8, 8, "n * (2 * n)"], [16, 8, "1"]],
    }
    again = read({**declaration().table, "arguments": found}, "test.twice")
    assert filled(again, (), parameters) == found
    with pytest.raises(DeclarationError, match="has 2 axes: write a list of 2 texts"):
        filled(declaration(["n", "x", "out"]), (), parameters)


@pytest.mark.parametrize(
    ("given", "parameters", "told"),
    [
        (declaration(["n", "out", "x"]), STRUCTS, "takes the array x: name a tensor"),
        (declaration(), with_x(element="float64"), "elements of float64, got float32"),
        (declaration(shape="n, k"), STRUCTS, "an array of 1 axes, got float32"),
        (declaration(shape="*n"), STRUCTS, "an array of 1 axes, got float32"),
        (declaration(), with_x(shape=[64]), "the length 64 of axis 0, got n"),
        (declaration(mutates=["x"]), STRUCTS, "only reads this array"),
        (declaration(strided=["x"]), with_x(steps=[1]), "leave strided out"),
        (declaration(strided=["x"]), with_x(contiguous=True), "leave strided out"),
        (declaration(), with_x(steps=[2]), "strides that are not of C order"),
    ],
)
def test_other_tensors_are_refused(given, parameters, told):
    with pytest.raises(DeclarationError, match=f"argument 0 is '[nx]': .*{told}"):
        filled(given, (), parameters)

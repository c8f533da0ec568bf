"""Operations over kernels that take structs."""

import array_structs
import numpy as np
import pytest

import cupola


@pytest.fixture
def kernels(tmp_path):
    return array_structs.load(tmp_path)


def numbers(count=100):
    return cupola.to_device(np.arange(count, dtype=np.float32))


def operation(kernel, arguments):
    return cupola.op(
        kernel,
        name="test.twice",
        inputs={"x": "float32[n]"},
        outputs={"out": "float32[n]"},
        arguments=arguments,
        grid=["ceildiv(n, 128)"],
        block=[128],
    )


def test_an_operation_with_structs(kernels):
    view = {"size": 24, "fields": [[0, 8, "x"], [8, 4, "n"], [16, 8, "1"]]}
    out = {"size": 16, "fields": [[0, 8, "out"], [8, 4, "n"]]}
    call = operation(kernels["twice"], [view, out])
    for count in (100, 100, 33, 0):
        x = numbers(count)
        assert np.array_equal(call(x).get(), 2 * x.get())
    with pytest.raises(cupola.ArgumentTypeError, match="a struct of 24 bytes"):
        operation(kernels["twice"], [view, {**out, "size": 24}])(numbers())
    large = {"size": 16, "fields": [[0, 8, "out"], [8, 1, "n * 2"]]}
    with pytest.raises(cupola.ArgumentValueError, match="200"):
        operation(kernels["twice"], [view, large])(numbers())


@pytest.mark.parametrize(
    "argument",
    [
        {"size": 16}, {"size": 0, "fields": []}, {"size": 4, "fields": [[0, 8, "x"]]},
        {"size": 16, "fields": [[0, 3, "n"]]}, {"size": 16, "fields": [[0, 8, "missing"]]},
        {"size": 16, "fields": [[0, 8]]}, ["n", "n"], 0.5,
    ],
)  # fmt: skip
def test_a_malformed_struct_is_refused(kernels, argument):
    with pytest.raises(cupola.ArgumentError, match="arguments"):
        operation(kernels["twice"], ["x", "out", argument])

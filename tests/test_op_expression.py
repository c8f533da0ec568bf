"""The expressions of declarations: in Python and in the library they have the same values."""

import re

import numpy as np
import operations
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from working import refused

import cupola
from cupola.declare.declaration_error import DeclarationError
from cupola.declare.expression import ExpressionError, parse
from cupola.declare.operation import read

MOST = 2**63 - 1


def in_library(text, a, b, k):
    """The value in the library: a kernel stores what its argument is."""
    table = dict(
        kernels="store",
        inputs={"x": "uint8[a, b]"},
        scalars={"k": "int"},
        outputs={"out": "int64[1]"},
        arguments=["x", "out", text],
        grid=[1],
        block=[1],
    )
    operation = operations.native(table)
    out = cupola.zeros(1, np.int64)
    x = (0, 1, 8, 2, 0, (a, b), None) if a * b == 0 else None
    if x is None:
        x = operations.tensor(cupola.zeros((a, b), np.uint8))
    operation.launch((x, operations.tensor(out)), (k,))
    return int(out.get()[0])


def in_python(text, a, b, k):
    return parse(text).evaluate({"a": a, "b": b, "k": k})


VALUES = [
    ("a", 7),
    ("a + b * k", 7 + 3 * 5),
    ("(a + b) * k", 50),
    ("a - b - k", -1),
    ("a / b", 2),
    ("a % b", 1),
    ("ceildiv(a, b)", 3),
    ("ceildiv(a - 1, b)", 2),
    ("ceildiv(0, b)", 0),
    ("min(a, b, k)", 3),
    ("max(a, b, k) * 2 - 1", 13),
    (" 12\t* ( a )", 84),
    ("a * b / k % 3", 7 * 3 // 5 % 3),
    (f"{MOST}", MOST),
    (f"{MOST} - a + a", MOST),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_values(text, value):
    assert in_python(text, 7, 3, 5) == value == in_library(text, 7, 3, 5)


WITHOUT_A_VALUE = [
    (f"{MOST} + a", "64-bit"),
    (f"a * {MOST}", "64-bit"),
    (f"0 - {MOST} - a", "64-bit"),
    ("a / 0", "zero"),
    ("a % (b - 3)", "zero"),
    ("ceildiv(a, 0)", "zero"),
    ("(b - a) / 2", "negative"),
    ("a % (b - a)", "negative"),
    ("ceildiv(a, b - a)", "negative"),
]


@pytest.mark.parametrize(("text", "words"), WITHOUT_A_VALUE)
def test_an_expression_without_a_value(text, words):
    with pytest.raises(ExpressionError, match=words):
        in_python(text, 7, 3, 5)
    with refused(cupola.ArgumentValueError, saying=words):
        in_library(text, 7, 3, 5)


INVALID = [
    ("", "at the end"),
    ("a +", "at the end"),
    ("+ a", "expected a value"),
    ("a b", "unexpected"),
    ("a)", "unexpected"),
    ("(a", "expected )"),
    ("a // b", "rounds down"),
    ("a < b", "a comparison is a check"),
    ("a ** 2", "expected a value"),
    ("1.5", "whole"),
    ("2a", "whole"),
    ("0x10", "whole"),
    (f"{2**63}", "64-bit"),
    ("ceildiv(a)", "two values"),
    ("ceildiv(a, b, k)", "two values"),
    ("min(a)", "two or more"),
    ("max()", "expected a value"),
    ("a, b", "unexpected"),
    ("a @ b", "unexpected"),
    ("a.b", "unexpected"),
    ("nothing", "nothing"),
    ("eval(a)", "unknown function"),
    ("x", "is a tensor"),
    ("(" * 40 + "a" + ")" * 40, "too deeply"),
    ("a+(" * 33 + "a" + ")" * 33, "too deeply"),
    ("a" + "+a" * 3000, "longer"),
    ("٣", "expected a value"),
]


@pytest.mark.parametrize(("text", "words"), INVALID, ids=lambda value: value[:20])
def test_an_invalid_expression(text, words):
    table = dict(
        kernels="store",
        inputs={"x": "uint8[a, b]"},
        scalars={"k": "int"},
        outputs={"out": "int64[1]"},
        arguments=["x", "out", "1"],
        grid=["1"],
        block=[1],
    )
    read(table, "one")
    with pytest.raises(DeclarationError, match=re.escape(words)):
        read({**table, "grid": [text]}, "one")


terms = st.recursive(
    st.sampled_from(["a", "b", "k", "0", "1", "3", "17", str(2**40), str(MOST)]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*/%"), inner, inner).map(
            lambda one: f"({one[1]} {one[0]} {one[2]})"
        ),
        st.tuples(st.sampled_from(["ceildiv", "min", "max"]), inner, inner).map(
            lambda one: f"{one[0]}({one[1]}, {one[2]})"
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(terms, st.integers(0, 9), st.integers(0, 9), st.integers(-(2**63), MOST))
def test_random_expressions_have_one_value(text, a, b, k):
    try:
        value = in_python(text, a, b, k)
    except ExpressionError as error:
        with refused(cupola.ArgumentValueError, saying=str(error)):
            in_library(text, a, b, k)
    else:
        assert in_library(text, a, b, k) == value


def test_comparisons():
    for operator in ("==", "!=", "<", "<=", ">", ">="):
        for a in (1, 2, 3):
            found = parse(f"a {operator} 2", check=True).evaluate({"a": a})
            assert found == eval(f"{a} {operator} 2")
    with pytest.raises(ExpressionError, match="expected a comparison"):
        parse("a + 2", check=True)

"""The table of element types, and those who read it."""

import numpy as np
import operations
import pytest
from working import refused

import cupola
from cupola.declare.c_types import CXX, element_of
from cupola.declare.compiled import compiled
from cupola.declare.element_types import (
    ALIASES,
    C_TYPES,
    ELEMENT_TYPES,
    LETTERS,
    OF_ML_DTYPES,
    VECTORS,
    for_cxx,
    for_cython,
    held_by,
    itemsize,
)
from cupola.declare.operation import read
from cupola.element import natural_alignment
from cupola.native_operation import NativeOperation


def test_the_library_knows_each_row_by_its_name():
    table = {**operations.COPY, "kernels": dict.fromkeys(ELEMENT_TYPES, "copy<float>")}
    operation = NativeOperation(compiled(read(table, "test.op")))
    assert operation.kernel_types() == list(ELEMENT_TYPES)


def test_the_build_writes_each_row():
    for name, (code, bits) in ELEMENT_TYPES.items():
        assert f'CUPOLA_ELEMENT_TYPE("{name}", {code}, {bits})\n' in for_cxx()
        assert f"{name!r}: ({code}, {bits})" in for_cython()
    assert 'CUPOLA_HOLDS("unsigned char", 10, 8)\n' in for_cxx()


def test_letters_are_those_of_numpy():
    for name, (code, _) in ELEMENT_TYPES.items():
        assert (code in LETTERS) == (name not in OF_ML_DTYPES)
        assert name in OF_ML_DTYPES or np.dtype(name).kind == LETTERS[code]
    assert f"cdef dict LETTERS = {LETTERS}" in for_cython()


@pytest.mark.parametrize("alias", ALIASES)
def test_other_names_of_c_types(alias):
    name = ALIASES[alias]
    assert element_of(alias) == name
    if name not in OF_ML_DTYPES:  # a launch knows no sizes of ml_dtypes
        assert natural_alignment(alias) == itemsize(name)


@pytest.mark.parametrize("name", C_TYPES)
def test_c_types_have_the_size_of_their_elements(name):
    assert natural_alignment(C_TYPES[name][0]) == itemsize(name)
    for c_type in C_TYPES[name]:
        assert name in held_by(c_type) and element_of(c_type) == name
    assert element_of(CXX[name]) == element_of(name) == name


def test_storage_and_types_that_are_no_numbers():
    assert set(held_by("char")) == set(held_by("unsigned char"))
    assert "float8_e4m3fn" in held_by("char") and held_by("signed char") == ("int8",)
    assert set(held_by("unsigned short")) == {"int16", "uint16", "float16", "bfloat16"}
    assert held_by("Pair") == ()


@pytest.mark.parametrize("vector", VECTORS)
def test_vectors_hold_their_parts(vector):
    part, count = VECTORS[vector]
    held = held_by(vector)
    assert part in held and f'CUPOLA_HOLDS("{vector}", ' in for_cxx()
    assert ("complex64" in held) == (part == "float32" and count in (2, 4))
    assert "float64" not in held or part == "float64"
    assert natural_alignment(vector) % itemsize(part) == 0


SPELLINGS = {
    "unsigned": "uint32",
    "int unsigned long": "uint64",
    "long long signed int": "int64",
    "signed": "int32",
    "short unsigned int": "uint16",
    "char": "int8",
    "char signed": "int8",
    "half": "float16",
    "size_t": "uint64",
    "int float": None,
    "signed double": None,
    "Pair": None,
}


@pytest.mark.parametrize(("text", "element"), SPELLINGS.items())
def test_spellings_of_c(text, element):
    assert element_of(text) == element


def test_a_kernel_with_another_element_type(driver):
    """By the rows that the build wrote for the library."""
    for element, kernel in (("int32", "copy<float>"), ("float16", "copy<unsigned char>")):
        with refused(cupola.ArgumentTypeError, saying=f"a tensor of {element}, x"):
            operations.native({**operations.COPY, "kernels": {element: kernel}})
    for element in ("bool", "int8", "uint8", "float8_e8m0fnu"):
        operations.native({**operations.COPY, "kernels": {element: "copy<unsigned char>"}})

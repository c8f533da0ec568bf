"""Tests of arrays, launches and examples as machine code, a slice after each change."""

import shutil

import pytest

from . import slices

NAMES = ["array", "launch", "kernel", "shipped", "examples"]
FILES = [slices.TESTS / f"test_{name}.py" for name in NAMES]


@pytest.mark.cpu_only(reason="NVIDIA's driver compiles by itself")
@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no compiler")
def test_a_slice_of_the_tests_of_arrays_and_launches(tmp_path, record_property):
    record_property("slice", slices.run(FILES, 11, tmp_path))

"""Tests in the mode that users have, where kernels become machine code in the background."""

import shutil

import pytest

from . import slices

FILES = sorted(slices.TESTS.glob("test_*.py"))


@pytest.mark.cpu_only(reason="NVIDIA's driver compiles by itself")
@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no compiler")
def test_a_slice_of_all_tests_in_the_default_mode(tmp_path, record_property):
    record_property("slice", slices.run(FILES, 71, tmp_path, mode="auto"))

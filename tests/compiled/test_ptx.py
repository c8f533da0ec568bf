"""Tests of PTX with their kernels as machine code, 44 of 2,600 after each change."""

import shutil

import pytest

from . import slices

# Tests that load PTX in their own process. Other tests start processes and choose the mode.
NAMES = ["async", "call", "cluster", "columns", "control", "matrix", "mbarrier", "memory"]
NAMES += ["modifiers", "multimem", "rows", "special", "stack", "tensor", "tensor_changes"]
NAMES += ["texture", "texturing_modes", "video", "warp"]
FILES = [slices.TESTS / "ptx" / f"test_{name}.py" for name in NAMES]


@pytest.mark.cpu_only(reason="NVIDIA's driver compiles by itself")
@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no compiler")
def test_a_slice_of_the_tests_of_ptx(tmp_path, record_property):
    record_property("slice", slices.run(FILES, 59, tmp_path))

"""examples/numba_rows, built in an environment with Numba, and used in one without it."""

import sys
from pathlib import Path

import pytest
from compiled_project import EXAMPLES, Project, interpreter

HERE = Path(__file__).parent
KERNELS = "rows/numba_kernels.py"


@pytest.fixture(scope="module")
def compiler():
    return interpreter("numba")


@pytest.fixture(scope="module")
def built(tmp_path_factory, compiler):
    project = Project(EXAMPLES / "numba_rows", tmp_path_factory.mktemp("rows") / "rows", compiler)
    project.build(architectures="75,80,90,120")
    return project


@pytest.fixture
def project(tmp_path, compiler):
    return Project(EXAMPLES / "numba_rows", tmp_path / "rows", compiler)


def test_the_image_is_packed_and_its_ptx_is_for_older_drivers(built):
    built.require_shipped_image()


def test_the_packages_tests_pass_without_numba(built, driver):
    output = built.called(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests",
        CUPOLA_DRIVER=driver,
    )  # fmt: skip
    assert " passed" in output and "failed" not in output and "skipped" not in output


@pytest.mark.parametrize("name", ["axpy", "softmax"])
def test_the_judge_finds_the_operation_right(built, name):
    told = built.called(sys.executable, "-m", "cupola", "judge", f"rows:{name}", "--seconds", "1")
    assert f"rows:{name}: right (" in told


def test_the_manifest_has_the_real_parameters(built):
    found = built.manifest()
    kernels = {kernel["name"]: kernel for kernel in found["kernels"]}
    assert found["compiler"].startswith("numba 0.")
    assert found["architectures"] == {"cubin": [75, 80, 90, 120], "ptx": [75, 120]}
    assert [len(kernels[name]["parameters"]) for name in ("axpy", "axpy_arrays", "softmax")] == [
        5, 23, 18
    ]  # fmt: skip
    assert not {"block", "shared"} & set(kernels["axpy"])
    assert set(kernels["axpy"]["resources"]) == {"sm_75", "sm_80", "sm_90", "sm_120"}


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("pyproject.toml", ', n = "int32" }', " }", "signature has a, x, y, out, and"),
        ("pyproject.toml", '"int32" }', '"int" }', "signature.n = 'int': expected a type of Numba"),
        ("pyproject.toml", '"float32[::1]"', '"float32[::2]"', "expected one of float32[:],"),
        ("pyproject.toml", "[[tool.cupola.ops]]", "num_warps = 4\n[[tool.cupola.ops]]",
         "known are function, name, signature, constants, fastmath, launch_bounds"),
        (KERNELS, "cuda.grid(1)", "cuda.grids(1)", f"{KERNELS}: error: instance axpy, for sm_"),
        (KERNELS, "THREADS = 128", "axpy = 128", "THREADS"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(project, name, old, new, told):
    project.change(name, old, new)
    assert told in project.build(fails=True)
    assert not (project.folder / "rows/kernels.fatbin").exists()


@pytest.mark.cuda_only(reason="Numba itself launches on a GPU alone")
def test_the_bits_of_numbas_own_launch(built):
    pytest.importorskip("numba_cuda")
    told = built.called(sys.executable, HERE / "own_numba_launch.py", CUPOLA_DRIVER="cuda")
    assert told.endswith("equal\n")

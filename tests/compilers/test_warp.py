"""examples/warp_rows, built in an environment with Warp, and used in one without it."""

import sys
from pathlib import Path

import pytest
from compiled_project import EXAMPLES, Project, interpreter

HERE = Path(__file__).parent
EXAMPLE = EXAMPLES / "warp_rows"
KERNELS = "rows/warp_kernels.py"


@pytest.fixture(scope="module")
def compiler():
    return interpreter("warp")


@pytest.fixture(scope="module")
def built(tmp_path_factory, compiler):
    project = Project(EXAMPLE, tmp_path_factory.mktemp("rows") / "rows", compiler)
    project.build(architectures="75,90")
    return project


@pytest.fixture
def project(tmp_path, compiler):
    return Project(EXAMPLE, tmp_path / "rows", compiler)


def test_the_image_is_packed_and_its_ptx_is_for_older_drivers(built):
    built.require_shipped_image()


def test_the_packages_tests_pass_without_warp(built, driver):
    output = built.called(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests",
        CUPOLA_DRIVER=driver,
    )  # fmt: skip
    assert " passed" in output and "failed" not in output and "skipped" not in output


def test_the_manifest_has_the_real_parameters(built):
    found = built.manifest()
    kernels = {kernel["name"]: kernel for kernel in found["kernels"]}
    assert found["compiler"].startswith("warp 1.")
    axpy = kernels["axpy"]
    assert [one["size"] for one in axpy["parameters"]] == [24, 4, 56, 56, 56]
    assert [one["kind"] for one in axpy["parameters"]] == ["struct", "float", *["struct"] * 3]
    assert axpy["parameters"][0]["dtype"]["names"] == ["shape", "size", "coord_mult"]
    assert (axpy["block"], kernels["softmax"]["block"]) == ([256, 1, 1], [64, 1, 1])


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("pyproject.toml", '"axpy"', '"axpy"\nconstants = { n = 1 }', "leave it out"),
        ("pyproject.toml", '["m", "x", "out"]', '[["m", "n"], "x", "out"]',
         "the size of the launch, dim, has 1 axes"),
        ("pyproject.toml", '["m", "x", "out"]', '["m", "n", "x", "out"]', "name a tensor"),
        (KERNELS, "a: float, x", "a: wp.vec3, x", "the parameter a is vec3"),
        (KERNELS, "@wp.kernel\ndef axpy", "def axpy", "expected a function with @wp.kernel"),
        (KERNELS, "wp.exp", "wp.expo", "expo"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(project, name, old, new, told):
    project.change(name, old, new)
    assert told in project.build(fails=True)
    assert not (project.folder / "rows/kernels.fatbin").exists()


@pytest.mark.cuda_only(reason="Warp itself launches on a GPU alone")
def test_the_bits_of_warps_own_launch(built):
    pytest.importorskip("warp")
    told = built.called(sys.executable, HERE / "own_warp_launch.py", CUPOLA_DRIVER="cuda")
    assert told.endswith("equal\n")

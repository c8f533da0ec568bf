"""examples/rows: Triton kernels, built in an environment with Triton, used in one without."""

import sys
from pathlib import Path

import pytest
from compiled_project import EXAMPLES, Project, interpreter

HERE = Path(__file__).parent
KERNELS = "rows/triton_kernels.py"


@pytest.fixture(scope="session")
def compiler():
    return interpreter("triton")


@pytest.fixture(scope="module")
def built(tmp_path_factory, compiler):
    project = Project(EXAMPLES / "rows", tmp_path_factory.mktemp("rows") / "rows", compiler)
    project.build(architectures="75,80,90,120")
    return project


@pytest.fixture
def project(tmp_path, compiler):
    return Project(EXAMPLES / "rows", tmp_path / "rows", compiler)


def test_the_image_is_packed_and_its_ptx_is_for_older_drivers(built):
    built.require_shipped_image()


@pytest.mark.parametrize("name", ["softmax"])
def test_the_judge_finds_the_operation_right(built, name):
    told = built.called(sys.executable, "-m", "cupola", "judge", f"rows:{name}", "--seconds", "1")
    assert f"rows:{name}: right (" in told


def test_the_examples_tests_pass_without_triton(built, driver):
    output = built.called(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests",
        CUPOLA_DRIVER=driver,
    )  # fmt: skip
    assert " passed" in output and "failed" not in output and "skipped" not in output


def test_the_manifest_has_the_real_parameters(built):
    found = built.manifest()
    axpy = next(kernel for kernel in found["kernels"] if kernel["name"] == "axpy")
    assert found["compiler"].startswith("triton 3.")
    assert found["architectures"] == {"cubin": [75, 80, "90a", "120a"], "ptx": [75, 80]}
    assert [one["name"] for one in axpy["parameters"]] == [
        "a", "x", "y", "out", "n", "global_scratch", "profile_scratch"
    ]  # fmt: skip
    assert [one.get("hidden", False) for one in axpy["parameters"]] == [False] * 5 + [True] * 2
    assert [one.get("align") for one in axpy["parameters"]][:5] == [None, 16, 16, 16, None]
    assert axpy["parameters"][1]["const"] and not axpy["parameters"][3]["const"]
    assert axpy["block"] == [128, 1, 1]
    softmax = next(kernel for kernel in found["kernels"] if kernel["name"] == "softmax_1024")
    assert softmax["block"] == [256, 1, 1] and softmax["shared"] > 0
    assert found["operations"][0]["shared"] == softmax["shared"]


def test_each_target_has_its_own_machine_code(built):
    told = built.called(sys.executable, "-m", "cupola", "inspect", "rows/kernels.fatbin")
    for line in ("sm_75", "sm_80", "sm_90", "sm_120", "compute_75"):
        assert f" {line}" in told


def test_a_wheel_has_machine_code_for_the_cpu_device(project):
    project.build(architectures="75,cpu")
    assert list((project.folder / "rows").glob("kernels.*.so"))


def test_a_second_build_makes_nothing(project):
    assert "[1/" in project.build()
    assert "[1/" not in project.build()
    project.change(KERNELS, "a * tl.load", "2 * a * tl.load")
    assert "[1/" in project.build()


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("pyproject.toml", "BLOCK =", "BLOCKS =", "for sm_75: constants has 'BLOCKS'"),
        ("pyproject.toml", ', n = "i32"', "", "for sm_75: signature lacks 'n'"),
        ("pyproject.toml", '"i32" }', '"int" }', "signature.n = 'int': expected a type of Triton"),
        ("pyproject.toml", '"i32" }', '"i32:16" }', "a launch checks the alignment of pointers"),
        ("pyproject.toml", '"softmax"\n', '"sofmax"\n', "there is no function 'sofmax'"),
        ("pyproject.toml", "num_warps = 8", "num_warp = 8", "did you mean 'num_warps'?"),
        ("pyproject.toml", "block = [256]", "block = [128]", "compiled for the block [256, 1, 1]"),
        ("pyproject.toml", "block = [256]", "block = [256]\nshared = 4", "leave it out"),
        ("pyproject.toml", "align = 16", "align = 4", "are multiples of 16: write align = 16"),
        (KERNELS, "import triton\n", "import triton\nimport missing_one\n",
         "it imports missing_one, which this build lacks"),
        (KERNELS, "import triton\n", "import triton\n1 / 0\n",
         f"{KERNELS}:3: error: ZeroDivisionError"),
        (KERNELS, "@triton.jit\ndef axpy", "def axpy", "expected a function with @triton.jit"),
        (KERNELS, "tl.program_id(0)", "tl.programid(0)", "programid"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(project, name, old, new, told):
    project.change(name, old, new)
    assert told in project.build(fails=True)
    assert not (project.folder / "rows/kernels.fatbin").exists()


@pytest.mark.cuda_only(reason="Triton itself launches on a GPU alone")
def test_the_bits_of_tritons_own_launch(built):
    pytest.importorskip("torch")
    told = built.called(sys.executable, HERE / "own_launch.py", CUPOLA_DRIVER="cuda")
    assert told.endswith("equal\n")

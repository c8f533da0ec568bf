"""examples/cute_rows, built in an environment with the CuTe DSL, and used in an environment without
the DSL.
"""

import sys
from pathlib import Path

import pytest
from compiled_project import EXAMPLES, Project, interpreter

HERE = Path(__file__).parent
EXAMPLE = EXAMPLES / "cute_rows"
KERNELS = "rows/cute_kernels.py"


@pytest.fixture(scope="module")
def compiler():
    return interpreter("cute")


@pytest.fixture(scope="module")
def built(tmp_path_factory, compiler):
    project = Project(EXAMPLE, tmp_path_factory.mktemp("rows") / "rows", compiler)
    project.build(architectures="80,90,120")
    return project


@pytest.fixture
def project(tmp_path, compiler):
    return Project(EXAMPLE, tmp_path / "rows", compiler)


def test_the_packages_tests_pass_without_the_dsl(built, driver):
    output = built.called(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests",
        CUPOLA_DRIVER=driver,
    )  # fmt: skip
    assert " passed" in output and "failed" not in output and "skipped" not in output


def test_the_manifest_has_the_real_parameters(built):
    found = built.manifest()
    kernels = {kernel["name"]: kernel for kernel in found["kernels"]}
    assert found["compiler"].startswith("cute 4.")
    assert found["architectures"] == {"cubin": [80, "90a", "120a"], "ptx": [80]}
    axpy, softmax = kernels["axpy"], kernels["softmax"]
    assert [one["size"] for one in axpy["parameters"]] == [4, 16, 16, 16]
    assert [one["size"] for one in softmax["parameters"]] == [24, 24]
    assert softmax["parameters"][0]["dtype"]["names"] == ["data", "shape_0", "shape_1", "step_0"]
    assert (axpy["block"], axpy["shared"]) == ([128, 1, 1], 0)
    assert (softmax["block"], softmax["shared"]) == ([128, 1, 1], 16)


HOST = "softmax_kernel(out, x, warps).launch(grid=[x.shape[0], 1, 1], block=[32 * warps, 1, 1])"


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("pyproject.toml", "ptx = [80]\n", "", "makes code for sm_80 and newer: write ptx = [80]"),
        ("pyproject.toml", "constants = { warps = 4 }\n", "", "signature lacks 'warps'"),
        ("pyproject.toml", 'a = "float32"', 'b = "float32"', "the function's parameters are a, x"),
        ("pyproject.toml", 'a = "float32"', 'a = "float"', "signature.a = 'float': expected a ty"),
        ("pyproject.toml", '"float32[:, ::1]"', '"float32[::1, :]"', "expected lengths as ':' or"),
        (KERNELS, "@cute.jit\ndef axpy", "def axpy", "expected a function with @cute.jit"),
        (KERNELS, "cute.math.exp", "cute.math.expo", "expo"),
        (KERNELS, "softmax_kernel(out, x, warps)",
         "softmax_kernel(out, cute.make_tensor(x.iterator, x.layout), warps)",
         "argument 1 of its kernel, cute.memref"),
        (KERNELS, "block=[32 * warps, 1, 1])", "block=[x.shape[0], 1, 1])",
         "the block of its launch is not constant"),
        (KERNELS, "block=[32 * warps, 1, 1])", "block=[32 * warps, 1, 1], cluster=[2, 1, 1])",
         "it needs a cluster of blocks"),
        (KERNELS, f"    {HOST}", f"    {HOST}\n    axpy_kernel(1.0, x, x, x).launch(grid=[1, 1, 1],"
         " block=[THREADS, 1, 1])", "launches 2 kernels"),
        (KERNELS, f"    {HOST}", """\
    atom, tensor = cute.nvgpu.cpasync.make_tiled_tma_atom(
        cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp(), x, cute.make_layout((64, 64)), (64, 64)
    )
    tma_kernel(atom, tensor).launch(grid=[1, 1, 1], block=[32, 1, 1])


@cute.kernel
def tma_kernel(atom: cute.CopyAtom, tensor: cute.Tensor):
    cute.nvgpu.cpasync.prefetch_descriptor(atom)""",
         "argument 0 of its kernel, a TMA descriptor, is computed by the function on the host"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(project, name, old, new, told):
    project.change(name, old, new)
    assert told in project.build(architectures="90", fails=True)
    assert not (project.folder / "rows/kernels.fatbin").exists()


@pytest.mark.cuda_only(reason="the CuTe DSL itself launches on a GPU alone")
def test_the_bits_of_the_dsls_own_launch(built):
    pytest.importorskip("nvidia_cutlass_dsl")
    told = built.called(sys.executable, HERE / "own_cute_launch.py", CUPOLA_DRIVER="cuda")
    assert told.endswith("equal\n")

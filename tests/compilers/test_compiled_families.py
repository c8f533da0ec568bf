"""Families whose variants are kernels of Triton and of Numba: built, measured, and chosen."""

import json
import sys

import pytest
from compiled_project import COMPILERS, EXAMPLES, Project, interpreter

TABLES = {
    "triton": """
[[tool.cupola.kernels.instances]]
function = "axpy"
name = "axpy_256_2"
signature = { a = "fp32", x = "*kfp32", y = "*kfp32", out = "*fp32", n = "i32" }
constants = { BLOCK = 256 }
num_warps = 2
enable_fp_fusion = true

[[tool.cupola.kernels.instances]]
function = "axpy"
name = "axpy_1024_8"
signature = { a = "fp32", x = "*kfp32", y = "*kfp32", out = "*fp32", n = "i32" }
constants = { BLOCK = 1024 }
num_warps = 8
enable_fp_fusion = true

[[tool.cupola.variants]]
name = "rows.axpy"
kernel = "axpy_{BLOCK}_{WARPS}"
tunables = { BLOCK = [256, 1024], WARPS = [2, 8] }
default = { BLOCK = 256, WARPS = 2 }
restrictions = ["BLOCK == 128 * WARPS + 16 * (8 - WARPS) * (WARPS - 2)"]
sizes = { length = "n" }
key = ["length"]
grid = ["ceildiv(n, BLOCK)"]
block = ["32 * WARPS"]
cases = "rows.cases:axpy"

[[tool.cupola.kernels.instances]]
function = "softmax"
name = "softmax_4"
signature = { out = "*fp32", x = "*kfp32", stride = "i32", columns = "i32" }
constants = { BLOCK = 1024 }
num_warps = 4
enable_fp_fusion = true

[[tool.cupola.kernels.instances]]
function = "softmax"
name = "softmax_8"
signature = { out = "*fp32", x = "*kfp32", stride = "i32", columns = "i32" }
constants = { BLOCK = 1024 }
num_warps = 8
enable_fp_fusion = true

[[tool.cupola.variants]]
name = "rows.softmaxes"
kernel = "softmax_{WARPS}"
tunables = { WARPS = [8, 4] }
default = { WARPS = 8 }
key = ["columns"]
grid = ["size(x) / columns"]
block = ["32 * WARPS"]

[[tool.cupola.ops]]
name = "rows.softmax_of_family"
family = "softmaxes"
inputs = { x = "float32[rows, columns]" }
outputs = { out = "float32[rows, columns]" }
arguments = ["out", "x", "columns", "columns"]
""",
    "numba": """
[[tool.cupola.kernels.instances]]
function = "axpy"
name = "axpy_few"
signature = { a = "float32", x = "float32[:]", y = "float32[:]", out = "float32[:]", n = "int32" }
launch_bounds = 64

[[tool.cupola.variants]]
name = "rows.axpy"
kernel = "axpy_{HOW}"
tunables = { HOW = ["arrays", "few"], BLOCK = [64, 256] }
default = { HOW = "arrays", BLOCK = 256 }
sizes = { length = "shape(x, 0)" }
key = ["length"]
grid = ["ceildiv(length, BLOCK)"]
block = ["BLOCK"]
cases = "rows.cases:axpy"
""",
}
CASES = """
import cupola
import numpy as np

def axpy():
    for n in (100, 3000):
        x, y = np.random.default_rng(n).random((2, n), np.float32)
        yield cupola.Case((2.0, x, y, np.zeros_like(x), n), {"out": 2 * x + y})
"""
USE = """
import json
import cupola, numpy as np
from rows.families import axpy
x, y = np.random.default_rng(1).random((2, 120), np.float32)
arguments = [2.0, *map(cupola.to_device, (x, y, np.zeros_like(x))), 120]
axpy(*arguments)
np.testing.assert_allclose(arguments[3].get(), 2 * x + y, rtol=1e-6)
print(json.dumps(axpy.choose(*arguments)))
"""


@pytest.fixture(scope="module", params=TABLES)
def built(request, tmp_path_factory):
    """A project with a family, and the compiler's name."""
    folder = tmp_path_factory.mktemp(request.param) / "rows"
    project = Project(EXAMPLES / COMPILERS[request.param][0], folder, interpreter(request.param))
    text = (folder / "pyproject.toml").read_text()
    head, _, operations = text.partition("[[tool.cupola.ops]]")
    table = TABLES[request.param]
    (folder / "pyproject.toml").write_text(f"{head}{table}\n[[tool.cupola.ops]]{operations}")
    (folder / "rows/cases.py").write_text(CASES)
    output = project.build(architectures="80,90")
    assert f"rows.axpy: {2 if request.param == 'triton' else 4} variants" in output
    return project, request.param


def test_it_is_measured_and_chosen_without_the_compiler(built):
    project, compiler = built
    tune = "-m", "cupola", "tune", "rows", "--family", "axpy", "--budget", "20"
    output = project.called(sys.executable, *tune, "--output", "rows/tuning", CUPOLA_DRIVER="cpu")
    wrong, failed = (int(word) for word in output.splitlines()[2].split()[-2:])
    # Of Numba's, launch bounds of 64 threads refuse blocks of 256.
    assert (wrong, failed) == ((0, 0) if compiler == "triton" else (0, 1)), output
    (table,) = (project.folder / "rows/tuning").glob("*.json")
    (family,) = json.loads(table.read_text())["families"]
    first = next(row for row in family["rows"] if row["key"] == [100])
    for mode in ("off", "tables"):
        shown = project.called(sys.executable, "-c", USE, CUPOLA_DRIVER="cpu", CUPOLA_TUNE=mode)
        default = first["variant"] if mode == "tables" else None
        expected = default or {"triton": {"BLOCK": 256, "WARPS": 2},
                               "numba": {"HOW": "arrays", "BLOCK": 256}}[compiler]  # fmt: skip
        assert json.loads(shown) == expected


USE_OPERATION = """
import cupola, numpy as np
from rows import families, ops
x = np.random.default_rng(1).random((3, 700), np.float32)
power = np.exp(x - x.max(axis=1, keepdims=True))
for variant in families.softmaxes.variants:
    ops.softmax_of_family.variants.choose = lambda *about: variant
    found = ops.softmax_of_family(cupola.to_device(x)).get()
    np.testing.assert_allclose(found, power / power.sum(axis=1, keepdims=True), rtol=1e-5)
    table = ops.softmax_of_family.variants.declaration(variant).table
    print(*variant, int(table["shared"]) > 0)
"""
OVER_ARRAYS = """
[[tool.cupola.ops]]
name = "rows.sum_of_family"
family = "axpy"
inputs = { x = "float32[n]", y = "float32[n]" }
scalars = { a = "float" }
outputs = { out = "float32[n]" }
arguments = ["a", "x", "y", "out", "n"]
"""


def test_an_operation_over_it(built):
    project, compiler = built
    if compiler == "triton":
        output = project.called(sys.executable, "-c", USE_OPERATION, CUPOLA_DRIVER="cpu")
        assert output.split() == ["8", "True", "4", "True"]
    else:
        project.change("pyproject.toml", "[[tool.cupola.ops]]", OVER_ARRAYS + "[[tool.cupola.ops]]")
        output = project.build(architectures="80,90", fails=True)
        assert "an array fills several parameters of the kernels of rows.axpy" in output
        project.change("pyproject.toml", OVER_ARRAYS, "")


def test_a_block_that_the_compiler_did_not_choose(built):
    """The launch is refused, so that the variant is never the best."""
    project, compiler = built
    if compiler == "triton":
        project.change("pyproject.toml", 'block = ["32 * WARPS"]', 'block = ["64"]')
        project.build(architectures="80,90")
        tune = "-m", "cupola", "tune", "rows", "--family", "axpy", "--budget", "20"
        output = project.called(sys.executable, *tune, CUPOLA_DRIVER="cpu")
        assert "BLOCK=1024 WARPS=8 can't be launched: " in output
    else:
        project.change("pyproject.toml", '"shape(x, 0)"', '"shape(x_shape_0, 0)"')
        output = project.build(architectures="80,90", fails=True)
        assert "sizes.length: shape(x_shape_0, 0): 'x_shape_0' is no parameter of the" in output

"""Families of variants: compiled, dropped where a target can't run them, shipped and merged."""

import json
import re
import tarfile
import zipfile

import pytest
from command_line import cli
from project import PYPROJECT, Project

from cupola.build.wheel_split import split_wheel
from cupola.declare.stored_family import families_of
from cupola.image.reader import read_fatbin, read_kernels

pytestmark = pytest.mark.campaign("builds of packages")

SOURCE = """
#ifndef UNROLL
#define UNROLL 9
#endif
enum class Edge { none, wrap };
template <typename T, int TX, Edge E>
__global__ void step(T* out, const T* x, int n) {
    __shared__ T tile[TX * 64];
    for (int i = threadIdx.x; i < TX * 64; i += blockDim.x) tile[i] = x[i % n];
    __syncthreads();
    const int i = blockIdx.x * TX + threadIdx.x;
    if (i < n) out[i] = tile[i] * 2 + (E == Edge::wrap ? tile[TX * 64 - 1] : T(0));
}
extern "C" __global__ void sum(int* out) {
    __shared__ int tile[UNROLL * 256];
    int total = 0;
    for (int i = 0; i < UNROLL; ++i) {
        tile[i] = out[i];
        __syncthreads();
        total += tile[i];
    }
    *out = total + 100 * UNROLL;
}
extern "C" __global__ void other(int* out) { *out = UNROLL; }
"""
TABLES = """
[[tool.cupola.kernels]]
library = "slope.kernels"
sources = ["csrc/step.cu"]
options = ["-lineinfo"]

[[tool.cupola.variants]]
name = "slope.step"
kernel = "step<{x}, {TX}, {EDGE}>"
tunables = { TX = [16, 32, 128, 2048], EDGE = ["Edge::none", "Edge::wrap"] }
default = { TX = 32, EDGE = "Edge::wrap" }
types = { x = { float32 = "float", float64 = "double" } }
key = ["n"]
grid = ["ceildiv(n, TX)"]
block = ["TX"]

[[tool.cupola.variants]]
name = "slope.sum"
kernel = "sum"
tunables = { UNROLL = [1, 4, 64], UNUSED = [1, 2] }
default = { UNROLL = 4, UNUSED = 1 }
macros = ["UNROLL", "UNUSED"]
grid = [1]
block = [1]
"""


def of_tables(folder, tables=TABLES, source=SOURCE):
    """A project of one source."""
    project = Project(folder, tables)
    for name in ("first", "second"):
        (project.folder / f"csrc/{name}.cu").unlink()
    project.write("csrc/step.cu", source)
    project.environment["CUPOLA_ARCHITECTURES"] = "75,90"
    return project


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A project that was built in place, and what the build printed."""
    project = of_tables(tmp_path_factory.mktemp("variants"))
    return project, project.setup("build_kernels", "--inplace")


def manifest(project, name="kernels"):
    return json.loads((project.built() / f"{name}.json").read_text())


def test_the_manifest_has_each_variant(built):
    project, _ = built
    found = families_of(manifest(project), "kernels.json")
    step, total = found["step"], found["sum"]
    kernels = {kernel["name"] for kernel in manifest(project)["kernels"]}
    assert step.variants[16, "Edge::wrap"].kernels == {
        ("float32",): "_Z4stepIfLi16EL4Edge1EEvPT_PKS1_i",
        ("float64",): "_Z4stepIdLi16EL4Edge1EEvPT_PKS1_i",
    }
    used = {name for one in step.variants.values() for name in one.kernels.values()}
    assert used | {"sum", "other"} == kernels
    # 128 * 64 doubles are more static shared memory than a block can have.
    assert list(step.variants[128, "Edge::none"].kernels) == [("float32",)]
    assert "-lineinfo" in manifest(project)["options"]
    assert (2048, "Edge::none") not in step.variants
    for target in ("sm_75", "sm_90"):
        lost = step.dropped[target]
        reason = lost[(128, "Edge::wrap"), ("float64",)]
        assert reason == "65,536 bytes of static shared memory; at most 49,152 are possible"
        assert "2,048 threads along x" in lost[(2048, "Edge::wrap"), ("float32",)]
        assert len(lost) == 6
    assert {one.library for one in step.variants.values()} == {"slope.kernels"}
    libraries = {variant: one.library for variant, one in total.variants.items()}
    assert libraries == {
        (1, 1): "slope._kernels_sum_UNROLL1_UNUSED1",
        (1, 2): "slope._kernels_sum_UNROLL1_UNUSED2",
        (4, 1): "slope.kernels",
        (4, 2): "slope._kernels_sum_UNROLL4_UNUSED2",
    }
    assert {variant for variant, _ in total.dropped["sm_75"]} == {(64, 1), (64, 2)}


def test_images_have_the_kernels_alone(built):
    project, _ = built
    kernels = {kernel["name"] for kernel in manifest(project)["kernels"]}
    for name, expected in (
        ("kernels", kernels),
        ("_kernels_sum_UNROLL1_UNUSED1", {"sum"}),
        ("_kernels_sum_UNROLL64_UNUSED1", set()),  # ptxas refuses it, and no file is missing
    ):
        for entry in read_fatbin((project.built() / f"{name}.fatbin").read_bytes()):
            assert {kernel.name for kernel in read_kernels(entry.payload)} == expected
            assert b"cupola_variant" not in entry.payload
        described = manifest(project, name)["kernels"]
        assert {kernel["name"] for kernel in described} == expected
        # The parameters come from a compilation in which ptxas would refuse some kernels.
        for kernel in described:
            assert kernel["parameters"][0]["name"] == "out"
            assert kernel["parameters"][0]["element"]["kind"] in ("float", "integer")
    assert not any("cupola" in name for name in manifest(project)["variables"])
    assert list(manifest(project)["sources"]) == ["csrc/step.cu"]


def test_lines_are_those_of_the_source(built):
    project, _ = built
    entries = read_fatbin((project.built() / "kernels.fatbin").read_bytes())
    text = next(one.payload for one in entries if one.kind == "ptx").decode()
    files = re.findall(r'\.file\s+\d+\s+"([^"]*)"', text)
    assert files and all(file.endswith("csrc/step.cu") for file in files)
    line = SOURCE.split("__syncthreads")[0].count("\n") + 1
    assert re.search(rf"\.loc\s+\d+ {line} ", text)


def test_the_build_says_what_became_of_families(built):
    _, output = built
    (line,) = [one for one in output.splitlines() if one.startswith("slope.step: ")]
    size = re.search(
        r"6 of 8 variants, in an image of [\d,]+ bytes; dropped for sm_75, sm_90: ", line
    )
    assert size
    assert "TX=2048 EDGE=Edge::none, TX=2048 EDGE=Edge::wrap (a block of 2,048 threads" in line
    assert "TX=128 EDGE=Edge::none of float64, TX=128 EDGE=Edge::wrap of float64 (65,536" in line
    (line,) = [one for one in output.splitlines() if one.startswith("slope.sum: ")]
    assert "4 of 6 variants, in 4 images of " in line
    assert "warning: slope.sum: no source of slope.kernels uses the macro UNUSED" in output
    assert "uses the macro UNROLL" not in output
    assert not re.search(r"^slope\._kernels\w+: PTX", output, re.MULTILINE)


RUN = """
import cupola, numpy as np
from slope import kernels, _kernels_sum_UNROLL1_UNUSED1 as one
out = cupola.to_device(np.arange(4, dtype="i4") + 1)
kernels.sum[1, 1](out); print(int(out.get()[0]))
out = cupola.to_device(np.arange(4, dtype="i4") + 1)
one.sum[1, 1](out); print(int(out.get()[0]))
x = cupola.to_device(np.arange(40, dtype="f4"))
out = cupola.zeros(40, "f4")
kernels.step_float_32_Edge_1[2, 32](out, x, 40); print(out.get()[1])
out = cupola.zeros(1, "i4")
kernels.other[1, 1](out); print(int(out.get()[0]))
"""


def test_variants_run(built):
    project, _ = built
    assert project.python("-c", RUN).split() == ["410", "101", str(2.0 + 2047 % 40), "4"]


LAZY = """
import sys
import cupola.tuning.family as family
family.from_library = lambda library, name: (library, name)
from slope import families
assert "slope.kernels" not in sys.modules
from slope.families import step
print(step, families.step is step, sorted(n for n in dir(families) if n.isalpha()))
families.stp
"""


def test_the_module_makes_families_when_they_are_used(built):
    project, _ = built
    output = project.python("-c", LAZY, fails=True)
    assert "('slope.kernels', 'step') True ['step', 'sum']" in output
    assert "module 'slope.families' has no attribute 'stp'; did you mean step?" in output


def test_it_is_made_once(built):
    project, _ = built
    before = (project.built() / "kernels.json").stat().st_mtime_ns
    output = project.setup("build_kernels", "--inplace")
    assert ": compile " not in output
    assert (project.built() / "kernels.json").stat().st_mtime_ns == before


def test_distributions_have_the_tables_of_tuning(built):
    project, _ = built
    (project.built() / "tuning").mkdir()
    project.write("slope/tuning/h100.json", "{}")
    project.write("slope/tuning/notes.txt", "")
    output = project.setup("--quiet", "sdist", "bdist_wheel")
    assert "slope.tuning" not in output  # which setuptools takes for a package that is not named
    (wheel,) = (project.folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert not any(b"cupola_variant" in archive.read(name) for name in names)
    assert {"slope/tuning/h100.json", "slope/families.py", "slope/families.pyi"} <= names
    assert "slope/_kernels_sum_UNROLL1_UNUSED1.fatbin" in names
    assert "slope/tuning/notes.txt" not in names
    (archive,) = (project.folder / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"slope/tuning/h100.json", "csrc/step.cu", "pyproject.toml"} <= names
    assert not {name for name in names if "families" in name or "kernels" in name}
    answer = cli("verify", wheel)
    assert answer.returncode == 0, answer.stderr


EXTRA = '[project.optional-dependencies]\nsm90 = ["slope-sm90==1.2"]\n'
LARGE = """
extern "C" __global__ void sum(double* out) {
    __shared__ double tile[UNROLL * 8192];
    tile[threadIdx.x] = out[0];
    __syncthreads();
    out[0] = tile[UNROLL];
}
"""
STEP = TABLES[: TABLES.rindex("[[tool.cupola.var")]
# One family, of two variants.
SUM = (
    (TABLES[: TABLES.index("[[tool.cupola.var")] + TABLES[TABLES.rindex("[[tool.cupola.var") :])
    .replace("UNROLL = [1, 4, 64], UNUSED = [1, 2]", "UNROLL = [1, 4]")
    .replace("UNROLL = 4, UNUSED = 1", "UNROLL = 4")
    .replace(', "UNUSED"', "")
)
WRONG = {
    "the default": (
        SUM,
        LARGE,
        r"\[\[tool.cupola.variants\]\] slope.sum: default: UNROLL=4 can't run on sm_75: "
        r"262,144 bytes of static shared memory; at most 49,152 are possible; no variant is left",
    ),
    "an unknown kernel": (
        SUM.replace('"sum"', '"summ"'),
        SOURCE,
        r"slope.sum: kernel: there is no kernel 'summ' in slope.\w+, of the variant UNROLL=\d; "
        r"there are other, sum",
    ),
    "an unknown template": (
        STEP.replace("step<", "stp<"),
        SOURCE,
        r"slope.step: kernel: csrc/step.cu has no kernel template 'stp': .*identifier \"stp\" is "
        r"undefined",
    ),
    "an instance": (
        STEP,
        SOURCE.replace(
            "    __shared__ T", '    static_assert(TX != 16, "no 16");\n    __shared__ T'
        ),
        r"kernel: the variant TX=16 EDGE=Edge::none \(step<float, 16, Edge::none>\) does not "
        r"compile: \S*csrc/step.cu\(8\): error: static assertion failed with \"no 16\"",
    ),
    "values of macros": (
        SUM,
        SOURCE + "\n#if UNROLL == 1\n#error one\n#endif\n",
        r"slope.sum: kernel: variants with UNROLL=1 do not compile: csrc/step.cu.*#error "
        r"one",
    ),
    "left out": (
        SUM.replace("options", 'without = ["sum"]\noptions'),
        SOURCE,
        r"`only` and `without` leave out sum, which is a variant's kernel",
    ),
    "the default of an operation": (
        SUM + "\n[[tool.cupola.ops]]\nname = 'slope.fill'\nfamily = 'sum'\n"
        "inputs = { x = 'float64[n]' }\noutputs = { out = 'float64[5]' }\n"
        "arguments = ['out', 'x']\n",
        LARGE,
        r"\[\[tool.cupola.variants\]\] slope.sum: default: UNROLL=4 can't run on sm_75: ",
    ),
    "a misspelt size": (
        STEP.replace("ceildiv(n, TX)", "ceildiv(m, TX)"),
        SOURCE,
        r"slope.step: grid: 'm' is no size and no parameter of the kernel: known are out, x, n",
    ),
    "a folder": (SUM, SOURCE, r"families.py exists and was not made by cupola.build"),
}


def test_wheels_for_some_targets_are_merged_and_divided(tmp_path):
    # ptxas refuses UNROLL=1, and paths of lines differ between the trees.
    tables = STEP.replace('options = ["-lineinfo"]\n', "") + SUM[SUM.index("[[tool.cupola.var") :]
    source = SOURCE.replace("UNROLL * 256", "UNROLL == 1 ? 1 << 20 : 8")
    name = "slope-1.2-py3-none-any.whl"
    for folder, targets in (("first", "75"), ("second", "90"), ("all", "75,90")):
        project = of_tables(tmp_path / f"{folder}-tree", EXTRA + tables, source)
        project.environment["CUPOLA_ARCHITECTURES"] = targets
        project.setup("--quiet", "bdist_wheel", "--dist-dir", tmp_path / folder)
    out = tmp_path / "out/"
    answer = cli("merge", tmp_path / "first" / name, tmp_path / "second" / name, "-o", f"{out}/")
    assert answer.returncode == 0, answer.stderr
    assert (out / name).read_bytes() == (tmp_path / "all" / name).read_bytes()
    split_wheel(out / name, {"sm90": ["90"]}, tmp_path / "parts")
    dropped = []
    for path, file in ((name, "kernels"), ("slope_sm90-1.2-py3-none-any.whl", "kernels.sm90")):
        with zipfile.ZipFile(tmp_path / "parts" / path) as archive:
            head = json.loads(archive.read(f"slope/{file}.json"))
        dropped.append(list(families_of(head, file)["sum"].dropped))
    assert dropped == [["sm_75", "sm_90"]] * 2  # the first is read where the part is installed


@pytest.mark.parametrize("case", WRONG)
def test_a_family_that_can_not_be_built_says_why(tmp_path, case):
    tables, source, words = WRONG[case]
    project = of_tables(tmp_path, tables, source)
    project.environment["CUPOLA_ARCHITECTURES"] = "75"
    if case == "a folder":
        project.write("slope/families.py", "")
    output = project.setup("build_kernels", fails=True)
    assert re.search(words, output), output[-3000:]
    assert "Traceback" not in output


def test_several_sources_are_compiled_apart_or_as_one(tmp_path):
    other = 'extern "C" __global__ void mine(int* out) { *out = 5; }\n'
    step = STEP.replace("csrc/step.cu", "csrc/*.cu")
    found = []
    for name, more in (("apart", ""), ("one", "relocatable = false\noptions")):
        project = of_tables(tmp_path / name, step.replace("options", more or "options"))
        project.write("csrc/other.cu", other)
        project.environment["CUPOLA_ARCHITECTURES"] = "75"
        output = project.setup("build_kernels", "--inplace")
        assert "slope.step: 6 of 8 variants" in output
        found.append(manifest(project))
    assert found[0]["families"] == found[1]["families"]
    assert {"mine", "sum", "other"} <= {kernel["name"] for kernel in found[0]["kernels"]}


def test_options_are_those_of_each_variant(tmp_path):
    source = 'extern "C" __global__ void sum(float* out) {\n' + "".join(
        f"    float v{i} = out[{i}];\n" for i in range(64)
    )
    source += "    __syncthreads();\n" + "".join(f"    out[{i} * 2] = v{i};\n" for i in range(64))
    tables = SUM.replace("UNROLL = [1, 4]", "LIMIT = [24, 255]").replace("UNROLL = 4", "LIMIT = 24")
    tables = tables.replace('macros = ["UNROLL"]', 'options = ["-maxrregcount={LIMIT}"]')
    tables = tables.replace("block = [1]", "block = [1024]")
    project = of_tables(tmp_path, tables, source + "}\n")
    output = project.setup("build_kernels", "--inplace")
    assert re.search(r"slope.sum: 1 of 2 variants, in an image", output)
    assert re.search(
        r"dropped for sm_75(, sm_90)?: LIMIT=255 \(\d+ registers for each of 1,024", output
    )
    (kernel,) = manifest(project, "_kernels_sum_LIMIT24")["kernels"]
    assert kernel["resources"]["sm_75"]["registers"] <= 24
    (kernel,) = manifest(project, "_kernels_sum_LIMIT255")["kernels"]
    assert kernel["resources"]["sm_75"]["registers"] > 64
    # Files of former values are removed, and others stay.
    project.write("slope/_kernels_sum_mine.py", "")
    project.write("pyproject.toml", PYPROJECT + tables.replace("[24, 255]", "[24]"))
    project.setup("build_kernels", "--inplace")
    left = {path.name for path in project.built().glob("_kernels_*.*")}
    suffixes = (".py", ".pyi", ".json", ".fatbin")
    assert left == {
        "_kernels_sum_mine.py",
        *(f"_kernels_sum_LIMIT24{suffix}" for suffix in suffixes),
    }

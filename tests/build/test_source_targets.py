# tests/build/test_source_targets.py - sources for some targets, and kernels of several sources.
import json
import re

import pytest
from project import Project

from cupola.build import project as projects
from cupola.build.error import BuildError
from cupola.build.kernels import Kernels
from cupola.build.targets import read as target
from cupola.image.reader import read_fatbin, read_kernels

pytestmark = pytest.mark.campaign("builds of packages")

PLAIN = """
__constant__ int bias = 100;
static __device__ __noinline__ int value(int x) { return x + 1; }
__device__ __noinline__ int tile(int x) { return x + bias; }
extern "C" __global__ void which(int* out, int n) { *out = value(n); }
extern "C" __global__ void helper(int* out) { *out = tile(__CUDA_ARCH__); }
"""
# Both sources define `tile`. In the code of 9.0a, only the kernels of plain.cu use the `tile` of
# plain.cu.
SPECIAL = """
static __device__ __noinline__ int value(int x) { return x + 2; }
extern "C" __global__ void which(int* out, int n) {
    __shared__ int memory[64];
    memory[threadIdx.x] = value(n);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    *out = memory[threadIdx.x];
}
extern "C" __global__ void only_here(int* out) { *out = 7; }
"""
TABLE = """
[[tool.cupola.kernels]]
library = "slope.kernels"
sources = ["csrc/*.cu", { file = "csrc/special.cu", architectures = ["90a"] }]
"""


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path, TABLE)
    for name in ("first", "second"):
        (made.folder / f"csrc/{name}.cu").unlink()
    made.write("csrc/plain.cu", PLAIN)
    made.write("csrc/special.cu", SPECIAL)
    made.environment["CUPOLA_ARCHITECTURES"] = "80,90"
    return made


RUN = """
import cupola
from slope import kernels
out = cupola.zeros((), "i4")
def value(name, *arguments):
    getattr(kernels, name)[1, 1](out, *arguments)
    return int(out.get())
print(value("which", 5), value("helper"))
"""


def test_one_kernel_of_two_sources(project):
    output = project.setup("build_kernels", "--inplace")
    assert "PTX compute_75 compute_90 compute_90a, sm_80 sm_90a" in output
    entries = read_fatbin((project.built() / "kernels.fatbin").read_bytes())
    held = {one.target: {k.name for k in read_kernels(one.payload)} for one in entries}
    common = {"which", "helper"}
    assert held == {"75": common, "80": common, "90": common, "90a": {*common, "only_here"}}
    manifest = json.loads((project.built() / "kernels.json").read_text())
    assert manifest["architectures"] == {"cubin": [80, "90a"], "ptx": [75, 90, "90a"]}
    resources = {one["name"]: one["resources"] for one in manifest["kernels"]}
    assert set(resources) == {*common, "only_here"}
    shared = {name: found["shared"] for name, found in resources["which"].items()}
    assert shared["sm_80"] == 0 and shared["sm_90a"] == 256
    assert "sm_80" not in resources["only_here"]
    assert "slope.kernels: kernels without code for some devices (-):" in output
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if "   " in line}
    assert rows["kernel"][:6] == ["7.5", "8.0", "8.6", "8.7", "8.9", "9.0"]
    assert rows["only_here"] == ["-"] * 5 + ["code"] + ["-"] * 5 + ["PTX"]
    assert "in the architectures of csrc/special.cu, of the table" in output
    for capability, expected in (("8.0", "6 850"), ("9.0", "7 1000"), ("10.0", "6 1000")):
        project.environment["CUPOLA_CPU_COMPUTE_CAPABILITY"] = capability
        assert project.python("-c", RUN).split("\n")[-2] == expected
    project.environment["CUPOLA_CPU_COMPUTE_CAPABILITY"] = "8.0"
    output = project.python("-c", "from slope import kernels\nkernels.only_here", fails=True)
    assert "NotFoundError" in output or "UnknownNameError" in output
    assert "the kernel only_here has no code for device 0" in output
    assert "compute capability 8.0" in output
    assert "the image has it for sm_90a, compute_90a" in output
    assert "architectures = ['80']" in output


def test_unlike_parameters_are_refused(project):
    project.write("csrc/special.cu", SPECIAL.replace("int* out, int n)", "float* out, int n)"))
    output = project.setup("build_kernels", "--inplace", fails=True)
    assert re.search(
        r"kernel which: csrc/special.cu has the parameters \(float\* out, int n\), and "
        r"csrc/plain.cu has \(int\* out, int n\);.*change one of them",
        output,
    )
    assert not (project.built() / "kernels.fatbin").exists()


def table(*sources, **more):
    return Kernels("slope.kernels", list(sources), **more)


def own(file, *targets):
    return {"file": file, "architectures": targets}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: table({"file": "a.cu"}), "expected a table as { file"),
        (lambda: table({"architectures": ["90a"]}), "expected a table as { file"),
        (
            lambda: table({"file": "a.cu", "architecture": [80]}),
            "'architecture': did you mean 'architectures'",
        ),
        (lambda: table(own("a.cu", "sm_90")), "architectures = 'sm_90': expected targets as in"),
        (lambda: table(own("a.cu", "all")), "leave architectures out for all targets"),
        (lambda: table(own("a.cu")), "at least one target"),
        (lambda: table("a.cu", own("a.cu", 80)), "a.cu.*with targets of its own and without"),
        (lambda: table(own("a.cu", 80), own("a.cu", 90)), "two tables name it"),
        (lambda: table(own("a.cu", 80), architectures="all"), "each has targets of its own"),
        (
            lambda: table("b.cu", own("a.cu", 80), relocatable=False),
            "compiles all sources as one text, and a.cu has targets",
        ),
        (lambda: table(own("a.cu", 80), host=True), "a host library has all kernels for all"),
        (
            lambda: table(own("a.py", 80), compiler="triton", instances=[{"function": "f"}]),
            r"sources.architectures.*this is for nvcc",
        ),
    ],
)
def test_invalid_tables(make, says):
    with pytest.raises(BuildError, match=rf"kernels slope.kernels: .*{says}"):
        make()


def test_files_of_two_patterns(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.cu").touch()
    found = table("*.cu", own("b.cu", "90a"), include=["."]).expand(tmp_path)
    assert found.sources == ("a.cu", "b.cu", "c.cu")
    assert found.source_targets == {"b.cu": (target("90a"),)}
    again = found.expand(tmp_path)
    assert (again.sources, again.source_targets) == (found.sources, found.source_targets)
    with pytest.raises(BuildError, match=r"\*.cu and b.cu both name it"):
        table(own("*.cu", 80), own("b.cu", "90a")).expand(tmp_path)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"architectures": ["70"]}, "no code for sm_70; .*nvcc before 13.0 knows sm_70; by nvcc"),
        ({"architectures": ["90", "90a"]}, "are for the same devices, which take sm_90a"),
        ({"ptx": [70]}, "cannot make PTX for compute_70"),
        ({"sources": [own("a.cu", "400")]}, "a.cu: .* no code for sm_400; it knows"),
        ({"sources": [own("a.cu", 90), own("b.cu", "90a")]}, "a.cu and b.cu: sm_90 and sm_90a"),
        ({"sources": [own("a.cu", 80)], "ptx": 75}, "add 75 to the architectures of a.cu"),
    ],
)
def test_targets_that_are_refused_name_the_library(tmp_path, monkeypatch, given, says):
    monkeypatch.delenv("CUPOLA_ARCHITECTURES", raising=False)
    kernels = Kernels(**{"library": "slope.kernels", "sources": ["a.cu"], **given})
    with pytest.raises(BuildError, match=rf"^kernels slope.kernels: .*{says}"):
        projects.Project(tmp_path, [kernels], for_others=True).steps(kernels)

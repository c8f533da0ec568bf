# tests/build/test_selection.py - the kernels that a table leaves out.
import json

import pytest
from project import Project

from cupola.build import ptx
from cupola.build.error import BuildError
from cupola.build.kernels import Kernels
from cupola.build.selection import Selection
from cupola.build.targets import read as target
from cupola.image.reader import read_fatbin, read_kernels

GEMM = {  # void gemm<T, N>(T*)
    "float, 3": "_Z4gemmIfLi3EEvPT_",
    "float, 30": "_Z4gemmIfLi30EEvPT_",
    "double, 3": "_Z4gemmIdLi3EEvPT_",
    "float*, 4": "_Z4gemmIPfLi4EEvPT_",
}
INNER = "_ZN4math4sortIiEEvPT_"  # void math::sort<int>(int*)
EVERY = [*GEMM.values(), INNER, "plain"]
SEVENTY_FIVE, NINETY = target("75"), target("90a")


def chosen(*, own=None, **given):
    found = Selection(source_targets=own or {}, **given).choose(
        {SEVENTY_FIVE: {"a.cu": EVERY}}, "heat.kernels"
    )
    return set(found[SEVENTY_FIVE]["a.cu"])


@pytest.mark.parametrize(
    ("pattern", "left_out"),
    [
        ("gemm<float, 3*>", [GEMM["float, 3"], GEMM["float, 30"]]),
        ("gemm<float,3>", [GEMM["float, 3"]]),
        (" gemm < float , 3 > ", [GEMM["float, 3"]]),
        ("gemm<*>", list(GEMM.values())),
        ("gemm<float*, 4>", [GEMM["float*, 4"]]),
        ("gemm<double, 3>(double*)", [GEMM["double, 3"]]),
        ("sort<int>", [INNER]),
        ("math::*", [INNER]),
        ("math::sort<int>", [INNER]),
        (INNER, [INNER]),
        ("plain", ["plain"]),
    ],
)
def test_names_as_people_write_them(pattern, left_out):
    assert chosen(without=[pattern]) == {*EVERY} - {*left_out}
    assert chosen(only=[pattern]) == {*left_out}


def test_both():
    assert chosen(only=["gemm<*>"], without=["gemm<float, *>"]) == {
        GEMM["double, 3"],
        GEMM["float*, 4"],
    }


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("gem<float, 3>", r"no kernel has such a name; did you mean .*gemm<float, 3>"),
        ("gemm", r"for all instances of the template write 'gemm<\*>'"),
        ("gemm<int, 9>", "did you mean gemm<"),
        ("plane", "did you mean plain"),
        ("zzz", "there are gemm<double, 3>, "),
        ("", "of at least one character"),
    ],
)
def test_names_without_a_kernel(pattern, says):
    for key in ("only", "without"):
        with pytest.raises(BuildError, match=rf"kernels heat.kernels: {key} = .*{says}"):
            Kernels("heat.kernels", ["a.cu"], **{key: [pattern]})
            chosen(**{key: [pattern]})


def test_nothing_is_left():
    with pytest.raises(BuildError, match="leave no kernel"):
        chosen(without=["*"])


def test_the_source_of_a_kernel():
    """A source with targets of its own takes precedence; two such sources for one target are
    refused.
    """
    own = {"b.cu": [NINETY]}
    found = {
        SEVENTY_FIVE: {"a.cu": ["k", "plain"]},
        NINETY: {"a.cu": ["k", "plain"], "b.cu": ["k", "more"]},
    }
    assert Selection(source_targets=own).choose(found, "x") == {
        SEVENTY_FIVE: {"a.cu": ["k", "plain"]},
        NINETY: {"a.cu": ["plain"], "b.cu": ["k", "more"]},
    }
    own["c.cu"] = [NINETY]
    found[NINETY]["c.cu"] = ["k"]
    with pytest.raises(BuildError, match=r"b.cu and c.cu both have the kernel k for sm_90a"):
        Selection(source_targets=own).choose(found, "x")


TEXT = """.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 counter;
.global .align 4 .u32 table[2] = {1, 2};
.visible .global .align 8 .u64 functions[1] = {called};
.func helper()
{
    ret;
}
.visible .func called()
{
    ret;
}
.visible .func unused()
{
    ret;
}
.visible .entry gone()
{
    .reg .u32 %r<2>;
    ld.global.u32 %r1, [table];
    call helper, ();
    ret;
}
.visible .entry kept()
{
    ret;
}
"""


def test_what_only_other_kernels_use_is_left_out():
    text = ptx.join({"a.cu": TEXT}, {"a.cu": ["kept"]})
    for word in ("kept", "counter", "called", "functions"):
        assert word in text
    for word in ("gone", "table", "helper", "unused"):
        assert word not in text
    assert "helper" in ptx.join({"a.cu": TEXT}, {"a.cu": ["kept", "gone"]})


def test_one_definition_is_taken_from_the_source_of_its_kernel():
    other = TEXT.replace("counter", "other").replace("functions", "more")
    texts = {"a.cu": TEXT, "b.cu": other.replace("{called}", "{0}").replace("kept", "own")}
    text = ptx.join(texts, {"a.cu": ["kept"], "b.cu": ["gone"]})
    assert text.count(".entry gone") == text.count(".entry kept") == 1
    assert text.count(".func called") == 1  # that of a.cu, whose variable refers to it
    assert "own" not in text and "unused" not in text


INSTANCES = """
template <int N> __device__ __noinline__ float power(float x) {
    float y = 1;
#pragma unroll
    for (int i = 0; i < N; ++i) y = y * x + i;
    return y;
}
template <typename T, int N> __global__ void raise(T* x) { x[threadIdx.x] = power<N>(x[0]); }
#define BOTH(N) template __global__ void raise<float, N>(float*); \\
    template __global__ void raise<double, N>(double*);
BOTH(10) BOTH(20) BOTH(30) BOTH(40)
"""
TABLE = """
[[tool.cupola.kernels]]
library = "slope.kernels"
sources = ["csrc/first.cu"]
options = ["-maxrregcount=32"]
"""


@pytest.mark.campaign("builds of packages")
def test_a_library_without_some_instances(tmp_path):
    project = Project(tmp_path, TABLE)
    project.write("csrc/first.cu", INSTANCES)
    project.environment["CUPOLA_ARCHITECTURES"] = "75,90"
    sizes, kernels, code = [], [], []
    for more in ("", 'without = ["raise<double, *>", "raise<float,40>"]\n'):
        text = (project.folder / "pyproject.toml").read_text()
        project.write("pyproject.toml", text + more)
        project.setup("build_kernels", "--inplace")
        image = (project.built() / "kernels.fatbin").read_bytes()
        manifest = json.loads((project.built() / "kernels.json").read_text())
        entries = read_fatbin(image)
        names = [{k.name for k in read_kernels(one.payload)} for one in entries]
        assert all(one == {k["name"] for k in manifest["kernels"]} for one in names)
        sizes.append((len(image), sum(len(one.payload) for one in entries)))
        kernels.append(sorted(k["demangled"].partition("(")[0] for k in manifest["kernels"]))
        code.append({k["name"]: k["resources"] for k in manifest["kernels"]})
        module = (project.built() / "kernels.py").read_text()
        assert ("raise_double_10" in module) == (not more)
        assert (b"power" in entries[-1].payload) and (b"Li40" in entries[-1].payload) == (not more)
    assert len(kernels[0]) == 8
    assert kernels[1] == [f"void raise<float, {n}>" for n in (10, 20, 30)]
    assert sizes[1][0] < 0.8 * sizes[0][0] and sizes[1][1] < 0.5 * sizes[0][1]
    # The kernels that are left have the same code as before.
    assert code[1] == {name: code[0][name] for name in code[1]}
    said = project.python(
        "-c", "from slope import kernels\nkernels.load()['raise<float, 40>']", fails=True
    )
    assert "raise<float, 30>" in said
    project.write("pyproject.toml", text + 'without = ["raise<float, 11>"]\n')
    said = project.setup("build_kernels", "--inplace", fails=True)
    assert "without = 'raise<float, 11>': no kernel has such a name; did you mean raise<" in said


LINKED = """
import cupola, numpy as np
from slope import kernels
x = cupola.arange(4, dtype="f4")
out = cupola.zeros(4, "f4")
kernels.step[1, 4, None, 16](out, x, 4)
kernels.line[1, 4](out2 := cupola.zeros(4, "f4"), {"slope": 2.0, "offset": 3})
print(out.get().tolist(), out2.get().tolist(), sorted(kernels.load().globals))
"""


@pytest.mark.campaign("builds of packages")
def test_linked_sources_share_what_is_left(tmp_path):
    """Functions and variables of another source stay, with lines for coverage."""
    project = Project(tmp_path)
    project.environment["CUPOLA_ARCHITECTURES"] = "75"
    project.environment["CUPOLA_COVERAGE"] = "1"
    printed, texts = [], []
    for more in ("", 'without = ["step<double>"]\n'):
        text = (project.folder / "pyproject.toml").read_text()
        project.write("pyproject.toml", text + more)
        project.setup("build_kernels", "--inplace")
        code = LINKED if more else LINKED.replace("kernels.step[", "kernels.step_float[")
        printed.append(project.python("-c", code).splitlines()[-1])
        entries = read_fatbin((project.built() / "kernels.fatbin").read_bytes())
        texts += [one.payload.decode() for one in entries if one.kind == "ptx"]
    assert printed[0] == printed[1] and "counter" in printed[0] and "where" in printed[0]
    assert ".entry _Z4stepId" in texts[0] and ".entry _Z4stepId" not in texts[1]
    assert all(".loc" in text and "first.cu" in text for text in texts)

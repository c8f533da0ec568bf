# tests/build/test_kernels.py - what a package may say of its kernel libraries.
from pathlib import Path

import pytest

import cupola.build
from cupola.build import kernels
from cupola.build.error import BuildError
from cupola.build.kernels import Kernels


def table(**more):
    return {"library": "heat.kernels", "sources": ["csrc/heat.cu"], **more}


def test_a_table_is_what_the_class_is():
    (found,) = kernels.from_tables([table(include=["csrc"], options=["--use_fast_math"])])
    wanted = cupola.build.Kernels(
        library="heat.kernels",
        sources=[Path("csrc/heat.cu")],
        include=("csrc",),
        options=["--use_fast_math"],
    )
    assert found == wanted
    assert (found.package, found.name, found.links) == ("heat", "kernels", False)


@pytest.mark.parametrize(
    ("given", "means"),
    [
        (None, None),
        ("native", "native"),
        (["all"], "all"),
        (["75", 90], "75,90"),
    ],
)
def test_architectures(given, means):
    assert Kernels("a.b", ["a.cu"], architectures=given).architectures == means


@pytest.mark.parametrize(
    ("options", "relocatable", "sources", "links"),
    [
        ([], None, ["a.cu"], False),
        ([], None, ["a.cu", "b.cu"], True),
        ([], False, ["a.cu", "b.cu"], False),
        ([], True, ["a.cu"], True),
        (["-rdc=true"], None, ["a.cu"], True),
        (["--relocatable-device-code=true"], None, ["a.cu"], True),
        (["-dc"], None, ["a.cu"], True),
        (["-rdc=false"], None, ["a.cu"], False),
        (["-rdc", "true"], None, ["a.cu"], True),
        (["-rdc", "false"], None, ["a.cu"], False),
        (["-rdc", "false"], None, ["a.cu", "b.cu"], False),
        (["--relocatable-device-code", "false"], True, ["a.cu"], True),
    ],
)
def test_sources_are_linked_where_there_are_several_or_it_is_asked_for(
    options, relocatable, sources, links
):
    found = Kernels("a.b", sources, options=["-O2", *options], relocatable=relocatable)
    assert found.links is links
    assert found.options == ("-O2",)


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ([table(source=["a.cu"])], "unknown key 'source': did you mean 'sources'"),
        ([table(architecture="all")], "did you mean 'architectures'"),
        ([table(xyz=1)], "known are library, sources"),
        ([{"sources": ["a.cu"]}], "lacks the key 'library'"),
        ([{"library": "heat.kernels"}], "lacks the key 'sources'"),
        (table(), r"write \[\[tool.cupola.kernels\]\]"),
        ("heat", r"write tables"),
        ([table(library="kernels")], "'heat.kernels'"),
        ([table(library="heat/kernels")], "'heat.kernels'"),
        ([table(library="heat.class")], "class is a keyword of Python.*'class_'"),
        ([table(library="None.kernels")], "None is a keyword of Python"),
        ([5], r"has 5 in it: write tables \[\["),
        ([table(sources="a.cu")], r"sources = \['a.cu'\]"),
        ([table(sources=[])], "at least one"),
        ([table(sources=[1])], "list of texts of"),
        ([table(sources=["/a.cu"])], "inside the project"),
        ([table(include=["../include"])], "inside the project"),
        ([table(options=["-gencode=arch=compute_90"])], r"architectures = \["),
        ([table(options=["-arch", "sm_90"])], r"architectures = \["),
        ([table(options=["-Icsrc"])], r"include = \["),
        ([table(options=["-ptx"])], "knows what to make"),
        ([table(options=["-optf", "more.txt"])], "what the file says"),
        ([table(options=["--options-file=more.txt"])], "what the file says"),
        ([table(options=["-dlto"])], "write lto = true in the library's table"),
        ([table(lto="yes")], "true or false"),
        (
            [
                table(
                    lto=True,
                    compiler="numba",
                    sources=["a.py"],
                    instances=[{"function": "f", "signature": {"x": "float32"}}],
                )
            ],
            "sources of numba",
        ),
        ([table(lto=True, relocatable=True, sources=["a.cu", "b.cu"])], "compiled as one text"),
        ([table(options=["-rdc", "maybe"])], "true or false"),
        ([table(options=["-O2", "-rdc"])], "true or false"),
        ([table(architectures=7)], "'all', 'native' or a list"),
        ([table(ptx="x")], "a number"),
        ([table(relocatable="yes")], "true or false"),
    ],
)
def test_what_is_wrong_is_told(tables, says):
    with pytest.raises(BuildError, match=says):
        kernels.from_tables(tables)


def test_the_keyword_takes_kernels_alone():
    one = Kernels("a.b", ["a.cu"])
    assert kernels.from_keyword("cuda_kernels", [one]) == [one]
    for wrong in ([{"library": "a.b"}], "a.cu", 5):
        with pytest.raises(BuildError, match=r"cuda_kernels takes a list of cupola.build.Kernels"):
            kernels.from_keyword("cuda_kernels", wrong)


def test_patterns_and_headers(tmp_path):
    for name in ("csrc/b.cu", "csrc/a.cu", "csrc/deep/c.cu", "csrc/a.cuh", "inc/x/h.hpp", "n.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = Kernels("a.b", ["csrc/b.cu", "csrc/**/*.cu"], include=["inc"]).expand(tmp_path)
    assert found.sources == ("csrc/b.cu", "csrc/a.cu", "csrc/deep/c.cu")
    assert found.headers(tmp_path) == ["csrc/a.cuh", "inc/x/h.hpp"]
    (tmp_path / "top.cu").write_text("")
    (tmp_path / "top.hpp").write_text("")
    alone = Kernels("a.b", ["top.cu"]).expand(tmp_path)
    assert alone.headers(tmp_path) == ["top.hpp"]  # not all headers of the project
    some = Kernels("a.b", ["csrc/a.cu"]).expand(tmp_path)
    assert some.headers(tmp_path) == ["csrc/a.cuh", "csrc/b.cu", "csrc/deep/c.cu"]
    for sources, include in ((["x.cu"], []), (["x/*.cu"], []), (["csrc/a.cu"], ["includes"])):
        with pytest.raises(BuildError, match="there is no such"):
            Kernels("a.b", sources, include=include).expand(tmp_path)
    for good, wrong in (
        (["-isystem", "inc"], ["-isystem", "no"]),
        (["--system-include=inc"], ["--system-include=no"]),
    ):
        Kernels("a.b", ["csrc/a.cu"], options=good).expand(tmp_path)
        with pytest.raises(BuildError, match=r"options = .*there is no folder 'no'"):
            Kernels("a.b", ["csrc/a.cu"], options=wrong).expand(tmp_path)


def test_no_other_attribute():
    with pytest.raises(AttributeError, match="Kernel"):
        cupola.build.Kernel  # noqa: B018

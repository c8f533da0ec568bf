"""Files of earlier builds that the tables no longer name are removed; those of users stay."""

import pytest
from test_operation_families import TEXT, libraries

from cupola.build import families, library, operations
from cupola.build.kernels import Kernels
from cupola.build.project import Project

PLAIN = TEXT[: TEXT.index("[[tool.cupola.variants]]")]
MORE = '[[tool.cupola.kernels]]\nlibrary = "heat.other"\nsources = ["other.cu"]\n'
HOST = '[[tool.cupola.libraries]]\nlibrary = "heat.host"\nsources = ["host.cu"]\n'


@pytest.fixture
def build(tmp_path):
    """A function that puts the files of tables into a package, as a build does."""
    work, package = tmp_path / "work", tmp_path / "heat"
    package.mkdir()

    def make(text):
        listed = libraries(text)
        placed = []
        for kernels in listed:
            made = work / kernels.library
            made.mkdir(parents=True, exist_ok=True)
            for path in library.products(kernels, made):
                path.write_text("")
                placed.append((path, package / path.name))
            text_of = {f"{kernels.name}.py": library._MARK + "a.cu: the next build"}
            if kernels.host:
                text_of[f"{kernels.name}.py"] += "\nfrom cupola.core.host_library import load"
            if kernels.operations:
                text_of["ops.py"] = operations.module_text(kernels)
            if kernels.families:
                text_of["families.py"] = families.module_text(kernels)
            for name, content in text_of.items():
                (made / name).write_text(content)
        Project(tmp_path, listed).make([], placed)
        return {path.name for path in package.iterdir()}

    return make


KERNELS = {f"kernels{suffix}" for suffix in library.SUFFIXES}
DERIVED = {f"_kernels_advance_TX16{suffix}" for suffix in library.SUFFIXES}
FAMILIES = {"families.py", "families.pyi"}
OPS = {"ops.py", "ops.pyi"}


def test_tables_that_were_removed(build, tmp_path):
    second = TEXT[TEXT.index("[[tool.cupola.ops") :].replace("heat.step", "heat.twice")
    assert build(TEXT + second) == KERNELS | DERIVED | FAMILIES | OPS | {"step.op", "twice.op"}
    for name in ("mine.op", "mine.py", "kernels.txt", "_kernels_mine.py", "families.json"):
        (tmp_path / "heat" / name).write_text("# mine")
    own = {"mine.op", "mine.py", "kernels.txt", "_kernels_mine.py", "families.json"}
    assert build(TEXT) == KERNELS | DERIVED | FAMILIES | OPS | {"step.op"} | own
    without = TEXT[: TEXT.index("[[tool.cupola.ops]]")]
    assert build(without) == KERNELS | DERIVED | FAMILIES | own
    assert build(PLAIN) == KERNELS | own
    assert build(TEXT) == KERNELS | DERIVED | FAMILIES | OPS | {"step.op"} | own


def test_libraries_that_were_removed(build, tmp_path):
    every = build(PLAIN + MORE + HOST)
    assert every >= KERNELS | {"other.fatbin", "host.py", "libhost.so"}
    (tmp_path / "heat/other.txt").write_text("mine")
    (tmp_path / "heat/libkernels.so").write_text("mine")
    assert build(PLAIN) == KERNELS | {"other.txt", "libkernels.so"}
    assert build(MORE) == {f"other{suffix}" for suffix in library.SUFFIXES} | {
        "other.txt",
        "libkernels.so",
    }


def test_modules_of_the_user_stay(build, tmp_path):
    build(PLAIN)
    for name in ("families.py", "ops.py"):
        (tmp_path / "heat" / name).write_text('_library = f(\n        "mine",\n)\n')
    (tmp_path / "heat/mine.op").write_text("")
    assert build(PLAIN) == KERNELS | {"families.py", "ops.py", "mine.op"}
    assert library.outdated([Kernels("heat.kernels", ["a.cu"])], tmp_path / "heat", ()) == []

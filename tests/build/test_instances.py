# tests/build/test_instances.py - kernels of other compilers than nvcc: their tables and manifests.
import json
import sys
import types
from importlib import metadata
from pathlib import Path

import pytest

from cupola.build import kernels, operations, python_image
from cupola.build.architectures import Architectures
from cupola.build.compilers import SourceError
from cupola.build.compilers import compile as program
from cupola.build.error import BuildError

PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry NAME() { ret; }
"""
INSTANCE = {"function": "axpy", "signature": {"x": "*fp32"}}


def table(**more):
    given = {"library": "rows.kernels", "compiler": "triton", "sources": ["rows.py"]}
    return {**given, "instances": [INSTANCE], **more}


def test_the_name_is_that_of_the_function():
    (found,) = kernels.from_tables([table()])
    assert found.instances == ({**INSTANCE, "name": "axpy", "constants": {}},)
    assert kernels.from_tables([{**table(), "instances": found.instances}]) == [found]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"compiler": "clang"}, "compiler = 'clang': known are nvcc, triton, numba, warp"),
        ({"compiler": "nvcc"}, "instances.*for other compilers: write compiler = 'triton'"),
        ({"instances": []}, r"at least one table \[\[tool.cupola.kernels.instances\]\]"),
        ({"instances": {}}, "at least one table"),
        ({"instances": ["axpy"]}, "instances = 'axpy'"),
        ({"include": ["csrc"]}, "include.*this is for nvcc, and the compiler is triton"),
        ({"options": ["-O1"]}, "options.*this is for nvcc"),
        ({"relocatable": True}, "relocatable.*this is for nvcc"),
        ({"instances": [{**INSTANCE, "num_warp": 4}]}, "num_warp.*did you mean 'num_warps'"),
        (
            {"instances": [{"function": "axpy", "signature": 1}]},
            "instances.signature = 1: expected",
        ),
        ({"instances": [{"signature": {}}]}, "instances.function = None: expected the name"),
        ({"instances": [{**INSTANCE, "name": "a b"}]}, "instances.name = 'a b': a name"),
        ({"instances": [{**INSTANCE, "signature": {"x": 4}}]}, "instances.signature.x = 4"),
        ({"compiler": "numba", "instances": [{**INSTANCE, "num_warps": 4}]}, "known are function"),
        ({"instances": [INSTANCE, INSTANCE]}, "two kernels of this name"),
    ],
)
def test_a_mistake_names_the_library_and_the_key(more, told):
    with pytest.raises(BuildError, match=f"kernels rows.kernels: .*{told}"):
        kernels.from_tables([table(**more)])


def test_libraries_with_host_code_are_of_nvcc():
    with pytest.raises(BuildError, match="this is for nvcc"):
        kernels.from_tables([table()], host=True)


def test_a_compiler_that_is_not_installed_is_named(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    (found,) = kernels.from_tables([table()])
    with pytest.raises(BuildError, match=r"triton is not installed .* add 'cupola\[triton\]'"):
        python_image.steps(
            found, None, Architectures((75,)), Path("a.fatbin"), Path("a.json"), Path()
        )


@pytest.fixture
def compiler(monkeypatch):
    """A module in the place of a compiler; it refuses functions without a docstring."""

    def compile_kernel(function, instance, architecture):
        if not function.__doc__:
            raise SourceError("no docstring")
        return {"name": instance["name"], "ptx": PTX.replace("NAME", instance["name"])}

    fake = types.ModuleType("cupola.build.compilers.fake")
    fake.compile_kernel = compile_kernel
    fake.version = lambda: "1.0"
    fake.assemble = lambda text, instances, architecture: f"{architecture}".encode()
    monkeypatch.setitem(sys.modules, fake.__name__, fake)


def request(*sources, **more):
    instances = [{"function": "axpy", "name": "one"}]
    return {"compiler": "fake", "sources": list(map(str, sources)), "instances": instances,
            "architecture": 90, **more}  # fmt: skip


def test_the_program_writes_kernels_and_the_files_that_it_read(tmp_path, monkeypatch, compiler):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.py").write_text("def axpy():\n    'computes'\n")
    program.main(json.dumps(request(tmp_path / "rows.py")), "made.cubin")
    assert (tmp_path / "made.cubin").read_bytes() == b"90"
    assert ".entry one()" in (tmp_path / "made.ptx").read_text()
    assert json.loads((tmp_path / "made.json").read_text()) == {
        "compiler": "fake 1.0",
        "target": "sm_90a",
        "kernels": [{"name": "one"}],
    }
    assert (tmp_path / "made.d").read_text() == "made.cubin: rows.py\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "rows.py: error: there is no function 'axpy'"),
        ("import gone_away", "rows.py: error: it imports gone_away, which this build lacks"),
        ("\nraise ValueError('no')", "rows.py:2: error: ValueError: no"),
        ("def axpy(): pass", "rows.py: error: instance one, for sm_90: no docstring"),
    ],
)
def test_an_error_has_the_file(tmp_path, compiler, text, told):
    (tmp_path / "rows.py").write_text(text)
    with pytest.raises(SourceError) as caught:
        program.compile_all(request(tmp_path / "rows.py"))
    assert told in str(caught.value)


def test_two_functions_of_a_name_are_refused(tmp_path, compiler):
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text("def axpy():\n    'computes'\n")
    with pytest.raises(SourceError, match="several sources have a function 'axpy'"):
        program.compile_all(request(tmp_path / "first.py", tmp_path / "second.py"))


def kernel(**more):
    pointer = {"kind": "pointer", "type": "float*", "size": 8, "const": False,
               "element": {"kind": "float", "type": "float", "size": 4}}  # fmt: skip
    return {
        "name": "scale",
        "demangled": "scale",
        "parameters": [
            {**pointer, "name": "x", "align": 16},
            {"name": "n", "kind": "integer", "type": "int", "size": 4, "signed": True},
            {**pointer, "name": "scratch", "hidden": True},
        ],
        "block": [128, 1, 1],
        "shared": 64,
        **more,
    }


def operation(**more):
    given = {"name": "rows.scale", "kernels": "scale", "inputs": {"x": "float32[n]"},
             "mutates": ["x"], "arguments": ["x", "n"], "grid": ["n"], "block": [128],
             "align": 16, **more}  # fmt: skip
    libraries = kernels.from_tables([table()])
    (found,) = operations.from_tables([given], libraries)
    return found.operations


def test_an_operation_has_the_shared_memory_of_its_kernel():
    manifest = {"kernels": [kernel()]}
    found = operations.store(manifest, operation())
    assert found["operations"][0]["shared"] == 64
    assert found["operations"][0]["arguments"] == ["x", "n"]
    assert operations.compiled_form(manifest, operation()[0])
    assert operations.store(manifest, operation(shared=64))["operations"][0]["shared"] == 64


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"block": [64]}, r"block: the kernel scale was compiled for the block \[128, 1, 1\]"),
        ({"shared": 32}, "shared: the kernels were compiled for 64 bytes, got 32"),
        ({"align": 4}, "align: the kernel scale relies on addresses that are multiples of 16"),
        ({"arguments": ["x", "n", "n"]}, "arguments: there are 3, and the kernel takes 2"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(more, told):
    with pytest.raises(BuildError, match=told):
        operations.store({"kernels": [kernel()]}, operation(**more))


def test_a_struct_has_the_layout_of_the_compilers_class():
    about = {"name": "dim", "struct": {"size": 24, "type": "bounds", "dtype": "|V24"}}
    found = python_image._struct("axpy", {"size": 24}, about)
    assert found == {"kind": "struct", "fields": [], "type": "bounds", "dtype": "|V24"}
    assert python_image._struct("axpy", {"size": 24}, {"name": "n"}) == {}
    with pytest.raises(BuildError, match="kernel axpy: parameter dim has 16 bytes in its code"):
        python_image._struct("axpy", {"size": 16}, about)

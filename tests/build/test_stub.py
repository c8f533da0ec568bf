# tests/build/test_stub.py - the .pyi of a kernel library.
import __future__

import ast
import inspect
import json
import shutil
import subprocess
import sys
import types
from pathlib import Path

import array_structs
import pytest

import cupola
from cupola.build.stub import stub
from cupola.image.kernel_names import attributes, title


@pytest.fixture(scope="session")
def manifest(built):
    return json.loads((built / "kernels.json").read_text())


def functions(text):
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def imported(text, path):
    """The stub executed as a module, with a decorator that leaves functions as they are."""
    text = text.replace("-> _Kernel[_P]: ...", "-> _Kernel[_P]: return signature")
    module = types.ModuleType(path.stem)
    code = compile(text, path, "exec", __future__.annotations.compiler_flag)
    exec(code, module.__dict__)
    return module


def test_each_kernel_is_an_attribute_with_its_parameters(manifest, tmp_path):
    text = stub(manifest)
    assert set(functions(text)) - {"_kernel", "load"} == {
        "many",
        "shared",
        "empty",
        "scale_float_3",
        "scale_double_4",
    }
    module = imported(text, tmp_path / "kernels.py")
    many = inspect.signature(module.many)
    assert list(many.parameters) == [
        "x",
        "c",
        "b",
        "h",
        "u",
        "pp",
        "v",
        "unused",
        "f4",
        "s",
        "list",
    ]
    assert many.parameters["x"].annotation == "_Annotated[_Pointer, 'const float*']"
    assert many.parameters["f4"].annotation == "_Annotated[_Struct, 'float4']"
    assert many.parameters["u"].annotation == "_Annotated[_Integer, 'unsigned long long']"
    assert many.parameters["h"].annotation == "_Annotated[_Float, 'half']"
    assert inspect.signature(module.empty).parameters == {}
    assert "void* v" in module.many.__doc__ and "registers" in module.many.__doc__
    assert module.__doc__.startswith("Kernels of test 1")


def test_attributes_lead_to_symbols(manifest):
    found = attributes(manifest)
    assert found["many"] == "many"
    assert found["scale_float_3"].startswith("_Z5scaleIfLi3EE")
    assert len(set(found.values())) == len(manifest["kernels"])


@pytest.mark.parametrize(
    ("demangled", "names"),
    [
        (["ns::one(float*)"], {"one"}),
        (["a::one(float*)", "b::one(float*)"], {"a_one", "b_one"}),
        (["one(float*)", "one(int)"], {"one_float_ptr", "one_int"}),
        (["one(float const&)", "one()"], {"one_float_const_ref", "one"}),
        (["void t<int>()", "void t<float>()", "t_int"], {"t_int", "t_float", "t_int_1"}),
        (["a::u(int)", "b::u(int)", "a_u"], {"a_u_int", "b_u", "a_u"}),
        (["void t<-1>()", "void t<1>()"], {"t_minus_1", "t_1"}),
        (["load", "load_"], {"load__1", "load__2"}),
        (["(anonymous namespace)::f(int)"] * 2, {"f_int_1", "f_int_2"}),
        (["void one<2>(int)", "one"], {"one_2", "one"}),
        (["void one<float*>(int)", "void one<float>(int)"], {"one_float_ptr", "one_float"}),
        (["lambda"], {"lambda_"}),
        (["_hidden"], {"kernel_hidden"}),
        (["(anonymous namespace)::inner(float)"], {"inner"}),
        (["void one<(Mode)0>(int)"], {"one"}),
    ],
)
def test_names(demangled, names):
    kernels = [{"name": f"k{i}", "demangled": text} for i, text in enumerate(demangled)]
    found = attributes({"kernels": kernels})
    assert set(found) == names
    assert sorted(found.values()) == sorted(kernel["name"] for kernel in kernels)
    assert title("void ns::one<(Mode)0, f<int>>(int (*)(float))") == "ns::one<(Mode)0, f<int>>"


def described(parameters, name="odd"):
    kernel = {"name": name, "demangled": name, "parameters": parameters, "resources": {}}
    return {"toolkit": "13.0", "package": "", "kernels": [kernel]}


def parameter(name, kind="integer", type_name="int"):
    return {"name": name, "kind": kind, "type": type_name, "size": 4, "offset": 0}


def test_parameters_without_names_come_by_position(tmp_path):
    parameters = [parameter("a"), parameter(None, "unknown", None), parameter("b")]
    module = imported(stub(described(parameters)), tmp_path / "odd.py")
    found = inspect.signature(module.odd).parameters
    assert [(p.name, p.kind == p.POSITIONAL_ONLY) for p in found.values()] == [
        ("a", True),
        ("argument1", True),
        ("b", False),
    ]
    assert found["argument1"].annotation == "_Any"
    text = stub(described([parameter(None), parameter("argument0")]))
    found = inspect.signature(imported(text, tmp_path / "stands.py").odd).parameters
    assert list(found) == ["argument0_", "argument0"]


def test_an_array_of_several_parameters_is_one_argument():
    manifest = array_structs.manifest()
    thrice = {**manifest["kernels"][1], "demangled": "thrice"}
    text = stub({**manifest, "toolkit": "13.0", "kernels": [thrice]})
    assert [one.arg for one in functions(text)["thrice"].args.args] == ["x", "out"]
    assert "x : a device array float32[:], 24 bytes" in text


@pytest.mark.parametrize("name", ["in", "x y", '"""', "é", "a\\", "a\n"])
def test_whatever_the_names_are_it_is_python(name, tmp_path):
    found = described([parameter(name, type_name=f"T<{name}>"), parameter("n")])
    text = stub({**found, "package": name})
    assert list(functions(text)) == ["_kernel", "odd", "load"]
    assert "n" in inspect.signature(imported(text, tmp_path / "odd.py").odd).parameters


USE = """
import cupola
import kernels

x = cupola.zeros(4)
kernels.shared[1, 2](x)
kernels.shared[1, 2](out=x)
kernels.shared.forall(4)(out=x)
"""
WRONG = ["kernels.shared[1, 2](1.5)", "kernels.shared[1, 2](x, x)", "kernels.shared[1, 2](outt=x)"]


def test_type_checkers_look_at_arguments(manifest, tmp_path):
    checker = shutil.which("mypy", path=str(Path(sys.executable).parent)) or shutil.which("mypy")
    if checker is None:
        pytest.skip("mypy is not installed")
    (tmp_path / "kernels.pyi").write_text(stub(manifest))

    def complaints(text):
        (tmp_path / "use.py").write_text(text)
        command = [checker, "--strict", "--python-executable", sys.executable, "use.py"]
        environment = {"MYPYPATH": str(Path(cupola.__file__).parent.parent), "PATH": "/usr/bin"}
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env=environment
        )
        return [line for line in done.stdout.splitlines() if line.startswith("use.py")]

    assert complaints(USE) == []
    for line in WRONG:
        assert complaints(USE + line + "\n"), line

# tests/build/test_manifest.py - what an image's manifest says of its kernels.
import json

import pytest

from cupola.build import manifest
from cupola.build.error import BuildError
from cupola.build.merge import merge
from cupola.build.signature import read_debug
from cupola.image.cxx_names import demangle
from cupola.image.reader import Kernel, Parameter

FLOAT = {"kind": "float", "type": "float", "size": 4, "dtype": "<f4"}


@pytest.fixture
def written(built):
    return json.loads((built / "kernels.json").read_text())


def kernel(written, name):
    (found,) = [k for k in written["kernels"] if name in (k["name"], k["demangled"])]
    return found


def test_head(written):
    assert written["format"] == 1
    assert written["package"] == "test 1"
    assert written["architectures"] == {"cubin": [75, 80, 90], "ptx": [75]}
    assert written["ptx_version"] == "6.3"  # the lowest that compute_75 has


def test_parameters(written):
    found = kernel(written, "many")["parameters"]
    assert [(p["name"], p["kind"], p["type"], p["size"], p["offset"]) for p in found] == [
        ("x", "pointer", "const float*", 8, 0),
        ("c", "integer", "char", 1, 8),
        ("b", "integer", "bool", 1, 9),
        ("h", "float", "half", 2, 10),
        ("u", "integer", "unsigned long long", 8, 16),
        ("pp", "pointer", "const int* const*", 8, 24),
        ("v", "pointer", "void*", 8, 32),
        ("unused", "integer", "int", 4, 40),
        ("f4", "struct", "float4", 16, 48),
        ("s", "integer", "signed char", 1, 64),
        ("list", "pointer", "Box*", 8, 72),
    ]
    x, v = found[0], found[6]
    assert x["element"] == FLOAT and x["const"] is True
    assert v["element"] is None and v["const"] is False
    assert [f["name"] for f in found[8]["fields"]] == ["x", "y", "z", "w"]


def test_structs_nest_and_may_point_to_their_like(written):
    box = kernel(written, "many")["parameters"][-1]["element"]
    assert (box["type"], box["size"]) == ("Box", 40)
    n, corner, values, following = box["fields"]
    assert (n["name"], n["offset"], n["signed"]) == ("n", 0, True)
    assert (corner["offset"], corner["size"]) == (4, 16)
    assert [(f["name"], f["offset"], f["count"]) for f in corner["fields"]] == [
        ("x", 0, 1),
        ("y", 4, 3),
    ]
    assert (values["offset"], values["const"]) == (24, True)
    assert following["element"]["type"] == "Box"


def test_templates_are_told_apart_by_their_demangled_names(written):
    for text, size, offset in (
        ("void scale<float, 3>(float*, Box, float, Mode)", 4, 52),
        ("void scale<double, 4>(double*, Box, double, Mode)", 8, 56),
    ):
        out, box, unused, mode = kernel(written, text)["parameters"]
        assert out["element"]["size"] == size
        assert (box["kind"], box["offset"], box["size"]) == ("struct", 8, 40)
        assert unused["size"] == size
        assert (mode["type"], mode["signed"], mode["offset"]) == ("Mode", False, offset)


def test_resources_of_each_architecture(written):
    resources = kernel(written, "shared")["resources"]
    assert set(resources) == {"sm_75", "sm_80", "sm_90"}
    for one in resources.values():
        assert one["shared"] == 1024 and 0 < one["registers"] < 256


def of_sizes(*sizes):
    offset, parameters = 0, []
    for size in sizes:
        offset = -(-offset // size) * size
        parameters.append(Parameter(offset, size))
        offset += size
    return Kernel("_Z4testv", parameters)


def named(name, size):
    return {"name": name, "kind": "integer", "type": "int", "size": size}


def test_a_parameter_that_debug_information_leaves_out():
    merged = merge(of_sizes(8, 4, 8), [named("a", 8), named("c", 8)])
    assert [p["name"] for p in merged] == ["a", None, "c"]
    assert merged[1] == {"name": None, "kind": "unknown", "type": None, "size": 4, "offset": 8}
    # Two parameters are alike, and one is missing: only facts that hold for both are given.
    merged = merge(of_sizes(8, 4, 4), [named("a", 8), named("b", 4)])
    assert [p["name"] for p in merged] == ["a", None, None]


@pytest.mark.parametrize("sizes", [[2], [8, 8], [4, 8], [4, 8, 8]])
def test_disagreement_is_an_error(sizes):
    described = [named(f"p{i}", size) for i, size in enumerate(sizes)]
    with pytest.raises(BuildError, match=r"kernel test\(\)"):
        merge(of_sizes(8, 4), described)


def test_kernels_of_another_source_are_an_error(built, tmp_path):
    image = (built / "kernels.fatbin").read_bytes()
    debug = (built / "kernels.debug.cubin").read_bytes()
    other = debug.replace(b"shared\0", b"sharee\0")
    says = "code for sm_75 holds other kernels than what was compiled for sm_75"
    with pytest.raises(BuildError, match=says):
        manifest.describe(image, other, [debug], "13.0", "x")
    with pytest.raises(BuildError, match=r"for sm_120 holds other .* compiled for sm_90"):
        known = {name: Kernel(name, []) for name in ("a", "b")}
        manifest._compared([known["a"]], 90, {90: [known["a"]], 120: [known["b"]]})


def test_names():
    assert demangle("_Z8doublifyPf") == "doublify(float*)"
    assert demangle("plain") == "plain"
    assert demangle("_Znonsense") == "_Znonsense"


def test_debug_information_that_is_none():
    with pytest.raises(BuildError, match="cannot be read"):
        read_debug(b"\x7fELF" + bytes(100), set())

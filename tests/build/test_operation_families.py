"""Operations of [[tool.cupola.ops]] whose kernel is a family: read, checked, stored."""

import pytest
from test_operations import MANIFEST

from cupola.build import kernels, operations, tables
from cupola.build.error import BuildError
from cupola.native_operation import NativeOperation

TEXT = """\
[[tool.cupola.kernels]]
library = "heat.kernels"
sources = ["heat.cu"]

[[tool.cupola.variants]]
name = "heat.advance"
kernel = "advance<{now}>"
tunables = { TX = [16, 32], TY = [4, 8] }
default = { TX = 32, TY = 8 }
macros = ["TX"]
types = { now = { float32 = "float", float64 = "double" } }
grid = ["ceildiv(columns, TX)", "ceildiv(shape(now, 0), TY)"]
block = ["TX", "TY"]

[[tool.cupola.ops]]
name = "heat.step"
family = "advance"
inputs = { u = "T[ny, nx]" }
scalars = { alpha = "float" }
outputs = { v = "T[ny, nx]" }
arguments = ["v", "u", "ny", "nx", "alpha"]
"""


def libraries(text):
    try:
        import tomllib
    except ModuleNotFoundError:
        from setuptools.compat.py310 import tomllib
    return tables.libraries(tomllib.loads(text)["tool"]["cupola"], text)


def stored(text):
    declared, *_ = libraries(text)
    return operations.store(MANIFEST, declared.operations)


def test_the_library_of_the_default_has_the_operation():
    declared, *derived = libraries(TEXT)
    assert derived and not any(one.operations for one in derived)
    (step,) = declared.operations
    assert step.family.declaration.name == "heat.advance"
    stub = operations.stub_text(declared)
    assert "def step(\n    u: _Any,\n    alpha: float,\n    *,\n    out: _Any = None," in stub


def test_the_manifest_has_the_table_as_it_was_written():
    (found,) = stored(TEXT)["operations"]
    assert found["family"] == "advance" and found["name"] == "heat.step"
    assert "grid" not in found and "kernels" not in found
    assert stored(TEXT.replace('"advance"\ninputs', '"heat.advance"\ninputs'))["operations"]


def test_the_compiled_form_launches_the_default():
    declared, *_ = libraries(TEXT)
    (step,) = declared.operations
    operation = NativeOperation(operations.compiled_form(MANIFEST, step))
    assert operation.kernel_types() == ["float32", "float64"]
    assert operation.kernel_names() == [one["name"] for one in MANIFEST["kernels"]]
    default = operations.of_default(MANIFEST, step).declaration
    sizes = {"nx": 100, "ny": 20}
    assert [one.evaluate(sizes) for one in default.launch["grid"]] == [4, 3]
    assert [one.evaluate(sizes) for one in default.launch["block"]] == [32, 8]


def test_a_kernel_library_beside_derived_ones_is_still_the_only_one():
    more = """
[[tool.cupola.ops]]
name = "heat.plain"
kernels = "advance<float>"
inputs = { u = "float32[ny, nx]" }
outputs = { v = "float32[ny, nx]" }
scalars = { alpha = "float" }
arguments = ["v", "u", "ny", "nx", "alpha"]
grid = [1]
block = [1]
"""
    declared, *_ = libraries(TEXT + more)
    assert [one.declaration.name for one in declared.operations] == ["heat.step", "heat.plain"]


WRONG = [
    ('family = "advance"', 'family = "advanced"', 17, "family: 'advanced' is no family of the "
     "package heat; there are heat.advance"),
    ('family = "advance"', 'family = "advance"\ngrid = [1]', 18, "grid: the family determines it"),
    ('u = "T[ny, nx]"', 'u = "T[ny nx]"', 18, "inputs.u: 'ny nx': unknown name"),
    ('"u", "ny"', '"u", "u"', 21, "arguments: argument 2 is 'u', a tensor of float32; the kernel "
     "has int rows there"),
    ('"nx", "alpha"', '"v", "alpha"', 21, "arguments: the family heat.advance computes its launch "
     "from the parameter columns: expected an integer there, got 'v'"),
    (', "alpha"]', "]", 21, "arguments: there are 4, and the kernel of the family heat.advance "
     "takes 5: next, now, rows, columns, rate"),
    ('"T[ny, nx]" }\nscalars', '"int32[ny, nx]" }\nscalars', 18, "inputs: the family heat.advance "
     "has no kernel for their element types"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "text"), WRONG)
def test_errors_name_the_line(old, new, line, text):
    assert TEXT.count(old) == 1
    changed = TEXT.replace(old, new)
    if "int32" in new:
        changed = changed.replace('v = "T[ny, nx]"', 'v = "int32[ny, nx]"')
    with pytest.raises(BuildError) as caught:
        stored(changed)
    assert f"line {line}: [[tool.cupola.ops]] heat.step: " in str(caught.value)
    assert text in str(caught.value)


def fixed(block, text=TEXT, **changes):
    """The operation, over kernels whose compiler fixes the launch and adds a parameter."""
    scratch = {"name": None, "kind": "pointer", "offset": 40, "size": 8, "hidden": True}
    kernels = [
        {
            **one,
            "parameters": [*({**each, **changes} for each in one["parameters"]), scratch],
            "block": block,
            "shared": 2048,
        }
        for one in MANIFEST["kernels"]
    ]
    (step,) = libraries(text)[0].operations
    manifest = {**MANIFEST, "kernels": kernels}
    return manifest, operations.store(manifest, [step]), step


def test_a_compiler_that_fixes_the_launch():
    manifest, stored, step = fixed([32, 8, 1])
    assert stored["operations"][0]["family"] == "advance"
    default = operations.of_default(manifest, step).declaration
    assert default.table["shared"] == "2048" and default.arguments[-1] == "alpha"
    assert operations.compiled_form(manifest, step)


def test_a_launch_that_the_compiler_did_not_choose():
    with pytest.raises(
        BuildError, match=r"was compiled for the block \[128, 1, 1\], got \[32, 8\]"
    ):
        fixed([128, 1, 1])
    text = TEXT.replace('block = ["TX", "TY"]', 'block = ["TX", "TY"]\nshared = "TX * 4"')
    with pytest.raises(BuildError, match="were compiled for 2048 bytes of shared memory, and its"):
        fixed([32, 8, 1], text)


def test_an_array_that_fills_several_parameters():
    with pytest.raises(BuildError, match="an array fills several parameters of the kernels of"):
        fixed([32, 8, 1], descriptor={})


def test_without_families():
    one = kernels.Kernels("heat.kernels", ["heat.cu"])
    ops = [{"name": "heat.step", "family": "advance", "inputs": {"u": "T[n]"},
            "outputs": {"v": "T[n]"}, "arguments": ["v", "u"]}]  # fmt: skip
    with pytest.raises(BuildError, match=r"there are none: write \[\[tool.cupola.variants\]\]"):
        operations.from_tables(ops, [one])


def test_a_kernel_that_the_table_spells_otherwise():
    """nvcc spells the name of an enumerator as a number; the manifest's family has the symbol."""
    text = TEXT.replace("advance<{now}>", "advance<{now}, Edge::wrap>")
    first, second = (one["name"] for one in MANIFEST["kernels"][:2])
    entry = {"variant": [32, 8], "kernels": {"float32": first, "float64": second}}
    found = {"families": [{"table": {"name": "heat.advance"}, "variants": [entry]}], **MANIFEST}
    declared, *_ = libraries(text)
    (step,) = declared.operations
    assert NativeOperation(operations.compiled_form(found, step)).kernel_names() == [first, second]
    with pytest.raises(BuildError) as raised:
        operations.store(MANIFEST, declared.operations)
    said = str(raised.value)
    assert "family: there is no kernel 'advance<float, Edge::wrap>', of the default of" in said

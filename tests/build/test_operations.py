"""Tables [[tool.cupola.ops]]: read with their lines, and checked against a library's manifest."""

import json

import pytest

from cupola.build import kernels, manifest, operations
from cupola.build.error import BuildError
from cupola.native_operation import NativeOperation

TEXT = """\
[project]
name = "heat"

[[tool.cupola.kernels]]
library = "heat.kernels"
sources = ["heat.cu"]

[[tool.cupola.ops]]
name = "heat.step"
kernels = { float32 = "advance_float", float64 = "advance<double>" }
inputs = { u = "T[ny, nx]" }
scalars = { alpha = "float" }
outputs = { v = "T[ny, nx]" }
arguments = ["v", "u", "ny", "nx", "alpha"]
grid = ["ceildiv(nx, 32)", "ceildiv(ny, 8)"]
block = [32, 8]
backward = "heat.step_backward"

[[tool.cupola.ops]]
name = "heat.step_backward"
kernels = { float32 = "advance_float", float64 = "advance_double" }
inputs = { grad_v = "T[ny, nx]" }
scalars = { alpha = "float" }
outputs = { grad_u = "T[ny, nx]" }
arguments = ["grad_u", "grad_v", "ny", "nx", "alpha"]
grid = ["ceildiv(nx, 32)", "ceildiv(ny, 8)"]
block = [32, 8]
"""


def pointer(name, element, const):
    size = {"float": 4, "double": 8}[element]
    element = {"kind": "float", "type": element, "size": size}
    text = f"{'const ' if const else ''}{element['type']}*"
    return {
        "name": name, "kind": "pointer", "type": text, "size": 8, "const": const, "element": element
    }  # fmt: skip


def advance(element):
    whole = {"name": "rate", "kind": "float", "type": element}
    numbers = [
        {"name": name, "kind": "integer", "type": "int", "signed": True, "size": 4}
        for name in ("rows", "columns")
    ]
    listed = [pointer("next", element, False), pointer("now", element, True), *numbers, whole]
    return {
        "name": f"_Z7advanceI{element[0]}EvPT_PKS0_iiS0_",
        "demangled": f"void advance<{element}>({element}*, {element} const*, int, int, {element})",
        "parameters": listed,
    }


MANIFEST = {"format": 1, "package": "heat 1", "kernels": [advance("float"), advance("double")]}


def libraries(text):
    try:
        import tomllib
    except ModuleNotFoundError:
        from setuptools.compat.py310 import tomllib
    ours = tomllib.loads(text)["tool"]["cupola"]
    return operations.from_tables(ours["ops"], kernels.from_tables(ours["kernels"]), text)


def stored(text):
    (library,) = libraries(text)
    return operations.store(MANIFEST, library.operations)


def test_they_are_stored_before_the_kernels():
    found = stored(TEXT)
    assert [one["name"] for one in found["operations"]] == ["heat.step", "heat.step_backward"]
    text = manifest.written(found)
    assert json.loads(text) == found and list(found)[-1] == "kernels"
    from cupola.image.manifest import Manifest

    read = Manifest(text.encode(), "here")
    assert read.head["operations"] == found["operations"] and len(read) == 2


def test_the_compiled_form_has_the_kernels_names_in_the_image():
    (library,) = libraries(TEXT)
    step = library.operations[0]
    form = operations.compiled_form(MANIFEST, step)
    operation = NativeOperation(form)
    assert operation.name == "heat.step" and operation.kernel_types() == ["float32", "float64"]
    assert operation.kernel_names() == [one["name"] for one in MANIFEST["kernels"]]


def test_a_library_without_operations_is_unchanged():
    assert operations.store(MANIFEST, ()) is MANIFEST


def test_the_modules():
    (library,) = libraries(TEXT)
    text = operations.module_text(library)
    compile(text, "ops.py", "exec")
    assert '"step",\n        "step_backward",\n' in text and '"heat.kernels"' in text
    stub = operations.stub_text(library)
    compile(stub, "ops.pyi", "exec")
    assert "def step(\n    u: _Any,\n    alpha: float,\n    *,\n    out: _Any = None," in stub


WRONG = [
    ('u = "T[ny, nx]"', 'u = "T[ny nx]"', 11, "inputs.u: 'ny nx': unknown name"),
    ("block = [32, 8]", "blocks = [32, 8]", 8, "unknown key 'blocks': did you mean 'block'?"),
    ('name = "heat.step"', 'name = "heat.in"', 9, "name: in is a keyword of Python"),
    ('name = "heat.step"', 'name = "step"', 9, "name: 'step': write package.name"),
    ('name = "heat.step"', 'name = "cold.step"', 9, "the package cold has 0 kernel libraries"),
    (
        'name = "heat.step"',
        'name = "heat.step"\nlibrary = "heat.k"',
        10,
        "library: 'heat.k' is no",
    ),
    ('"advance_float",', '"advances_float",', 10, "kernels.float32: there is no kernel"),
    (
        '"heat.step_backward"\n\n',
        '"heat.back"\n\n',
        17,
        "backward: there is no operation 'heat.back'",
    ),
    (
        '"v", "u", "ny"',
        '"u", "v", "ny"',
        14,
        "argument 0 is 'u', a tensor of float32, which the kernel only reads",
    ),
    (
        '["v", "u", "ny", "nx", "alpha"]',
        '["v", "u", "ny", "nx"]',
        14,
        "arguments: there are 4, and the kernel takes 5: advance<float>(float* next, const float* "
        "now, int rows, int columns,",
    ),
    (
        '"nx", "alpha"]\ngrid',
        '"alpha", "nx"]\ngrid',
        14,
        "argument 3 is 'alpha', a scalar of type float; the kernel has int columns there",
    ),
    (
        '{ float32 = "advance_float", float64 = "advance<double>" }',
        '{ float64 = "advance_float" }',
        14,
        "argument 0 is 'v', a tensor of float64; the kernel has float* next there",
    ),
    (
        'u = "T[ny, nx]" }',
        'u = "T[ny, nx]" }\nmutates = ["u"]',
        15,
        "which the kernel has to write",
    ),
    ("block = [32, 8]", "block = [2560]", 16, "block: 2560 is out of the range for x, 1 to 1024"),
    ("block = [32, 8]", "block = [0, 8]", 16, "block: 0 is out of the range for x, 1 to 1024"),
    ("block = [32, 8]", "block = [1, 1, 65]", 16, "block: 65 is out of the range for z, 1 to 64"),
    ("block = [32, 8]", "block = ['32 * 2', 32]", 16, "block: 2048 threads in all are too many"),
    ("block = [32, 8]", "block = ['2000', 'nx']", 16, "block: 2000 is out of the range for x"),
    ("block = [32, 8]", "block = [1, '5 // 0']", 16, "block: '5 // 0': "),
    ('grid = ["ceildiv(nx, 32)", ', 'grid = ["2 - 4", ', 15, "grid: -2 is out of the range for x"),
    ('", "ceildiv(ny, 8)"]', '", 65536]', 15, "grid: 65536 is out of the range for y"),
    ("block = [32, 8]", "block = [32, 8]\nshared = 300000", 17, "shared: 300000 is out of the"),
    ("block = [32, 8]", "block = [32, 8]\nshared = '0 - 1'", 17, "shared: -1 is out of the"),
    (
        "block = [32, 8]",
        "block = [32, 8]\ncarveout = 101",
        17,
        "carveout: 101 is out of the range, -1",
    ),
    ("block = [32, 8]", "block = [32, 8]\ncluster = [8, 4]", 17, "cluster: 32 blocks in all are"),
    ('grad_v = "T[ny, nx]"', 'w = "T[ny, nx]"', 22, "inputs.w"),
    ('{ grad_u = "T[ny, nx]" }', '{ grad_w = "T[ny, nx]" }', 24, "outputs.grad_w"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG, ids=lambda value: str(value)[:24])
def test_a_wrong_one_names_line_table_and_key(old, new, line, words):
    assert old in TEXT
    text = TEXT.replace(old, new, 1)
    if new.startswith("w ="):
        text = text.replace('"grad_v", "ny"', '"w", "ny"')
    if "grad_w" in new:
        text = text.replace('["grad_u"', '["grad_w"')
    with pytest.raises(BuildError) as raised:
        stored(text)
    said = str(raised.value)
    assert said.startswith(f"pyproject.toml, line {line}: [[tool.cupola.ops]]"), said
    assert words in said


def test_two_of_one_name():
    with pytest.raises(BuildError, match="two operations of this name"):
        stored(TEXT.replace('name = "heat.step_backward"', 'name = "heat.step"'))


def test_no_list():
    with pytest.raises(BuildError, match="write tables"):
        operations.from_tables({"name": "x"}, [])


def test_tables_in_headers():
    """Keys may stand in tables of their own."""
    text = TEXT.replace('inputs = { u = "T[ny, nx]" }\n', "", 1).replace(
        'backward = "heat.step_backward"\n',
        'backward = "heat.step_backward"\n[tool.cupola.ops.inputs]\nu = "T[ny nx]"\n',
    )
    with pytest.raises(BuildError, match=r"line 17: \[\[tool.cupola.ops\]\] heat.step: inputs.u"):
        stored(text)

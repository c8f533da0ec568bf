"""Tables [[tool.cupola.makers]]: read with their lines, built, and used without a compiler."""

import json
import subprocess
import tarfile

import pytest
from project import Project

from cupola.build import makers
from cupola.build.error import BuildError
from cupola.declare.maker_table import struct_size

pytestmark = pytest.mark.campaign("builds of packages")

TEXT = """
[[tool.cupola.makers]]
name = "slope.axpy"
kind = "elementwise"
parameters = "T a, const T* x, const U* y, T* out"
body = \"\"\"
    // several lines
    out[i] = a * x[i] + y[i]\"\"\"
types = [["float32", "int32"], ["float16", "float16"]]

[[tool.cupola.makers]]
name = "slope.highest"
kind = "reduction"
parameters = "const float* x, Peak* out"
map = "Peak{i, x[i]}"
reduce = "b.height > a.height || (b.height == a.height && b.at < a.at) ? b : a"
neutral = "Peak{1ll << 62, -INFINITY}"
preamble = "struct Peak { long long at; float height; };"
[tool.cupola.makers.structs]
Peak = [["at", "int64"], ["height", "float32"]]

[[tool.cupola.makers]]
name = "slope.cumsum"
kind = "scan"
parameters = "const T* x, T* out"
map = "x[i]"
scan = "a + b"
neutral = "0"
types = ["int64"]
"""
USE = """
import json, sys
import numpy as np, cupola
from slope import makers

assert "cupola.compiler" not in sys.modules
x = cupola.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
y = cupola.to_device(np.array([1, 2, 3, 4], np.int32))
many = cupola.to_device(np.arange(5000))
print(json.dumps([
    makers.axpy(2, x, y).get().tolist(),
    makers.axpy(2, x.T, y[:3]).get().tolist(),
    str(makers.axpy(2, x.astype("f2"), x.astype("f2")).dtype),
    [makers.highest(x[:, ::-1], axis=1).get()[name].tolist() for name in ("at", "height")],
    makers.cumsum(many).get()[-1].item(),
    sorted(set(dir(makers)) & {"axpy", "highest", "cumsum"}),
]))
wrong = []
for call in (lambda: makers.axpy(2, x, x), lambda: makers.axpi, lambda: makers.cumsum(y)):
    try:
        call()
    except (cupola.ArgumentValueError, AttributeError) as error:
        wrong.append(str(error))
print(json.dumps(wrong))
assert "cupola.toolkit.nvrtc" not in sys.modules or not cupola.toolkit.nvrtc.nvrtc.cache_info()[3]
"""


def libraries(text):
    try:
        import tomllib
    except ModuleNotFoundError:
        from setuptools.compat.py310 import tomllib
    return makers.from_tables(tomllib.loads(text)["tool"]["cupola"]["makers"], text)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("makers"), tables=TEXT)
    made.environment["CUPOLA_ARCHITECTURES"] = "80"
    return made


def test_a_package_needs_no_compiler_at_run_time(project):
    said = project.setup("build_kernels", "--inplace")
    assert "slope.makers: PTX compute_75" in said and "warning" not in said
    names = {path.name for path in project.built().iterdir()}
    assert {"makers.fatbin", "makers.json", "makers.py", "makers.pyi"} <= names
    values, wrong = (json.loads(line) for line in project.python("-c", USE).splitlines()[-2:])
    rows = [[4 * row + k for k in range(4)] for row in range(3)]
    assert values[0] == [[2 * row[k] + k + 1 for k in range(4)] for row in rows]
    assert values[1] == [[2 * rows[k][row] + k + 1 for k in range(3)] for row in range(4)]
    assert values[2] == "float16"
    assert values[3] == [[0, 0, 0], [3, 7, 11]]
    assert values[4] == 4999 * 2500
    assert values[5] == ["axpy", "cumsum", "highest"]
    known = "it was built for T = float32, U = int32; T = float16, U = float16"
    assert wrong[0] == f"axpy: the package has no kernel for T = float32, U = float32; {known}"
    assert "did you mean axpy?" in wrong[1]
    assert wrong[2].endswith("no kernel for T = int32; it was built for T = int64")
    again = project.setup("build_kernels", "--inplace")
    assert ": compile " not in again


def test_its_module_has_types(project):
    """For editors, and for type checkers."""
    text = makers.stub_text(libraries(TEXT)[0])
    compile(text, "makers.pyi", "exec")
    assert "axpy: _Elementwise\ncumsum: _Scan\nhighest: _Reduction\n" in text


def test_its_source_distribution_has_what_a_build_reads(project):
    project.setup("-q", "sdist")
    (archive,) = (project.folder / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert "pyproject.toml" in names and not {"slope/makers.py", "slope/makers.fatbin"} & names


def test_one_maker_alone_compiles_without_a_warning(tmp_path):
    first = TEXT[: TEXT.index("[[tool.cupola.makers]]", 5)]
    project = Project(tmp_path, tables=first.replace(', ["float16", "float16"]', ""))
    project.environment["CUPOLA_ARCHITECTURES"] = "80"
    assert "warning" not in project.setup("build_kernels", "--inplace")


def test_errors_of_the_compiler_have_the_lines_of_the_table(tmp_path):
    broken = TEXT.replace("+ y[i]", "+ z[i]")
    project = Project(tmp_path, tables=broken)
    project.environment["CUPOLA_ARCHITECTURES"] = "80"
    said = project.setup("build_kernels", "--inplace", fails=True)
    text = (project.folder / "pyproject.toml").read_text().splitlines()
    line = next(number for number, one in enumerate(text, 1) if "+ z[i]" in one)
    assert f'pyproject.toml({line}): error: identifier "z" is undefined' in said


WRONG = [
    ('kind = "scan"', 'kind = "skan"', 24, "kind: expected kind = 'elementwise' or 'reduction' or"),
    ('kind = "scan"\n', "", 22, "expected kind ="),
    ('name = "slope.axpy"', 'name = "slope.in"', 3, "name: 'slope.in' ends in a keyword"),
    ('name = "slope.axpy"', 'name = "axpy"', 3, "name: 'axpy': write package.name"),
    ('name = "slope.cumsum"', 'name = "slope.axpy"', 23, "name: there are two tables of this name"),
    ('map = "x[i]"\n', "", 22, "the key 'map' is missing"),
    ('scan = "a + b"', 'scam = "a + b"', 22, "unknown key 'scam': did you mean 'scan'?"),
    ('types = ["int64"]', 'types = ["long"]', 29, "types: unknown type 'long'; known are bool,"),
    ('types = ["int64"]\n', "", 22, "expected types = [...] with the element types of T, got None"),
    ('["float32", "int32"]', '["float32"]', 9, "types: ['float32']: expected one type for each of"),
    ('["float16", "float16"]', '["float32", "int32"]', 9, "types: float32, int32 is there twice"),
    (
        '["height", "float32"]',
        '["height", "real"]',
        19,
        "structs: Peak: expected fields with",
    ),
    ("const U* y", "const u* y", 2, "parameter 'const u* y': unknown type 'u'"),
    ('neutral = "0"', "neutral = 0", 22, "neutral is C++ code as a text, got int"),
    ('neutral = "0"', 'neutral = "0"\nexclusive = 1', 29, "exclusive: expected true or false"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG, ids=lambda value: str(value)[:24])
def test_a_wrong_one_names_line_table_and_key(old, new, line, words):
    assert old in TEXT
    with pytest.raises(BuildError) as raised:
        libraries(TEXT.replace(old, new, 1))
    said = str(raised.value)
    assert said.startswith(f"pyproject.toml, line {line}: [[tool.cupola.makers]]"), said
    assert words in said


def test_no_list():
    with pytest.raises(BuildError, match="write tables"):
        makers.from_tables({"name": "x"})


def test_structs_have_the_size_that_c_gives_them(tmp_path):
    kinds = {"int8": "signed char", "int16": "short", "float32": "float", "float64": "double"}
    cases = [["int8"], ["int8", "float64"], ["float64", "int8"], ["int16", "int8", "float32"]]
    code = "#include <stdio.h>\n"
    for index, case in enumerate(cases):
        fields = "".join(f"{kinds[kind]} f{k}; " for k, kind in enumerate(case))
        code += f"struct S{index} {{ {fields} }};\n"
    sizes = ", ".join(f"sizeof(struct S{index})" for index in range(len(cases)))
    code += f'int main() {{ printf("%zu %zu %zu %zu", {sizes}); }}\n'
    (tmp_path / "sizes.c").write_text(code)
    subprocess.run(["cc", "-o", tmp_path / "sizes", tmp_path / "sizes.c"], check=True)
    said = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout
    made = [struct_size([[f"f{k}", kind] for k, kind in enumerate(case)]) for case in cases]
    assert list(map(int, said.split())) == made

# tests/build/test_command.py - a package's kernels, by every way in which setuptools builds.
import hashlib
import json
import os
import re
import resource
import tarfile
import zipfile
from pathlib import Path

import pytest
from project import FIRST, SECOND, TABLE, Project, compiled

from cupola.image import reader

pytestmark = pytest.mark.campaign("builds of packages")

PRODUCTS = {"kernels.fatbin", "kernels.json", "kernels.py", "kernels.pyi"}
USE = """
import json
import numpy as np, cupola
from slope import kernels

x = cupola.to_device(np.arange(4, dtype=np.float32))
out = cupola.empty_like(x)
kernels.step_float[1, 4, None, 16](out=out, x=x, n=4)
kernels.line[1, 4](x, np.array((2, 3), [("slope", "f4"), ("offset", "i4")])[()])
print(json.dumps([out.get().tolist(), x.get().tolist(), kernels.__file__, list(kernels.load())]))
"""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def used(project):
    """Launch kernels of both sources, which share variables and a function; where they were."""
    out, x, file, names = json.loads(project.python("-c", USE).splitlines()[-1])
    assert out == [(3 - i + 3) * 3 + 3 + 2 for i in range(4)]
    assert x == [2 * i + 3 + 1 for i in range(4)]
    assert len(names) == 3
    return Path(file)


def processor_time():
    """Seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_in_place_and_again(project):
    project.environment["CUPOLA_ARCHITECTURES"] = "80"  # a driver is slow to tell of its devices
    output = project.setup("build_kernels", "--inplace")
    assert sorted(compiled(output)) == ["csrc/first.cu", "csrc/second.cu"]
    assert re.search(r"^slope\.kernels: PTX compute_75.*, by nvcc", output, re.MULTILINE)
    assert {path.name for path in project.built().iterdir()} >= PRODUCTS
    assert used(project) == project.built() / "kernels.py"
    manifest = json.loads((project.built() / "kernels.json").read_text())
    assert manifest["package"] == "slope 1.2"
    (line,) = [one for one in manifest["kernels"] if one["name"] == "line"]
    assert [p["name"] for p in line["parameters"]] == ["out", "line"]

    before = {p.name: p.stat().st_mtime_ns for p in project.built().iterdir()}
    project.environment["CUPOLA_CACHE_DIR"] = str(project.folder / "cache")
    project.setup("build_kernels", "--inplace")
    begun = processor_time()
    assert compiled(project.setup("build_kernels", "--inplace")) == []
    # Seconds, Python and setuptools included, beside other tests; a compilation takes more.
    assert processor_time() - begun < 1.7
    assert {n: (project.built() / n).stat().st_mtime_ns for n in before} == before
    # A changed source is compiled alone; a header with all that include it.
    project.write("csrc/second.cu", SECOND.replace("x + 3", "x + 5 - 2"))
    assert compiled(project.setup("build_kernels", "--inplace")) == ["csrc/second.cu"]
    used(project)
    project.write("inc/line.cuh", (project.folder / "inc/line.cuh").read_text() + "// more\n")
    assert len(compiled(project.setup("build_kernels", "--inplace"))) == 2
    project.write("inc/other.cuh", "")  # might come before another, or be asked for
    assert len(compiled(project.setup("build_kernels", "--inplace"))) == 2
    assert compiled(project.setup("build_kernels", "--inplace")) == []


def test_dry_run_shows_commands_and_makes_nothing(project):
    output = project.setup("build_kernels", "--inplace", "--dry-run")
    assert "nvcc -rdc=true" in output and "nvlink" in output and "csrc/first.cu" in output
    assert not PRODUCTS & {path.name for path in project.built().iterdir()}
    assert not list(project.folder.rglob("*.cubin"))


@pytest.mark.parametrize("source", ["first", "second"])
def test_an_error_of_the_compiler_comes_with_its_place_first(project, source):
    project.write(
        f"csrc/{source}.cu", (project.folder / f"csrc/{source}.cu").read_text() + "int x = y;"
    )
    output = project.setup("build_kernels", fails=True)
    text = FIRST if source == "first" else SECOND
    line = f'csrc/{source}.cu({text.count(chr(10)) + 1}): error: identifier "y" is undefined'
    told = [one for one in output.splitlines() if "error" in one]
    assert told[0] == line and told.count(line) == 2  # the second time in the compiler's message
    assert "Traceback" not in output


def test_an_error_has_its_remedy(project):
    project.write("csrc/first.cu", "texture<float, 2> image;\n")
    output = project.setup("build_kernels", fails=True)
    assert "add a kernel parameter of type cudaTextureObject_t" in output


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("sources", "source"), "unknown key 'source': did you mean 'sources'"),
        (("csrc/*.cu", "src/*.cu"), "there is no such file in"),
        (('"slope.kernels"', '"slop.kernels"'), "there is no package"),
        (("options", "ptx = 90\narchitectures = [75]\noptions"), "older than the PTX"),
    ],
)
def test_a_wrong_table_is_told_without_a_traceback(project, change, says):
    text = (project.folder / "pyproject.toml").read_text()
    project.write("pyproject.toml", text.replace(*change))
    output = project.setup("build", fails=True)
    assert says in output and "Traceback" not in output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = [", "pyproject.toml is not valid TOML: Invalid value"),
        ("\xff", "pyproject.toml is not valid TOML: 'utf-8' codec"),
        ("[project]\nname = 5", "invalid pyproject.toml config"),
        ("tool = 5 # cupola", "tool = 5: expected a table [tool]"),
        ("[tool]\ncupola = 5", "tool.cupola = 5: write tables"),
        ("[tool.cupola]\nkernels = 5", "write tables [[tool.cupola.kernels]]"),
        ("[[tool.cupola.kernel]]", "unknown key 'kernel': known are [[tool.cupola.kernels]]"),
        ("[tool.cupola]\nops = [5]", "write tables [[tool.cupola.ops]]"),
    ],
)
def test_a_wrong_file_is_told_by_the_command_without_a_traceback(project, text, says):
    (project.folder / "setup.py").unlink()
    (project.folder / "pyproject.toml").write_bytes(text.encode("latin-1"))
    output = project.python("-m", "cupola", "build", fails=True)
    assert says in output and "Traceback" not in output


@pytest.mark.parametrize(
    "name",
    ["kernels.py", "kernels.pyx", "kernels/__init__.py", "kernels.json", "kernels.pyi",
     "kernels.fatbin"],
)  # fmt: skip
def test_what_somebody_wrote_is_not_overwritten(project, name):
    own = project.built() / name
    own.parent.mkdir(exist_ok=True)
    own.write_text("mine = 1\n")
    for command in ("build", "build_ext --inplace"):
        output = project.setup(*command.split(), fails=True)
        assert "was not made by cupola.build" in output and "Traceback" not in output
    assert own.read_text() == "mine = 1\n"


def test_an_extension_module_of_the_same_name_is_an_error(project):
    extension = 'Extension("slope.kernels", ["slope/native.c"])'
    project.write("setup.py", f"from setuptools import *\nsetup(ext_modules=[{extension}])\n")
    output = project.setup("build", fails=True)
    assert "there is an extension module of that name" in output and "Traceback" not in output


OWN_BUILD = """
from setuptools import setup
from setuptools.command.build import build
class Build(build):
    sub_commands = [*build.sub_commands]
setup(cmdclass={"build": Build})
assert "build_kernels" not in (name for name, _ in build.sub_commands)
"""


def test_a_build_command_of_the_projects_own(project):
    project.write("setup.py", OWN_BUILD)
    project.write("csrc/first.cu", "")
    project.write("csrc/second.cu", 'extern "C" __global__ void alone(int* x) { *x = 1; }')
    project.setup("build")
    made = project.folder / "build" / "lib" / "slope"
    assert {path.name for path in made.iterdir()} >= PRODUCTS


def test_without_a_compiler_the_error_names_both_remedies(project):
    folders = project.environment["PATH"].split(os.pathsep)
    kept = [folder for folder in folders if not Path(folder, "nvcc").exists()]
    project.environment["PATH"] = os.pathsep.join(kept)
    project.environment["CUDA_HOME"] = "/nowhere"
    project.write("sitecustomize.py", HIDE_WHEELS)
    project.environment["PYTHONPATH"] += f"{os.pathsep}{project.folder}"
    output = project.setup("build", fails=True)
    assert "CUDA_HOME: /nowhere/bin/nvcc: no such file" in output
    assert "install a CUDA toolkit" in output and "pip install 'cuda-toolkit[nvcc" in output
    assert "Traceback" not in output


HIDE_WHEELS = """
from importlib import metadata
found = metadata.distributions
metadata.distributions = lambda: (d for d in found() if "nvcc" not in (d.name or ""))
"""


OVERLOADED = """
__global__ void over(float* x) { *x = 1; }
__global__ void over(int* x) { *x = 2; }
template <class T> __global__ void t(T* x) { *x = 3; }
template __global__ void t<int>(int*);
template __global__ void t<float>(float*);
extern "C" __global__ void t_int(int* x) { *x = 4; }
namespace a { __global__ void u(int* x) { *x = 5; } }
namespace b { __global__ void u(int* x) { *x = 6; } }
extern "C" __global__ void a_u(int* x) { *x = 7; }
extern "C" __global__ void _hidden(int* x) { *x = 8; }
"""
USE_OVERLOADED = """
import cupola
from slope import kernels
names = "over_int_ptr t_int_int_ptr t_int a_u_int_ptr b_u a_u kernel_hidden"
for name in names.split():
    x = cupola.zeros(1, "i4")
    getattr(kernels, name)[1, 1](x)
    print(int(x.get()[0]), end=" ")
assert {"over_float_ptr", "t_float"} <= set(dir(kernels))
"""


def test_each_kernel_has_a_name_and_the_build_prints_unusual_ones(project):
    project.write("csrc/first.cu", "")
    project.write("csrc/second.cu", OVERLOADED)
    output = project.setup("build_kernels", "--inplace")
    told = [line for line in output.splitlines() if " is " in line]
    assert told == [
        "slope.kernels.a_u_int_ptr is a::u(int*)",
        "slope.kernels.over_float_ptr is over(float*)",
        "slope.kernels.over_int_ptr is over(int*)",
        "slope.kernels.t_int_int_ptr is t<int>(int*)",
    ]
    assert project.python("-c", USE_OVERLOADED).split() == ["2", "3", "4", "5", "6", "7", "8"]


def test_two_libraries_and_the_keyword(project):
    one = 'Kernels("slope.first", ["csrc/first.cu", "csrc/second.cu"], include=["inc"])'
    project.write(
        "setup.py",
        "from setuptools import setup\nfrom cupola.build import Kernels\n"
        f"setup(cuda_kernels=[{one}])\n",
    )
    output = project.setup("build")
    assert len(compiled(output)) == 4
    made = project.folder / "build" / "lib" / "slope"
    assert {path.name for path in made.iterdir()} >= {*PRODUCTS, "first.py", "first.fatbin"}
    project.write("pyproject.toml", (project.folder / "pyproject.toml").read_text() + TABLE)
    assert "two kernel libraries 'slope.kernels'" in project.setup("build", fails=True)


def test_several_sources_as_one(project):
    sources = '["csrc/second.cu"]'
    project.write("pyproject.toml", (project.folder / "pyproject.toml").read_text().replace(
        'sources = ["csrc/*.cu"]', f'sources = {sources}\nrelocatable = false'))  # fmt: skip
    project.write("csrc/second.cu", 'extern "C" __global__ void alone(int* x) { *x = 1; }')
    output = project.setup("build_kernels", "--inplace", "--dry-run")
    assert "-rdc=true" not in output and "nvlink" not in output
    project.setup("build_ext", "--inplace")  # the project has no extension
    code = "from slope import kernels; print(list(kernels.load()))"
    assert project.python("-c", code).strip() == "['alone']"


def test_several_sources_joined(project):
    text = (project.folder / "pyproject.toml").read_text()
    project.write("pyproject.toml", text.replace("options", "relocatable = false\noptions"))
    project.write("csrc/here.cuh", "#define FACTOR 3\n")
    project.write(
        "csrc/first.cu",
        """#include "here.cuh"
static __device__ int times(int x) { return FACTOR * x; }
extern "C" __global__ void first(int* x) { *x = times(*x); }
""",
    )
    second = 'extern "C" __global__ void second(int* x) { *x = times(*x) + 1; }\n'
    project.write("csrc/second.cu", second)
    output = project.setup("build_kernels", "--inplace", "--dry-run")
    assert "-rdc=true" not in output and "join kernels.cu" in output
    assert not list(project.folder.rglob("kernels.cu"))
    assert "warning" not in project.setup("build_kernels", "--inplace")
    code = """
import cupola
from slope import kernels
x = cupola.full(1, 5, 'i4')
kernels.first[1, 1](x)
kernels.second[1, 1](x)
print(x.get().tolist())
"""
    assert project.python("-c", code).strip() == "[46]"
    project.write("csrc/second.cu", second + "int x = y;")
    output = project.setup("build_kernels", "--inplace", fails=True)
    assert 'csrc/second.cu(2): error: identifier "y" is undefined' in output


def backend(project, name, settings):
    code = (
        "import sys; from setuptools import build_meta\n"
        f"print(build_meta.{name}({str(project.folder.parent)!r}, {settings!r}))"
    )
    return project.folder.parent / project.python("-c", code).splitlines()[-1]


def test_a_wheel_holds_every_architecture_and_fits_every_platform(project):
    project.environment["CUPOLA_ARCHITECTURES"] = "80,90"
    wheel = backend(project, "build_wheel", {})
    assert wheel.name == "slope-1.2-py3-none-any.whl"  # device code knows no host
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("slope/kernels.json"))
        image = archive.read("slope/kernels.fatbin")
    assert {f"slope/{name}" for name in PRODUCTS} <= names
    assert manifest["architectures"] == {"cubin": [80, 90], "ptx": [75, 90]}
    assert reader.is_packed(image)
    assert manifest["image"]["sha256"] == hashlib.sha256(image).hexdigest()
    assert {"csrc/first.cu", "csrc/second.cu"} <= manifest["sources"].keys()
    assert not [name for name in names if name.endswith((".cu", ".cuh"))]


def test_a_wheel_is_for_all_architectures_where_nothing_else_is_said(project):
    project.write("csrc/first.cu", "")
    project.write("csrc/second.cu", 'extern "C" __global__ void alone(int* x) { *x = 1; }')
    assert "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120" in project.setup("bdist_wheel")


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_editable(project, mode):
    wheel = backend(project, "build_editable", {"editable_mode": mode})
    assert {path.name for path in project.built().iterdir()} >= PRODUCTS
    site = project.folder.parent / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = f"import site; site.addsitedir({str(site)!r})\n{USE}"
    (project.folder.parent / "elsewhere").mkdir()
    project.folder, source = project.folder.parent / "elsewhere", project.folder
    file = Path(json.loads(project.python("-c", code).splitlines()[-1])[2])
    assert file.is_relative_to(source)


def test_a_source_distribution_holds_sources_and_headers(project):
    own = '[tool.setuptools.package-data]\nslope = ["*.json", "*.fatbin", "*.pyi"]\n'
    project.write("pyproject.toml", (project.folder / "pyproject.toml").read_text() + own)
    project.setup("build_kernels", "--inplace")
    project.write("slope/own.json", "{}")
    archive = backend(project, "build_sdist", {})
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"csrc/first.cu", "csrc/second.cu", "inc/line.cuh", "slope/__init__.py"} <= names
    assert "slope/own.json" in names
    assert not {f"slope/{name}" for name in PRODUCTS} & names


def test_a_header_that_a_source_distribution_would_lack_is_named(project):
    for name in ("csrc/sub", "csrc/common", "common"):
        (project.folder / name).mkdir()
    text = (project.folder / "pyproject.toml").read_text()
    project.write("pyproject.toml", text.replace("csrc/*.cu", "csrc/sub/a.cu"))
    project.write(
        "csrc/sub/a.cu",
        """#include "../common/b.cuh"
#include "values.def"
#include "line.cuh"
extern "C" __global__ void alone(int* x) { *x = ONE + TWO; }
""",
    )
    project.write("csrc/common/b.cuh", "#define ONE 1\n")
    project.write("csrc/sub/values.def", "#define TWO 2\n")
    warned = "warning: slope.kernels includes {}, which a source distribution lacks"
    for _ in range(2):  # the second run rebuilds nothing and still warns
        output = project.setup("build_kernels", "--inplace")
        assert warned.format("csrc/common/b.cuh") in output
        assert warned.format("csrc/sub/values.def") in output and "line.cuh" not in output
    # Following the warning removes it.
    project.write("MANIFEST.in", "# tables\nrecursive-include csrc *.def\n")
    text = (project.folder / "pyproject.toml").read_text()
    project.write("pyproject.toml", text.replace('["inc"]', '["inc", "csrc/common"]'))
    assert "warning: slope" not in project.setup("build_kernels", "--inplace")
    with tarfile.open(backend(project, "build_sdist", {})) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"csrc/sub/a.cu", "csrc/common/b.cuh", "csrc/sub/values.def", "inc/line.cuh"} <= names


def test_cythonize_in_place_builds_kernels_too(project):
    project.write("slope/native.pyx", "def answer(): return 42\n")
    project.python("-m", "Cython.Build.Cythonize", "-3", "-i", "slope/native.pyx")
    used(project)
    assert "42" in project.python("-c", "from slope import native; print(native.answer())")


def test_the_command_line_builds_in_place(project):
    (project.folder / "setup.py").unlink()
    output = project.python("-m", "cupola", "build", "--dry-run")
    assert "nvlink" in output and not (project.built() / "kernels.py").exists()
    assert len(compiled(project.python("-m", "cupola", "build"))) == 2
    used(project)
    assert compiled(project.python("-m", "cupola", "build", project.folder)) == []
    project.write("csrc/second.cu", SECOND + "int x = y;")
    output = project.python("-m", "cupola", "build", fails=True)
    assert output.splitlines()[-1].startswith("failed:") and "Traceback" not in output
    project.write("pyproject.toml", "[project]\nname = 'none'\nversion = '1'\n")
    assert "names no kernels" in project.python("-m", "cupola", "build", fails=True)
    (project.folder / "pyproject.toml").unlink()
    assert "no pyproject.toml" in project.python("-m", "cupola", "build", fails=True)


@pytest.mark.parametrize("kind", ["wheel", "editable", "sdist"])
def test_what_only_builds_want_is_asked_for(project, kind):
    """cupola itself does not bring it in: it is no requirement of those who run kernels."""
    ask = f"from setuptools import build_meta; print(build_meta.get_requires_for_build_{kind}())"
    hide = "import sys; sys.modules['elftools'] = None; "
    assert "'pyelftools>=" in project.python("-c", hide + ask)
    assert "pyelftools" not in project.python("-c", ask)


def test_projects_without_kernels_do_not_import_cupola(project):
    project.write("pyproject.toml", "[project]\nname = 'cupola-kernels-none'\nversion = '1'\n")
    text = "import sys\nfrom setuptools import setup\nsetup(packages=['slope'])\n"
    says = "assert 'cupola' not in sys.modules and '_cupola_setuptools' in sys.modules\n"
    project.write("setup.py", text + says)
    project.setup("build")

"""C++ programs by CMake and pkg-config, against the installed files alone."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cupola
from cupola import paths

pytestmark = pytest.mark.campaign("builds by CMake")

EXAMPLE = Path(__file__).parent.parent / "examples" / "cmake"


def call(*command, fails=False, **variables):
    """The output of the command, of both streams."""
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **{name: str(value) for name, value in variables.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert (done.returncode != 0) is fails, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def cmake():
    """(cmake, a generator) of this machine, or of the wheels cmake and ninja."""
    beside = os.pathsep.join([os.environ.get("PATH", ""), os.path.dirname(sys.executable)])
    found = shutil.which("cmake", path=beside)
    assert found, "pip install 'cupola[test]' brings cmake"
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    return found, generator


class Program:
    """A CMake project, and where it is built."""

    def __init__(self, cmake, source, build, package=None):
        self.cmake, self.source, self.build = cmake, source, build
        self.package = package or Path(paths.cmake_dir())

    def configure(self, *arguments, **options):
        command, generator = self.cmake
        folders = ["-G", generator, "-S", self.source, "-B", self.build]
        names = [f"-Dcupola_DIR={self.package}", f"-DCUPOLA_PYTHON={sys.executable}"]
        return call(command, *folders, *names, *arguments, **options)

    def make(self, **options):
        return call(self.cmake[0], "--build", self.build, **options)


@pytest.fixture(scope="module")
def life(cmake, tmp_path_factory):
    import images

    images.nvcc()
    folder = tmp_path_factory.mktemp("life")
    program = Program(cmake, folder / "source", folder / "build")
    shutil.copytree(EXAMPLE, program.source)
    program.configure("-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    assert "life_kernels: compile" in program.make()
    return program


def test_the_example(life, driver):
    text = call(life.build / "life", 30)
    assert re.fullmatch(
        rf"{re.escape(cupola.Device().name)}: \d+\.\d us a generation\n"
        r"generation 30: \d+ of 3072 cells are alive, as on the host\n",
        text,
    )
    manifest = json.loads((life.build / "life_kernels.kernels/life_kernels.json").read_text())
    (kernel,) = manifest["kernels"]
    assert kernel["name"] == "generation"


def test_what_did_not_change_is_not_compiled_again(life):
    assert "compile" not in life.make().lower()
    # A header that a source includes; the CMake file names the source alone.
    rule = life.source / "rule.hpp"
    rule.write_text(rule.read_text() + "// one line more\n")
    assert "life_kernels: compile" in life.make()
    assert "compile" not in life.make().lower()


def test_the_compilers_words(life):
    source = life.source / "life.cu"
    before = source.read_text()
    try:
        source.write_text(before.replace("blockIdx.y", "blockIdx.w"))
        text = life.make(fails=True)
    finally:
        source.write_text(before)
    assert re.search(r"life\.cu\(\d+\): error: .*\"w\"", text)
    assert "Traceback" not in text
    life.make()


SEVERAL = """
cmake_minimum_required(VERSION 3.20)
project(several LANGUAGES CXX)
find_package(cupola REQUIRED)
add_library(several SHARED several.cpp)
cupola_add_kernels(several both SOURCES first.cu second.cu INCLUDE inc OPTIONS -DOFFSET=3
                   ARCHITECTURES 75 90)
file(WRITE "${CMAKE_BINARY_DIR}/names" "${both_FATBIN}\\n${both_MANIFEST}\\n")
"""


def test_several_sources_in_a_library(cmake, tmp_path):
    """They are compiled each for itself and linked; options and architectures arrive."""
    import images

    images.nvcc()
    source = tmp_path / "source"
    (source / "inc").mkdir(parents=True)
    (source / "CMakeLists.txt").write_text(SEVERAL)
    (source / "inc/other.cuh").write_text("__device__ int other(int x);\n")
    (source / "first.cu").write_text(
        '#include "other.cuh"\n'
        'extern "C" __global__ void first(int* out) { *out = other(OFFSET); }\n'
    )
    (source / "second.cu").write_text(
        '#include "other.cuh"\n__device__ int other(int x) { return 2 * x; }\n'
    )
    (source / "several.cpp").write_text(
        '#include "both.hpp"\nextern "C" const void* image() { return both::image(); }\n'
        'extern "C" unsigned long size() { return both::size(); }\n'
    )
    program = Program(cmake, source, tmp_path / "with a space")
    program.configure(CUPOLA_ARCHITECTURES="")
    program.make(CUPOLA_ARCHITECTURES="")
    fatbin, manifest = map(Path, (program.build / "names").read_text().splitlines())
    known = json.loads(manifest.read_text())
    assert known["architectures"] == {"cubin": [75, 90], "ptx": [75, 90]}

    import ctypes

    library = ctypes.CDLL(program.build / "libseveral.so")
    library.image.restype, library.size.restype = ctypes.c_void_p, ctypes.c_ulong
    assert ctypes.string_at(library.image(), library.size()) == fatbin.read_bytes()
    out = cupola.zeros(1, "i4")
    cupola.load(fatbin)["first"][1, 1](out)
    assert out.get()[0] == 6


def test_mistakes_are_named(cmake, tmp_path):
    head = "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES CXX)\n"
    head += "find_package(cupola REQUIRED)\nadd_library(p INTERFACE)\n"
    for line, wanted in {
        "cupola_add_kernels(q k SOURCES k.cu)": "there is no target q",
        "cupola_add_kernels(p 1k SOURCES k.cu)": "the name becomes a C++ namespace",
        "cupola_add_kernels(p k)": "SOURCES names no .cu file",
        "cupola_add_kernels(p k ARCH 75 SOURCES k.cu)": "unknown arguments ARCH",
    }.items():
        (tmp_path / "CMakeLists.txt").write_text(f"{head}{line}\n")
        program = Program(cmake, tmp_path, tmp_path / "build")
        assert wanted in program.configure(fails=True)


@pytest.mark.parametrize(
    ("asked", "found"),
    [("0.1", True), (cupola.__version__, True), ("0.0", False), ("0.2", False), ("1", False)],
)
def test_versions(cmake, tmp_path, asked, found):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES NONE)\n"
        f'find_package(cupola {asked})\nmessage(STATUS "found: ${{cupola_FOUND}}")\n'
    )
    text = Program(cmake, tmp_path, tmp_path / "build").configure()
    assert ("found: 1" in text) is found


PROGRAM = """
#include <cupola/cupola.hpp>
#include <cstdio>
int main() { std::printf("%zu %s", cupola::module::shipped().kernels().size(),
                         cupola_library_path()); }
"""
MINIMAL = """
cmake_minimum_required(VERSION 3.20)
project(p LANGUAGES CXX)
find_package(cupola REQUIRED)
add_executable(p p.cpp)
target_link_libraries(p PRIVATE cupola::cupola)
"""


@pytest.fixture
def elsewhere(tmp_path):
    """A copy of what C and C++ need of the package, in a folder of another name."""
    folder = tmp_path / "moved there"
    package = Path(paths.cmake_dir()).parent
    for name in ("cmake", "include", "lib"):
        shutil.copytree(package / name, folder / name)
    shutil.copy(package / "version.py", folder)
    (tmp_path / "p.cpp").write_text(PROGRAM)
    return folder


def test_the_package_can_be_moved(cmake, driver, tmp_path, elsewhere):
    (tmp_path / "CMakeLists.txt").write_text(MINIMAL)
    program = Program(cmake, tmp_path, tmp_path / "build", elsewhere / "cmake")
    program.configure()
    program.make()
    count, path = call(program.build / "p").split(" ", 1)
    assert int(count) == len(cupola.shipped_kernels().kernels)
    assert Path(path) == elsewhere / "lib/libcupola.so"
    (elsewhere / "lib/libcupola.so").unlink()
    assert "libcupola.so is missing" in program.configure(fails=True)


KERNELS = """
cmake_minimum_required(VERSION 3.20)
project(p LANGUAGES CXX)
{find}
add_library(p SHARED p.cpp)
cupola_add_kernels(p k SOURCES k.cu)
"""


def test_found_in_a_subfolder(cmake, tmp_path):
    """The function is known in all folders, and works there."""
    import images

    images.nvcc()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/CMakeLists.txt").write_text("find_package(cupola REQUIRED)\n")
    (tmp_path / "CMakeLists.txt").write_text(KERNELS.format(find="add_subdirectory(sub)"))
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k(int* x) { *x = 1; }\n')
    (tmp_path / "p.cpp").write_text('#include "k.hpp"\n')
    program = Program(cmake, tmp_path, tmp_path / "build")
    program.configure()
    assert "k: compile" in program.make()


def test_which_python_is_run(cmake, tmp_path, elsewhere):
    """A variable, the environment, the environment's Python that the package lies in."""
    place = tmp_path / "venv/lib/python3.11/site-packages"
    place.mkdir(parents=True)
    package = elsewhere.rename(place / "cupola") / "cmake"
    pythons = {name: tmp_path / name / "python3.11" for name in ("given", "named", "venv/bin")}
    for path in pythons.values():
        path.parent.mkdir(parents=True)
        path.symlink_to(sys.executable)
    (tmp_path / "CMakeLists.txt").write_text(
        KERNELS.format(find=f'find_package(cupola REQUIRED PATHS "{package}")')
    )
    (tmp_path / "k.cu").write_text("")
    for i, (arguments, variables, wanted) in enumerate(
        [
            ([f"-DCUPOLA_PYTHON={pythons['given']}"], {"CUPOLA_PYTHON": pythons["named"]}, "given"),
            ([], {"CUPOLA_PYTHON": pythons["named"]}, "named"),
            ([], {}, "venv/bin"),
        ]
    ):
        build = tmp_path / f"build{i}"
        call(cmake[0], "-G", cmake[1], "-S", tmp_path, "-B", build, *arguments, **variables)
        rules = [*build.rglob("build.ninja"), *build.rglob("build.make")]
        text = "".join(path.read_text() for path in rules)
        assert [name for name, path in pythons.items() if str(path) in text] == [wanted]


def test_pkg_config(driver, tmp_path, elsewhere):
    if shutil.which("pkg-config") is None:
        pytest.skip("there is no pkg-config")
    moved = elsewhere.rename(tmp_path / "moved")  # pkg-config escapes a space, for a shell
    where = {"PKG_CONFIG_PATH": moved / "cmake"}
    assert call("pkg-config", "--modversion", "cupola", **where).strip() == cupola.__version__
    flags = call("pkg-config", "--cflags", "--libs", "cupola", **where).split()
    compiler = os.environ.get("CXX", "c++")
    call(compiler, "-std=c++17", tmp_path / "p.cpp", "-o", tmp_path / "p", *flags)
    assert Path(call(tmp_path / "p").split(" ", 1)[1]) == moved / "lib/libcupola.so"


def test_the_folder_is_told():
    text = call(sys.executable, "-m", "cupola", "paths", "--cmake-dir")
    assert text == f"{paths.cmake_dir()}\n"
    assert {path.name for path in Path(paths.cmake_dir()).iterdir()} >= {
        "cupola-config.cmake",
        "cupola-config-version.cmake",
        "cupola.pc",
        "kernels.py",
    }

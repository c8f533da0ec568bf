# tests/test_sources.py - files and texts, through each function that takes sources.
"""Sources: one or several, files and texts, and the same arguments for `compile` and `load`."""

import zipfile
from inspect import signature
from pathlib import Path

import images
import numpy as np
import pytest
from pycuda_context import context  # noqa: F401
from working import refused

import cupola
from cupola.compiler import source_files
from cupola.pycuda import gpuarray
from cupola.pycuda.compiler import SourceModule

STORE = """\
#ifndef VALUE
#include "value.h"
#endif
__device__ int half(int x);
template <int n> __global__ void times(int* out) { *out = n * VALUE; }
extern "C" __global__ void f(int* out) { *out = half(VALUE); }
"""
HALF = "__device__ int half(int x) { return x / 2; }\n"
ALONE = 'extern "C" __global__ void f(int* out) { *out = VALUE; }\n'


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    images.nvrtc()
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with sources."""
    place = tmp_path / "a folder"
    place.mkdir()
    for name, text in {"store.cu": STORE, "half.cu": HALF, "alone.cu": ALONE}.items():
        (place / name).write_text(text)
    (place / "value.h").write_text("#define VALUE 8\n")
    monkeypatch.chdir(place)
    return place


def value(module, name="f"):
    out = cupola.zeros((), np.int32)
    module[name][1, 1](out)
    return int(out.get())


DOORS = [cupola.compile, cupola.load]


@pytest.mark.parametrize("door", DOORS)
def test_one_file(driver, folder, door):
    define = ["-DVALUE=6"]
    for source in ("alone.cu", str(folder / "alone.cu"), Path("alone.cu"), ["alone.cu"]):
        assert value(door(source, options=define)) == 6


@pytest.mark.parametrize("door", DOORS)
def test_several_files(driver, folder, door):
    for sources in (["store.cu", "half.cu"], (Path("half.cu"), str(folder / "store.cu"))):
        module = door(sources, name_expressions=["times<3>"])
        assert (value(module), value(module, "times<3>")) == (4, 24)
        assert "half.cu" in module.name and "store.cu" in module.name


def test_load_takes_the_arguments_of_compile(driver, folder):
    own, other = signature(cupola.compile).parameters, signature(cupola.load).parameters
    for name, one in own.items():
        if name != "source":
            assert (other[name].kind, other[name].default) == (one.kind, one.default), name
    assert value(cupola.load("alone.cu", headers={"v.h": "#define VALUE 3"},
                             options=["-include", "v.h"])) == 3  # fmt: skip
    (folder / "include").mkdir()
    (folder / "include/v.h").write_text("#define VALUE 5\n")
    again = cupola.load("alone.cu", include=["include"], options=["--pre-include=v.h"], cache=False)
    assert value(again) == 5
    module = cupola.load("alone.cu", options=["-DVALUE=1"], arch="compute_75", name="mine.cu")
    assert b".target sm_75" in module.image and module.name == "mine.cu"
    part = cupola.compile(HALF, options=["-rdc=true"], arch="compute_75").image
    module = cupola.load("store.cu", link=[part], signatures={"f": "int* result"})
    assert value(module) == 4 and str(module["f"].params[0]) == "int* result"


@pytest.mark.parametrize(
    "how",
    [
        {"options": ["-DX"]},
        {"include": "here"},
        {"name_expressions": ["f<1>"]},
        {"headers": {"a.h": ""}},
        {"arch": "sm_90"},
        {"link": [b"x"]},
        {"cache": False},
        {"name": "x"},
    ],
    ids=lambda how: next(iter(how)),
)
def test_arguments_for_sources_are_refused_for_images(driver, how):
    for image in (images.SCALE, Path(images.SCALE).read_bytes()):
        with refused(cupola.ArgumentError, TypeError, saying=(next(iter(how)), "sources (.cu)")):
            cupola.load(image, **how)
    assert "scale" in cupola.load(images.SCALE, options=[], include=(), cache=True)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"include": "no/such"}, "include"),
        ({"include": [".", Path("no/such")]}, "include"),
        ({"include": "alone.cu/"}, "include"),
        ({"options": ["-Ino/such"]}, "options"),
        ({"options": ["-I", "no/such"]}, "options"),
        ({"options": ["-I.,no/such"]}, "options"),
        ({"options": ["--include-path=no/such"]}, "options"),
        ({"options": ["-isystem", "no/such"]}, "options"),
    ],
    ids=str,
)
def test_a_folder_of_headers_exists(driver, folder, door, how, what):
    options = ["-DVALUE=1", *how.get("options", [])]
    with refused(cupola.NotFoundError, FileNotFoundError, saying=(f"{what}: there is no folder",)):
        door("alone.cu", **{**how, "options": options})


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("how", [{"arch": "sm_12"}, {"options": ["-arch=compute_999"]}], ids=str)
def test_an_unknown_architecture_gets_the_list(driver, folder, door, how):
    with refused(cupola.ArgumentError, ValueError, saying=("arch is ", "compiles for 75, ", "90,")):
        door("alone.cu", **how)


@pytest.mark.parametrize("name", ["a.py", "missing.pyx", "a.ipynb", "folder"])
def test_what_is_no_image_and_no_source(driver, folder, name):
    (folder / "a.py").write_text("x = 1")
    (folder / "folder").mkdir(exist_ok=True)
    with refused(cupola.ImageError, saying=(name, "images (.fatbin", "sources (.cu)")):
        cupola.load(folder / name)


def test_images_among_sources(driver, folder):
    with refused(cupola.ArgumentError, TypeError, saying=("scale.ptx is no source", "link=")):
        cupola.load(["alone.cu", images.SCALE])
    for name in ("a.ptx", "a.cubin", "some/a.fatbin", Path("a.o")):
        with refused(cupola.ArgumentError, TypeError, saying=("image, not a source", "link=")):
            cupola.compile(name)


def test_names_of_sources_are_searched(driver, folder, monkeypatch):
    monkeypatch.setenv("CUPOLA_PATH", str(folder))
    monkeypatch.chdir("/")
    assert value(cupola.load(["store", "half"])) == 4
    assert value(cupola.load("alone", options=["-DVALUE=2"])) == 2


def test_sources_in_an_archive(driver, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("sources_in_a_zip/__init__.py", "")
        archive.writestr("sources_in_a_zip/store.cu", STORE)
        archive.writestr("sources_in_a_zip/half.cu", HALF)
    monkeypatch.syspath_prepend(tmp_path / "packed.zip")
    module = cupola.load(["store", "half.cu"], "sources_in_a_zip", options=["-DVALUE=10"])
    assert value(module) == 5
    module = cupola.load("half.cu", "sources_in_a_zip", name="mine.cu")
    assert module.name == "mine.cu"


def test_the_rule():
    files = ["a.cu", "a b/c.cu", "../x.cuh", "main.cpp", ".cu", "größe.cu", "a(1).cu"]
    texts = ["", "int i;", "kernel", "a.cu\n", "\na.cu", "a.cu ", '#include "a.cu"',
             "int i; // a.cu", "void f() {} // a.cu", "a.cu.in"]  # fmt: skip
    assert [one for one in files + texts if source_files.is_file(one)] == files


@pytest.mark.parametrize("given", ["none.cu", Path("none.cu"), ["alone.cu", "none.cu"]], ids=repr)
def test_a_file_that_is_not_there(driver, folder, given):
    for door in DOORS:
        with refused(cupola.NotFoundError, FileNotFoundError, saying=("no source none.cu", folder)):
            door(given)
    with refused(cupola.NotFoundError, saying="any other string is text"):
        cupola.compile("none.cu")


def test_files_that_are_no_text(driver, folder):
    (folder / "latin.cu").write_bytes(b"// \xe9\n")
    (folder / "nul.cu").write_bytes(b"int i;\0")
    (folder / "folder.cu").mkdir()
    for door in DOORS:
        for name, error in (
            ("latin.cu", cupola.CompileError),
            ("nul.cu", cupola.ArgumentError),
            ("folder.cu", (cupola.CompileError, cupola.ImageError)),
        ):
            with pytest.raises(error, match=name):
                door(name)
    with refused(cupola.ArgumentError, ValueError):
        cupola.compile(Path("a\0.cu"))
    with refused(cupola.ArgumentError, TypeError, saying="cupola.compile(text)"):
        cupola.load(ALONE)


def test_a_file_for_pycuda(driver, folder):
    (folder / "mine.cu").write_text(
        '#include "value.h"\n__global__ void f(int* out) { *out = VALUE; }'
    )
    for source in ("mine.cu", folder / "mine.cu"):
        out = gpuarray.zeros(1, np.int32)
        SourceModule(source).get_function("f")(out, block=(1, 1, 1))
        assert out.get()[0] == 8
    (folder / "wrong.cu").write_text("\nint f(")
    with pytest.raises(cupola.pycuda.driver.CompileError, match=r"wrong.cu\(2\): error"):
        SourceModule("wrong.cu")


WRONG = {
    "a file twice": (lambda: cupola.compile(["half.cu", Path("half.cu")]),
                     ValueError, "has half.cu 2 times.*name it once"),
    "a name without its suffix": (lambda: cupola.compile("half"),
                                  ValueError, r"'half' is no CUDA C\+\+.*pathlib.Path\('half'\)"),
    "text to load": (lambda: cupola.load(ALONE.strip()), TypeError, r"cupola.compile\(text\)"),
    "a folder to load": (lambda: cupola.load("inner"),
                         cupola.MissingFileError, "'inner', and the folder of that name is no"),
    "a header": (lambda: cupola.compile('#include "nowhere.h"\n' + ALONE, cache=False),
                 cupola.CompileError, "header nowhere.h: correct its name, or name its folder"),
    "an option": (lambda: cupola.compile(ALONE, options=["--fast-maths"]),
                  cupola.CompileError, "^kernel.cu: options: .*--fast-maths.*expected an option"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "says"), WRONG.values(), ids=WRONG)
def test_a_wrong_source_is_named(driver, tmp_path, monkeypatch, call, error, says):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUPOLA_PATH", raising=False)
    (tmp_path / "half.cu").write_text(HALF)
    (tmp_path / "inner").mkdir()
    with pytest.raises(error, match=says):
        call()


def test_a_kernel_and_a_variable_of_a_module_by_wrong_names(driver):
    module = cupola.compile(
        "__constant__ int params; namespace n { __device__ int inner; }"
        'extern "C" __global__ void f(int* x) { *x = params + n::inner; }'
    )
    with pytest.raises(AttributeError, match=r"no attribute 'f': .*module\['f'\].*globals\['f'\]"):
        _ = module.f
    assert not hasattr(module, "__cuda_array_interface__")
    with pytest.raises(KeyError, match=r"no variable param_s; it has: params, _ZN1n5innerE \(a C"):
        module.globals["param_s"]
    with pytest.raises(KeyError, match=r"no variable f \(a C\+\+ name"):
        cupola.compile('extern "C" __global__ void f() {}').globals["f"]

"""Where images are looked for, and the manifests beside them."""

import json
import shutil
import sys

import images
import pytest
from test_module import works
from working import refused

import cupola


@pytest.mark.parametrize("name", ["missing.fatbin", "folder/missing", "missing.ptx"])
def test_missing_files(driver, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused(cupola.NotFoundError, FileNotFoundError, saying=(name, tmp_path)):
        cupola.load(name)


def test_what_is_no_file(driver, tmp_path):
    with refused(cupola.ImageError, saying=tmp_path):
        cupola.load(tmp_path)
    header = tmp_path / "kernel.cuh"
    header.write_text("")
    with refused(cupola.ImageError, saying=("kernel.cuh", "is a header")):
        cupola.load(header)
    for wrong in (5, None, ["a"], 'extern "C" __global__ void f() {}\n'):
        with refused(cupola.ArgumentError, TypeError):
            cupola.load(wrong)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with an image and its manifest as resources."""
    folder = tmp_path / "packages/tests_own_package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    for path in (images.described(), images.described().with_suffix(".json")):
        shutil.copy(path, folder)
    monkeypatch.syspath_prepend(folder.parent)
    yield folder.name
    sys.modules.pop(folder.name, None)


def test_by_name_from_a_package(driver, package):
    for module in (
        cupola.load("described", package),
        cupola.load("described.fatbin", package=package),
    ):
        works(module)
        assert module["axpy"].params[1].name == "x"
    saying = ("there is no image other", "other.fatbin", package)
    with refused(cupola.NotFoundError, FileNotFoundError, saying=saying):
        cupola.load("other", package)
    with refused(cupola.NotFoundError, FileNotFoundError, saying="no_such_package"):
        cupola.load("other", "no_such_package")


def test_by_name_from_the_path(driver, package, tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.delenv("CUPOLA_PATH", raising=False)
    with refused(FileNotFoundError, saying=("kernels", "CUPOLA_PATH")):
        cupola.load("kernels")
    monkeypatch.setenv("CUPOLA_PATH", f"{first}:{second}")
    with refused(cupola.NotFoundError, FileNotFoundError, saying=(first, second, "kernels.ptx")):
        cupola.load("kernels")
    shutil.copy(images.ptx(), second / "kernels.ptx")
    shutil.copy(images.SCALE, second / "described.ptx")
    works(cupola.load("kernels"))
    assert "scale" in cupola.load("described", package)  # CUPOLA_PATH goes first
    shutil.copy(images.SCALE, first / "kernels.ptx")
    assert "axpy" not in cupola.load("kernels")


@pytest.fixture
def written(tmp_path):
    """A copy of the image whose manifest can be changed."""
    image = shutil.copy(images.described(), tmp_path / "changed.fatbin")
    manifest = json.loads(images.described().with_suffix(".json").read_text())

    def write(text=None):
        (tmp_path / "changed.json").write_text(json.dumps(manifest) if text is None else text)
        return image

    kernel = next(one for one in manifest["kernels"] if one["name"] == "axpy")
    return manifest, kernel, write


def test_a_manifest_is_read(driver, written):
    _, axpy, write = written
    axpy["parameters"][0]["name"] = "factor"
    assert cupola.load(write())["axpy"].params[0].name == "factor"


MALFORMED = ["", "{", "[]", "null", "{}", '{"format": 1}', "\0", "[" * 100_000]


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: repr(text[:16]))
def test_malformed_manifests(driver, written, text):
    *_, write = written
    with refused(cupola.ImageError, saying="changed.json"):
        cupola.load(write(text))


def test_a_manifest_of_a_later_format(driver, written):
    manifest, _, write = written
    manifest["format"] = 2
    with refused(cupola.ImageError, saying=("changed.json", "format 2")):
        cupola.load(write())


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (4, {"size": 8}),
        (4, {"offset": 36}),
        (0, {"kind": "pointer", "element": None, "const": False}),
        (1, {"size": 4, "kind": "float"}),
        (None, {}),
    ],
)
def test_manifests_at_odds_with_the_image(driver, written, place, changes):
    _, axpy, write = written
    if place is None:
        axpy["parameters"].pop()
    else:
        axpy["parameters"][place].update(changes)
    module = cupola.load(write())
    with refused(cupola.ImageError, saying=("changed.fatbin", "manifest", "axpy")):
        module["axpy"]
    works(module)  # the other kernels are as they were


@pytest.mark.parametrize(
    "changes", [{"kind": "quaternion"}, {"size": -1}, {"size": "4"}, {"offset": 2**40}, {"name": 5}]
)
def test_manifests_with_impossible_parameters(driver, written, changes):
    _, axpy, write = written
    axpy["parameters"][2].update(changes)
    with refused(cupola.ImageError, saying="changed.json"):
        cupola.load(write())

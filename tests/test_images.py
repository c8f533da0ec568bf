"""Where images are looked for, and the manifests beside them."""

import json
import pickle
import random
import shutil
import sys
import time
from pathlib import Path

import images
import numpy as np
import pytest
from test_module import works
from working import refused

import cupola
from cupola.core import struct_values
from cupola.core.loader import LARGE
from cupola.image.manifest import Manifest, dtype_of


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
    other = tmp_path / "kernel.cpp"
    other.write_text("")
    with refused(cupola.ImageError, saying=("kernel.cpp", "rename", "cupola.compile")):
        cupola.load(other)
    for wrong in (5, None, [], [5], 'extern "C" __global__ void f() {}\n'):
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


IMPOSSIBLE = [
    {"kind": "quaternion"},
    {"size": -1},
    {"size": "4"},
    {"size": True},
    {"offset": 2**40},
    {"name": 5},
    {"element": [1]},
    {"element": {"type": "float", "dtype": "O"}},
    {"element": {"type": "float", "dtype": ["<f4", [2**40]]}},
    {"element": {"type": "float", "dtype": "<f4" * 10000}},
]
FIELDS = {"names": ["a", "b"], "formats": ["<i4", "<f4"], "offsets": [0, 4], "itemsize": 8}
IMPOSSIBLE += [
    {"element": {"type": "S", "dtype": {**FIELDS, **changes}}}
    for changes in (
        {"names": ["a", "a"]},
        {"names": ["a", 5]},
        {"offsets": [0, 2]},
        {"offsets": [0, -4]},
        {"offsets": [0, 8]},
        {"itemsize": 1 << 40},
        {"formats": ["<i4"]},
        {"formats": ["<i4", "O"]},
        {"formats": None},
    )
]


@pytest.mark.parametrize("changes", IMPOSSIBLE, ids=lambda changes: str(changes)[:60])
def test_manifests_with_impossible_parameters(driver, written, changes):
    _, axpy, write = written
    axpy["parameters"][2].update(changes)
    module = cupola.load(write())
    for _ in range(2):
        with refused(cupola.ImageError, saying="changed.json"):
            module["axpy"]
    works(module)  # entries that are not used are not read


HOLLOW = {"names": [], "formats": [], "offsets": [], "itemsize": 0}


@pytest.mark.parametrize("inner", [HOLLOW, "|V1", "<f4"])
def test_an_array_of_more_than_parameters_hold_is_refused(inner):
    with pytest.raises(ValueError, match="an offset or size of"):
        dtype_of([inner, [65535, 65535, 65535]])


def test_what_has_no_room_has_no_differences():
    hollow = np.dtype((np.dtype([]), (1 << 30,)))
    one = np.dtype([("hollow", hollow), ("x", np.int32)])
    begun = time.monotonic()
    assert struct_values.difference(one, one) == ""
    assert time.monotonic() - begun < 1


def test_a_dtype_of_another_size_than_the_value(driver, written):
    _, axpy, write = written
    axpy["parameters"][0]["dtype"] = "<f8"
    with refused(cupola.ImageError, saying=("changed.json", "8 bytes", "4")):
        cupola.load(write())["axpy"]


def test_a_line_for_each_kernel_tells_the_same_as_other_forms(driver, written):
    found, *_ = written
    with open(images.described().with_suffix(".json"), "rb") as file:
        lines = Manifest(file.read(), "lines")
    indented = Manifest(json.dumps(found, indent=2).encode(), "indented")
    assert lines == indented and len(lines) == len(found["kernels"])
    assert lines.head["toolkit"] == indented.head["toolkit"]
    assert pickle.loads(pickle.dumps(lines)) == lines


def test_mutated_manifests(driver):
    """All bytes give either a manifest or an ImageError."""
    good = images.described().with_suffix(".json").read_bytes()
    rng = random.Random(7)
    read = 0
    for _ in range(800):
        text = bytearray(good[: rng.randrange(200, len(good))] if rng.random() < 0.1 else good)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(text))
            piece = rng.choice(
                [b"", b"{", b'"', b"}", b"]", b"\n", b"\xff", b"-1", b"1e400", b"null"]
            )
            text[at : at + rng.choice([0, 1, 1, 9])] = piece
        try:
            manifest = Manifest(bytes(text), "mutated")
            names = [*manifest, "axpy"]
        except cupola.ImageError:
            continue
        for name in names:
            try:
                assert isinstance(manifest[name], list)
                read += 1
            except KeyError:
                assert name not in manifest
            except cupola.ImageError as error:
                assert "mutated" in str(error)
    assert read > 1000


@pytest.fixture
def large(driver, tmp_path):
    """A file that is not copied into memory as it is loaded."""
    path = tmp_path / "large.ptx"
    text = (Path(__file__).parent / "scale.ptx").read_text()
    path.write_text(text + "// and so on\n" * (LARGE // 10))
    return path


def test_a_large_file_may_be_removed_or_replaced(large):
    module = cupola.load(large)
    content = large.read_bytes()
    other = large.with_name("other")
    other.write_bytes(b"another")
    other.replace(large)
    assert module.image == content
    large.unlink()
    assert pickle.loads(pickle.dumps(module)).image == content


def test_a_large_file_that_is_written_over_is_not_taken_for_what_was_loaded(large):
    module = cupola.load(large)
    with large.open("r+b") as file:
        file.truncate(10)
    with pytest.raises(cupola.ImageError, match="was overwritten after it was loaded"):
        _ = module.image
    with pytest.raises(cupola.ImageError, match="overwritten"):
        pickle.dumps(module)
    assert module["scale"].name == "scale"  # loaded kernels stay

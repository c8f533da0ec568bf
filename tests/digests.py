"""tests/digests.py - an image with its manifest, beside each other or in a package."""

import shutil
import sys

import images
import pytest

__all__ = ["beside", "changed", "package"]


@pytest.fixture
def beside(tmp_path):
    """A copy of an image with its manifest."""
    image = shutil.copy(images.described(), tmp_path / "q.fatbin")
    shutil.copy(images.described().with_suffix(".json"), tmp_path / "q.json")
    return image


def changed(image):
    """The same kernels and as many bytes, another digest."""
    data = bytearray(image.read_bytes())
    at = data.rindex(b"\0\0\0\0")
    data[at : at + 2] = b"\n\n"
    image.write_bytes(data)


@pytest.fixture
def package(beside, monkeypatch):
    folder = beside.parent / "tests_verified_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for path in (beside, beside.with_suffix(".json")):
        path.rename(folder / path.name)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.delenv("CUPOLA_PATH", raising=False)
    monkeypatch.delenv("CUPOLA_VERIFY", raising=False)
    yield folder
    sys.modules.pop(folder.name, None)

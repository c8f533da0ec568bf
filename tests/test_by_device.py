"""``cupola inspect``: the code that each device takes for each kernel."""

import json
import shutil

import images
import pytest

from cupola.__main__ import main
from cupola.exceptions import ImageError
from cupola.tools.command import by_device, packages


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one image, which would fail if it were imported."""
    folder = tmp_path / "shipped_by_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError")
    shutil.copy(images.fatbin("sm_80", "sm_90", "compute_75"), folder / "kernels.fatbin")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_a_package(package, capsys):
    main(["inspect", package.name, "--json", "-k", "axpy"])
    ((path, found),) = json.loads(capsys.readouterr().out).items()
    assert path == str(package / "kernels.fatbin")
    assert found == {
        "axpy": {
            "7.5": "compute_75", "8.0": "sm_80", "8.6": "sm_80", "8.7": "sm_80", "8.9": "sm_80",
            "9.0": "sm_90", "10.0": "compute_75", "10.3": "compute_75", "11.0": "compute_75",
            "12.0": "compute_75", "12.1": "compute_75", "CPU device": "compute_75",
        }
    }  # fmt: skip
    main(["inspect", package.name])
    text = capsys.readouterr().out
    assert "axpy" in text and "CPU device" in text and "sm_90" in text


def test_a_package_beside_its_project_file(package, capsys, monkeypatch):
    """Where the current folder has the package's folder, its name means the package."""
    monkeypatch.chdir(package.parent)
    main(["inspect", package.name, "--devices", "--json", "-k", "axpy"])
    ((path, found),) = json.loads(capsys.readouterr().out).items()
    assert path == str(package / "kernels.fatbin") and found["axpy"]["9.0"] == "sm_90"


def test_devices_without_code(capsys):
    path = str(images.fatbin("sm_90"))
    main(["inspect", path, "--devices", "--json", "-k", "axpy"])
    row = json.loads(capsys.readouterr().out)[path]["axpy"]
    assert row["9.0"] == "sm_90"
    assert row["8.0"].startswith("nothing: sm_90 needs compute capability 9.0")
    assert row["CPU device"] == "nothing: the CPU device takes PTX alone"
    main(["inspect", path, "--devices"])
    assert "nothing" in capsys.readouterr().out


def test_what_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "without_images").mkdir()
    (tmp_path / "without_images" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert packages.folders_of("no_such_package") == []
    with pytest.raises(ImageError, match="no image"):
        by_device.images_of("without_images")

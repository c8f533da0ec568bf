"""``cupola inspect``: the code that each device takes for each kernel."""

import json
import shutil

import images
import pytest
from working import refused

import cupola
from cupola.__main__ import main
from cupola.exceptions import ImageError
from cupola.image import devices, fatbin
from cupola.image.installed import folders_of
from cupola.image.reader import Device
from cupola.tools.command import by_device


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
            "7.5": "compute_75", "8.0": "sm_80", "8.6": "sm_80", "8.7": "compute_75",
            "8.9": "sm_80", "9.0": "sm_90", "10.0": "compute_75", "10.3": "compute_75",
            "11.0": "compute_75", "12.0": "compute_75", "12.1": "compute_75",
            "CPU device": "compute_75",
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
    assert folders_of("no_such_package") == []
    (tmp_path / "outer/inner").mkdir(parents=True)
    (tmp_path / "outer/__init__.py").write_text("raise SystemExit('it was imported')")
    assert folders_of("outer.inner") == [str(tmp_path / "outer/inner")]
    assert folders_of("outer.other") == []
    with pytest.raises(ImageError, match="no image"):
        by_device.images_of("without_images")


KERNEL = ".visible .entry {}() {{ ret; }}\n"
TEMPLATE = "_Z4gemmIfLi3EEvv"  # void gemm<float, 3>()


def of_levels(**kernels):
    """A fatbin of PTX. ``_75=["k"]`` adds the kernel k for compute_75."""
    made = []
    for level, names in kernels.items():
        number = int(level[1:])
        text = f".version 8.0\n.target sm_{number}\n.address_size 64\n"
        code = text + "".join(map(KERNEL.format, names))
        made += fatbin.pieces(fatbin.of_ptx(code.encode(), number))
    return fatbin.joined(made)


LEVELS = of_levels(_75=["both", "older", TEMPLATE], _80=["both"])


def test_kernels_that_a_device_lacks():
    for name in ("older", TEMPLATE, "gemm<float,3>", "gemm<float, 3>()", "gemm"):
        assert devices.lacking(LEVELS, name, Device(90)) == ["compute_75"]
        assert devices.lacking(LEVELS, name, Device(75)) == []
        assert devices.lacking(LEVELS, name, Device(70)) == ["compute_75"]
    for name in ("both", "none", "gem"):
        assert devices.lacking(LEVELS, name, Device(90)) == []


def test_a_table_of_what_is_missing():
    assert devices.missing(devices.by_device(of_levels(_75=["one", "two"]))) == []
    head, *rows = devices.missing(devices.by_device(LEVELS))
    assert head[:3] == ["kernel", "7.5", "8.0"] and head[-1] == "CPU device"
    assert rows == [
        ["gemm<float, 3>, older", "PTX", *["-"] * 11],
        ["both", *["PTX"] * 12],
    ]
    overloads = of_levels(_80=["_Z1kPf", "_Z1kPi", "x"])
    _, row = devices.missing(devices.by_device(overloads))
    assert row[:3] == ["k(float*), k(int*) and 1 more", "-", "PTX"]


def test_a_load_names_the_kernel_that_the_device_lacks(driver):
    module = cupola.load(LEVELS)
    major, minor = module.device.compute_capability
    assert "older" not in module and "both" in module
    for name in ("older", "gemm<float, 3>"):
        saying = (
            f"the kernel {name} has no code for device",
            f"compute capability {major}.{minor}",
            "the image has it for compute_75",
            f"architectures = ['{major}{minor}']",
        )
        with refused(cupola.NotFoundError, KeyError, saying=saying):
            module[name]
        with refused(cupola.NotFoundError, saying=saying):
            module.kernel(name)
    with refused(cupola.NotFoundError, saying="it has: both"):
        module["none"]

"""Kernels of a package at run time: found, loaded when they are first used."""

import os
import shutil
import subprocess
import sys
import threading

import images
import numpy as np
import pytest
from working import refused

import cupola
from cupola.build import library
from cupola.build.kernels import Kernels


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that ships the kernels of tests/kernels.cu, as the build makes it."""
    folder = tmp_path / "packages" / "tests_shipping_package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    kernels = Kernels(f"{folder.name}.kernels", ["kernels.cu"])
    for suffix in (".fatbin", ".json"):
        shutil.copy(images.described().with_suffix(suffix), folder / f"kernels{suffix}")
    manifest = images.described().with_suffix(".json")
    (folder / "kernels.py").write_text(library.module_text(kernels, read(manifest)))
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.delenv("CUPOLA_PATH", raising=False)
    yield folder
    for name in (folder.name, f"{folder.name}.kernels"):
        sys.modules.pop(name, None)


def read(path):
    import json

    return json.loads(path.read_text())


def imported():
    from importlib import import_module

    return import_module("tests_shipping_package.kernels")


def doubled(kernels):
    x = cupola.to_device(np.arange(8, dtype=np.float32))
    out = cupola.empty_like(x)
    kernels.axpy[1, 8](2.0, x, x, out, 8)
    assert np.array_equal(out.get(), 3 * np.arange(8, dtype=np.float32))


def test_kernels_are_attributes(driver, package):
    kernels = imported()
    assert "axpy" in dir(kernels) and not kernels._library._modules
    doubled(kernels)
    assert kernels.axpy is kernels.load()["axpy"]
    assert kernels.axpy.params[1].name == "x"
    assert kernels.load() is kernels.load(0) is kernels.load(cupola.Device(0))
    assert kernels.load().name == str(package / "kernels.fatbin")


@pytest.mark.filterwarnings("error")
def test_an_image_without_the_manifest_that_the_build_wrote(driver, package, tmp_path, monkeypatch):
    (package / "kernels.json").unlink()
    with pytest.warns(RuntimeWarning, match=r"kernels\.json is missing.*types .* not checked"):
        doubled(imported())
    other = tmp_path / "other" / package.name
    other.mkdir(parents=True)
    shutil.copy(package / "kernels.fatbin", other)
    sys.modules.pop(f"{package.name}.kernels")
    monkeypatch.setenv("CUPOLA_PATH", str(other.parent))
    doubled(imported())  # a build of the user's own: it needs no manifest


def test_unknown_names(driver, package):
    kernels = imported()
    for name, saying in (
        ("axpyy", "did you mean axpy"),
        ("Axpy", "axpy"),
        ("axpx", "axpy"),
        ("zzz", "its kernels"),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(kernels, name)
        assert saying in str(caught.value) and caught.value.name == name
    assert not hasattr(kernels, "__wrapped__")
    assert not kernels._library._modules  # nothing was loaded to tell that


def test_the_path_goes_first(driver, package, tmp_path, monkeypatch):
    other = tmp_path / "other" / package.name
    other.mkdir(parents=True)
    shutil.copy(images.ptx(), other / "kernels.ptx")
    monkeypatch.setenv("CUPOLA_PATH", f"{tmp_path / 'empty'}{os.pathsep}{other.parent}")
    kernels = imported()
    doubled(kernels)
    assert kernels.load().name == str(other / "kernels.ptx")


def test_where_it_was_looked_for(driver, package, tmp_path, monkeypatch):
    (package / "kernels.fatbin").unlink()
    kernels = imported()
    saying = ("CUPOLA_PATH, which is not set", package / "kernels.fatbin", "install it again")
    with refused(cupola.NotFoundError, FileNotFoundError, saying=saying):
        kernels.axpy  # noqa: B018
    monkeypatch.setenv("CUPOLA_PATH", f"{tmp_path / 'one'}{os.pathsep}{tmp_path / 'two'}")
    inside = f"{package.name}/kernels"
    saying = [tmp_path / place for place in (f"one/{inside}.fatbin", f"two/{inside}.ptx")]
    with refused(cupola.NotFoundError, saying=(*saying, package / "kernels.fatbin")):
        kernels.load()


def test_a_broken_image(driver, package):
    (package / "kernels.fatbin").write_bytes(b"broken")
    with refused(cupola.ImageError, saying=package / "kernels.fatbin"):
        imported().load()


def test_threads_load_it_once(driver, package):
    kernels = imported()
    found, start = [], threading.Barrier(8)

    def use():
        start.wait()
        found.append(kernels.load())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1


def test_it_is_loaded_again_after_unloading(driver, package):
    kernels = imported()
    doubled(kernels)
    first = kernels.load()
    first.unload()
    assert kernels.load() is not first and kernels.load().loaded
    doubled(kernels)


@pytest.mark.several_devices
def test_each_device_has_its_own(driver, package):
    code = """
import numpy as np, cupola
from tests_shipping_package import kernels
for index in (0, 1):
    with cupola.Device(index):
        x = cupola.to_device(np.arange(8, dtype=np.float32))
        kernels.axpy[1, 8](1.0, x, x, x, 8)
        assert kernels.axpy.device_index == index and x.get()[1] == 2
assert kernels.load(0) is not kernels.load(1)
"""
    environment = {**os.environ, "CUPOLA_DRIVER": driver, "CUPOLA_CPU_DEVICES": "2"}
    paths = [str(package.parent), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_importing_it_loads_no_driver(package):
    code = (
        "from tests_shipping_package import kernels\n"
        "import sys; assert 'cupola.module' not in sys.modules and 'axpy' in dir(kernels)\n"
    )
    paths = [str(package.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)

"""Images of packages in pickles: by name and hash, and what is refused elsewhere."""

import hashlib
import importlib
import json
import os
import pickle
import shutil
import subprocess
import sys

import images
import numpy as np
import pytest
from working import refused

import cupola
from cupola.build import library
from cupola.build.kernels import Kernels
from cupola.core import pickled_images

NAME = "tests_travel_package"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a kernel library, and with an image as a resource."""
    folder = tmp_path / "packages" / NAME
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("__version__ = '1.5'\n")
    manifest = images.described().with_suffix(".json")
    text = library.module_text(
        Kernels(f"{NAME}.kernels", ["kernels.cu"]), json.loads(manifest.read_text())
    )
    (folder / "kernels.py").write_text(text)
    for suffix in (".fatbin", ".json"):
        shutil.copy(images.described().with_suffix(suffix), folder / f"kernels{suffix}")
    shutil.copy(images.SCALE, folder / "scale.ptx")
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.delenv("CUPOLA_PATH", raising=False)
    pickled_images.version_of.cache_clear()
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]
    for key in [key for key in pickled_images._loaded if key[0][0].startswith(NAME)]:
        del pickled_images._loaded[key]


OTHER = """
import pickle, sys
import numpy as np
import cupola

try:
    first, second, content = (pickle.load(sys.stdin.buffer) for _ in range(3))
    assert first is second
    x = cupola.to_device(np.arange(8, dtype=np.float32))
    first[1, 8](x, 3.0, 8) if first.name == "scale" else first[1, 8](2.0, x, x, x, 8)
    print(x.get().tolist())
except cupola.Error as error:
    print(type(error).__name__, error)
"""


def elsewhere(kernel, *folders):
    """The output of another process, with these folders on its path, for the kernel."""
    sent = pickle.dumps(kernel)
    assert len(sent) < 500
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join([*map(str, folders), *sys.path[1:]])
    }  # fmt: skip
    if not folders:
        here = os.path.dirname(os.path.dirname(importlib.import_module(NAME).__file__))
        kept = [path for path in sys.path[1:] if path != here]
        environment["PYTHONPATH"] = os.pathsep.join(kept)
    done = subprocess.run(
        [sys.executable, "-c", OTHER],
        input=sent * 2 + pickle.dumps(len(sent)),
        capture_output=True,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def kernels_of(package):
    axpy = importlib.import_module(f"{NAME}.kernels").load()["axpy"]
    return axpy, cupola.load("scale", importlib.import_module(NAME))["scale"]


def test_pickles_have_name_and_hash(driver, package):
    for kernel in kernels_of(package):
        sent = pickle.dumps(kernel)
        assert len(sent) < 500 and NAME.encode() in sent
        assert pickle.loads(sent) is pickle.loads(sent)
    axpy, _ = kernels_of(package)
    assert pickle.loads(pickle.dumps(axpy)) is axpy  # a library's image is loaded once
    assert "3.0" in elsewhere(axpy, package.parent)


def test_the_other_process_takes_its_own_image(driver, package):
    axpy, scale = kernels_of(package)
    assert json.loads(elsewhere(axpy, package.parent)) == (3.0 * np.arange(8)).tolist()
    assert json.loads(elsewhere(scale, package.parent)) == (3.0 * np.arange(8)).tolist()


def test_a_package_that_is_not_there(driver, package):
    for kernel in kernels_of(package):
        said = elsewhere(kernel)
        for words in ("MissingFileError", "process ", " on ", f"{NAME} 1.5", "install the same"):
            assert words in said, said


def test_an_image_that_is_not_there(driver, package, tmp_path):
    copy = shutil.copytree(package, tmp_path / "other" / NAME)
    for file in (*copy.glob("*.fatbin"), copy / "scale.ptx"):
        file.unlink()
    for kernel in kernels_of(package):
        said = elsewhere(kernel, copy.parent)
        for words in ("MissingFileError", "process ", "install the same", "there is no image"):
            assert words in said, said


def test_another_version_of_the_package(driver, package, tmp_path):
    copy = shutil.copytree(package, tmp_path / "other" / NAME)
    (copy / "__init__.py").write_text("__version__ = '2.0'\n")
    (copy / "scale.ptx").write_text((copy / "scale.ptx").read_text() + "// of 2.0\n")
    manifest = copy / "kernels.json"
    manifest.write_text(manifest.read_text().replace('"name": "axpy"', '"name": "axpz"'))
    for kernel in kernels_of(package):
        said = elsewhere(kernel, copy.parent)
        for words in ("ImageError", "expected SHA-256", "1.5", "2.0", "install the same"):
            assert words in said, said


def test_an_image_is_hashed_once(driver, package, monkeypatch):
    counted = []
    real = hashlib.sha256
    monkeypatch.setattr(hashlib, "sha256", lambda *a: counted.append(1) or real(*a))
    for kernel in (*kernels_of(package), cupola.load(images.SCALE.read_bytes())["scale"]):
        counted.clear()
        for _ in range(5):
            pickle.loads(pickle.dumps(kernel))
        assert len(counted) <= 2  # the module before its pickle, and the one after


def test_declared_parameters_travel(driver, package):
    named = cupola.load(
        "scale", NAME, signatures={"scale": "float* data, float factor, unsigned count"}
    )
    taken = pickle.loads(pickle.dumps(named))
    assert [one.name for one in taken["scale"].params] == ["data", "factor", "count"]
    plain = pickle.loads(pickle.dumps(cupola.load("scale", NAME)))
    assert plain is not taken


def test_an_unloaded_image_of_a_package(driver, package):
    axpy, scale = kernels_of(package)
    sent = pickle.dumps(scale)
    for kernel in (axpy, scale):
        kernel.module.unload()
        with refused(cupola.ArgumentError, saying="unloaded"):
            pickle.dumps(kernel)
    assert pickle.loads(sent).module.loaded


def test_it_is_on_other_devices_as_before(package):
    code = f"""
import pickle, cupola
from {NAME} import kernels
other = kernels.load(0).on(1)
assert other.device_index == 1 and kernels.load(0).on(1) is other
assert pickle.loads(pickle.dumps(kernels.load(1))) is kernels.load(1)
"""
    paths = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_DEVICES": "2"}
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**environment, "PYTHONPATH": paths}
    )

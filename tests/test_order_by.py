"""examples/sort in a wheel: a sort that its user completes by a comparison."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import hooks
import images
import pytest

pytestmark = pytest.mark.campaign("a wheel of an example")

ROOT = Path(__file__).resolve().parents[1]


def called(folder, *arguments, path, **environment):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **environment, "PYTHONPATH": hooks.search_path(*path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The content of the wheel, in a folder without the sources."""
    images.nvcc()
    place = tmp_path_factory.mktemp("sort")
    unwanted = shutil.ignore_patterns("build", "*.fatbin", "*.json", "*.egg-info")
    shutil.copytree(ROOT / "examples/sort", place / "source", ignore=unwanted)
    hooks.install(place / "hooks")
    wheel = ("-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index")
    arguments = (*wheel, "--wheel-dir", str(place), ".")
    called(place / "source", *arguments, path=[place / "hooks"], CUPOLA_ARCHITECTURES="80,90,cpu")
    with zipfile.ZipFile(next(place.glob("*.whl"))) as archive:
        archive.extractall(place / "site")
    shutil.copytree(place / "source" / "tests", place / "tests")
    return place


def test_the_wheel_has_lto_ir_and_no_machine_code(installed):
    manifest = json.loads((installed / "site/order_by/kernels.json").read_text())
    assert manifest["architectures"] == {"cubin": [], "ptx": [75, 90], "ltoir": [75, 80, 90]}
    assert manifest["open"] == [
        {"name": "less", "declaration": "bool less(const float*, const float*)"}
    ]
    assert not list((installed / "site/order_by").glob("*.so"))


def test_its_own_tests(installed, driver):
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    output = called(installed, *arguments, path=[installed / "site"], CUPOLA_DRIVER=driver)
    assert " passed" in output and "failed" not in output

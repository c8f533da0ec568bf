"""examples/matmul in a wheel: kernels of compute capability 9.0a beside plain ones."""

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
    place = tmp_path_factory.mktemp("matmul")
    unwanted = shutil.ignore_patterns("build", "*.fatbin", "*.json", "*.egg-info")
    shutil.copytree(ROOT / "examples/matmul", place / "source", ignore=unwanted)
    hooks.install(place / "hooks")
    wheel = ("-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index")
    arguments = (*wheel, "--wheel-dir", str(place), ".")
    called(place / "source", *arguments, path=[place / "hooks"], CUPOLA_ARCHITECTURES="80,90a")
    with zipfile.ZipFile(next(place.glob("*.whl"))) as archive:
        archive.extractall(place / "site")
    shutil.copytree(place / "source" / "tests", place / "tests")
    return place


def test_each_kernel_has_its_targets(installed):
    manifest = json.loads((installed / "site/matmul/kernels.json").read_text())
    assert manifest["architectures"] == {"cubin": [80, "90a"], "ptx": [75, 80, "90a"]}
    resources = {one["name"]: set(one["resources"]) for one in manifest["kernels"]}
    assert resources["product_hopper"] == {"sm_90a"}
    assert resources["product_plain"] == {"sm_75", "sm_80", "sm_90a"}


def test_its_own_tests(installed, driver):
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    output = called(installed, *arguments, path=[installed / "site"], CUPOLA_DRIVER=driver)
    assert " passed" in output and "failed" not in output


def test_the_log_says_which_image_is_taken(installed, driver):
    code = "from matmul import kernels; kernels.load()"
    options = {"CUPOLA_DRIVER": driver, "CUPOLA_LOG": "info"}
    said = called(installed, "-c", code, path=[installed / "site"], **options)
    assert "90a" in said, said

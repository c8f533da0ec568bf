"""examples/stencil in a wheel: a kernel in variants, measured, and chosen by size and device."""

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


def called(folder, *arguments, path, status=0, **environment):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **environment, "PYTHONPATH": hooks.search_path(*path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def wheel(place):
    arguments = ("-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index")
    arguments += ("--wheel-dir", str(place / "wheels"), ".")
    shutil.rmtree(place / "site", ignore_errors=True)
    called(place / "source", *arguments, path=[place / "hooks"], CUPOLA_ARCHITECTURES="80,90")
    with zipfile.ZipFile(next((place / "wheels").glob("*.whl"))) as archive:
        archive.extractall(place / "site")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The content of the wheel, in a folder without the sources."""
    images.nvcc()
    place = tmp_path_factory.mktemp("stencil")
    unwanted = shutil.ignore_patterns("build", "*.fatbin", "*.json", "*.egg-info")
    shutil.copytree(ROOT / "examples/stencil", place / "source", ignore=unwanted)
    hooks.install(place / "hooks")
    wheel(place)
    shutil.copytree(place / "source" / "tests", place / "tests")
    return place


def test_the_wheel_has_a_kernel_for_each_variant(installed):
    manifest = json.loads((installed / "site/stencil/kernels.json").read_text())
    (family,) = manifest["families"]
    assert len(family["variants"]) == len(manifest["kernels"]) == 30
    assert {one["library"] for one in family["variants"]} == {"stencil.kernels"}


def test_its_own_tests(installed, driver):
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    output = called(installed, *arguments, path=[installed / "site"], CUPOLA_DRIVER=driver)
    assert " passed" in output and "failed" not in output


SHOW = """
import numpy as np, stencil
from stencil.families import smooth
x = np.ones((300, 300), np.float32)
stencil.smooth(x)
print(smooth.explain(x, x, 300, 300))
"""


def test_it_is_measured_and_the_next_wheel_has_the_table(installed, driver):
    tuning = installed / "source/stencil/tuning"
    arguments = ("-m", "cupola", "tune", "stencil", "--output", str(tuning), "--budget", "20",
                 "--search", "greedy", "--picture", "smooth.svg")  # fmt: skip
    path, settings = [installed / "site"], {"CUPOLA_DRIVER": driver}
    output = called(installed, *arguments, path=path, **settings)
    assert "stencil.smooth" in output and str(tuning) in output
    assert (installed / "smooth.svg").read_text().startswith("<svg")
    (table,) = tuning.glob("*.json")
    (family,) = json.loads(table.read_text())["families"]
    assert family["rows"] and family["key"] == ["rows", "columns"]
    wheel(installed)
    assert (installed / "site/stencil/tuning" / table.name).read_bytes() == table.read_bytes()
    shown = called(installed, "-c", SHOW, path=path, CUPOLA_TUNE="tables", **settings)
    assert table.name in shown and "256" in shown, shown
    default = called(installed, "-c", SHOW, path=path, CUPOLA_TUNE="off", **settings)
    assert "TX=32 TY=8 ROWS=1" in default or "'TX': 32" in default, default


def test_the_judge_finds_a_variant_whose_grid_is_too_small(installed, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(installed / "site", site)
    judge = ("-m", "cupola", "judge", "stencil:smooth", "--seconds", "1")
    assert "smooth: right (" in called(tmp_path, *judge, path=[site])
    manifest = site / "stencil/kernels.json"
    text = manifest.read_text()
    manifest.write_text(text.replace("TY * ROWS)", "TY * ROWS * ROWS)"))
    told = called(tmp_path, *judge, path=[site], status=1)
    assert "finding variant: with TX=" in told and "ROWS=" in told

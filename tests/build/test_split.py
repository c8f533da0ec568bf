# tests/build/test_split.py - machine code for some targets in wheels of their own.
import json
import shutil
import subprocess
import sys
import zipfile

import pytest
from project import PYPROJECT, Project

from cupola.build.error import BuildError
from cupola.build.wheel_split import split_wheel
from cupola.exceptions import ImageError
from cupola.image import reader, wheel
from cupola.image.manifest import Manifest
from cupola.image.manifest_text import written

pytestmark = pytest.mark.campaign("builds of packages")

NAME, PART = "slope-1.2-py3-none-any.whl", "slope_sm90-1.2-py3-none-any.whl"
EXTRA = '[project.optional-dependencies]\nsm90 = ["slope-sm90==1.2"]\n'
TABLES = """
[[tool.cupola.kernels]]
library = "slope.kernels"
sources = ["one/*.cu"]
architectures = ["80", "90", "120"]

[[tool.cupola.kernels]]
library = "slope.older"
sources = ["one/*.cu"]
architectures = ["80"]
"""
ONE = 'extern "C" __global__ void fill(float* out) { out[threadIdx.x] = 3; }\n'
USE = """
import json, sys, warnings
import numpy as np, cupola
from slope import kernels
warnings.simplefilter("error")
out = cupola.zeros(4, np.float32)
kernels.fill[1, 4](out)
print(json.dumps([out.get().tolist(), kernels.load().name]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the whole wheel, and a folder with the two wheels into which it is divided."""
    folder = tmp_path_factory.mktemp("split")
    project = Project(folder / "tree", TABLES)
    project.write("pyproject.toml", PYPROJECT + TABLES + EXTRA)
    (project.folder / "one").mkdir()
    project.write("one/a.cu", ONE)
    project.setup("--quiet", "bdist_wheel", "--dist-dir", folder / "whole")
    split_wheel(folder / "whole" / NAME, {"sm90": ["90"]}, folder / "dist")
    return folder


def installed(built, site, requirement="slope"):
    """Install a package by pip into an empty folder; pip finds only the wheels in the folder
    ``dist``.
    """
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-compile"]
    pip += ["--find-links", built / "dist", "--target", site, requirement]
    subprocess.run(list(map(str, pip)), check=True)
    return site / "slope"


def library(site):
    """The loaded kernel library of an installed package, by its name alone."""
    from cupola.core.kernel_library import KernelLibrary

    made = KernelLibrary("slope.kernels", {"fill": "fill"})
    made._found = made._search()
    return made


@pytest.fixture
def site(built, tmp_path, monkeypatch):
    """A folder with the package and its part, from which this process imports."""
    package = installed(built, tmp_path / "site", requirement="slope[sm90]")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "slope"]:
        monkeypatch.delitem(sys.modules, name)
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "slope"]:
        del sys.modules[name]


def code(path):
    return [f"{one.kind} {one.target}" for one in reader.read_fatbin(path.read_bytes())]


def test_an_extra_installs_the_part(built, tmp_path):
    package = installed(built, tmp_path / "without")
    assert {path.name for path in package.glob("*.fatbin")} == {"kernels.fatbin", "older.fatbin"}
    package = installed(built, tmp_path / "with", requirement="slope[sm90]")
    assert code(package / "kernels.sm90.fatbin") == ["cubin 90"]
    assert code(package / "kernels.fatbin") == ["cubin 80", "cubin 120", "ptx 75", "ptx 120"]
    manifest = json.loads((package / "kernels.json").read_text())
    assert manifest["parts"] == [{"name": "sm90", "targets": ["sm_90"], "capabilities": [90]}]
    assert manifest["architectures"] == {"cubin": [80, 120], "ptx": [75, 120]}
    (kernel,) = json.loads((package / "kernels.sm90.json").read_text())["kernels"]
    assert list(kernel["resources"]) == ["sm_90"]
    assert "sm_90 :" not in (package / "kernels.pyi").read_text()
    about = (tmp_path / "with" / "slope_sm90-1.2.dist-info" / "METADATA").read_text()
    assert "Name: slope-sm90\nVersion: 1.2\n" in about and "Requires-Dist: slope==1.2\n" in about


def test_installed_kernels_run(built, tmp_path, driver):
    installed(built, tmp_path / "site", requirement="slope[sm90]")
    environment = {"PYTHONPATH": str(tmp_path / "site"), "CUPOLA_DRIVER": driver}
    done = subprocess.run(
        [sys.executable, "-c", USE], env={**subprocess.os.environ, **environment},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    numbers, place = json.loads(done.stdout)
    assert numbers == [3] * 4
    import cupola

    takes_part = driver == "cuda" and cupola.Device(0).compute_capability == (9, 0)
    assert place.endswith("kernels.sm90.fatbin" if takes_part else "kernels.fatbin")


def test_each_device_takes_the_code_that_one_image_would_give_it(site):
    import slope.kernels  # noqa: F401 - the library reads its folder

    found = library(site)
    _, manifest, place = found._found
    for capability in reader.CAPABILITIES:
        part, missing = found._part(capability, manifest, place)
        assert missing == "" and (part is not None) == (capability == 90)
    part, _ = found._part(90, manifest, place)
    assert part[2] == str(site / "kernels.sm90.fatbin") and "fill" in part[1]


def test_a_missing_part_names_the_extra(site, monkeypatch):
    import slope.kernels  # noqa: F401

    (site / "kernels.sm90.fatbin").unlink()
    found = library(site)
    _, manifest, place = found._found
    part, missing = found._part(90, manifest, place)
    assert part is None and missing.endswith("pip install 'slope[sm90]'")
    assert missing.startswith("sm_90 of slope is in a wheel of its own")
    # A device takes other code of the package, with a warning. If the package has no other code for
    # the device, the error names the part and the reason.
    monkeypatch.setattr("cupola.device.is_cpu", lambda index: False)
    monkeypatch.setattr(found, "_part", lambda *given: (None, missing))
    with pytest.warns(RuntimeWarning, match=r"slope\.kernels: sm_90 of slope.*until then"):
        assert "fill" in found.load()
    found = library(site)
    monkeypatch.setattr(found, "_part", lambda *given: (None, missing))
    found._found = (b"\x50\xed\x55\xba", *found._found[1:])
    with pytest.raises(ImageError, match=r"(?s)kernels\.fatbin.*pip install 'slope\[sm90\]'"):
        found.load()


@pytest.mark.parametrize("key, value", [("package", "slope 1.3"), ("sources", {}), ("part", "x")])
def test_a_part_of_another_build_is_refused(site, key, value):
    import slope.kernels  # noqa: F401

    path = site / "kernels.sm90.json"
    path.write_text(written({**json.loads(path.read_text()), key: value}))
    found = library(site)
    with pytest.raises(ImageError, match=r"kernels\.sm90\.fatbin .*kernels\.json"):
        found._part(90, *found._found[1:])
    from cupola.image import verification

    faults = [(one.file, one.record) for one in verification.verify(site) if one.fault]
    assert faults == [("kernels.sm90.fatbin", "the manifest"), ("kernels.sm90.json", "RECORD")]


def test_inspect_and_verify_show_the_part(site):
    from cupola.image import verification
    from cupola.tools.command import by_device

    files = [one.file for one in verification.verify(site) if not one.fault]
    assert files == ["kernels.fatbin", "kernels.sm90.fatbin", "older.fatbin"]
    images = by_device.images_of("slope")
    assert [path.name for path in images] == ["kernels.fatbin", "older.fatbin"]
    row = by_device.of_file(images[0], images[0].read_bytes())["fill"]
    assert row["9.0"] == "sm_90, of slope-sm90" and row["8.9"] == "sm_80"
    (site / "kernels.sm90.fatbin").unlink()
    row = by_device.of_file(images[0], images[0].read_bytes())["fill"]
    assert row["9.0"].startswith("compute_75; sm_90 of slope is in a wheel of its own")


def test_wrong_parts_are_refused(built, tmp_path):
    whole, out = built / "whole" / NAME, tmp_path / "out"
    for parts, words in {
        ("new", "100"): "no extra 'new'",
        ("sm90", "103"): "no image has code for sm_103",
        ("sm90", "ninety"): "'ninety' is no target",
        ("../sm90", "90"): "expected letters and digits",
    }.items():
        with pytest.raises(BuildError, match=words):
            split_wheel(whole, {parts[0]: [parts[1]]}, out)
        assert not out.exists()
    with pytest.raises(BuildError, match="name another folder"):
        split_wheel(whole, {"sm90": ["90"]}, whole.parent)
    with pytest.raises(BuildError, match="target 90 is in the parts"):
        split_wheel(whole, {"sm90": ["90"], "again": ["90"]}, out)


def test_a_malformed_list_of_parts(site):
    path = site / "kernels.json"
    manifest = json.loads(path.read_text())
    from cupola.image.parts import parts_of

    for parts in (5, [5], [{}], [{"name": "../x", "targets": [], "capabilities": []}],
                  [{"name": "x", "targets": ["a"], "capabilities": ["y"]}]):  # fmt: skip
        read = Manifest(written({**manifest, "parts": parts}).encode(), "kernels.json")
        with pytest.raises(ImageError, match=r"kernels\.json is malformed: parts"):
            parts_of(read)


def test_the_command(built, tmp_path):
    from command_line import cli

    arguments = (built / "whole" / NAME, "--part", "sm90=90", "-o", tmp_path / "dist")
    answer = cli("split", *arguments)
    assert answer.returncode == 0, answer.stderr
    for name in (NAME, PART):
        assert (tmp_path / "dist" / name).read_bytes() == (built / "dist" / name).read_bytes()
        assert name in answer.stdout
        assert zipfile.ZipFile(tmp_path / "dist" / name).testzip() is None
        wheel.read(tmp_path / "dist" / name)
    shutil.rmtree(tmp_path / "dist")
    answer = cli("split", *arguments, "--part", "sm90=120")
    assert answer.returncode == 1 and "each part once" in answer.stderr

# tests/install/test_build_systems.py - examples/systems: kernels by build systems of other makers.
import os
import shutil
import sys
import zipfile

import pytest
from processes import ROOT, call, empty_environment

SYSTEMS = ("scikit-build-core", "meson-python", "hatchling")
# The packages that a build without isolation needs.
TOOLS = {
    "scikit-build-core": ("scikit-build-core", "cmake>=3.20", "ninja"),
    "meson-python": ("meson-python", "ninja"),
    "hatchling": ("hatchling", "editables"),
}
CODE = """
import numpy as np
import waves, waves.kernels

x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
print(waves.mix(x, y, part=0.25)[999])
print(waves.kernels.load().name)
"""


class Project:
    """A copy of an example, and an empty environment."""

    def __init__(self, system, folder, wheel):
        self.system = system
        self.source, self.elsewhere = folder / "waves", folder / "elsewhere"
        unwanted = shutil.ignore_patterns("build", "*.fatbin", "*.json", "*.egg-info")
        shutil.copytree(ROOT / "examples/systems" / system, self.source, ignore=unwanted)
        self.elsewhere.mkdir()
        self.environment, self.bin = empty_environment(folder, wheel)
        self.environment["PATH"] = os.pathsep.join([str(self.bin), self.environment["PATH"]])

    def pip(self, command, *arguments):
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", command]
        return call([*pip, *arguments], self.source, self.environment)

    def run(self, code=CODE):
        """The output of a program, without the lines that a rebuild at import prints."""
        printed = call([self.bin / "python", "-c", code], self.elsewhere, self.environment)
        return printed.split()[-2:]


@pytest.fixture(params=SYSTEMS)
def project(request, tmp_path, wheel):
    return Project(request.param, tmp_path, wheel)


MEASURED = "waves/tuning/nvidia-h200-sm90.json"  # a table that tuning wrote


def test_a_wheel_has_the_kernels(project, tmp_path):
    """The wheel is built in isolation, and installed into an empty environment, which needs no
    compiler.
    """
    table = project.source / MEASURED
    table.parent.mkdir()
    table.write_text("{}")
    if project.system == "meson-python":
        with (project.source / "meson.build").open("a") as build:
            build.write(f"python.install_sources('{MEASURED}', subdir: 'waves/tuning')\n")
    project.pip("wheel", "--no-deps", "--wheel-dir", tmp_path, ".")
    (made,) = tmp_path.glob("waves-1.0-*.whl")
    with zipfile.ZipFile(made) as archive:
        names = set(archive.namelist())
        text = archive.read("waves/kernels.json").decode()
    expected = {"__init__.py", "kernels.py", "kernels.fatbin", "kernels.json", "ops.py", "mix.op"}
    assert {MEASURED, *[f"waves/{name}" for name in expected]} <= names
    assert '"package": "waves 1.0"' in text
    assert not [name for name in names if name.endswith((".cu", ".d", ".made", ".cubin"))]
    project.pip("install", made)
    value, place = project.run()
    assert value == "0.25" and str(project.bin.parent) in place


def test_an_editable_installation_follows_the_source(project):
    project.pip("install", "cupola[build]", *TOOLS[project.system])
    options = ["--no-build-isolation", "--no-deps", "--editable", "."]
    if project.system == "scikit-build-core":
        options += ["-Cbuild-dir=build/editable", "-Ceditable.rebuild=true"]
    project.pip("install", *options)
    assert project.run()[0] == "0.25"
    header = project.source / "csrc" / "part.cuh"
    header.write_text(header.read_text().replace("part * x", "2 * part * x"))
    if project.system == "hatchling":  # Hatchling runs no code at import
        build = [project.bin / "cupola", "build", "--into", ".", "--native"]
        call(build, project.source, project.environment)
    assert project.run()[0] == "0.5"


def test_a_mistake_in_a_kernel_is_shown(project):
    source = project.source / "csrc" / "waves.cu"
    source.write_text(source.read_text().replace("weighted(", "waited("))
    project.pip("install", "cupola[build]", *TOOLS[project.system])
    wheel = [sys.executable, "-m", "pip", "--python", str(project.bin / "python"), "wheel"]
    wheel += ["--no-build-isolation", "--no-deps", "."]
    with pytest.raises(pytest.fail.Exception) as caught:
        call(wheel, project.source, project.environment)
    said = str(caught.value)
    assert 'waves.cu(6): error: identifier "waited" is undefined' in said.replace("\n", " ")
    assert not list(project.source.glob("*.whl"))

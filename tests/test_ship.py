"""The pages about shipping do what they say: their files are a package, their Python uses it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import hooks
import images
import pytest

pytestmark = pytest.mark.campaign("builds of packages")

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/how-to/shipping.md", "docs/how-to/package-builds.md")


def blocks():
    """(language, text) of each, in order."""
    text = "".join((ROOT / page).read_text() for page in PAGES)
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    images.nvcc()
    folder = tmp_path_factory.mktemp("ship")
    hooks.install(folder / "hooks")
    (folder / "waves").mkdir()
    (folder / "waves/__init__.py").write_text("")
    for _, text in blocks():
        named = re.match(r"(?:#|//) (\S+\.\w+)$", text.partition("\n")[0])
        if named:
            path = folder / named[1]
            path.parent.mkdir(exist_ok=True)
            with path.open("a") as file:  # a later block of a file goes on in it
                file.write(text)
    return folder


def python(folder, *arguments, driver="cpu", fails=False):
    paths = hooks.search_path(folder, folder / "hooks")
    environment = {**os.environ, "CUPOLA_DRIVER": driver, "PYTHONPATH": paths}
    environment.pop("CUPOLA_ARCHITECTURES", None)
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_package_and_what_uses_it(project, driver):
    # The table alone, and the keyword alone: both name the same library.
    said = python(project, "setup.py", "build_kernels", "--inplace", fails=True)
    assert "two kernel libraries 'waves.kernels'" in said
    build = ["-c", "from setuptools import setup; setup()", "build_kernels", "--inplace"]
    assert "waves.kernels: compile csrc/waves.cu" in python(project, *build)
    uses = [text for kind, text in blocks() if kind == "python" and "# setup.py" not in text]
    assert len(uses) == 4
    python(project, "-c", "\n".join(uses), driver=driver)


def test_from_setup_py(project):
    path = project / "pyproject.toml"
    text = path.read_text()
    path.write_text(text.partition("[[tool.cupola")[0])
    try:
        said = python(project, "setup.py", "build_kernels", "--dry-run")
    finally:
        path.write_text(text)
    assert "waves.kernels: PTX compute_75" in said


def test_the_table_of_keys_is_whole():
    from dataclasses import fields

    from cupola.build import Kernels

    text = (ROOT / "docs/how-to/package-builds.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert [field.name for field in fields(Kernels)] == listed

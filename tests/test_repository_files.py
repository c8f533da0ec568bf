# tests/test_repository_files.py - files for GitHub, editors and citations agree with the project.
import json
import re
import subprocess
from pathlib import Path

import pytest

from cupola.version import __version__

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
GOALS = set(re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


def goals_in(text):
    return set(re.findall(r"\bmake (?:--[\w-]+ )*([a-z][\w-]*)", text))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_goals_exist(path):
    """An action is named by a commit, with its version as a comment."""
    text = path.read_text()
    for used in re.findall(r"uses: (.+)", text):
        assert used.startswith("./") or re.fullmatch(
            r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used
        ), used
    assert goals_in(text) <= GOALS
    # Nothing is allowed but what a job names.
    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)


def test_each_action_has_one_pin():
    used = {use for path in WORKFLOWS for use in re.findall(r"uses: (\w.+)", path.read_text())}
    names = [use.partition("@")[0] for use in used]
    assert sorted(names) == sorted(set(names))


def test_one_version():
    """package/cupola/version.py has it; other files that need a copy are compared with it."""
    copies = {"CITATION.cff": r"^version: (.+)$", "tools/conda/recipe.yaml": r"^  version: (\d.+)$"}
    for name, pattern in copies.items():
        (found,) = re.findall(pattern, (ROOT / name).read_text(), re.MULTILINE)
        assert found == __version__, name
    project = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in project
    assert 'version = { attr = "cupola.version.__version__" }' in project
    changes = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert changes[0] == __version__


def test_hooks_and_the_container_call_goals_that_exist():
    hooks = goals_in((ROOT / ".pre-commit-config.yaml").read_text())
    assert {"lint-python", "lint-workflows"} <= hooks <= GOALS
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert goals_in(container["postCreateCommand"]) <= GOALS
    assert container["containerEnv"] == {"CUPOLA_DRIVER": "cpu"}  # it needs no GPU


def test_the_linters_are_pinned():
    lint = re.search(r"^lint = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)[1]
    requirements = re.findall(r'"([^"]+)"', lint)
    assert {"zizmor", "check-jsonschema"} <= {one.partition("==")[0] for one in requirements}
    assert all("==" in one for one in requirements)


def test_the_recipe_has_the_requirements_of_the_project():
    """tests/install/test_conda.py has rattler-build read it."""
    recipe = (ROOT / "tools" / "conda" / "recipe.yaml").read_text()
    listed = {line.strip().lower() for line in re.findall(r"^ +- (.+)$", recipe, re.MULTILINE)}
    project = (ROOT / "pyproject.toml").read_text()
    for key in ("requires", "dependencies"):
        (text,) = re.findall(rf"^{key} = \[(.+)\]$", project, re.MULTILINE)
        for requirement in re.findall(r'"([^"]+)"', text):
            assert re.sub(r"([<>=]+)", r" \1", requirement, count=1).lower() in listed
    smoke = re.search(r"^        - (\S+smoke.py)$", recipe, re.MULTILINE)[1]
    assert (ROOT / "tools" / "conda" / smoke).is_file()


def test_a_source_distribution_has_the_files_of_the_repository():
    """Its tests read them. Single files have to be named, folders are taken whole."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True
    ).stdout.split("\n")
    if listed == [""]:  # a source distribution has no history
        listed = [path.relative_to(ROOT).as_posix() for path in ROOT.iterdir() if path.is_file()]
    rules = (ROOT / "MANIFEST.in").read_text().splitlines()
    folders = {line.split()[1] for line in rules if line.startswith("graft ")}
    files = {name for line in rules if line.startswith("include ") for name in line.split()[1:]}
    own = {"MANIFEST.in", "PKG-INFO", "setup.cfg"}
    for name in filter(None, listed):
        folder = name.rpartition("/")[0]
        taken = any(folder == one or folder.startswith(f"{one}/") for one in folders)
        module = folder == "package"  # py-modules of pyproject.toml
        assert taken or module or name in files | own, f"MANIFEST.in leaves {name} out"

"""The plugin of coverage.py: kernels beside Python in data, reports and contexts."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import coverage
import coverage_program as program
import pytest
from coverage_program import line

from cupola.coverage.sources import Selection

pytestmark = pytest.mark.campaign("nested runs of pytest")

TEST = """
import subprocess, sys
import numpy as np
import cupola


def launch(n, rare=-1):
    x = cupola.zeros(128, np.int32)
    cupola.load("kernels.ptx")["counted"][2, 64](x, n, rare)
    return x.get()

def test_usual():
    assert launch(100)[127] == 0

def test_rare():
    assert launch(8, 3)[3] == 100

def test_process():
    subprocess.run([sys.executable, "-c", "import test_it; test_it.launch(70, 69)"], check=True)
"""
SETTINGS = """
[run]
plugins = cupola.coverage
branch = {branch}
source = .
{more}
[html]
show_contexts = True
"""
OUTER = ("PYTEST_", "COV_CORE_", "COVERAGE_")  # variables of the run that this test is in


@pytest.fixture(scope="module")
def ptx(tmp_path_factory):
    """Compiled from a copy, which is in the folder that the settings name."""
    folder = tmp_path_factory.mktemp("coverage")
    shutil.copy(program.SOURCE, folder / "kernels.cu")
    (folder / "test_it.py").write_text(TEST)
    made = program.images.compiled(
        "plugin.ptx", folder / "kernels.cu", "-ptx", "-G", "-arch=compute_75"
    )
    shutil.copy(made, folder / "kernels.ptx")
    return folder


@pytest.fixture
def project(ptx):
    for path in ptx.iterdir():
        if path.name.startswith((".coverage", ".cupola")) or path.name in ("htmlcov", "out.xml"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    configure(ptx)
    return ptx


def configure(folder, more="", branch=True):
    (folder / ".coveragerc").write_text(SETTINGS.format(more=more, branch=branch))


def run(folder, *arguments, driver="cpu"):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(OUTER)}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**environment, "CUPOLA_DRIVER": driver},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def measured(folder, *arguments):
    return run(folder, "pytest", "-q", "-p", "no:cacheprovider", "--cov", *arguments)


def data_of(folder):
    data = coverage.CoverageData(str(folder / ".coverage"))
    data.read()
    return data


def contexts(folder, text):
    """The tests that ran a line of the kernel."""
    found = data_of(folder).contexts_by_lineno(str(folder / "kernels.cu"))[line(text)]
    return {re.sub(r"\|run$|.*[:.]", "", name.removesuffix("|run")) for name in found}


def test_reports_have_kernels_beside_python(project):
    """Their missing lines and branches, as text, HTML and XML."""
    output = measured(
        project, "--cov-report=term-missing", "--cov-report=html", "--cov-report=xml:out.xml",
        "-k", "usual",
    )  # fmt: skip
    rare, never = line("if (rare == i)"), line("sum = 1000")
    (row,) = [each for each in output.splitlines() if each.startswith("kernels.cu")]
    missing = re.findall(r"\d+", row.split("%")[1])
    assert str(never) in missing and str(line("x[0] = 1;")) in missing
    assert str(line("int sum = 0;")) not in missing
    assert any(each.startswith("test_it.py") for each in output.splitlines())

    (page,) = (project / "htmlcov").glob("*kernels_cu.html")
    for kind, number in (("mis", never), ("par", rare)):
        shown = rf'<p class="{kind}[^"]*">(?:(?!</p>).)*id="t{number}"'
        assert re.search(shown, page.read_text(), re.DOTALL)

    lines = {
        int(each.get("number")): each
        for file in ElementTree.parse(project / "out.xml").iter("class")
        if file.get("filename") == "kernels.cu"
        for each in file.iter("line")
    }
    assert lines[never].get("hits") == "0" and lines[line("int sum = 0;")].get("hits") == "1"
    assert lines[rare].get("condition-coverage") == "50% (1/2)"
    assert lines[rare].get("missing-branches") == str(never)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_line_counts_for_the_test_that_launched_it(project, workers):
    measured(project, "--cov-context=test", *workers)
    assert contexts(project, "sum = 1000") == {"test_rare", "test_process"}
    assert contexts(project, "int sum = 0;") >= {"test_usual", "test_rare", "test_process"}


def test_coverage_names_the_contexts_too(project):
    configure(project, "dynamic_context = test_function")
    run(project, "coverage", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert contexts(project, "sum = 1000") == {"test_rare", "test_process"}


def test_without_branches_there_are_lines(project):
    configure(project, branch=False)
    output = measured(project, "--cov-report=term-missing")
    (row,) = [each for each in output.splitlines() if each.startswith("kernels.cu")]
    assert row.split("%")[1].split()[0].startswith(str(line("void never")))
    assert not data_of(project).has_arcs()


def test_settings_leave_files_and_lines_out(project):
    configure(project, "omit = kernels.*")
    assert "kernels.cu" not in measured(project)
    configure(project)
    source = (project / "kernels.cu").read_text()
    try:
        (project / "kernels.cu").write_text(
            source.replace("sum = 1000;", "sum = 1000;  // pragma: no cover")
        )
        output = measured(project, "--cov-report=term-missing", "-k", "usual")
    finally:
        (project / "kernels.cu").write_text(source)
    (row,) = [each for each in output.splitlines() if each.startswith("kernels.cu")]
    assert str(line("sum = 1000")) not in re.findall(r"\d+", row.split("%")[1])


def test_relative_files_and_combined_data(project):
    configure(project, "relative_files = True\nparallel = True")
    for name in ("usual", "rare"):
        run(project, "coverage", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", name)
    run(project, "coverage", "combine")
    assert "kernels.cu" in data_of(project).measured_files()
    output = run(project, "coverage", "report", "-m")
    (row,) = [each for each in output.splitlines() if each.startswith("kernels.cu")]
    assert str(line("sum = 1000")) not in re.findall(r"\d+", row.split("%")[1])


def test_a_program_without_kernels_has_the_usual_report(project):
    (project / "plain.py").write_text("print(1)\n")
    run(project, "coverage", "run", "plain.py")
    output = run(project, "coverage", "report")
    assert "plain.py" in output and "kernels.cu" not in output and "Warning" not in output


class Settings:
    """Those of coverage.py that select files."""

    def __init__(self, *source):
        self.source = list(source)

    def get_option(self, name):
        return self.source if name == "run:source" else None


@pytest.mark.parametrize("folder", ["", "src/"])
@pytest.mark.parametrize("source", ["mine", "{folder}mine"])
def test_a_package_has_the_sources_of_its_project(tmp_path, monkeypatch, folder, source):
    package = tmp_path / folder / "mine"
    for path in (package / "__init__.py", tmp_path / "csrc/a.cu", tmp_path / "pyproject.toml"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(package.parent))
    settings = Settings(source.format(folder=folder))
    assert Selection(settings).includes(str(tmp_path / "csrc/a.cu"))
    (tmp_path / "pyproject.toml").unlink()  # then only the folder beside the package
    assert Selection(settings).includes(str(tmp_path / "csrc/a.cu")) is (folder == "")
    monkeypatch.chdir(tmp_path / "csrc")
    if source == "mine":
        assert Selection(settings).includes(str(tmp_path / "csrc/a.cu")) is (folder == "")


def test_kernels_outside_of_source_are_named(project):
    (project / "inside").mkdir(exist_ok=True)
    (project / "inside/test_it.py").write_text(TEST)
    text = (project / ".coveragerc").read_text()
    (project / ".coveragerc").write_text(text.replace("source = .", "source = inside"))
    tests = ["-k", "usual", "inside/test_it.py"]
    output = run(project, "pytest", "-q", "-p", "no:cacheprovider", "--cov", *tests)
    shutil.rmtree(project / "inside")
    assert "no source of a kernel is in source = ['inside']" in output
    assert f"{project / 'kernels.cu'}; add their folder" in output


@pytest.mark.parametrize("compiled", ["numpy", "cupola.kernels", "cupola.graph"])
def test_a_source_of_a_package_without_python_files(project, compiled):
    """coverage.py imports the package, and forgets what the import has loaded."""
    package = project / "measured"
    (package / "csrc").mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(f"import {compiled}\n")
    (project / ".coveragerc").write_text(
        "[run]\nplugins = cupola.coverage\nsource = measured.csrc\n"
    )
    (project / "program.py").write_text(
        f"import measured, test_it, {compiled}\nprint(test_it.launch(100)[127])\n"
    )
    assert run(project, "coverage", "run", "program.py").startswith("0\n")

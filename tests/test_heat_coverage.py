"""Coverage of the kernels of examples/heat: built with the switch, measured by its own tests."""

import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import hooks
import images
import pytest

pytestmark = pytest.mark.campaign("a build of an example, and a nested run of pytest")

HEAT = Path(__file__).resolve().parents[1] / "examples/heat"
OUTER = ("PYTEST_", "COV_CORE_", "COVERAGE_")  # variables of the run that this test is in
PLANTED = """    if (rate > 100) {
        rate = 0;
    }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the example with a branch in its first kernel that no test takes."""
    images.nvcc()
    folder = tmp_path_factory.mktemp("coverage") / "heat"
    unwanted = shutil.ignore_patterns("build", "*.so", "*.cpp", "kernels.*", "*.egg-info")
    shutil.copytree(HEAT, folder, ignore=unwanted)
    hooks.install(folder / "hooks")
    source = folder / "csrc/heat.cu"
    text = source.read_text()
    place = text.index("    const long long at")
    source.write_text(text[:place] + PLANTED + text[place:])
    called(folder, "setup.py", "--quiet", "build_kernels", "--inplace")
    called(folder, "-m", "Cython.Build.Cythonize", "-3", "-i", "heat/_steps.pyx")
    return folder


def called(folder, *arguments, driver="cpu"):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OUTER)}
    paths = hooks.search_path(folder, folder / "hooks")
    environment = {**kept, "CUPOLA_DRIVER": driver, "PYTHONPATH": paths}
    environment |= {"CUPOLA_COVERAGE": "exact", "CUPOLA_ARCHITECTURES": "75"}
    environment["JAX_PLATFORMS"] = "cpu"  # the kernels run on the CPU device
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_tests_run_all_lines_but_the_planted_ones(built):
    report = ("--cov", "--cov-report=json", "--cov-report=html")
    # Other processes are not measured: those of ranks, and the workers of a cluster.
    tests = "tests/test_heat.py", "tests/test_ranks.py::test_rows_by_themselves"
    called(built, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, *report)
    files = json.loads((built / "coverage.json").read_text())["files"]
    kernels = files["csrc/heat.cu"]
    lines = (built / "csrc/heat.cu").read_text().splitlines()
    planted = lines.index("        rate = 0;") + 1
    assert kernels["missing_lines"] == [planted]
    assert kernels["missing_branches"] == [[planted - 1, planted]]
    assert len(kernels["executed_lines"]) > 30 and "heat/__init__.py" in files
    (page,) = (built / "htmlcov").glob("*heat_cu.html")
    shown = rf'<p class="mis[^"]*">(?:(?!</p>).)*id="t{planted}"'
    assert re.search(shown, page.read_text(), re.DOTALL)


def test_an_installed_source_is_found_beside_the_package(built, tmp_path):
    """Where it was built is gone: its path ends as that of a file of the project."""
    head, _, rest = (built / ".cupola-coverage").read_bytes().partition(b"\n")
    moved = head + b"\n"
    while rest:
        about, _, rest = rest.partition(b"\n")
        size = int(about.split()[1])
        body = rest[:size].replace(str(built).encode(), b"/gone/heat-1.0")
        moved += b"record %d %08x\n" % (len(body), zlib.crc32(body)) + body
        rest = rest[size:]
    counts = tmp_path / "counts"
    counts.write_bytes(moved)
    ask = (
        "import sys, coverage, cupola.coverage\n"
        "from cupola.coverage.sources import Selection\n"
        "selection = Selection(coverage.Coverage(source=['heat']).config)\n"
        f"files = cupola.coverage.read({str(counts)!r}).report().files\n"
        "print([selection.name_of(path) for path in files if selection.includes(path)])\n"
    )
    assert called(built, "-c", ask).strip() == repr([str(built / "csrc/heat.cu")])

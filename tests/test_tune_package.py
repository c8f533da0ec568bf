"""Tuning of a package's family, and of calls at their first use."""

import json
import subprocess
import sys

import images
import numpy as np
import pytest
from command_line import cli
from test_family_library import NAME, entry, factor, package  # noqa: F401 - a fixture
from tuned_families import mode_case, mode_family

import cupola
from cupola.tuning.measure import CaseRunner, EventClock


def values(count):
    return np.arange(count, dtype=np.int32)


def test_variants_that_a_build_dropped_are_not_measured(package, tmp_path):  # noqa: F811
    family = package([entry()])
    x = values(8)
    with pytest.raises(cupola.ArgumentValueError, match=r"three: the declared default"):
        cupola.tune(family, cupola.Case([x], {"values": 3 * x}, name="three"), progress=False)
    found = cupola.tune(family, cupola.Case([x], {"values": 2 * x}), progress=False)
    (case,) = found.cases
    failures = {one.variant[0]: one.failure for one in case.outcomes if one.failure}
    assert failures[3].kind == "wrong" and failures[4].kind == "launch"
    assert "dropped the variant FACTOR=4" in failures[4].reason
    assert found.rows[0].variant == {"FACTOR": 2} and factor(family) == 2


def test_the_command_on_a_built_package(package, tmp_path, monkeypatch):  # noqa: F811
    package([entry()])
    place = tmp_path / NAME
    (place / "families.py").write_text(
        "from cupola.tuning.family import from_library\n"
        f"scale = from_library('{NAME}.kernels', 'scale')\n"
    )
    (place / "cases.py").write_text(
        "import cupola, numpy as np\n\n"
        "def scale():\n    for n in (8, 64):\n        x = np.arange(n, dtype=np.int32)\n"
        "        yield cupola.Case([x], {0: 2 * x})\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    answer = cli("tune", NAME, "--cases", f"{NAME}.cases:scale", "--output", place / "tuning")
    assert answer.returncode == 0, answer.stderr
    (table,) = (place / "tuning").glob("*.json")
    (family,) = json.loads(table.read_text())["families"]
    assert [row["key"] for row in family["rows"]] == [[8], [64]]
    program = f"import cupola, numpy as np\nfrom {NAME}.families import scale\n"
    program += "print(scale.explain(cupola.zeros(9, np.int32)))\n"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "FACTOR=2" in shown.stdout and "chosen" in shown.stdout, shown.stderr


def test_a_call_measures_its_key_at_the_first_use(tmp_path, monkeypatch):
    images.nvrtc()
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CUPOLA_TUNE", "first-use")
    family = mode_family([0, 1, 2], name="first_use")
    x, out = cupola.to_device(np.arange(64, dtype=np.float32)), cupola.zeros(64, np.float32)
    family(x, out, 64)
    np.testing.assert_array_equal(out.get(), np.arange(64))
    (table,) = (tmp_path / "cache/tuning").glob("*.json")
    (entry,) = json.loads(table.read_text())["families"]
    assert entry["rows"][0]["key"] == [64] and entry["rows"][0]["variant"] == {"MODE": 0}
    assert entry["rows"][0]["variants"] == 1
    before = table.stat().st_mtime_ns
    family(x, out, 60)  # near enough
    assert table.stat().st_mtime_ns == before
    assert "chosen" in str(family.explain(x, out, 64))


def test_a_launch_that_the_driver_refuses_keeps_the_context(monkeypatch):
    """More shared memory than a block may have, then a variant that runs."""
    images.nvrtc()
    family = mode_family([0, 5], shared="MODE * 100000")
    runner = CaseRunner(family, 0, EventClock())
    runner.open(mode_case())
    assert all(one.threads == 64 for one in runner.compile([(0,), (5,)]))
    assert runner.check((5,)).kind == "launch"
    assert runner.check((0,)) is None and runner.sample((0,)) > 0

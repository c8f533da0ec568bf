"""python -m cupola tune: a package's families from its module families to a table of the device."""

import json
import os
import signal
import subprocess
import sys
import time

import images
import pytest
from command_line import cli

import cupola

FAMILIES = """
from tuned_families import mode_family, scale_family
scale = scale_family(name="heat.scale", cases="heat.cases:scale", restrictions=["TX * TY <= 32"])
work = mode_family([0, 1, 5], name="heat.work")
"""
CASES = """
from tuned_families import mode_case, scale_case

def scale():
    yield scale_case(8, 8)
    yield scale_case(16, 64, name="wide")

def work():
    yield mode_case(100)

def wrong():
    yield scale_case(8, 8, wrong=1)

number = 3
"""


@pytest.fixture
def tune(tmp_path, monkeypatch):
    """The command, in a folder with the package heat."""
    images.nvrtc()
    (tmp_path / "heat").mkdir()
    for name, text in (("__init__", ""), ("families", FAMILIES), ("cases", CASES)):
        (tmp_path / "heat" / f"{name}.py").write_text(text)
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    path = os.pathsep.join([str(tmp_path), str(images.SOURCE.parent)])
    monkeypatch.setenv("PYTHONPATH", path)
    return lambda *arguments: cli("tune", *arguments)


def refused(answer, *words):
    assert answer.returncode == 1, answer.stdout
    assert answer.stderr.startswith("cupola: ") and "Traceback" not in answer.stderr
    for each in words:
        assert each in answer.stderr


def test_a_family_of_a_package(tune, tmp_path):
    answer = tune("heat", "--family", "scale", "--picture", tmp_path / "a.svg", "--budget", 20)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[0] == f"heat.scale on {cupola.Device().name}"
    assert lines[2].startswith("rows=8 columns=8 ") and lines[3].startswith("wide ")
    assert lines[2].split()[-3:] == ["6", "0", "0"]
    (table,) = (tmp_path / "cache/tuning").glob("*.json")
    assert lines[4] == f"stored in {table}" and lines[5] == f"drawn in {tmp_path / 'a.svg'}"
    (family,) = json.loads(table.read_text())["families"]
    assert [row["key"] for row in family["rows"]] == [[8, 8], [16, 64]]
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_cases_and_the_folder_by_options(tune, tmp_path):
    answer = tune("heat", "--family", "heat.work", "--cases", "heat.cases:work", "--device", "0",
                  "--output", tmp_path / "heat/tuning", "--search", "greedy", "--hot",
                  "--seed", 3, "--no-resume", "--timeout", 5)  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert "n=100: MODE=1 is wrong: out[5]: got 6.0, expected 5.0; 3 of 100" in answer.stdout
    assert list((tmp_path / "heat/tuning").glob("*.json"))
    assert not list((tmp_path / "cache/tuning").glob("*.json"))


def test_several_devices(tune, monkeypatch):
    monkeypatch.setenv("CUPOLA_CPU_DEVICES", "2")
    monkeypatch.setenv("CUPOLA_DRIVER", "cpu")
    answer = tune("heat", "--family", "scale", "--device", "0,1", "--budget", 20)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[2].startswith("rows=8 columns=8 ") and lines[3].startswith("wide ")
    refused(tune("heat", "--family", "scale", "--device", "0,2"), "2")


def test_what_is_not_stored_is_said(tune, tmp_path, monkeypatch):
    """A folder that is a file, a budget that ends at the default, and a disabled cache."""
    work = "heat", "--family", "work", "--cases", "heat.cases:work"
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nope"):
        refused(tune(*work, "--output", path), f"--output {path}: expected a folder for the table")
    answer = tune(*work, "--output", tmp_path / "kept")
    assert answer.returncode == 0, answer.stderr
    (table,) = (tmp_path / "kept").glob("*.json")
    before = table.read_bytes()
    refused(tune(*work, "--output", tmp_path / "kept", "--budget", 0.001, "--no-resume"),
            "nothing was stored of heat.work")  # fmt: skip
    assert table.read_bytes() == before
    monkeypatch.setenv("CUPOLA_CACHE_DIR", "none")
    assert "not stored: the cache is disabled" in tune(*work).stdout


def test_what_the_command_refuses(tune, tmp_path):
    refused(tune("heat"), "heat.work has no cases", "--cases MODULE:FUNCTION")
    refused(tune("cold"), "there is no module cold.families")
    refused(tune("heat", "--family", "step"), "no family step: known are heat.scale, heat.work")
    refused(tune("heat", "--cases", "heat.cases:work"), "--cases is for one family")
    refused(tune("heat", "--picture", "a.svg"), "--picture is for one family")
    scale = "heat", "--family", "scale", "--cases"
    refused(tune(*scale, "heat.cases"), "expected MODULE:FUNCTION")
    refused(tune(*scale, "heat.cases:none"), "heat.cases has no function none")
    refused(tune(*scale, "heat.cases:number"), "heat.cases has no function number")
    refused(tune(*scale, "heat.none:cases"), "there is no module heat.none")
    refused(tune(*scale, "heat.cases:wrong"), "the declared default (TX=8 TY=1) is wrong")
    assert not list(tmp_path.rglob("*.json"))
    (tmp_path / "heat/families.py").write_text("")
    refused(tune("heat"), "heat.families has no family")
    for words in (("--device", "x"), ("--budget", "0"), ("--search", "best"), ("--seed", "x")):
        assert tune("heat", *words).returncode == 2


def test_a_folder_in_place_of_a_name(tune, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", str(images.SOURCE.parent))
    wrong = "--family", "none"
    for place in (tmp_path / "heat", f"{tmp_path}/heat/"):
        refused(tune(place, *wrong), "has no family none: known are heat.scale, heat.work")
    refused(tune(tmp_path, *wrong), f"{tmp_path} has no __init__.py: expected the name of a ",
            "or its folder, such as ", "/heat\n")  # fmt: skip
    refused(tune(tmp_path / "heat/families.py", *wrong), "families.py is no folder: expected the")
    refused(tune("./cold", *wrong), "./cold is no folder: expected the name of a package, such as")
    (tmp_path / "cupola").mkdir()
    (tmp_path / "cupola/__init__.py").write_text("")
    refused(tune(tmp_path / "cupola", *wrong), "the package cupola is imported from ")


def test_ctrl_c_ends_the_command(tune, tmp_path):
    (tmp_path / "heat/cases.py").write_text(
        CASES.replace("yield scale_case(16", "print('second', flush=True)\n    "
                      "import time; time.sleep(5)\n    yield scale_case(16")
    )  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "cupola", "tune", "heat", "--family", "scale"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "second\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and errors.endswith("cupola: interrupted\n")
    (table,) = (tmp_path / "cache/tuning").glob("*.json")
    (family,) = json.loads(table.read_text())["families"]
    assert [row["key"] for row in family["rows"]] == [[8, 8]]

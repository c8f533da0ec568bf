"""The search for interpreters of `make pythons`."""

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "tools" / "pythons.py"
sys.path.insert(0, str(TOOL.parent))  # where the tool finds tools/interpreters.py


@pytest.fixture
def pythons():
    spec = importlib.util.spec_from_file_location("pythons", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def own_version():
    free = sysconfig.get_config_var("Py_GIL_DISABLED")
    return f"{sys.version_info[0]}.{sys.version_info[1]}{'t' if free else ''}"


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_version_is_found_on_path_and_in_pyenv(pythons, tmp_path, monkeypatch):
    version = own_version()
    real = f'exec "{sys.executable}" "$@"'
    # A script of pyenv fails where another version is chosen, and a name may mislead.
    script(tmp_path / "first" / f"python{version}", "exit 127")
    script(tmp_path / "second" / "python3.10t", real)
    last = script(tmp_path / ".pyenv/versions" / f"{version}.7" / "bin" / f"python{version}", real)
    folders = [str(tmp_path / "first"), str(tmp_path / "second")]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    assert pythons.find(version) == (version, Path(sys.executable))
    assert pythons.find("3.10t") is None
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, str(last.parent)]))
    assert pythons.find(str(last)) == (version, Path(sys.executable))


def test_a_path_that_is_no_python(pythons, tmp_path):
    wrong = script(tmp_path / "python3.12", "exit 1")
    with pytest.raises(
        SystemExit, match=f"{wrong} is no CPython with headers: name an interpreter"
    ):
        pythons.find(str(wrong))


def test_missing_versions_are_named(pythons, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.setattr(sys, "argv", ["pythons.py"])
    assert pythons.main() == 0
    listed = "3.10, 3.11, 3.12, 3.13, 3.13t, 3.14, 3.14t"
    assert capsys.readouterr().out == f"not on this machine: {listed}\n"
    monkeypatch.setattr(sys, "argv", ["pythons.py", "3.12"])
    assert pythons.main() == 1


def test_every_test_of_the_set_exists(pythons):
    for name in pythons.TESTS:
        assert (TOOL.parents[1] / "tests" / f"test_{name}.py").exists(), name

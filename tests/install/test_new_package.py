# tests/install/test_new_package.py - what `new` prints works in an empty environment with a wheel.
import os
import re
import sys

import pytest
from processes import call


@pytest.mark.parametrize("options", [(), ("--op",)], ids=["module", "operation"])
def test_the_printed_commands_work_in_an_empty_environment(tmp_path, wheel, options):
    """Run each command as it is printed, with the pip of the environment alone."""
    call([sys.executable, "-m", "venv", tmp_path / "venv"], tmp_path, dict(os.environ))
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CUPOLA_", "PYTHON", "VIRTUAL_ENV"))
    }
    environment = {
        **kept,
        "CUPOLA_DRIVER": "cpu",
        "CUPOLA_ARCHITECTURES": "75",
        "CUPOLA_CACHE_DIR": str(tmp_path / "cache"),
        "PATH": f"{tmp_path / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",  # half of the time that an installation takes
    }
    # Environments of Python 3.12 and newer have no setuptools.
    pip = ["python", "-m", "pip", "--quiet"]
    call([*pip, "uninstall", "--yes", "setuptools"], tmp_path, environment)
    call([*pip, "install", wheel], tmp_path, environment)
    new = ["python", "-m", "cupola", "new", "soft-sign", *options]
    files, _, commands = call(new, tmp_path, environment).partition("\n\n")
    assert "soft-sign/pyproject.toml" in files.splitlines()
    assert commands.startswith("cd soft-sign\npython -m pip install ")
    told = call(["bash", "-e", "-c", commands], tmp_path, environment)
    (result,) = re.findall(r"\d+ passed.*", told)
    assert "failed" not in result, told
    # Tests of frameworks that the environment lacks are skipped.
    assert ("3 skipped" in result) if options else ("skipped" not in result), told

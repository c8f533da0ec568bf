# tests/install/processes.py - commands that install cupola, and the folders that they run in.
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")


def call(command, folder, environment):
    """Run a command; what it printed, which is shown where it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1500,
    )
    if done.returncode:
        pytest.fail(f"{command} in {folder} failed:\n{done.stdout[-8000:]}", pytrace=False)
    return done.stdout


def empty_environment(folder, wheel):
    """Make an environment in a folder; returns its variables and its folder of programs. The
    variables omit those of cupola and Python, and let pip find the wheel.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CUPOLA_", "PYTHON", "VIRTUAL_ENV"))
    }
    variables = {
        **kept,
        "CUPOLA_DRIVER": "cpu",
        "CUPOLA_ARCHITECTURES": "90",
        "CUPOLA_CACHE_DIR": str(folder / "cache"),
        "PIP_FIND_LINKS": str(wheel.parent),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",  # to compile takes half of the time of an installation
    }
    # The pip of this process's environment installs into the new environment.
    call([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], folder, variables)
    return variables, folder / "venv" / "bin"

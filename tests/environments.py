"""tests/environments.py - environments of Python with packages of PyPI, kept in build/."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[1] / "build"


def pip(python, *arguments, **variables):
    """Skips the test where packages can't be had, with what pip says."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        pytest.skip(f"from PyPI could not be had: {(told or [done.stderr[-200:]])[-1]}")


def python_with(folder, *packages):
    """The interpreter of an environment in build/FOLDER, made again where the packages change."""
    key = "\n".join([sys.version, *packages])
    home = BUILD / folder / hashlib.sha256(key.encode()).hexdigest()[:16]
    python, ready = home / "bin" / "python", home / "ready"
    if not ready.exists():
        shutil.rmtree(BUILD / folder, ignore_errors=True)  # those of other lists
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        pip(python, "install", *packages)
        ready.touch()
    return python

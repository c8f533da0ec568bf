# tests/install/processes.py - commands that install cupola, and the folders that they run in.
import subprocess
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

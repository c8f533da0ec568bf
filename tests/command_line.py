"""Runs `python -m cupola` in a process of its own."""

import os
import subprocess
import sys


def cli(*arguments, **variables):
    environment = {**os.environ, **{k: str(v) for k, v in variables.items()}}
    command = [sys.executable, "-m", "cupola", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)

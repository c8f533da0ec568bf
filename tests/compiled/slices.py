"""Runs a slice of the tests with each kernel as machine code, compiled as users have it."""

import os
import pathlib
import re
import subprocess
import sys

import rotation

TESTS = pathlib.Path(__file__).resolve().parents[1]


def run(files, count, cache):
    """Runs one of `count` slices, chosen by rotation; returns a line that says what ran."""
    chosen = f"{rotation.number() % count}/{count}"
    environment = {**os.environ, "CUPOLA_CPU_MODE": "compile", "CUPOLA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    command += ["--driver=cpu", f"--slice={chosen}", *map(str, files)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, f"slice {chosen} as machine code\n{done.stdout[-20000:]}"
    passed = int(re.search(r"(\d+) passed", done.stdout).group(1))
    assert passed > 0
    return f"as machine code: slice {chosen}, {passed} tests"

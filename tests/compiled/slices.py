"""Runs a slice of the tests in another mode of the CPU device than that of the whole run."""

import os
import pathlib
import re
import subprocess
import sys

import rotation

TESTS = pathlib.Path(__file__).resolve().parents[1]


def run(files, count, cache, mode="compile"):
    """Runs one of `count` slices, chosen by rotation; returns a line that says what ran."""
    chosen = f"{rotation.number() % count}/{count}"
    environment = {**os.environ, "CUPOLA_CPU_MODE": mode, "CUPOLA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    command += ["--driver=cpu", "--campaigns=none", f"--slice={chosen}", *map(str, files)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, f"slice {chosen}, CUPOLA_CPU_MODE={mode}\n{done.stdout[-20000:]}"
    passed = int(re.search(r"(\d+) passed", done.stdout).group(1))
    assert passed > 0
    return f"CUPOLA_CPU_MODE={mode}: slice {chosen}, {passed} tests"

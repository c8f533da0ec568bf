"""Which slice of what is too much for one run is tested in this one.

The number follows from the count of commits, so that successive commits test successive slices;
CUPOLA_TEST_ROTATION names another. Without a repository, or with a shallow one, it is the day.
"""

import functools
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def asked(*words):
    """The output of git; None where there is no repository, or no git."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@functools.cache
def number():
    if named := os.environ.get("CUPOLA_TEST_ROTATION"):
        return int(named)
    if asked("rev-parse", "--is-shallow-repository") == "false":
        return int(asked("rev-list", "--count", "HEAD"))
    return int(time.time() // 86400)

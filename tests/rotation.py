"""Which slice of what is too much for one run is tested in this one.

The number follows from the count of commits, so that successive commits test successive slices;
CUPOLA_TEST_ROTATION names another. Without a repository it is the day.
"""

import functools
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


@functools.cache
def number():
    if named := os.environ.get("CUPOLA_TEST_ROTATION"):
        return int(named)
    command = ["git", "rev-list", "--count", "HEAD"]
    try:
        counted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        counted = None
    if counted is not None and counted.returncode == 0:
        return int(counted.stdout)
    return int(time.time() // 86400)

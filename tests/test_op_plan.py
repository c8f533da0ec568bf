"""Plans of calls, in a process of their own: tests/op_plans.py.

Once a process has loaded an image with printf while sys.stdout is replaced, as under pytest, each
launch takes the full path, and no call follows a plan.
"""

import os
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).with_name("op_plans.py")


def test_plans_of_calls():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", FILE]
    driver = os.environ["CUPOLA_DRIVER"]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [*map(str, command), f"--driver={driver}"], env=kept, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout

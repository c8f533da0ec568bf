"""Runs the programs of tests/cudart/programs on a runtime and a driver, each in its own process.

``python -m cudart.contract --runtime LIBRARY --driver LIBRARY FILE`` writes what each program's
calls return. nvidia.json in this folder is that of NVIDIA's runtime on NVIDIA's driver.
"""

import argparse
import ctypes
import importlib
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from .runtime import Runtime

HERE = Path(__file__).parent
RECORD = HERE / "nvidia.json"
SECONDS = 60  # a program that takes longer hangs
# Programs that the CPU device answers otherwise than NVIDIA's driver, with the reason.
OTHERWISE = {
    "arrays.channels_of_named_formats": "arrays have no normalized or compressed formats",
    "arrays.planes": "arrays have no formats of several planes",
    "arrays.sparse": "arrays are not sparse",
    "external.memory": "there is no memory of other interfaces",
    "external.semaphores": "there are no semaphores of other interfaces",
    "textures.filters_without_documented_samples": "unknown samples are refused",
    "textures.views_of_what_is_not_there": "views must be of what the resource has",
}


def programs():
    """Map "file.function" to each public function of the folder programs."""
    found = {}
    for module in pkgutil.iter_modules([os.fspath(HERE / "programs")]):
        made = importlib.import_module(f"cudart.programs.{module.name}")
        for name, function in vars(made).items():
            own = callable(function) and getattr(function, "__module__", "") == made.__name__
            if own and not name.startswith("_") and not isinstance(function, type):
                found[f"{module.name}.{name}"] = function
    return dict(sorted(found.items()))


def major_of(library):
    """12 or 13, by the library's name."""
    return int(re.search(r"libcudart\.so\.(\d+)", os.path.realpath(library))[1])


def run(name, runtime, driver):
    """The transcript of one program, in this process."""
    if driver:
        ctypes.CDLL(driver)  # the runtime's dlopen finds the loaded library by its SONAME
    called = Runtime(runtime, major_of(runtime))
    try:
        programs()[name](called)
    except Exception:
        called.note("ended by", traceback.format_exc(limit=-1))
    return {"transcript": called.transcript, "called": sorted(called.called)}


def run_all(runtime, driver, names=None):
    """Map each program to its transcript, or to how it ended without one."""
    answers = {}
    for name in names or programs():
        with tempfile.TemporaryFile("w+") as file:
            child = os.fork()
            if child == 0:
                json.dump(run(name, runtime, driver), file)
                file.flush()
                os._exit(0)
            status = _wait(child)
            file.seek(0)
            answers[name] = {"ended": status} if status else json.load(file)
    return answers


def _wait(child):
    """The child's status; "hang" if it takes too long."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hang"


def ask(runtime, driver, names=None):
    """run_all in a new process, which has no driver loaded."""
    command = [sys.executable, "-m", "cudart.contract", "--runtime", runtime, "-"]
    command += ["--driver", driver] if driver else []
    command += ["--only", *names] if names else []
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="- for standard output")
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--driver", default="")
    parser.add_argument("--only", nargs="+")
    options = parser.parse_args()
    answers = run_all(options.runtime, options.driver, options.only)
    text = json.dumps(answers, indent=0, separators=(",", ":")) + "\n"
    if options.file == "-":
        print(text)
    else:
        Path(options.file).write_text(text)


if __name__ == "__main__":
    main()

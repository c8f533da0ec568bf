"""Runs the programs of tests/cudart/programs on a runtime and a driver, each in its own process.

``python -m cudart.contract --runtime LIBRARY --driver LIBRARY FILE`` in tests writes what each
program's calls return. nvidia12.json and nvidia13.json are the records of NVIDIA's two runtimes on
NVIDIA's driver and an H100. test_contract.py compares cupola's runtime with them.

To record new programs on a GPU:

    python -m cudart.contract --runtime /usr/local/cuda/lib64/libcudart.so.13 \\
        cudart/nvidia13.json --only FILE.PROGRAM ...
"""

import argparse
import ctypes
import importlib
import inspect
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
RECORDS = {major: HERE / f"nvidia{major}.json" for major in (12, 13)}
SECONDS = 60  # a program that takes longer hangs
# Programs whose calls return something else with cupola's runtime, and why. A reason that begins
# with CPU_DEVICE holds for the CPU device alone: over NVIDIA's driver, the program agrees.
CPU_DEVICE = "CPU device: "
# A reason that begins with NVIDIA_DRIVER holds with NVIDIA's driver alone.
NVIDIA_DRIVER = "NVIDIA's driver: "
OTHERWISE = {
    "arrays.channels_of_named_formats": "CPU device: no normalized or compressed formats of arrays",
    "arrays.planes": "CPU device: no formats of several planes",
    "arrays.sparse": "CPU device: no sparse arrays",
    "captures.modes_of_a_thread": "CPU device: an unknown mode of capture is refused",
    "devices.remote_writes": "CPU device: no other device writes to its memory",
    "errors.a_reset_after_a_fault": "CPU device: a reset ends a fault",
    "external.memory": "CPU device: no memory of other interfaces",
    "external.semaphores": "CPU device: no semaphores of other interfaces",
    "graph_any_nodes.a_moved_child_graph": "CPU device: an unknown ownership is refused",
    "graph_nodes.semaphore_nodes": "CPU device: no semaphores of other interfaces",
    "graph_nulls.releasing_an_object_that_a_graph_does_not_hold_crashes": (
        "CPU device: a graph releases no more references than it holds"
    ),
    "libraries.code_that_is_wrong": "CPU device: code is read when it is loaded",
    "registered_images.parts_that_do_not_fit": "CPU device: PTX that lacks a symbol is invalid",
    "registration.attributes": "version 12 keeps attributes of functions and of kernels apart",
    "registration.cooperative_launches_on_devices": (
        "NVIDIA's runtime refuses grids of several devices"
    ),
    "start.the_driver_resets_the_device": (
        "NVIDIA's driver: its own function for a reset ends the context that the runtime uses"
    ),
    "textures.every_field": "NVIDIA's runtime leaves border colors unset",
    "textures.filters_without_documented_samples": "NVIDIA's runtime leaves border colors unset",
    "textures.views_of_what_is_not_there": "CPU device: views must be of what the resource has",
}


def programs():
    """Map "file.function" to each public function of the folder programs."""
    found = {}
    for module in pkgutil.iter_modules([os.fspath(HERE / "programs")]):
        made = importlib.import_module(f"cudart.programs.{module.name}")
        for name, function in vars(made).items():
            own = getattr(function, "__module__", "") == made.__name__
            if own and inspect.isfunction(function) and not name.startswith("_"):
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
    # NVIDIA's driver loads a kernel lazily only when no other kernel runs: a program hangs whose
    # second kernel has to end before its first.
    environment = {**os.environ, "CUDA_MODULE_LOADING": "EAGER"}
    done = subprocess.run(command, cwd=HERE.parent, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def lines_of(answers):
    """The JSON text of a record: one line a program."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(answer, separators=(',', ':'))}"
        for name, answer in answers.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", help="- for standard output")
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--driver", default="")
    parser.add_argument("--only", nargs="+", help="run these; keep what FILE has of the others")
    options = parser.parse_args()
    answers = run_all(options.runtime, options.driver, options.only)
    file = Path(options.file)
    if options.only and file.exists():
        kept = json.loads(file.read_text())
        answers = {name: {**kept, **answers}[name] for name in sorted(kept.keys() | answers.keys())}
    text = lines_of(answers)
    if options.file == "-":
        print(text)
    else:
        file.write_text(text)


if __name__ == "__main__":
    main()

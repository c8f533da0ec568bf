# cupola/tools/command/run.py - python -m cupola run PROGRAM ...
"""Runs a program on the driver that cupola would choose."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

HELP = "run any program that uses CUDA; without a GPU, on the CPU device"
EPILOG = """\
PROGRAM is a Python file, an executable, or a command (-- make test). With a usable GPU, it runs
unchanged. On the CPU device these variables are set for it and for the processes that it starts;
`python -m cupola env` prints them for a shell:
  LD_LIBRARY_PATH    begins with the folders of cupola's libcudart and libcuda.so.1, and of a
                     libnvrtc.so that returns PTX in place of a cubin
  NVCC_APPEND_FLAGS  ends with flags that embed PTX and link the shared CUDA runtime
  LIBRARY_PATH       begins with a folder in which -lcudart and -lcudart_static are cupola's
  PATH               begins with an nvcc that writes PTX in place of a cubin
  PYTHONPATH         begins with a sitecustomize.py: cuda.pathfinder finds these libraries, and
                     not nvJitLink, so that programs link through the driver
  CUPOLA_DRIVER      cpu
With --pycuda, PYTHONPATH begins with a sitecustomize.py that lets `import pycuda` find
cupola.pycuda.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --cpu and the program with its arguments."""
    parser.add_argument(
        "--cpu", action="store_true", help="use the CPU device even where there is a GPU"
    )
    parser.add_argument(
        "--pycuda", action="store_true", help="let `import pycuda` find cupola.pycuda"
    )
    add_program(parser)


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add the program with its arguments."""
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM ...",
        help="a Python file, an executable or a command; -- and python's options (-m, -c)",
    )


def program_of(options: argparse.Namespace) -> list[str]:
    """The program and its arguments, without the `--` before them; empty without a program."""
    given: list[str] = options.program
    return given[1:] if given[:1] == ["--"] else given


def shell_status(status: int) -> int:
    """A process's status as a shell tells it: 128 and the number of the signal that ended it."""
    return status if status >= 0 else 128 - status


def run(options: argparse.Namespace) -> int:
    """The program's exit status."""
    program = program_of(options)
    if not program:
        raise OSError("no program to run: python -m cupola run PROGRAM ...")
    values = dict(os.environ)
    if options.cpu or uses_cpu_device():
        from cupola.tools.run import environment

        values.update(environment.variables(values))
    if options.pycuda:
        from cupola import pycuda

        folders = [os.path.join(os.path.dirname(pycuda.__file__), "site")]
        folders += [values["PYTHONPATH"]] if values.get("PYTHONPATH") else []
        values["PYTHONPATH"] = os.pathsep.join(folders)
    return shell_status(subprocess.call(command(program, values), env=values))


def command(program: list[str], values: dict[str, str], folder: str | None = None) -> list[str]:
    """The command line: commands and executables as they are, Python files with this Python.

    `folder` is the one that the program starts in; by default the current one.
    """
    first = program[0]
    path = os.path.join(folder or "", first)
    if first.startswith("-"):
        return [sys.executable, *program]
    if first.endswith((".py", ".pyz")):
        if not os.path.exists(path):
            raise OSError(f"no program {first}: there is no such file (in {folder or os.getcwd()})")
        return [sys.executable, *program]
    if found := shutil.which(first, path=values.get("PATH")):  # as a shell finds it
        return [found, *program[1:]]
    if os.path.isfile(first) and os.access(first, os.X_OK):
        return [os.path.abspath(first), *program[1:]]
    if first.endswith(".cu"):
        raise OSError(
            f"{first} is a CUDA source, not a program: compile it with python -m cupola run -- "
            f"nvcc {first} -o PROGRAM, and start python -m cupola run ./PROGRAM. cupola.load takes "
            "the kernels of a source"
        )
    if os.path.exists(first):
        return [sys.executable, *program]
    raise OSError(
        f"no program {first}: neither a file nor a command in PATH. For Python code use -- -c"
    )


def uses_cpu_device() -> bool:
    """Whether cupola would use the CPU device here."""
    import cupola

    return cupola.driver.info().kind == "cpu"

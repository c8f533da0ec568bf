# cupola/tools/command/env.py - python -m cupola env
"""Prints the environment of `cupola run` for a shell."""

from __future__ import annotations

import argparse
import os
import shlex

HELP = "print the variables of `run` for a shell"
EPILOG = """\
  source <(python -m cupola env)                   bash, zsh
  eval "$(python -m cupola env)"                   any POSIX shell
  python -m cupola env --shell fish | source       fish
  eval "`python -m cupola env --shell csh`"        csh, tcsh
On the CPU device, `nvcc prog.cu && ./a.out` and CMake, make and pytest then work in that shell as
they do with a GPU. With a usable GPU, only a comment is printed, unless --cpu is given.
"""
SHELLS = ("sh", "fish", "csh")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --cpu and --shell."""
    parser.add_argument(
        "--cpu", action="store_true", help="use the CPU device even where there is a GPU"
    )
    parser.add_argument(
        "--shell", choices=SHELLS, default="sh", help="the syntax to print (default: sh)"
    )


def run(options: argparse.Namespace) -> None:
    """Print one line a variable."""
    from cupola.tools.command.run import uses_cpu_device
    from cupola.tools.run import environment

    if not (options.cpu or uses_cpu_device()):
        print("# cupola: a GPU is usable, so programs need no variables; --cpu prints them")
        return
    for name, value in environment.variables(os.environ).items():
        print(_line(options.shell, name, value))


def _line(shell: str, name: str, value: str) -> str:
    if shell == "fish":
        text = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {name} '{text}';"
    if shell == "csh":
        return f"setenv {name} {shlex.quote(value)};"
    return f"export {name}={shlex.quote(value)}"

# cupola/tools/run/nvcc.py - an nvcc for programs that `cupola run` runs on the CPU device.
"""Makes PTX instead of machine code, under the file name that the caller expects.

Machine code for a GPU can't run on a processor. A program that asks nvcc for a cubin hands it to
the driver unchanged, and a driver also accepts PTX.
"""

import os
import sys
from pathlib import Path

CUBIN = ("-cubin", "--cubin")
PTX = ("-ptx", "--ptx")
WITH_VALUE = ("-arch", "--gpu-architecture")


def virtual(architecture):
    """compute_90 for sm_90: what PTX is made for."""
    return architecture.replace("sm_", "compute_") if architecture else architecture


def translated(arguments):
    """The arguments that make PTX."""
    if not any(argument in CUBIN for argument in arguments):
        return arguments
    made, source, named = [], None, False
    taken = iter(arguments)
    for argument in taken:
        name, equals, value = argument.partition("=")
        if argument in CUBIN:
            made.append("--ptx")
        elif name in WITH_VALUE:
            made.append(f"{name}={virtual(value if equals else next(taken, ''))}")
        else:
            named |= argument in ("-o", "--output-file") or name == "--output-file"
            made.append(argument)
        if argument.endswith((".cu", ".ptx", ".cpp", ".c")):
            source = argument
    if source and not named:  # nvcc would name it after the source, with .ptx
        made += ["-o", str(Path(source).with_suffix(".cubin").name)]
    return made


def main():
    compiler = os.environ["CUPOLA_RUN_NVCC"]
    arguments = translated(sys.argv[1:])
    if any(argument in PTX for argument in arguments):  # for one architecture only
        os.environ.pop("NVCC_APPEND_FLAGS", None)
    os.execv(compiler, [compiler, *arguments])


if __name__ == "__main__":
    main()

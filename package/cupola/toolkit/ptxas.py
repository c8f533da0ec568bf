# cupola/toolkit/ptxas.py - runs ptxas for the registers, memory and spills of PTX kernels.
"""Resources of an image's PTX kernels, as ptxas reports them."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cupola.exceptions import CompileError
from cupola.image.contents import Contents, Resources
from cupola.image.reader import read_kernels


def add_resources(contents: Contents, program: Path, architecture: str) -> None:
    """Add each PTX kernel's resources and spills for an architecture.

    Raises
    ------
    CompileError
        ptxas cannot be run, or it refuses the PTX.
    """
    kernels = {kernel.name: kernel for kernel in contents.kernels}
    for part in contents.parts:
        if part.ptx and any(one.name in kernels for one in read_kernels(part.ptx.encode())):
            report = _run(program, part.ptx, architecture)
            for name, resources in parse_report(report, architecture):
                if name in kernels:
                    kernels[name].resources.append(resources)


def _run(program: Path, ptx: str, architecture: str) -> list[str]:
    # In a temporary file: ptxas does not read standard input.
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        command = [program, "-v", f"-arch={architecture}", "-o", os.devnull, file.name]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise CompileError(f"{program} can't be run: {error.strerror}") from None
    if done.returncode:
        log = done.stderr.strip()
        raise CompileError(f"{program} -arch={architecture} failed: {log}", log)
    return done.stderr.splitlines()


def parse_report(lines: Iterable[str], architecture: str) -> list[tuple[str, Resources]]:
    """Each kernel's resources from the output of ``ptxas -v``."""
    found: list[tuple[str, Resources]] = []
    numbers: dict[str, Any] = {}
    name = ""
    for line in lines:
        if entry := re.search(r"Compiling entry function '([^']+)'", line):
            name, numbers = entry[1], {}
        elif spilled := re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line
        ):
            numbers.setdefault("frame", [int(number) for number in spilled.groups()])
        elif used := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            local, stores, loads = numbers.get("frame", (0, None, None))
            found.append(
                (name, Resources(architecture, int(used[1]), int(shared[1]) if shared else 0,
                                 local, stores, loads))
            )  # fmt: skip
    return found

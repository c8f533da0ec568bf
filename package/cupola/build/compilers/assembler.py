# package/cupola/build/compilers/assembler.py - machine code by the ptxas of the CUDA toolkit.
"""For compilers that bring no ptxas: PTX that the toolkit takes, and its machine code."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from .. import toolkit
from . import SourceError


def for_toolkit(text: str) -> str:
    """PTX that names no newer version than the toolkit's, so that older drivers take it.

    A compiler names the newest version that it knows, for any text. ptxas refuses the result where
    an instruction needs the newer version.
    """
    newest = toolkit.find().ptx

    def lowered(found: re.Match[str]) -> str:
        version = int(found[1]), int(found[2])
        return found[0] if version <= newest else f".version {newest[0]}.{newest[1]}"

    return re.sub(r"^\.version\s+(\d+)\.(\d+)", lowered, text, count=1, flags=re.MULTILINE)


def assemble(text: str, architecture: int | str) -> bytes:
    """Machine code of PTX, for an architecture such as 90 or ``"90a"``."""
    ptxas = toolkit.find().tool("ptxas")
    with tempfile.TemporaryDirectory(prefix="cupola-ptxas-") as folder:
        source, target = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(text)
        command = [str(ptxas), f"--gpu-name=sm_{architecture}", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SourceError(f"{ptxas}: error: {(done.stderr or done.stdout).strip()}")
        return target.read_bytes()

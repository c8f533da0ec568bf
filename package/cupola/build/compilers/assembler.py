# package/cupola/build/compilers/assembler.py - machine code by the ptxas of the CUDA toolkit.
"""Makes machine code for compilers that bring no ptxas."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ...image import ptx_version
from .. import toolkit
from . import SourceError


def assemble(text: str, architecture: int | str) -> bytes:
    """Machine code of PTX. A compiler may write a newer version of PTX than the toolkit takes, so
    the text gets the lowest version that it needs.
    """
    ptxas = toolkit.find().tool("ptxas")
    with tempfile.TemporaryDirectory(prefix="cupola-ptxas-") as folder:
        source, target = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_bytes(ptx_version.lowered(text.encode())[0])
        command = [str(ptxas), f"--gpu-name=sm_{architecture}", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SourceError(f"{ptxas}: error: {(done.stderr or done.stdout).strip()}")
        return target.read_bytes()

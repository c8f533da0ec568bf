# cupola/compiler/kept_ptx.py - keeps the PTX of machine code for `cupola record`.
"""Writes the PTX beside machine code where `cupola record` runs this process."""

from __future__ import annotations

import os
import sys
from itertools import count

SPOOL = "CUPOLA_RECORD_SPOOL"  # the folder of the command's records
_numbers = count()


def keep(code: bytes, ptx: str) -> None:
    """Write machine code and its PTX to the folder of records, if there is one.

    A failure is reported on standard error, as NVRTC's front reports it: a program may outlive the
    command and its folder.

    Parameters
    ----------
    code : bytes
        The machine code, as the driver will get it.
    ptx : str
    """
    folder = os.environ.get(SPOOL)
    if not folder:
        return
    base = os.path.join(folder, f"cupola-{os.getpid()}-{next(_numbers)}")
    try:
        for suffix, content in ((".ptx", ptx.encode()), (".cubin", code)):
            with open(base + suffix, "wb") as file:
                file.write(content)
    except OSError as error:
        print(f"cupola record: the PTX of a program can't be written: {error}", file=sys.stderr)

# cupola/recording/program.py - records the launches of another program.
"""Runs a program on the recording driver, and makes cases of the spools that it leaves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cupola import library, paths
from cupola.compiler.kept_ptx import SPOOL
from cupola.exceptions import ArgumentValueError
from cupola.recording.code_texts import CodeTexts
from cupola.recording.conversion import convert
from cupola.recording.spool import read_spool


@dataclass(frozen=True)
class Choice:
    """Which launches are recorded, and how."""

    kernels: str = ""  # a regular expression; "" for all kernels
    first: int = 0
    end: int | None = None
    limit: int = 1 << 30  # bytes of contents
    fault: bool = False  # only the launch that fails


@dataclass(frozen=True)
class Made:
    """A case that was written."""

    path: Path
    count: int
    stopped: str
    left_out: int
    code: frozenset[str]  # the kinds of code of the images


def variables(choice: Choice, driver: str, spool: Path, now: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program that is recorded.

    Parameters
    ----------
    choice : Choice
    driver : str
        The path of the real driver.
    spool : Path
        The folder for the records.
    now : mapping
        The environment without a recording.
    """
    folder = os.path.join(library.FOLDER, "record")
    own = os.path.join(folder, "libcuda.so.1")
    if not os.path.exists(own):
        raise ArgumentValueError(f"{own} is missing: install cupola again")
    others = now.get("LD_LIBRARY_PATH", "")
    end = "" if choice.end is None else choice.end
    return {
        **now,
        "LD_LIBRARY_PATH": f"{folder}{os.pathsep}{others}" if others else folder,
        "CUPOLA_DRIVER": own,  # for a program with cupola
        "CUPOLA_RECORD_DRIVER": driver,
        SPOOL: os.fspath(spool),
        "CUPOLA_RECORD_KERNELS": choice.kernels,
        "CUPOLA_RECORD_LAUNCHES": f"{choice.first}:{end}",
        "CUPOLA_RECORD_LIMIT": str(choice.limit),
        "CUPOLA_RECORD_FAULT": str(int(choice.fault)),
        # CuPy's own cache has machine code whose PTX was not kept.
        "CUPY_CACHE_DIR": os.path.join(spool, "cupy"),
    }


def real_driver(*, cpu: bool) -> str:
    """The path of the driver that programs use without a recording.

    Parameters
    ----------
    cpu : bool
        Whether that is the CPU device.
    """
    if cpu:
        return paths.cpu_library()
    from cupola.driver import info

    return os.path.realpath(str(info().path))


def run(
    command: list[str], environment: Mapping[str, str], choice: Choice, driver: str, case: Path
) -> tuple[int, list[Made]]:
    """Run a program, and write a case for each of its processes with recorded launches.

    Parameters
    ----------
    command : list of str
    environment : mapping
    choice : Choice
    driver : str
        The path of the real driver.
    case : Path
        The first case. Further cases get a number before the suffix.

    Returns
    -------
    (int, list of Made)
        The program's status as `subprocess` gives it, and the cases.
    """
    folder = case.absolute().parent
    if not folder.is_dir():
        raise ArgumentValueError(f"{case}: its folder does not exist; make it first")
    # Contents can have many gigabytes, so they lie where the case will be.
    spool = Path(tempfile.mkdtemp(prefix=f".{case.name}-", dir=folder))
    try:
        values = variables(choice, driver, spool, environment)
        # An interrupt is for the program; what it has recorded is kept.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            with subprocess.Popen(command, env=values) as process:
                status = process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
        return status, convert_folder(spool, case, choice)
    finally:
        shutil.rmtree(spool, ignore_errors=True)


def convert_folder(spool: Path, case: Path, choice: Choice) -> list[Made]:
    """Write a case for each spool of a folder, in the order in which they began."""
    files = sorted(spool.glob("*.spool"), key=lambda path: (path.stat().st_ctime_ns, path.name))
    made, texts = [], CodeTexts(spool)
    for number, path in enumerate(files, 1):
        found = read_spool(path)
        target = case if number == 1 else case.with_stem(f"{case.stem}-{number}")
        capture = convert(found, target, choice.kernels, texts)
        count = sum(one[2] for one in found.left_out)
        made.append(Made(target, capture.count, found.stopped, count, capture.code))
    return made

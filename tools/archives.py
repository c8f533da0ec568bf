# tools/archives.py - write wheels and source distributions whose bytes depend on their contents.
"""Archives without what differs between two builds: times, owners, orders, the umask.

`moment` gives the time that all entries get. Two builds with one compiler then give equal bytes.
"""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = 315532800  # the first second that a zip file can hold: 1980
EXECUTABLE, PLAIN = 0o755, 0o644


def moment(root: Path = ROOT) -> int:
    """Seconds since 1970 of SOURCE_DATE_EPOCH, else of the last commit."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told is None:
        command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
        told = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    if not told.isdecimal():
        raise SystemExit(
            f"SOURCE_DATE_EPOCH={told}: expected the seconds since 1970; "
            f"set it, or build in a git checkout ({root} is none)"
        )
    return max(int(told), FIRST)


def normalize(path: Path, when: int) -> None:
    """Write a wheel or a source distribution again, with one time, one order and one owner."""
    made = _wheel(path, when) if path.suffix == ".whl" else _sdist(path, when)
    part = path.with_name(f".{path.name}")
    part.write_bytes(made)
    part.replace(path)


def _mode(mode: int) -> int:
    return EXECUTABLE if mode & 0o100 else PLAIN


def _wheel(path: Path, when: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w") as new:
        entries = [entry for entry in old.infolist() if not entry.is_dir()]
        # The specification recommends the metadata at the end.
        for entry in sorted(entries, key=lambda e: (".dist-info/" in e.filename, e.filename)):
            written = zipfile.ZipInfo(entry.filename, time.gmtime(when)[:6])
            written.compress_type = zipfile.ZIP_DEFLATED
            written.create_system = 3  # Unix, whose modes follow
            written.external_attr = (0o100000 | _mode(entry.external_attr >> 16)) << 16
            new.writestr(written, old.read(entry), compresslevel=9)
    return made.getvalue()


def _sdist(path: Path, when: int) -> bytes:
    packed, made = io.BytesIO(), io.BytesIO()
    with (
        tarfile.open(path) as old,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for entry in sorted((e for e in old.getmembers() if e.isfile()), key=lambda e: e.name):
            written = tarfile.TarInfo(entry.name)
            written.size, written.mtime, written.mode = entry.size, when, _mode(entry.mode)
            new.addfile(written, old.extractfile(entry))
    with gzip.GzipFile("", "wb", compresslevel=9, fileobj=made, mtime=when) as file:
        file.write(packed.getvalue())
    return made.getvalue()

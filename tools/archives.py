# tools/archives.py - write wheels and source distributions whose bytes depend on their contents.
"""Archives without what differs between two builds: times, owners, orders, the umask.

`moment` gives the time that all entries get. Two builds with one compiler then give equal bytes.
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import subprocess
import tarfile
import time
import zipfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = 315532800  # the first second that a zip file can hold: 1980
LIBDEFLATE_LEVEL = 12  # the highest
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
    """The files of a zip archive, compressed by libdeflate.

    libdeflate makes files 4 % smaller than zlib does, and zipfile has zlib alone. So the records of
    the archive are written here.
    """
    import deflate

    made, index = io.BytesIO(), b""
    moment = _zip_time(when)
    with zipfile.ZipFile(path) as old:
        entries = [entry for entry in old.infolist() if not entry.is_dir()]
        # The specification recommends the metadata at the end.
        entries.sort(key=lambda entry: (".dist-info/" in entry.filename, entry.filename))
        for entry in entries:
            content, name = old.read(entry), entry.filename.encode()
            packed = bytes(deflate.deflate_compress(content, LIBDEFLATE_LEVEL))
            # Version 2.0, names in UTF-8, deflate; then neither extra fields nor a comment.
            shared = struct.pack("<HHH", 20, 1 << 11, zipfile.ZIP_DEFLATED) + moment
            shared += struct.pack("<LLL", zlib.crc32(content), len(packed), len(content))
            shared += struct.pack("<HH", len(name), 0)
            mode = (0o100000 | _mode(entry.external_attr >> 16)) << 16
            index += struct.pack("<4sBB", b"PK\1\2", 20, 3) + shared  # 3: Unix, whose modes follow
            index += struct.pack("<HHHLL", 0, 0, 0, mode, made.tell()) + name
            made.write(b"PK\3\4" + shared + name + packed)
    end = struct.pack("<HHHHLLH", 0, 0, len(entries), len(entries), len(index), made.tell(), 0)
    return made.getvalue() + index + b"PK\5\6" + end


def _zip_time(when: int) -> bytes:
    """Two words, of the time and of the date, as a zip archive has them."""
    year, month, day, hour, minute, second = time.gmtime(when)[:6]
    day_word = (year - 1980) << 9 | month << 5 | day
    return struct.pack("<HH", hour << 11 | minute << 5 | second // 2, day_word)


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

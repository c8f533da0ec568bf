# package/cupola/image/wheel.py - reads and writes wheels.
"""Reads and writes wheels as names and contents of files. A wheel is untrusted: names, sizes and
digests are checked, and nothing is extracted.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..exceptions import ImageError, MissingFileError

_NAME = re.compile(
    r"(?P<name>[^-/]+)-(?P<version>[^-/]+)(-(?P<build>\d[^-/]*))?"
    r"-(?P<tags>[^-/]+-[^-/]+-[^-/]+)\.whl"
)
_MOST = 1 << 30  # bytes of a file in a wheel
_MOST_OF_ALL = 1 << 32
_UNRECORDED = ("RECORD", "RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True)
class Wheel:
    """A wheel's name and contents."""

    path: Path
    name: str
    version: str
    build: str  # the build number in the file's name, or ""
    tags: str  # "py3-none-any"
    entries: Mapping[str, zipfile.ZipInfo]
    contents: Mapping[str, bytes]  # without RECORD, in the order of the archive

    @property
    def about(self) -> str:
        """The folder of its metadata."""
        return f"{self.name}-{self.version}.dist-info"


def read(path: Path) -> Wheel:
    """Read a wheel.

    Raises
    ------
    MissingFileError
        The file does not exist.
    ImageError
        The file is no wheel, is damaged, or contains a file that no wheel may have.
    """
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise ImageError(f"{path}: expected a wheel, named as heat-1.0-py3-none-any.whl")
    if not path.is_file():
        raise MissingFileError(f"there is no file {path} (in {Path.cwd()})")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _entries(path, archive)
            contents = {name: _content(path, archive, one) for name, one in entries.items()}
    # zipfile raises these for invalid, encrypted or unsupported archives.
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError,
            OSError, ValueError) as error:  # fmt: skip
        raise ImageError(f"{path}: a wheel that can't be read: {error}") from None
    build = named["build"] or ""
    found = Wheel(path, named["name"], named["version"], build, named["tags"], entries, contents)
    _check_record(found, contents.pop(f"{found.about}/RECORD", None))
    for name in ("METADATA", "WHEEL"):
        if f"{found.about}/{name}" not in contents:
            raise ImageError(f"{path}: it has no {found.about}/{name}: it is no wheel, or was cut")
    return found


def _entries(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The entries of files, by name; entries of folders are left out."""
    found: dict[str, zipfile.ZipInfo] = {}
    for one in archive.infolist():
        name = one.filename
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or re.search(r"[\\:\0]", name):
            raise ImageError(f"{path}: a file would be outside of the installation: {name!r}")
        if one.is_dir():
            continue
        if stat.S_ISLNK(one.external_attr >> 16):
            raise ImageError(f"{path}: {name} is a symbolic link, which no wheel may have")
        if name in found:
            raise ImageError(f"{path}: there are two files {name}")
        if one.file_size > _MOST:
            raise ImageError(f"{path}: {name} has {one.file_size:,} bytes, more than {_MOST:,}")
        found[name] = one
    if sum(one.file_size for one in found.values()) > _MOST_OF_ALL:
        raise ImageError(f"{path}: its files have more than {_MOST_OF_ALL:,} bytes")
    return found


def _content(path: Path, archive: zipfile.ZipFile, one: zipfile.ZipInfo) -> bytes:
    with archive.open(one) as file:
        data = file.read(one.file_size + 1)
    if len(data) != one.file_size:
        raise ImageError(
            f"{path}: {one.filename} has other bytes than the archive's directory says"
        )
    return data


def _check_record(wheel: Wheel, record: bytes | None) -> None:
    place = f"{wheel.about}/RECORD"
    if record is None:
        raise ImageError(f"{wheel.path}: it has no {place}: it is no wheel, or was cut")
    try:
        rows = {row[0]: row[1] for row in csv.reader(io.StringIO(record.decode())) if row}
    except (ValueError, IndexError, csv.Error):
        raise ImageError(f"{wheel.path}: {place} is malformed") from None
    for name, content in wheel.contents.items():
        if name in (f"{wheel.about}/{one}" for one in _UNRECORDED):
            continue
        if name not in rows:
            raise ImageError(f"{wheel.path}: {name} is not in {place}")
        if rows[name] != _digest(content):
            raise ImageError(
                f"{wheel.path}: {name} does not have the digest in {place}: the wheel "
                "was changed or damaged; build it again"
            )
    lost = [name for name in rows if name not in wheel.contents and name not in wheel.entries]
    if lost:
        raise ImageError(f"{wheel.path}: {lost[0]} is in {place}, and not in the wheel")


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"sha256={digest}"


def write(
    path: Path,
    about: str,
    contents: Mapping[str, bytes],
    like: Mapping[str, zipfile.ZipInfo],
) -> None:
    """Write a wheel with a new RECORD. The file appears when it is complete.

    Parameters
    ----------
    about : str
        The folder of its metadata.
    contents : mapping of str to bytes
        The files in their order.
    like : mapping of str to ZipInfo
        The times and permissions of files.
    """
    lines = io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    rows.writerows((name, _digest(data), len(data)) for name, data in contents.items())
    record = f"{about}/RECORD"
    rows.writerow((record, "", ""))
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in [*contents.items(), (record, lines.getvalue().encode())]:
                model = like[name]
                entry = zipfile.ZipInfo(name, model.date_time)
                entry.external_attr, entry.compress_type = model.external_attr, model.compress_type
                archive.writestr(entry, data)
        part.replace(path)
    except OSError as error:
        raise ImageError(f"{path} can't be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()

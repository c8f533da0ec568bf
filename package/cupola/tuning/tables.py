# cupola/tuning/tables.py - the files of measurements: found, read, and written between processes.
"""Tables of measurements, a file for each kind of device.

A package has them in its folder ``tuning``, the user in the folder ``tuning`` of the cache, which
comes first. A writer locks the user's folder, joins its rows with those of the file, and renames a
new file to its name: a reader sees a whole file. A file that can't be used gives one warning.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cupola import cache
from cupola.declare.tuning_table import (
    MOST_BYTES,
    DeviceRecord,
    FamilyRows,
    Table,
    TableError,
    read,
    with_rows,
    written,
)
from cupola.declare.tuning_table import merge as merge

if TYPE_CHECKING:
    from cupola.device import Device

FOLDER = "tuning"
_SUFFIX = ".json"
_LOCK = ".lock"
_MOST_FILES = 256  # of a folder
_CLOCK_RATE = 13  # CU_DEVICE_ATTRIBUTE_CLOCK_RATE, kHz
# The last content of each path: its size, its time of change and its inode, and the table.
_read: dict[str, tuple[tuple[int, int, int], Table | None]] = {}


class Found(NamedTuple):
    """A table, and the file that has it."""

    path: str
    table: Table


def now() -> str:
    """The date of rows that are measured now."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def device_record(device: Device) -> DeviceRecord:
    """A device as tables describe it."""
    from cupola import driver

    major, minor = device.compute_capability
    return DeviceRecord(
        name=device.name,
        capability=f"{major}.{minor}",
        memory=device.memory.total,
        driver=driver.info().version,
        clock=max(0, device.attribute(_CLOCK_RATE)),
    )


def file_name(record: DeviceRecord) -> str:
    """The name of a device's file: ``nvidia-h200-sm90.json``."""
    words = re.sub(r"[^a-z0-9]+", "-", record.name.lower()).strip("-")[:100]
    return f"{words or 'device'}-sm{record.capability.replace('.', '')}{_SUFFIX}"


def user_folder() -> str | None:
    """The folder of the user's tables, which may not exist; None where the cache is disabled."""
    place = cache.folder()
    return None if place is None else os.path.join(place, FOLDER)


def find(package: str = "") -> list[Found]:
    """All tables that can be used: the user's, then those of a package."""
    found: list[Found] = []
    place = user_folder()
    if place is not None and os.path.isdir(place):
        names = [name for name in os.listdir(place) if name.endswith(_SUFFIX)]
        found += _usable(Path(place, name) for name in sorted(names)[:_MOST_FILES])
    if package:
        from importlib.resources import files

        folder = files(package) / FOLDER
        if folder.is_dir():
            members = [one for one in folder.iterdir() if one.name.endswith(_SUFFIX)]
            found += _usable(sorted(members, key=lambda one: one.name)[:_MOST_FILES])
    return found


def _usable(members: Any) -> Iterator[Found]:
    for member in members:
        table = _of_file(member) if isinstance(member, Path) else _of_archive(member)
        if table is not None:
            yield Found(str(member), table)


def _of_file(path: Path) -> Table | None:
    """The table of a file, read again after each change; None where it can't be used."""
    try:
        there = os.stat(path)
    except OSError as error:
        _warn(str(path), f"it can't be read: {error.strerror}")
        return None
    mark = there.st_size, there.st_mtime_ns, there.st_ino
    known = _read.get(str(path))
    if known is None or known[0] != mark:
        table = None
        try:
            table = load(path)
        except TableError as error:
            _warn(str(path), str(error))
        known = _read[str(path)] = mark, table
    return known[1]


def _of_archive(member: Any) -> Table | None:
    try:
        return read(member.read_bytes())
    except (OSError, TableError) as error:
        _warn(str(member), str(error))
        return None


def load(path: str | os.PathLike[str]) -> Table:
    """The table of a file.

    Raises
    ------
    TableError
        It can't be read, or is malformed.
    """
    try:
        # Don't block on a pipe.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise TableError("it is no file")
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise TableError(f"it can't be read: {error.strerror}") from None
    return read(content)


def _warn(path: str, why: str) -> None:
    warnings.warn(
        f"{path}: this table of measurements is not used: {why}; families take their declared "
        "defaults: remove the file, or measure again with python -m cupola tune",
        RuntimeWarning,
        stacklevel=2,
    )


def store(record: DeviceRecord, rows: FamilyRows, folder: str | None = None) -> str | None:
    """Add rows to the file of a device, and keep all other rows of the file.

    The user's file keeps rows for several versions of a family's code. In another folder, which a
    package ships, rows for other code than that of the new rows are removed.

    A file that can't be read is renamed, with the suffix ``.damaged``.

    Parameters
    ----------
    record : DeviceRecord
    rows : FamilyRows
        They replace older rows of the same keys and code.
    folder : str, optional
        By default the user's.

    Returns
    -------
    str or None
        The file; None where the cache is disabled. Also where the folder can't be written, or a
        table can't have the rows: then a warning says why.
    """
    place = user_folder() if folder is None else folder
    if place is None:
        return None
    path = os.path.join(place, file_name(record))
    try:
        os.makedirs(place, 0o700 if folder is None else 0o777, exist_ok=True)
        with _locked(place):
            before = _before(path, record)
            if folder is not None:
                others = [
                    one for one in before.families
                    if one.name != rows.name or one.digest == rows.digest
                ]  # fmt: skip
                before = Table(record, tuple(others))
            text = written(with_rows(before, rows))
            read(text)  # a file that can't be read would hide the other rows
            _replace(path, text)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        warnings.warn(
            f"{path}: measurements of {rows.name} are not kept: {why}",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return path


def _before(path: str, record: DeviceRecord) -> Table:
    """The table to which rows are added, of the device as it is now."""
    if not os.path.lexists(path):
        return Table(record, ())
    try:
        found = load(path)
    except TableError as error:
        os.replace(path, f"{path}.damaged")
        _warn(path, f"{error}; it is now {path}.damaged")
        return Table(record, ())
    return Table(record, found.families)


@contextlib.contextmanager
def _locked(place: str) -> Iterator[None]:
    """Hold the folder's lock, which also excludes other threads of this process."""
    lock = os.open(os.path.join(place, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _replace(path: str, text: str) -> None:
    """Write a file whole, or not at all."""
    aside, made = tempfile.mkstemp(prefix=".", suffix=".new", dir=os.path.dirname(path))
    try:
        with open(aside, "w", encoding="utf-8") as file:
            os.fchmod(aside, 0o644)
            file.write(text)
            file.flush()
            os.fsync(aside)
        os.replace(made, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise

# cupola/recording/__init__.py - launches in files, and their replay.
"""Recorded launches: `record` writes a file, `read` and `replay` take one."""

from __future__ import annotations

from cupola.recording.case import Case, read
from cupola.recording.record import Record, record
from cupola.recording.replay import Outcome, replay

__all__ = ["Case", "Outcome", "Record", "read", "record", "replay"]

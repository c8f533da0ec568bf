# package/cupola/build/progress.py - prints which build step runs.
"""Progress of a build."""

from __future__ import annotations

import shutil
import sys


class Progress:
    """Lines about steps. A terminal shows the current step's line; a file gets some lines."""

    # A file gets a line for each step of up to EACH steps. More steps are divided into PARTS parts,
    # and the file gets the line of each part's first step.
    EACH, PARTS = 24, 8

    def __init__(self) -> None:
        self.total = 0
        self.done = 0
        self._open = False
        self._part = -1

    def start(self, label: str) -> None:
        """Show that a step begins."""
        line = f"[{self.done + 1}/{self.total}] {label}"
        if sys.stdout.isatty():
            # A longer line would wrap, and only its last row could be rewritten.
            columns = shutil.get_terminal_size().columns
            print(f"\r\033[K{line[: columns - 1]}", end="", flush=True)
            self._open = True
            return
        part = self.done * self.PARTS // self.total
        if self.total <= self.EACH or part > self._part:
            print(line, flush=True)
            self._part = part

    def say(self, text: str) -> None:
        """Print a text on a separate line."""
        self.close()
        print(text, flush=True)

    def close(self) -> None:
        """End the line that is overwritten."""
        if self._open:
            print("\r\033[K", end="", flush=True)
            self._open = False

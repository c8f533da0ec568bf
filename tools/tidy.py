# tools/tidy.py - run clang-tidy on one file, quietly; a file that passed is not checked again.
"""``tidy.py CLANG_TIDY FILE``: clang-tidy's findings, without its counts of suppressed ones."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PASSED = ROOT / "build" / "tidy"


def fingerprint(source: str) -> str:
    """Of the file, all headers, the checks and the flags: headers are few, and simple is right."""
    digest = hashlib.sha256()
    headers = sorted((ROOT / "csrc").rglob("*.h*"))
    for path in [Path(source), ROOT / ".clang-tidy", *headers]:
        digest.update(f"\0{path}\0".encode() + path.read_bytes())
    digest.update((ROOT / "build" / "compile_commands.json").read_bytes())
    return digest.hexdigest()


def main() -> int:
    clang_tidy, source = sys.argv[1:]
    mark = PASSED / source.replace("/", "_")
    value = fingerprint(source)
    if mark.is_file() and mark.read_text() == value:
        return 0
    command = [clang_tidy, "-p", "build", "--quiet", source]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        print(f"{source}\n{done.stdout}", flush=True)
        return 1
    PASSED.mkdir(parents=True, exist_ok=True)
    mark.write_text(value)
    return 0


if __name__ == "__main__":
    sys.exit(main())

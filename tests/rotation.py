"""Which slice of what is too much for one run is tested in this one.

The number is a digest of the sources and tests. So a change chooses its slice: the same files give
the same slice, on each day and on each machine. CUPOLA_TEST_ROTATION names another number.

    python tests/rotation.py COUNT

prints the number's remainder, K of a slice K/COUNT.
"""

import functools
import hashlib
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ("csrc/**/*", "pyx/**/*", "package/**/*.py", "tests/**/*")


def files():
    found = {path for pattern in SOURCES for path in ROOT.glob(pattern)}
    return sorted(path for path in found if path.is_file() and path.suffix != ".pyc")


@functools.cache
def number():
    if named := os.environ.get("CUPOLA_TEST_ROTATION"):
        return int(named)
    digest = hashlib.sha256()
    for path in files():
        digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:4], "big")


if __name__ == "__main__":
    print(number() % int(sys.argv[1]))

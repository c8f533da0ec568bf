"""Which tests are those of a folder or a file: the table in areas.txt.

    python tests/areas.py PATH...

prints their paths; without an argument nothing, which is all tests for pytest.
"""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent


def rows():
    """The beginnings of paths, and the patterns of each."""
    lines = (TESTS / "areas.txt").read_text().splitlines()
    return {row[0]: row[1:] for line in lines if (row := line.split()) and row[0] != "#"}


def tests_of(path):
    """The files and folders with the tests of a path below the root."""
    path = path.strip("/")
    if not (ROOT / path).exists():
        raise SystemExit(f"ONLY={path}: no such file or folder in {ROOT}")
    if path.startswith("tests/"):
        return [path]
    table = rows()
    fitting = [start for start in table if (path + "/").startswith(start)]
    if not fitting:
        raise SystemExit(f"ONLY={path}: {TESTS.name}/areas.txt has no tests for it")
    return expanded(table[max(fitting, key=len)])


def expanded(patterns):
    return sorted({str(f.relative_to(ROOT)) for each in patterns for f in TESTS.glob(each)})


if __name__ == "__main__":
    print(*sorted({test for path in sys.argv[1:] for test in tests_of(path)}))

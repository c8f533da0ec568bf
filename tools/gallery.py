# tools/gallery.py - docs/gallery.md, the examples with their pictures; `make docs` runs it.
"""Writes the gallery from the table of examples/README.md and the pictures in docs.

With ``--check`` nothing is written: the exit status is 1 where the page differs. A program or a
folder of examples that the table lacks is an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "gallery.md"


class Picture(NamedTuple):
    """A picture of an example: its title, file, words for who does not see it, and command."""

    title: str
    file: str
    words: str
    command: str


PICTURES = {
    "heat": Picture(
        "The heat equation", "heat.png", "A plate at six times", "python -m heat -o heat.png"
    ),
    "convolution.py": Picture(
        "Filters on a photograph",
        "convolution.jpg",
        "A photograph, sharpened and blurred",
        "python examples/convolution.py",
    ),
    "ctypes_launcher.py": Picture(
        "The Mandelbrot set through ctypes",
        "mandelbrot-axes.png",
        "The Mandelbrot set with axes",
        "python examples/ctypes_launcher.py",
    ),
    "streams.py": Picture(
        "Work on several streams",
        "streams.png",
        "On one stream eight launches follow each other; on four streams four run at once",
        "python examples/streams.py",
    ),
    "task_stream.py": Picture(
        "Tasks on a Dask cluster",
        "task-stream.png",
        "Four workers compute, and fetch the edges of their neighbours between two steps",
        "python examples/task_stream.py",
    ),
    "ci": Picture(
        "Coverage of a kernel in CI",
        "coverage.png",
        "A kernel in the report of coverage.py: a line that no test ran is red",
        "python -m pytest --cov --cov-report=html",
    ),
}
HEAD = """# Gallery
Programs and packages of the folder [`examples`](../examples). Each runs as it stands, on a GPU and
without one. `tools/gallery.py` makes this page. Do not edit it.

## A shipped kernel
`python -m cupola demo` draws the Mandelbrot set. Its kernel was compiled when cupola was built.

![The Mandelbrot set, computed by a shipped kernel](mandelbrot.png)

"""
ROW = re.compile(r"^\| \[`([\w.]+)/?`\]\(([\w.]+)\) \| (.+) \| ?(.*?) ?\|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, str]]:
    """The examples by their names: what each shows, and what it needs."""
    found = {name: (shows, needs) for _, name, shows, needs in ROW.findall(
        (EXAMPLES / "README.md").read_text())}  # fmt: skip
    there = {path.name for path in EXAMPLES.iterdir() if path.name[0] not in "._"}
    missing = there - found.keys() - {"README.md"}
    if missing:
        raise SystemExit(f"examples/README.md: its table lacks {', '.join(sorted(missing))}")
    return found


def page() -> str:
    found = rows()
    parts = [HEAD]
    for name, picture in PICTURES.items():
        shows, needs = found[name]
        parts.append(
            f"## {picture.title}\n[`examples/{name}`](../examples/{name}) shows {shows}.\n\n"
            f"![{picture.words}]({picture.file})\n\n"
            f"The command is `{picture.command}`. Needed: {needs}.\n\n"
        )
    parts.append("## Without a picture\n| example | shows | needs |\n| --- | --- | --- |\n")
    for name, (shows, needs) in found.items():
        if name not in PICTURES:
            parts.append(f"| [`examples/{name}`](../examples/{name}) | {shows} | {needs} |\n")
    return "".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    check = parser.parse_args().check
    wanted = page()
    if PAGE.is_file() and PAGE.read_text() == wanted:
        return 0
    if check:
        print("docs/gallery.md is old; run make docs", file=sys.stderr)
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())

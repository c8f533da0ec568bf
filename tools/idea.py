# tools/idea.py - docs/idea.svg, the picture of what cupola does; legible on light and dark pages.
"""Writes the picture that README.md and the site begin with. ``make docs`` runs it.

With ``--check`` nothing is written: the exit status is 1 where the file differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from xml.sax.saxutils import escape

from charts import BLUE, GRAY

PAGE = Path(__file__).resolve().parent.parent / "docs" / "idea.svg"
TITLE = (
    "An author compiles kernels once into a wheel; the launch of a user checks its arguments, and "
    "runs on a GPU or on the CPU device"
)
WIDTH, HEIGHT, LINE = 640, 356, 20  # pixels
# Darker than those of charts.py: white text stands on them.
BROWN, GREEN = "#a35a14", "#2f7a41"
CODE = 'font-family="monospace" font-size="14"'


def words(x: int, y: int, text: str, more: str = "", color: str = "#ffffff") -> str:
    return f'<text x="{x}" y="{y}" fill="{color}" {more}>{escape(text)}</text>'


def box(x: int, y: int, width: int, color: str, title: str, *lines: str, code: int = 0) -> str:
    """A filled box: a title, and lines below it, the first ``code`` of them monospaced."""
    height = 18 + LINE * (1 + len(lines))
    made = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{color}"/>']
    made.append(words(x + 12, y + 24, title, 'font-weight="bold"'))
    for index, line in enumerate(lines):
        more = CODE if index < code else ""
        made.append(words(x + 12, y + 24 + LINE * (index + 1), line, more))
    return "\n".join(made)


def arrow(path: str) -> str:
    line = f'fill="none" stroke="{GRAY}" stroke-width="2.5"'
    return f'<path d="{path}" {line} marker-end="url(#tip)"/>'


def caption(x: int, y: int, text: str, anchor: str = "middle") -> str:
    return words(x, y, text, f'text-anchor="{anchor}"', GRAY)


def picture() -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="15" role="img">',
        f"<title>{escape(TITLE)}</title>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="6" '
        f'markerHeight="6" orient="auto"><path d="M0 0L10 5L0 10z" fill="{GRAY}"/></marker></defs>',
        box(0, 6, 230, BROWN, "The author's source", "__global__ void step(", "  float* v, int n)",
            code=2),
        arrow("M234 45H366"),
        caption(300, 36, "nvcc, once"),
        caption(300, 66, "pip wheel ."),
        box(372, 6, 268, BROWN, "One wheel for all", "machine code for each GPU, PTX,",
            "types and names of parameters"),
        arrow("M506 88V132"),
        caption(494, 116, "pip install, no compiler", "end"),
        box(120, 138, 400, BLUE, "The user's program", "kernels.step[grid, block](v, n=1000)",
            "Each argument is checked before the launch.", code=1),
        arrow("M220 220V266"),
        arrow("M420 220V266"),
        caption(210, 248, "with a GPU", "end"),
        caption(430, 248, "without a GPU", "start"),
        box(0, 272, 310, GREEN, "NVIDIA's driver", "runs the machine code, or the PTX",
            "on newer GPUs"),
        box(330, 272, 310, GREEN, "cupola's CPU device", "a libcuda.so.1 that executes the PTX:",
            "laptops, CI, debugging"),
        "</svg>\n",
    ]  # fmt: skip
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    check = parser.parse_args().check
    wanted = picture()
    if PAGE.is_file() and PAGE.read_text() == wanted:
        return 0
    if check:
        print("docs/idea.svg is old; run make docs", file=sys.stderr)
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())

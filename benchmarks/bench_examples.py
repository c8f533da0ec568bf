"""Times that the examples print

python benchmarks/bench_examples.py [--out FOLDER] [--pictures FOLDER]

The pictures in docs are those of --pictures.
nvrtc_saxpy is measured by bench_nvrtc_saxpy.py.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import records

EXAMPLES = records.ROOT / "examples"
BY_HAND = "ptx_by_hand"


def printed(path, *arguments):
    """An example's output."""
    command = [sys.executable, EXAMPLES / path, *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def of_table(example, text):
    """A row for each number of the table in a text; its heading has the units."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    (what, *columns), _, *cells = ([c.strip() for c in line.split("|")[1:-1]] for line in lines)
    found = []
    for name, *numbers in cells:
        for column, number in zip(columns, numbers, strict=True):
            if number:
                heading, unit = column.rsplit(", ", 1)
                row = records.Row(f"{what}: {name}: {heading}", float(number), unit)
                found.append(row)
    return records.titled(example, found)


def of_lines(example, text):
    """A row for each line that is a name and milliseconds; a line with a colon is a heading."""
    found, heading = [], ""
    for line in text.splitlines():
        if match := re.match(r"\s*(.+?) +([\d.]+) ms\b", line):
            found.append(records.Row(heading + match[1], float(match[2]), "ms"))
        elif ":" in line:
            heading = line.partition(":")[0] + ": "
    return records.titled(example, found)


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--pictures", type=Path, help="folder for the pictures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pictures = options.pictures or Path(folder)
        launcher = printed("ctypes_launcher.py", pictures / "mandelbrot-axes.png")
        convolution = printed("convolution.py", pictures / "convolution.jpg")
    rows = [
        *of_table(BY_HAND, printed("ptx_by_hand/ptx_by_hand.py")),
        *of_lines("ctypes_launcher", launcher),
        *of_table("cython_hello", printed("cython_hello/cython_hello.py")),
        *of_lines("convolution", convolution),
    ]
    records.publish(options.out, __file__, __doc__, rows)


if __name__ == "__main__":
    main()

"""Bytes of a wheel and of its installation, by part

python benchmarks/bench_wheel.py WHEEL [--out FOLDER]

A part has two rows: its files as the wheel compresses them, and unpacked. The goals are those of a
wheel with machine code for all architectures; a wheel for others has none. Needs no device.
"""

import json
import sys
import zipfile
from collections import Counter
from pathlib import Path

import records

sys.path.insert(0, str(records.ROOT / "tools"))
import wheel as wheels

from cupola.build import architectures

# Of a release, at the least: devices of sm_89 run the code for sm_86.
GENERATIONS = {
    target.number for target in architectures.Architectures(architectures.ALL).generations
}
MOST_PACKED, MOST_UNPACKED = 6.5e6, 25e6


def targets(file):
    """The architectures of the shipped kernels' machine code."""
    return json.loads(file.read("cupola/lib/kernels.json"))["architectures"]["cubin"]


def rows(path):
    packed, unpacked = Counter(), Counter()
    with zipfile.ZipFile(path) as file:
        for entry in file.infolist():
            part = wheels.part_of(entry.filename)
            packed[part] += entry.compress_size
            unpacked[part] += entry.file_size
        code = targets(file)
    everything = set(code) >= GENERATIONS
    note = "machine code for " + (", ".join(f"sm_{one}" for one in code) or "no architecture")
    goals = [
        f"value <= {most:.0f}" if everything else None for most in (MOST_PACKED, MOST_UNPACKED)
    ]
    yield records.Row("the wheel", path.stat().st_size, "bytes", goal=goals[0], note=note)
    total = sum(unpacked.values())
    yield records.Row("its installation", total, "bytes", goal=goals[1], note=note)
    for part in wheels.PARTS:
        yield records.Row(f"{part}: in the wheel", packed[part], "bytes")
        yield records.Row(f"{part}: installed", unpacked[part], "bytes")


def main():
    parser = records.parser(__doc__)
    parser.add_argument("wheel", type=Path, help="a wheel of `make wheel` or `make release`")
    options = parser.parse_args()
    extra = {"wheel": options.wheel.name}
    # The path says nothing elsewhere; the record has the wheel's name.
    sys.argv[1:] = [one for one in sys.argv[1:] if one != str(options.wheel)]
    command = "python benchmarks/bench_wheel.py dist/cupola-*.whl"
    records.publish(
        options.out, __file__, __doc__, list(rows(options.wheel)),
        device="no device", extra=extra, command=command,
    )  # fmt: skip


if __name__ == "__main__":
    main()

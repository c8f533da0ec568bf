"""Figures as JSON records: every benchmark command writes one; `make results` makes pages of them.

A record is a file of rows with one command, device, host, revision and date. A ratio is the
row's time over its floor's, so smaller is better. A goal is a bound of the value or of the ratio.
"""

import argparse
import dataclasses
import datetime
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "results"
LOAD = os.getloadavg()[0]  # when the command began; benchmarks run just before count, too
GOAL = re.compile(r"(value|ratio) (<=|>=) (\d+(?:\.\d+)?)")


@dataclasses.dataclass
class Row:
    """One figure. `floor` is what it is measured against, by name and in the same unit."""

    what: str
    value: float
    unit: str
    floor: str | None = None
    floor_value: float | None = None
    ratio: float | None = None
    goal: str | None = None
    note: str | None = None

    def fields(self):
        return {**dataclasses.asdict(self), "met": self.met()}

    def shortfall(self):
        """How far it is from its goal: above 1 the goal is missed. None where there is no goal."""
        if self.goal is None:
            return None
        measured, sign, bound = self.parsed_goal()
        reached = getattr(self, measured)
        over, under = (reached, bound) if sign == "<=" else (bound, reached)
        return over / under if under else (math.inf if over else 1.0)

    def parsed_goal(self):
        """The goal as "value" or "ratio", "<=" or ">=", and the bound."""
        match = GOAL.fullmatch(self.goal)
        if match is None:
            raise ValueError(f"{self.what}: {self.goal!r} is no goal")
        return match[1], match[2], float(match[3])

    def met(self):
        shortfall = self.shortfall()
        return None if shortfall is None else shortfall <= 1

    def rank(self):
        """For sorting: missed goals first, by how far; rows without a goal last, by their ratio."""
        shortfall = self.shortfall()
        return (shortfall is None, -(shortfall or 0), -(self.ratio or 0))


@dataclasses.dataclass
class Record:
    """The rows that one run of a command gave, and where, when and of which revision."""

    name: str
    title: str
    command: str
    device: str
    host: dict
    revision: str
    date: str
    rows: list

    def text(self):
        fields = dataclasses.asdict(self)
        fields["rows"] = [
            {key: value for key, value in row.fields().items() if value is not None}
            for row in sorted(self.rows, key=Row.rank)
        ]
        return json.dumps(fields, indent=1) + "\n"


def read(path):
    fields = json.loads(path.read_text())
    rows = []
    for given in fields.pop("rows"):
        met = given.pop("met", None)
        rows.append(Row(**given))
        if rows[-1].met() != met:
            raise ValueError(f"{path.name}: {rows[-1].what}: met is not what goal and figure say")
    return Record(rows=rows, **fields)


def by_file(folder=FOLDER):
    """The records of a folder by the names of their files, without .json."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.json"))}


def all_records(folder=FOLDER):
    return list(by_file(folder).values())


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def revision():
    """Of the tree; a copy of a tree without its history is told by CUPOLA_REVISION."""
    if told := os.environ.get("CUPOLA_REVISION"):
        return told
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    answer = subprocess.run(command, capture_output=True, text=True)
    return answer.stdout.strip() or "unknown"


def host():
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load at the start": f"{LOAD:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def cupola_device():
    """The device's name, and the driver for the host's description."""
    import cupola

    info = cupola.driver.info()
    version = f"CUDA {info.version // 1000}.{info.version % 1000 // 10}"
    return cupola.Device().name, {"driver": f"{info.kind}, {version}"}


def parser(doc):
    """The parser of each command, with --out FOLDER."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    made.add_argument("--out", type=Path, help="folder for the record")
    return made


def medians(times, unit, goals=None):
    """Rows of what was timed in turns: medians, and ratios to the first of the same round.

    `times` has seconds by name, one for each round. `goals` has goals by name.
    """
    scale = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    (floor, base), *rest = times.items()
    floor_value = statistics.median(base) * scale
    rows = [Row(floor, floor_value, unit)]
    for name, seconds in rest:
        ratio = statistics.median(s / b for s, b in zip(seconds, base, strict=True))
        value = statistics.median(seconds) * scale
        rows.append(Row(name, value, unit, floor, floor_value, ratio, (goals or {}).get(name)))
    return rows


def titled(title, rows):
    """The rows with a title before their names."""
    for row in rows:
        row.what = f"{title}: {row.what}"
        row.floor = row.floor and f"{title}: {row.floor}"
    return rows


def main(script, doc, run):
    """Of a command that takes --out alone."""
    publish(parser(doc).parse_args().out, script, doc, run())


def figure(number):
    """Four digits at least, without an exponent."""
    if number == round(number) and abs(number) < 1e15:
        return f"{round(number):,}"
    digits = max(0, 3 - math.floor(math.log10(abs(number)))) if number else 0
    return f"{number:,.{min(digits, 6)}f}"


def line(row):
    ratio = "" if row.ratio is None else f"{row.ratio:.3f} x"
    goal = "" if row.goal is None else f"{row.goal}: {'met' if row.met() else 'missed'}"
    return f"{row.what:70} {figure(row.value):>14} {row.unit:6} {ratio:>10}  {goal}".rstrip()


def made(script, doc, rows, *, name=None, device=None, extra=None, command=None, arguments=()):
    """A record of this tree, machine and day.

    `name` is the record's where it is not the script's, `device` the device's where it is not that
    of cupola, `command` what starts the script where that is not its path.
    """
    path = Path(script).resolve()
    about = host()
    if device is None:
        device, driver = cupola_device()
        about |= driver
    command = command or f"python {path.relative_to(ROOT).as_posix()}"
    return Record(
        name=name or path.stem.removeprefix("bench_"),
        title=doc.splitlines()[0].rstrip("."),
        command=" ".join([command, *arguments]),
        device=device,
        host=about | (extra or {}),
        revision=revision(),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        rows=rows,
    )


def publish(out, script, doc, rows, **more):
    """Prints the rows, and writes a record into the folder `out` where that is not None."""
    for row in sorted(rows, key=Row.rank):
        print(line(row), flush=True)
    if out is None:
        return
    arguments = [word for word in sys.argv[1:] if word not in ("--out", str(out))]
    write(out, made(script, doc, rows, arguments=arguments, **more))


def write(out, record):
    """Writes a record into the folder `out`, under its name and that of its device."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{record.name} {record.device}".lower()).strip("-")
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{slug}.json").write_text(record.text())

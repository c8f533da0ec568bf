"""A build of cupola from source: from nothing, with nothing changed, with one file edited

python benchmarks/bench_source_build.py [--out FOLDER]

The sources that git knows are copied to a folder of their own and built there by the Python that
runs this, which needs the build requirements. Seconds of processors are those of all processes;
they, other than the time that passes, change little with what else the machine does.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parent.parent
# The edited files and their comment style. Each edit must be followed by a correct build.
EDITED = {"csrc/runtime/context/stream.cpp": "//", "pyx/cupola/stream.pyx": "#"}


def copy(target):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def build(folder, times):
    """Seconds that passed, and seconds of processors."""
    # The id of a build follows its declarations alone, so that an edited source changes no more.
    environment = {**os.environ, "CUPOLA_BUILD_TIMINGS": str(times), "CUPOLA_BUILD_ID": "bench"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    passed, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run():
    """Rows of (what, seconds that passed, seconds of processors), and where the time went."""
    with tempfile.TemporaryDirectory(prefix="cupola-build-") as place:
        folder, times = Path(place) / "cupola", Path(place) / "times.json"
        copy(folder)
        rows = [("everything", *build(folder, times))]
        groups = {}
        for step in json.loads(times.read_text()):
            entry = groups.setdefault(step["group"], [0, 0.0])
            entry[0] += 1
            entry[1] += step["processor"]
        build(folder, times)  # this build finds the outputs of the build in place
        rows.append(("nothing changed", *build(folder, times)))
        for name, comment in EDITED.items():
            with (folder / name).open("a") as file:
                file.write(f"{comment} edited\n")
            rows.append((f"{name} edited", *build(folder, times)))
        return rows, groups


def report(rows, groups):
    made = []
    for what, passed, spent in rows:
        goal = "value <= 90" if what == "everything" else None
        made.append(records.Row(f"{what}: time", passed, "s", goal=goal))
        made.append(records.Row(f"{what}: time of all processors", spent, "s"))
    for name, (count, spent) in sorted(groups.items(), key=lambda item: -item[1][1]):
        note = f"{count} steps"
        made.append(records.Row(f"of which {name}: time of all processors", spent, "s", note=note))
    return made


if __name__ == "__main__":
    out = records.parser(__doc__).parse_args().out
    device = records.processor()
    records.publish(out, __file__, __doc__, report(*run()), device=device)

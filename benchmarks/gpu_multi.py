"""Tests and figures of two devices of one host

python benchmarks/gpu_multi.py --out FOLDER [--installed] [--seconds N] [PART ...]

Parts run one after another, and none stops the others. The output of each is a file in FOLDER, the
records are in FOLDER/records; the record of this command has a row for each part, and is written
after each. On the CPU device it is a rehearsal, with CUPOLA_CPU_DEVICES=2.
"""

import contextlib
import dataclasses
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build/gpu/site"
NOT_RUN = 77  # a part's exit status where it cannot run here; its last line says why
MARKER = "several_devices"
BUILD_SECONDS = 600
VERDICTS = {None: "not run", True: "passed", False: "FAILED"}


@dataclasses.dataclass
class Part:
    """A command with its longest time."""

    what: str
    command: list
    seconds: int


def python(*words):
    return [sys.executable, *map(str, words)]


def pytest(driver, *words):
    return python("-m", "pytest", "-p", "no:cacheprovider", "-q", f"--driver={driver}", *words)


def marked():
    """The test files that have the marker."""
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        if f"mark.{MARKER}" in path.read_text() and path.name != "test_op_beside.py":
            yield path.relative_to(ROOT)


def parts(driver, records):
    beside = ["tests/test_op_beside.py"]
    if driver == "cuda" and importlib.util.find_spec("torch"):
        beside.append("tests/frameworks/test_torch_beside.py")
    return {
        "tests": Part(
            "tests of several devices", pytest(driver, "-m", MARKER, *marked()), 150
        ),
        "beside": Part(
            "operations on host arrays and both devices", pytest(driver, "-m", MARKER, *beside), 90
        ),
        "pipeline": Part(
            "pipelines over one and two devices",
            python("benchmarks/bench_pipeline_devices.py", "--out", records), 90,
        ),
        "nccl": Part(
            "all-reduce by NCCL beside torch.distributed",
            python("benchmarks/bench_nccl.py", "--out", records), 120,
        ),
        "heat-mpi": Part(
            "heat by MPI, a rank a device",
            python("benchmarks/bench_heat_ranks.py", "--out", records), 90,
        ),
        "heat-dask": Part(
            "heat by Dask, a worker a device",
            python("benchmarks/bench_heat_blocks.py", "--out", records), 90,
        ),
    }  # fmt: skip


def run(command, file, seconds, **environment):
    """The exit status and the last line of its output; a command that hangs is ended."""
    with file.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = f"no end within {seconds:.0f} seconds"
        finally:
            with_children_ended(process)
    lines = file.read_text(errors="replace").split("\n")
    return status, next((line.strip() for line in reversed(lines) if line.strip()), "no output")


def with_children_ended(process):
    """Ends what is left of the process group that the command had for itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def build(out):
    """Installs cupola into SITE without network, for all that follows; the time that it took."""
    start = time.monotonic()
    shutil.rmtree(SITE, ignore_errors=True)
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--target", SITE, "."]
    status, last = run(python("-m", "pip", "install", *options), out / "build.txt", BUILD_SECONDS)
    if status:
        sys.exit(f"the build failed ({status}): {out / 'build.txt'}: {last}")
    return time.monotonic() - start


def row_of(part, status, last, seconds):
    """A row whose goal is no failure; without a goal where the part did not run."""
    from records import Row

    note = f"{last.removeprefix('not run: ')}; {seconds:.0f} s"
    if status == NOT_RUN:
        return Row(f"{part.what}: not run", 0, "failures", note=note)
    goal = "value <= 0"
    return Row(part.what, float(status != 0), "failures", goal=goal, note=note)


def main():
    import records

    parser = records.parser(__doc__)
    parser.add_argument("--installed", action="store_true", help="cupola is installed already")
    parser.add_argument("--seconds", type=float, default=450, help="for all parts")
    parser.add_argument("names", nargs="*", metavar="PART", help="only these")
    options = parser.parse_args()
    if options.out is None:
        parser.error("--out FOLDER is needed")
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if not options.installed:
        print(f"build: {build(out):.0f} s", flush=True)
        paths = [os.fspath(SITE), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        sys.path.insert(0, os.fspath(SITE))
    os.environ.setdefault("CUPOLA_OFFLINE", "1")
    os.environ["CUPOLA_REVISION"] = records.revision()
    os.environ.setdefault("CUPOLA_CPU_DEVICES", "2")  # read by the CPU device alone
    sys.exit(measure(options, out))


def measure(options, out):
    """The exit status."""
    import records

    import cupola

    driver = cupola.driver.info().kind
    if len(cupola.devices()) < 2:
        sys.exit(f"two devices are needed, and this machine has {len(cupola.devices())}")
    name, about = records.cupola_device()
    os.environ["CUPOLA_DRIVER"] = driver
    folder = out / "records"
    chosen = parts(driver, folder)
    if unknown := set(options.names) - set(chosen):
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; parts are {', '.join(chosen)}")

    def write(rows):
        device = f"2 x {name}"
        made = records.made(__file__, __doc__, rows, device=device, extra=about)
        records.write(folder, made)

    wanted = {key: chosen[key] for key in options.names or chosen}
    rows = run_parts(wanted, options.seconds, out, write)
    summary(rows, records.all_records(folder))
    return int(any(row.met() is False for row in rows))


def run_parts(wanted, seconds, out, write):
    """A row for each part; `write` gets all rows so far after each."""
    rows, end = [], time.monotonic() + seconds
    for key, part in wanted.items():
        start = time.monotonic()
        print(f"{part.what} ...", flush=True)
        limit = min(part.seconds, end - start)
        if limit < 1:
            status = last = "no time left"
        else:
            status, last = run(part.command, out / f"{key}.txt", limit)
            last = last if status in (0, NOT_RUN) else f"status {status}: {last}"
        rows.append(row_of(part, status, last, time.monotonic() - start))
        print(f"  {VERDICTS[rows[-1].met()]}: {rows[-1].note}", flush=True)
        write(rows)
    return rows


def summary(rows, found):
    """Prints a line for each part, and one for each figure that has a goal."""
    print()
    for row in rows:
        print(f"{VERDICTS[row.met()]:8} {row.what}")
    for record in found:
        for row in record.rows if record.name != "gpu_multi" else ():
            if row.goal:
                reached = row.value if row.goal.startswith("value") else row.ratio
                print(f"{'met' if row.met() else 'MISSED':8} {row.what}: {reached:.3f}, {row.goal}")


if __name__ == "__main__":
    main()

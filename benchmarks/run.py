"""Runs the benchmarks that suit this machine's device, one after the other; each writes its record.

python benchmarks/run.py [--out FOLDER] [--seconds N] [NAME ...]

A benchmark that fails, or that N seconds are too few for, is named at the end; the others' records
are there.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import records

HERE = Path(__file__).parent
# In this order: what is short comes first.
CPU = {
    "bench_cpu_device": [],
    "instructions": [],
    "bench_cpu_calls": [],
    "bench_import": [],
    "bench_start": [],
    "bench_build": [],
    "bench_algorithms": [],
    "bench_machine_code": [],
    "bench_host_compilers": [],
    "bench_coverage": [],
    "bench_record": [],
}
GPU = {
    "bench_launch": [],
    "bench_threads": [],
    "bench_graph": [],
    "bench_arrays": [],
    "bench_peers": [],
    "bench_extension": [],
    "bench_import": [],
    "bench_start": [],
    "bench_nvrtc_saxpy": [],
    "bench_heat": [],
    "bench_library": [],
    "bench_cudart": [],
    "bench_copy": [],
    "bench_kernels": [],
    "bench_elementwise": [],
    "bench_reduce": [],
    "bench_algorithms": [],
    "bench_pipeline": [],
    "bench_operations": [],
    "bench_ops": [],
    "bench_sizes": [],
    "bench_link": [],
    "bench_tuning": ["--sizes", "8", "--tuned", "8"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=records.FOLDER, help="folder for the records")
    parser.add_argument("--seconds", type=float, default=3600, help="for all of them")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    options = parser.parse_args()
    _, driver = records.cupola_device()
    chosen = CPU if driver["driver"].startswith("cpu") else GPU
    unknown = set(options.names) - set(chosen)
    if unknown:
        parser.error(f"no benchmark of this device: {', '.join(sorted(unknown))}")
    end, failed = time.monotonic() + options.seconds, []
    for name in options.names or chosen:
        print(f"== {name}", flush=True)
        command = [sys.executable, HERE / f"{name}.py", "--out", options.out, *chosen[name]]
        start = time.monotonic()
        try:
            subprocess.run(command, check=True, timeout=max(0.1, end - start))
        except subprocess.CalledProcessError as error:
            failed.append(f"{name} (status {error.returncode})")
        except subprocess.TimeoutExpired:
            failed.append(f"{name} (no time left)")
        print(f"-- {name}: {time.monotonic() - start:.0f} s", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

"""A stencil in 24 variants by cupola, kernel_tuner and Triton: lines to write, and the first launch

python benchmarks/bench_tuned.py [--out FOLDER]

tuned/ has the package as an author writes it for each project; the kernel is that of
examples/stencil. A line counts between the comments
"counted from here" and "counted up to here" where it has more than brackets and is no comment:
what declares the variants, measures them and launches the best. Kernels, references and what each
package of the project has anyway do not count.

Then new processes call the package once: cupola's with the table that it ships, Triton's with its
cache on the disk. The time is that of the first call, to its end on the device; imports and the
making of arrays come before it. Results are compared with NumPy's. kernel_tuner's package is not
run.
"""

import importlib.util
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import records
from wheels import hooks, installed

import cupola

HERE = Path(__file__).parent / "tuned"
REFERENCE = HERE / "reference.py"
KERNEL = records.ROOT / "examples" / "stencil" / "csrc" / "smooth.cu"
PROCESSES = 7
BEGIN, END = "# counted from here", "# counted up to here"

SHAPE = (1024, 1024)
COMMON = f"""
import time
import numpy as np
from smooth.reference import smoothed
host = np.random.default_rng(2).random({SHAPE}, np.float32)
"""
FIRST = {
    "cupola": """
import cupola
from smooth import smooth
x = cupola.to_device(host)
finish = cupola.Device().synchronize
finish()
start = time.perf_counter()
result = smooth(x)
finish()
seconds = time.perf_counter() - start
found = result.get()
from smooth import families
assert families.smooth.explain(result, x, *x.shape).row is not None
""",
    "Triton": """
import torch
from smooth import smooth
x = torch.from_numpy(host).cuda()
finish = torch.cuda.synchronize
finish()
start = time.perf_counter()
result = smooth(x)
finish()
seconds = time.perf_counter() - start
found = result.cpu().numpy()
""",
}
CHECKED = """
np.testing.assert_allclose(found, smoothed(host), rtol=1e-6)
print(seconds)
"""
FOLDERS = {"cupola": "by_cupola", "kernel_tuner": "by_kernel_tuner", "Triton": "by_triton"}


def lines(folder):
    """How many lines an author writes in a folder's files for the variants."""
    count = 0
    for path in sorted(one for one in folder.rglob("*") if one.suffix in (".py", ".toml")):
        counted = False
        for line in path.read_text().splitlines():
            counted = line == BEGIN or (counted and line != END)
            count += counted and bool(re.search(r"\w", line)) and not line.startswith("#")
    return count


def python(code, folder, **variables):
    environment = {**os.environ, **variables, "PYTHONPATH": hooks.search_path(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{code}\n{done.stdout}{done.stderr}")
    return done.stdout


def first_calls(project, folder, **variables):
    """Seconds of the first call, one for each process."""
    code = COMMON + FIRST[project] + CHECKED
    told = [python(code, folder, **variables) for _ in range(PROCESSES)]
    return [float(text.splitlines()[-1]) for text in told]


def built(folder):
    """The package by cupola, installed with its table."""
    _, site = installed(HERE / FOLDERS["cupola"], folder, {"smooth.cu": KERNEL.read_text()})
    shutil.copy(REFERENCE, site / "smooth")
    tune = ["tune", "smooth", "--output", str(site / "smooth" / "tuning"), "--budget", "120"]
    python(f"from cupola.__main__ import main; main({tune})", site)
    return site


def of_cupola(folder):
    return first_calls("cupola", built(folder), CUPOLA_TUNE="tables", CUPOLA_CACHE_DIR="none")


def of_triton(folder):
    shutil.copytree(HERE / FOLDERS["Triton"] / "smooth", folder / "smooth")
    shutil.copy(REFERENCE, folder / "smooth")
    cache = {"TRITON_CACHE_DIR": str(folder / "cache")}
    python(COMMON + FIRST["Triton"] + CHECKED, folder, **cache)  # fills the cache
    return first_calls("Triton", folder, **cache)


def main():
    options = records.parser(__doc__).parse_args()
    ours = lines(HERE / FOLDERS["cupola"])
    rows = [
        records.Row(f"lines of an author by cupola, beside {project}", ours, "lines", project,
                    theirs, ours / theirs, "ratio <= 0.5")
        for project, folder in FOLDERS.items()
        if project != "cupola" and (theirs := lines(HERE / folder))
    ]  # fmt: skip
    what = "first call of a new process by cupola"
    with tempfile.TemporaryDirectory(prefix="cupola-tuned-") as name:
        own = statistics.median(of_cupola(folder_in(name, "cupola"))) * 1e3
        has_triton = importlib.util.find_spec("torch") and importlib.util.find_spec("triton")
        if has_triton and cupola.driver.info().kind == "cuda":
            theirs = statistics.median(of_triton(folder_in(name, "Triton"))) * 1e3
            rows.append(
                records.Row(what, own, "ms", "Triton", theirs, own / theirs, "ratio <= 0.2")
            )
        else:
            rows.append(records.Row(what, own, "ms", note="no GPU, or no Triton"))
    records.publish(options.out, __file__, __doc__, rows)


def folder_in(parent, name):
    folder = Path(parent, name)
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()

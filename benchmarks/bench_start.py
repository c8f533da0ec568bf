"""From a process's start to a first result: cupola over `import numpy` and a C++ program

python benchmarks/bench_start.py [--out FOLDER]

The last rows are of the CPU device at default settings: a kernel of PTX that an earlier process
compiled, over the same kernel compiled ahead of time.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import floor
import records

import cupola
import cupola.paths
from cupola.build import processors

SOURCE = Path(__file__).with_name("start.cpp")
ROUNDS = 15
DONE = "5.0"  # what each process prints when it has started
NUMPY = "import numpy; print(5.0, flush=True)"
CUPOLA = """
import numpy, cupola
n = 1000
out = cupola.saxpy(2.0, numpy.full(n, 1, numpy.float32), numpy.full(n, 3, numpy.float32))
assert out[0] == 5
print(out[-1], flush=True)
"""


ROUND = "fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f3, %f3, %f1, %f2;\n"
PTX = f""".version 7.8
.target sm_75
.address_size 64
.visible .entry steps(.param .u64 in, .param .u64 out, .param .u32 n) {{
.reg .b64 %rd<6>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .pred %p;
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
setp.ge.u32 %p, %r5, %r1; @%p bra END;
mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
ld.global.f32 %f1, [%rd4]; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f3E800000;
{ROUND * 50}st.global.f32 [%rd5], %f1;
END: ret;
}}
"""
FIRST = """
import sys, numpy, cupola
n = 1 << 20
x = cupola.to_device(numpy.full(n, 1, numpy.float32))
out = cupola.zeros(n, numpy.float32)
cupola.load(sys.argv[1])["steps"][n // 256, 256](x, out, numpy.uint32(n))
assert out.get()[-1] > 0
print(5.0, flush=True)
"""
AHEAD = """
import sys
from cupola.build import ahead
driver, image, level, target = sys.argv[1:]
device = ahead.Driver(driver)
device.make(device.functions(open(image, "rb").read(), ["steps"]), level, target)
"""


def until_answer(command, environment):
    """Seconds until a process printed the answer; what it does at its end does not count."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        answer = process.stdout.readline()
        elapsed = time.perf_counter() - start
    assert answer.strip() == DONE and process.returncode == 0, command
    return elapsed


def program(folder):
    """The C++ program's command."""
    compiler, _ = floor.compiler()
    target, image = folder / "start", records.ROOT / "build/kernels/kernels.plain.fatbin"
    command = [compiler, "-std=c++17", "-O2", SOURCE, "-o", target, "-ldl"]
    subprocess.run(command, check=True)
    return [target, cupola.driver.info().path, image, DONE]


def run():
    """Milliseconds, medians of interleaved rounds; the last row is the difference of each round."""
    environment = {**os.environ, "CUPOLA_DRIVER": cupola.driver.info().kind}
    with tempfile.TemporaryDirectory(prefix="cupola-start-") as folder:
        ways = {
            "import numpy": [sys.executable, "-c", NUMPY],
            "C++, cuInit to result": program(Path(folder)),
            "import numpy, cupola, cupola.saxpy to result": [sys.executable, "-c", CUPOLA],
        }
        times = {name: [] for name in ways}
        for round_ in range(ROUNDS + 2):
            for name, command in ways.items():
                elapsed = until_answer(command, environment)
                if round_ >= 2:
                    times[name].append(elapsed * 1e3)
    rows = [records.Row(name, statistics.median(v), "ms") for name, v in times.items()]
    over = [c - n - cpp for n, cpp, c in zip(*times.values(), strict=True)]
    goal = "value <= 20"
    return [*rows, records.Row("cupola over both", statistics.median(over), "ms", goal=goal)]


def run_cached():
    """Milliseconds of the CPU device's programs, and the median of their differences."""
    level = processors.levels("native")[0]
    environment = {**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_MODE": "auto"}
    with tempfile.TemporaryDirectory(prefix="cupola-start-") as folder:
        ways = {}
        for name in "ahead", "cached":
            image = Path(folder) / name / "steps.ptx"
            image.parent.mkdir()
            image.write_text(PTX)
            cache = str(image.parent / "cache")
            ways[name] = (
                [sys.executable, "-c", FIRST, image],
                {**environment, "CUPOLA_CACHE_DIR": cache},
            )
        target = Path(folder) / f"ahead/steps.{level}.so"
        words = [cupola.paths.cpu_driver(), Path(folder) / "ahead/steps.ptx", level, target]
        subprocess.run([sys.executable, "-c", AHEAD, *words], check=True)
        until_answer(*ways["cached"])
        until = time.monotonic() + 60
        while not list((Path(folder) / "cached/cache/cpu").glob("*.so")):
            if time.monotonic() > until:
                sys.exit("the kernel was not compiled")
            time.sleep(0.1)
        times = {name: [] for name in ways}
        for round_ in range(ROUNDS + 2):
            for name, way in ways.items():
                elapsed = until_answer(*way)
                if round_ >= 2:
                    times[name].append(elapsed * 1e3)
    over = [c - a for a, c in zip(*times.values(), strict=True)]
    return [
        records.Row("CPU device, kernel compiled ahead", statistics.median(times["ahead"]), "ms"),
        records.Row("CPU device, kernel in the cache", statistics.median(times["cached"]), "ms"),
        records.Row(
            "kernel in the cache over one compiled ahead",
            statistics.median(over),
            "ms",
            goal="value <= 10",
        ),
    ]


if __name__ == "__main__":
    records.main(__file__, __doc__, lambda: [*run(), *run_cached()])

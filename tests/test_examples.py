"""The examples, each as a reader starts it: a process of its own, its output checked."""

import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cupola
from cupola import paths

pytestmark = pytest.mark.campaign("builds of the examples")

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(path, *arguments, folder, **variables):
    """The output of the example, which must succeed without a warning."""
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    command = [sys.executable, EXAMPLES / path, *map(str, arguments)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Matplotlib says so once on a machine.
    lines = [line for line in done.stderr.splitlines() if "font cache" not in line]
    assert not lines, done.stderr
    return done.stdout


def loader_path(driver, folder):
    """Where the loader finds libcuda.so: the CPU device, or a link to NVIDIA's libcuda.so.1."""
    if driver == "cpu":
        return os.path.dirname(paths.cpu_driver())
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "libcuda.so" in line:
            (folder / "libcuda.so").symlink_to(line.split(maxsplit=5)[5])
            return folder
    raise AssertionError("the driver is not in this process")


@pytest.fixture
def nvrtc():
    import images

    return images.nvrtc()


@pytest.fixture
def plots():
    """Wherever a picture is looked at."""
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib (cupola[plot]) is not installed")
    from PIL import Image

    return lambda path: np.asarray(Image.open(path).convert("RGB")).astype(int)


def axes(black):
    """The part of a picture inside of the black frame of its axes."""
    black = black.all(axis=-1)
    rows, columns = (np.flatnonzero(black.mean(axis=axis) > 0.6) for axis in (1, 0))
    assert rows.size >= 2 and columns.size >= 2
    return black[rows[0] + 2 : rows[-1] - 1, columns[0] + 2 : columns[-1] - 1]


def numbers(text):
    return [float(word) for word in re.findall(r"-?\d+\.?\d*", text)]


def test_ctypes_launcher(driver, tmp_path, plots):
    text = run("ctypes_launcher.py", "m.png", folder=tmp_path)
    inside = int(cupola.mandelbrot(512, -2, 2, 256, 2).sum())
    assert f"512 x 512 points, {inside} of them inside, bit-equal" in text
    assert "libcupola.so by ctypes" in text and "NumPy" in text
    within = axes(plots(tmp_path / "m.png") == 0)
    assert abs(within.mean() - inside / 512**2) < 0.005
    assert not within[:, -20:].any() and within[within.shape[0] // 2, within.shape[1] // 2]


def test_ptx_by_hand(driver, tmp_path):
    text = run("ptx_by_hand/ptx_by_hand.py", folder=tmp_path)
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| ")][2:]
    assert [name.strip() for name, *_ in rows] == [
        "NumPy",
        "libcupola.so, ctypes",
        "mandelbrot.ptx, cupola",
        "mandelbrot.ptx, ctypes",
        "cupola.mandelbrot",
    ]
    for _, cold, warm in rows:
        assert float(cold) > 0 and float(warm) > 0
    inside = int(cupola.mandelbrot(512, -2, 2, 256, 2).sum())
    assert f"the 5 pictures are bit-equal, {inside} points inside" in text


def test_driver_by_ctypes_alone(driver, tmp_path):
    """It imports nothing of cupola: the same file on NVIDIA's library and on ours."""
    source = (EXAMPLES / "ptx_by_hand/driver.py").read_text()
    assert "import cupola" not in source and "_v2" not in source
    path = loader_path(driver, tmp_path)
    text = run("ptx_by_hand/driver.py", folder=tmp_path, LD_LIBRARY_PATH=path)
    inside = int(cupola.mandelbrot(512, -2, 2, 256, 2).sum())
    assert text == f"{cupola.Device().name}: {inside} of 262144 points are inside\n"


def test_ptx_is_what_nvcc_makes_of_the_source(tmp_path):
    """But for the compiler's name and version."""
    import images

    source = EXAMPLES / "ptx_by_hand/mandelbrot.cu"
    command = re.search(r"//\s+nvcc (.*)", source.read_text())[1].split()
    assert command[-1] == source.name
    made = tmp_path / "made.ptx"
    subprocess.run([images.nvcc().nvcc, *command[:-1], "-o", made, source], check=True)

    def code(path):
        return re.findall(r"^\t.*;$", path.read_text(), re.MULTILINE)

    committed = code(source.with_suffix(".ptx"))
    assert len(committed) > 40
    if images.nvcc().version == (13, 0):
        assert committed == code(made)


def test_doubling(driver, tmp_path, nvrtc):
    text = run("doubling.py", folder=tmp_path, CUPOLA_CACHE_DIR=tmp_path / "cache")
    shown = re.split(r"^(?:[a-z]|2).*:\n", text, flags=re.MULTILINE)[1:]
    factors = [1, 2, 2, 4, 16, 2, 2]
    assert len(shown) == len(factors)
    for part, factor in zip(shown, factors, strict=True):
        assert numbers(part) == [factor * i for i in range(16)]


def test_structs(driver, tmp_path):
    assert run("structs.py", folder=tmp_path).splitlines() == [
        "original arrays: [1. 2. 3.] [0. 4.]",
        "doubled both: [2. 4. 6.] [0. 8.]",
        "doubled the second only: [2. 4. 6.] [ 0. 16.]",
        "through the structs' pointers: [2. 4. 6.] [ 0. 16.]",
    ]


HELLO = ["Hello World From GPU!"] * 3 + ["Load cuda function successfully!"]


def test_cython_hello(driver, tmp_path):
    """Standard output is a pipe here: what the kernels print still comes first."""
    pytest.importorskip("Cython")
    text = run("cython_hello/cython_hello.py", folder=tmp_path)
    parts = re.split(r"^-- (.*)\n", text, flags=re.MULTILINE)[1:]
    ways = dict(zip(parts[::2], parts[1::2], strict=True))
    assert list(ways) == ["Cython", "C program, dlopen", "C library, ctypes"]
    for printed in ways.values():
        assert printed.splitlines()[:4] == HELLO
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")][2:]
    assert [row[0].strip() for row in rows] == ["ctypes", "Cython", "cupola.hello"]
    assert all(float(row[1]) > 0 for row in rows)
    by_ctypes, by_cython = (float(row[2]) for row in rows[:2])
    assert 0 < by_cython < by_ctypes
    assert not list(tmp_path.iterdir())


def run_cuda(path, *arguments, folder, driver):
    """The output of an example that does not use cupola, started by `cupola run`."""
    import images

    search = f"{Path(images.nvcc().nvcc).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "cupola", "run", *(["--cpu"] if driver == "cpu" else [])]
    done = subprocess.run(
        [*command, EXAMPLES / path, *arguments],
        env={**os.environ, "PATH": search},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_host_launcher(driver, tmp_path, plots):
    text = run_cuda("host_launcher/host_launcher.py", "m.png", folder=tmp_path, driver=driver)
    points, area, picture = text.splitlines()
    assert points.startswith("768 x 512 points, kernel ") and picture == "picture: m.png"
    assert area == "area of the set: 1.524"  # the true area is 1.507; the limit of steps adds to it
    assert plots(tmp_path / "m.png").shape == (512, 768, 3)


def test_hello(driver, tmp_path):
    pytest.importorskip("Cython")
    text = run_cuda("hello/hello.py", folder=tmp_path, driver=driver)
    parts = re.split(r"^-- (.*)\n", text, flags=re.MULTILINE)[1:]
    lines = [f"Hello from thread {n} of block 0" for n in range(3)]
    assert parts[::2] == ["C program, dlopen", "C library, ctypes", "Cython"]
    assert all(sorted(printed.splitlines()) == lines for printed in parts[1::2])


def test_nvrtc_saxpy(driver, tmp_path, nvrtc):
    few = [] if driver == "cuda" else ["--elements", 1_000_000]
    text = run("nvrtc_saxpy/nvrtc_saxpy.py", *few, folder=tmp_path)
    assert f"device: {cupola.Device().name}" in text
    n, blocks = (1_000_000, 1954) if few else (16_777_216, 32_768)
    assert f"{n} elements, {blocks} blocks of 512 threads, checked" in text
    kernel, application = re.findall(r"^(?:kernel|application) ([\d.]+) ms$", text, re.MULTILINE)
    assert 0 < float(kernel) < float(application)


def test_nvrtc_saxpy_finds_wrong_results():
    spec = importlib.util.spec_from_file_location("s", EXAMPLES / "nvrtc_saxpy/nvrtc_saxpy.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    x = np.linspace(0, 1, 2 * example.PIECE + 3, dtype=np.float32)
    a, right = np.float32(3), np.float32(3) * x + x
    assert example.is_saxpy(right, a, x, x)
    for place in (0, example.PIECE, -1):
        wrong = right.copy()
        wrong[place] = np.nextafter(wrong[place], np.float32(9))
        assert not example.is_saxpy(wrong, a, x, x)


def test_nvrtc_saxpy_beside_cpp(driver, tmp_path, nvrtc):
    """The C++ program compiles, runs on the same driver, and checks the same result."""
    bench = EXAMPLES.parent / "benchmarks/bench_nvrtc_saxpy.py"
    headers = [Path(folder, name) for folder in nvrtc.headers() for name in ("cuda.h", "nvrtc.h")]
    if sum(path.is_file() for path in headers) < 2:
        pytest.skip(f"no cuda.h or no nvrtc.h beside {nvrtc.path}")
    text = run(bench, "--rounds", 1, "--elements", 100_000, folder=tmp_path)
    for what in ("kernel", "application", "process's start, imports and end"):
        for name in ("C++", "cupola"):
            row = re.search(rf"^{re.escape(f'{what}, {name}')} +([\d.,]+) ms", text, re.MULTILINE)
            assert row and float(row[1].replace(",", "")) > 0, text


def test_convolution(driver, tmp_path, nvrtc, plots):
    text = run("convolution.py", "c.png", folder=tmp_path, CUPOLA_CACHE_DIR=tmp_path / "cache")
    assert "photograph: 512 x 600 pixels" in text
    stages = ["allocate", "copy to the device", "convolve", "copy to the host", "free"]
    for name in ("sharpened, 3 x 3", "blurred, 9 x 9"):
        part = text.partition(f"{name}: as NumPy's, bit for bit\n")[2].splitlines()
        assert [line[:22].strip() for line in part[:5]] == stages
        times = [float(line[22:].removesuffix("ms")) for line in part[:5]]
        assert min(times) >= 0 and times[2] > 0
    # Three panels side by side: the second has sharper edges than the first, the third softer ones.
    picture = plots(tmp_path / "c.png")[..., 0]
    edges = [np.abs(np.diff(picture[100:400, at : at + 250])).mean() for at in (110, 450, 790)]
    assert edges[1] > 1.5 * edges[0] and edges[2] < 0.7 * edges[0]


def test_streams(driver, tmp_path, nvrtc, plots):
    text = run(
        "streams.py", "s.png", "s.json", folder=tmp_path, CUPOLA_CACHE_DIR=tmp_path / "cache"
    )
    one, four = (float(ms) for ms in re.findall(r"^\w+ streams?: ([\d.]+) ms$", text, re.MULTILINE))
    assert one > 0 and four > 0
    events = json.loads((tmp_path / "s.json").read_text())["traceEvents"]
    lanes = {}
    for event in events:
        if event["ph"] == "X" and event["pid"] == 1:
            lanes.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert sorted(len(lane) for lane in lanes.values()) == [6, 6, 6, 6, 24]
    for lane in lanes.values():  # within a stream one thing after the other
        lane.sort()
        assert all(a[1] <= b[0] + 5 for a, b in itertools.pairwise(lane))
    alone = max(lanes, key=lambda tid: len(lanes[tid]))
    apart = sorted(span for tid, lane in lanes.items() if tid != alone for span in lane)
    if driver == "cuda" or len(os.sched_getaffinity(0)) > 1:
        assert any(a[1] > b[0] for a, b in itertools.pairwise(apart))  # side by side
        going_on = float(re.search(r"([\d.]+) things went on at a time", text)[1])
        assert going_on > 1
    # The picture: launches in five rows at least, one of them the thread's.
    picture = plots(tmp_path / "s.png")[60:]
    launches = (np.abs(picture - (0xD5, 0x5E, 0x00)) < 8).all(axis=-1).any(axis=1)
    assert np.count_nonzero(np.diff(launches.astype(int)) == 1) >= 5


def test_schedulers(driver, tmp_path):
    """Both schedules give what cupola's own gives; how fast is benchmarks/bench_pipeline.py's."""
    pytest.importorskip("Cython")
    text = run("schedulers/schedulers.py", "--elements", 3_000_000, "--rounds", 2, folder=tmp_path)
    assert f"3000000 elements of two arrays through {cupola.Device().name}, checked" in text
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")][2:]
    names = ["cupola's own", "first_come, in Python", "ring.pyx, without Python's lock"]
    assert [row[0].strip() for row in rows] == names
    assert all(float(row[1]) > 0 for row in rows)
    assert not list(tmp_path.iterdir())


def test_plugin(driver, tmp_path):
    pytest.importorskip("Cython")
    text = run("plugin/plugin.py", "--steps", "101", folder=tmp_path)
    lines = text.splitlines()
    assert lines[0] == f"101 steps of 1000 elements on {cupola.Device().name}"
    for line, name in zip(lines[1:3], ("decay.pyx", "Python"), strict=True):
        assert line.startswith(f"{name}: ") and line.endswith(", bit-equal with NumPy")
    assert lines[3].startswith("refused: saxpy: argument 0 (a)")
    assert lines[4].startswith("bare.pyx: allocated")
    assert not list(tmp_path.iterdir())


def test_task_stream(driver, nvrtc, tmp_path, plots):
    pytest.importorskip("distributed")
    # Dask warns of its own: of workers that a busy machine delays.
    command = [sys.executable, EXAMPLES / "task_stream.py", "tasks.png"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "tasks on 4 workers" in done.stdout
    pixels = plots(tmp_path / "tasks.png")
    assert (abs(pixels - (0x22, 0x88, 0x33)) < 8).all(axis=-1).any()  # the color of the sums

"""`python -m cupola`: what a user sees, and what the exit status says."""

import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from cupola import paths


def cli(*arguments, **variables):
    environment = {**os.environ, **{k: str(v) for k, v in variables.items()}}
    command = [sys.executable, "-m", "cupola", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def read_png(path):
    """(height, width, channels) bytes, by the PNG specification: filters 0 and 1 alone."""
    data = Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (crc,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert crc == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + length
    assert chunks[0][0] == b"IHDR" and chunks[-1] == (b"IEND", b"")
    width, height, depth, color, *_ = struct.unpack(">IIBBBBB", chunks[0][1])
    channels = {0: 1, 2: 3, 3: 1}[color]
    stride = 1 + (width * channels * depth + 7) // 8
    raw = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
    rows = np.frombuffer(raw, np.uint8).reshape(height, stride)
    values, filters = rows[:, 1:], rows[:, 0]
    if filters.all():  # each byte is the difference from the same channel of the pixel before
        assert (filters == 1).all() and depth == 8
        values = values.reshape(height, width, channels).cumsum(1, dtype=np.uint8)
    else:
        assert not filters.any()
    if depth == 1:
        values = np.unpackbits(values, axis=1)[:, :width]
    pixels = values.reshape(height, width, channels)
    palette = [body for kind, body in chunks if kind == b"PLTE"]
    if palette:
        pixels = np.frombuffer(palette[0], np.uint8).reshape(-1, 3)[pixels[..., 0]]
    return pixels


def test_without_a_command_it_prints_its_help():
    answer = cli()
    assert answer.returncode == 0 and not answer.stderr
    assert answer.stdout == cli("--help").stdout
    assert "\ncommands:" in answer.stdout


def test_info(driver):
    answer = cli("info")
    assert answer.returncode == 0, answer.stderr
    assert "cupola 0.1.0" in answer.stdout and "compute capability" in answer.stdout.lower()


def test_paths():
    for flag, function in [
        ("--library", paths.library),
        ("--include", paths.include),
        ("--cpu-driver", paths.cpu_driver),
        ("--cmake-dir", paths.cmake_dir),
    ]:
        answer = cli("paths", flag)
        assert answer.stdout == f"{function()}\n"
        assert Path(function()).exists()
    answer = cli("paths")
    assert answer.returncode == 0 and paths.library() in answer.stdout


def test_mandelbrot_writes_the_picture(tmp_path, driver):
    import cupola

    out = tmp_path / "m.png"
    answer = cli("mandelbrot", "-o", out, "--size", 64, "--iterations", 50)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    info = cupola.driver.info()
    assert cupola.Device().name in lines[0] and info.path in lines[0] and info.reason in lines[0]
    assert "points" in answer.stdout
    pixels = read_png(out)
    assert pixels.shape[:2] == (64, 64)
    picture = cupola.mandelbrot(64, iterations=50)
    inside = pixels[picture == 1]
    outside = pixels[picture == 0]
    assert len(np.unique(inside, axis=0)) == 1 and len(np.unique(outside, axis=0)) == 1
    assert not np.array_equal(inside[0], outside[0])


def test_mandelbrot_region_and_colour(tmp_path, driver):
    plain, other = tmp_path / "a.png", tmp_path / "b.png"
    assert cli("mandelbrot", "-o", plain, "--size", 32).returncode == 0
    colour = cli("mandelbrot", "--help").stdout
    assert "--color" in colour
    answer = cli("mandelbrot", "-o", other, "--size", 32, "--region", -1, 1)
    assert answer.returncode == 0, answer.stderr
    assert not np.array_equal(read_png(plain), read_png(other))


def test_demo_draws_the_picture_and_says_what_to_try_next(tmp_path, driver, monkeypatch):
    import cupola
    from cupola import kernels

    monkeypatch.chdir(tmp_path)
    answer = cli("demo", "--width", 96)
    assert answer.returncode == 0, answer.stderr
    np.testing.assert_array_equal(
        read_png(tmp_path / "mandelbrot.png"), kernels.mandelbrot_image(96, 64)
    )
    info = cupola.driver.info()
    assert cupola.Device().name in answer.stdout and info.path in answer.stdout
    assert info.reason in answer.stdout
    assert re.search(r"^kernel +[\d,]+\.\d\d ms$", answer.stdout, re.MULTILINE)
    suggested = answer.stdout.partition("\nnext\n")[2].splitlines()
    assert len(suggested) == 3
    for line in suggested[:2]:  # the third takes seconds; see below
        done = subprocess.run(line, shell=True, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert read_png(tmp_path / "seahorses.png").shape == (1024, 1536, 3)
    assert suggested[2].split("#")[0].split()[1:] == ["-m", "cupola", "bench"]


def test_demo_of_a_region(tmp_path, driver):
    from cupola import kernels

    out = tmp_path / "d.png"
    options = ["--center", -1.25, 0.02, "--span", 0.5, "--iterations", 90, "--samples", 1]
    answer = cli("demo", "-o", out, "--width", 30, *options)
    assert answer.returncode == 0, answer.stderr
    expected = kernels.mandelbrot_image(30, 20, (-1.25, 0.02), 0.5, 90, 1)
    np.testing.assert_array_equal(read_png(out), expected)


def test_demo_names_the_interpreter_as_it_is_typed(monkeypatch):
    from cupola.command import demo

    monkeypatch.setattr("sys.executable", f"{os.getcwd()}/.venv/bin/python")
    assert all(
        line.startswith("  .venv/bin/python -m cupola ") for line in demo.suggestions().splitlines()
    )
    monkeypatch.setattr("sys.executable", "/a folder/python")
    assert "'/a folder/python' -m" in demo.suggestions()


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo", "--samples", "17"),
        ("demo", "--span", "-1"),
        ("demo", "--width", "0"),
        ("mandelbrot",),
        ("mandelbrot", "-o", "x.png", "--size", "-3"),
        ("mandelbrot", "-o", "x.png", "--size", "many"),
        ("mandelbrot", "-o", "x.png", "--iterations", "-1"),
        ("mandelbrot", "-o", "x.png", "--color", "no such"),
        ("mandelbrot", "-o", "/nowhere/at/all/x.png", "--size", "8"),
        ("nonsense",),
    ],
    ids=" ".join,
)
def test_wrong_use_is_one_readable_error(arguments, tmp_path, monkeypatch, driver):
    monkeypatch.chdir(tmp_path)
    answer = cli(*arguments)
    assert answer.returncode != 0
    assert "Traceback" not in answer.stderr and answer.stderr.strip()
    assert not list(tmp_path.iterdir())


def test_no_driver_is_one_readable_error():
    answer = cli("info", CUPOLA_DRIVER="/nowhere/libcuda.so.1")
    assert answer.returncode != 0
    assert "Traceback" not in answer.stderr and "/nowhere/libcuda.so.1" in answer.stderr


def test_closed_pipe_is_no_traceback():
    for arguments in ("paths", f"inspect {paths.library()}"):
        command = f"{sys.executable} -m cupola {arguments} | true"
        answer = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert answer.stderr == ""


def test_the_installed_script_is_the_same():
    script = Path(sys.executable).with_name("cupola")
    if not script.exists():
        pytest.skip("cupola's script is not installed beside this interpreter")
    answer = subprocess.run([script, "paths", "--library"], capture_output=True, text=True)
    assert answer.stdout == f"{paths.library()}\n"


# -- compile and inspect ---------------------------------------------------------------------------

SOURCE = """
template <int n> __global__ void scaled(float* x, double by) { x[threadIdx.x] *= n * by; }
template __global__ void scaled<3>(float*, double);
struct Pair { int a, b; };
extern "C" __global__ void plain(const int* x, int n, Pair pair) {
    __shared__ int parts[32];
    parts[threadIdx.x % 32] = x[threadIdx.x] + pair.a;
    __syncthreads();
    const_cast<int*>(x)[threadIdx.x] = parts[n % 32] + pair.b;
}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "kernels.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def nvrtc():
    import cupola
    from cupola import toolkit

    try:
        return toolkit.load("nvrtc")
    except cupola.MissingFileError as error:
        pytest.skip(" ".join(str(error).split()))


def compiled(source, name, *arguments):
    target = source.with_name(name)
    answer = cli("compile", source, "-o", target, *arguments)
    assert answer.returncode == 0, answer.stderr
    assert str(target) in answer.stdout and "plain" in answer.stdout
    return target


def inspected(path, *arguments):
    answer = cli("inspect", path, *arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_compile_to_ptx_that_loads(source, driver, nvrtc):
    import cupola

    target = compiled(source, "k.ptx", "--arch", "compute_75", "--option=-DUNUSED")
    module = cupola.load(target)
    x = cupola.ones(4, np.float32)
    module["scaled<3>"][1, 4](x, 0.5)
    np.testing.assert_array_equal(x.get(), [1.5] * 4)
    text = inspected(target)
    assert "compute_75" in text and "PTX" in text
    assert "scaled<3>(float*, double)" in text
    assert "plain(pointer or 8-byte integer, 4-byte integer, struct of 8 bytes)" in text


def test_compile_to_a_cubin(source, nvrtc):
    text = inspected(compiled(source, "k.cubin", "--arch", "sm_90"))
    assert "machine code for sm_90" in text
    row = next(line.split() for line in text.splitlines() if line.split()[:1] == ["sm_90"])
    assert row[2] == "128" and row[3] == "0" and 0 < int(row[1]) < 256  # plain comes first


def test_machine_code_is_for_the_device_that_is_there(source, driver, nvrtc):
    code = "from cupola.build.architectures import present_devices; print(*present_devices())"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    target = source.with_name("k.cubin")
    answer = cli("compile", source, "-o", target)
    if asked.stdout.split():
        assert f"machine code for sm_{asked.stdout.split()[-1]}" in answer.stdout
    else:
        assert answer.returncode == 1 and "--arch sm_90" in answer.stderr and not target.exists()


def test_compile_to_a_fatbin_with_its_manifest(source):
    import json

    import images

    images.nvcc()
    target = compiled(source, "k.fatbin", "--arch", "sm_80,sm_90")
    assert "plain(const int* x, int n, Pair pair)" in inspected(target)
    found = json.loads(inspected(target, "--json", "--kernel", "scaled*"))
    assert {(part["what"].split()[0], part["architecture"]) for part in found["parts"]} == {
        ("machine", "sm_80"),
        ("machine", "sm_90"),
        ("PTX", "compute_75"),
    }
    (kernel,) = found["kernels"]
    assert kernel["title"] == "scaled<3>" and kernel["parameters"] == ["float* x", "double by"]
    assert [one["architecture"] for one in kernel["resources"]] == ["sm_80", "sm_90"]


SPILLING = """
extern "C" __global__ void __launch_bounds__(1024) spilling(const float* a, float* out) {
    float v[96];
#pragma unroll
    for (int i = 0; i < 96; ++i) v[i] = a[i * 1024 + threadIdx.x];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 96; ++i) sum = sum * v[i] + v[95 - i];
    out[threadIdx.x] = sum;
}
"""


def test_inspect_tells_spills_by_ptxas(tmp_path, nvrtc):
    import json

    import images

    images.nvcc()
    path = tmp_path / "s.cu"
    path.write_text(SPILLING)
    target = tmp_path / "s.ptx"
    assert cli("compile", path, "-o", target).returncode == 0
    assert "no resources before it is compiled" in inspected(target)
    (kernel,) = json.loads(inspected(target, "--json", "--ptxas", "sm_80"))["kernels"]
    (found,) = kernel["resources"]
    # 1024 threads share 65536 registers, which is 64 for each: 96 values do not fit.
    assert found["registers"] <= 64
    assert found["spill_stores"] >= 96 * 4 - 64 * 4 and found["spill_loads"] > 0
    assert found["local"] >= found["spill_stores"] // 2
    text = inspected(target, "--ptxas", "sm_80")
    assert "warning: spills for sm_80" in text and f"{found['spill_stores']:,} bytes stored" in text
    answer = cli("inspect", target, "--ptxas", "sm_1")
    assert answer.returncode == 1 and "sm_1" in answer.stderr and "Traceback" not in answer.stderr


def test_inspect_finds_the_shipped_kernels_in_the_library():
    text = inspected(paths.library())
    assert "library with" in text and "compute_75" in text
    assert "saxpy(float a, const float* x, const float* y, float* out, unsigned long n)" in text
    # Of the kernels of arrays there is one PTX text each, outside of any fatbin.
    assert "arithmetic_f32(struct of" in text and "PTX texts" in text
    only = inspected(paths.library(), "--kernel", "mandel*")
    assert "mandelbrot_ker(const float* lattice" in only and "saxpy" not in only


INDEXED = """
extern "C" __global__ void indexed(int* out, int n) {
    int v[40];
    for (int i = 0; i < n; ++i) v[i * 7 % 40] = out[i];
    *out = v[n];
}
"""


def test_inspect_tells_stack_from_spills(tmp_path):
    """An array on the stack is no spill, which machine code alone can't tell."""
    import images

    path = tmp_path / "indexed.cu"
    path.write_text(INDEXED)
    images.nvcc()
    target = tmp_path / "indexed.fatbin"
    assert cli("compile", path, "-o", target, "--arch", "sm_80").returncode == 0
    text = inspected(target)
    assert "note: 160 bytes of stack for sm_80 may be" in text
    text = inspected(target, "--ptxas", "sm_80")
    assert "warning" not in text


def wheel(path, members):
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_inspect_of_a_wheel(tmp_path):
    import json

    import images

    image = images.described()
    members = {
        "heat/kernels.fatbin": image.read_bytes(),
        "heat/kernels.json": image.with_suffix(".json").read_bytes(),
        "heat/more.ptx": images.SCALE.read_bytes(),
        "heat/extension.cpython-311-x86_64-linux-gnu.so": b"\x7fELF of none",
        "heat/notes.json": b"{}",
    }
    path = wheel(tmp_path / "heat-1.0-py3-none-any.whl", members)
    text = inspected(path)
    assert "heat/kernels.fatbin: fatbin" in text and "heat/more.ptx: PTX" in text
    assert "axpy(float a, const float* x, const float* y, float* out, unsigned int n)" in text
    assert "scale(" in text and "extension" not in text
    found = json.loads(inspected(path, "--json", "--kernel", "axpy"))
    assert [one["file"] for one in found["images"]] == ["heat/kernels.fatbin", "heat/more.ptx"]
    assert [len(one["kernels"]) for one in found["images"]] == [1, 0]


def test_inspect_of_archives_without_images(tmp_path):
    import gzip

    good = wheel(tmp_path / "good.whl", {"a.ptx": Path(__file__).read_bytes() * 50}).read_bytes()
    cases = {
        "no.whl": (wheel(tmp_path / "no.whl", {"a.py": b""}).read_bytes(), "without an image"),
        "sdist.tar.gz": (gzip.compress(b"sources"), "source distributions"),
        "cut.whl": (good[: len(good) // 2], "can't be read"),
        "changed.whl": (good[:60] + bytes(40) + good[100:], "can't be read"),
        "text.whl": (good, "neither"),
    }
    for name, (content, says) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        answer = cli("inspect", path)
        assert answer.returncode == 1 and answer.stdout == ""
        assert "Traceback" not in answer.stderr and says in answer.stderr, answer.stderr


def test_inspect_says_what_is_compressed():
    import images

    text = inspected(images.fatbin(compress=True))
    assert "compressed" in text and "no kernel" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "neither"),
        (b"\x7fELF\x02\x01" + bytes(40), "without a fatbin"),
        (b"\x50\xed\x55\xba", "fatbin header"),
        (b"\x50\xed\x55\xba\x01\x00\x10\x00" + (999).to_bytes(8, "little"), "fatbin body"),
        (b"int main() {}", "neither"),
    ],
    ids=["empty", "an ELF header", "a magic number", "a cut fatbin", "C"],
)
def test_inspect_of_what_is_no_image(tmp_path, content, says):
    path = tmp_path / "file"
    path.write_bytes(content)
    answer = cli("inspect", path)
    assert answer.returncode == 1 and answer.stdout == ""
    assert "Traceback" not in answer.stderr and str(path) in answer.stderr and says in answer.stderr


def test_compile_errors_are_readable(tmp_path, source, nvrtc):
    bad = tmp_path / "bad.cu"
    bad.write_text("\n\n__global__ void f() { nothing; }")
    for arguments, says in [
        ((bad, "-o", tmp_path / "x.ptx"), f"{bad}(3): error"),
        ((source, "-o", tmp_path / "x.o"), ".ptx, .cubin, .fatbin"),
        ((source, "-o", tmp_path / "x.ptx", "--arch", "sm_90"), "compute_90"),
        ((source, "-o", tmp_path / "x.ptx", "--arch", "90"), "sm_90"),
        ((source, "-o", tmp_path / "x.cubin", "--arch", "sm_80,sm_90"), ".fatbin"),
        ((tmp_path / "no.cu", "-o", tmp_path / "x.ptx"), "no.cu"),
    ]:
        answer = cli("compile", *arguments)
        assert answer.returncode == 1 and "Traceback" not in answer.stderr
        assert says in answer.stderr, answer.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.cu", "kernels.cu"]


# -- bench -----------------------------------------------------------------------------------------


def test_bench_prints_a_table_beside_cpp(driver):
    import json

    answer = cli("bench")
    assert answer.returncode == 0, answer.stderr
    header = next(line for line in answer.stdout.splitlines() if "ratio" in line)
    assert header.split() == ["C++", "cupola", "ratio"]
    for row in ("launch, prepared", "launch, checked", "copy, 64 MiB to the host", "mandelbrot"):
        assert row in answer.stdout
    rows = json.loads(cli("bench", "--json").stdout)["rows"]
    # Microseconds are not promised here, but that both sides did the same work. A launch through
    # Python costs up to a few of C++'s; the rest is the device's time.
    for row in rows:
        low, high = (0.7, 10) if row["what"].startswith("launch") else (0.5, 4)
        assert 0 < row["floor"] < 10 and low < row["cupola"] / row["floor"] < high, row
    copies = {row["what"]: row for row in rows if row["what"].startswith("copy")}
    for way in ("to the device", "to the host"):
        small, large = copies[f"copy, 1 MiB {way}"], copies[f"copy, 64 MiB {way}"]
        for side in ("floor", "cupola"):
            assert large[side] > 8 * small[side], (small, large)


def test_floor_refuses_what_measures_nothing(driver):
    import cupola
    from cupola.command import bench
    from cupola.exceptions import Error

    kernel = cupola.shipped_kernels()["saxpy"]
    with pytest.raises(Error, match="0 turns"):
        bench.Floor().launch(kernel, 1, 1, [], 0, True)


@pytest.mark.parametrize(
    "name", ["demo", "info", "paths", "compile", "inspect", "bench", "mandelbrot"]
)
def test_each_command_has_help(name):
    assert name in cli("--help").stdout
    answer = cli(name, "--help")
    assert answer.returncode == 0 and f"usage: cupola {name}" in answer.stdout


def test_options_wait_for_no_import():
    code = "import sys; from cupola.__main__ import parser; parser(); print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert {"cupola.command.bench", "argparse"} <= set(answer.stdout.split())
    assert not {"numpy", "statistics", "elftools", "cupola.driver"} & set(answer.stdout.split())

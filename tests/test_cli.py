"""`python -m cupola`: what its commands print, draw and refuse, and their exit status."""

import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from command_line import cli

from cupola import paths


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


def test_info_names_version_and_compute_capability(driver):
    answer = cli("info")
    assert answer.returncode == 0, answer.stderr
    assert "cupola 0.1.0" in answer.stdout and "compute capability" in answer.stdout.lower()
    assert ("machine code:" in answer.stdout) == (driver == "cpu")


@pytest.mark.cpu_only(reason="of the CPU device's compilers")
def test_info_shows_what_makes_machine_code(tmp_path):
    def lines(**environment):
        answer = cli("info", **{"CUPOLA_CACHE_DIR": str(tmp_path), **environment})
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.partition("machine code: ")[2].splitlines()

    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))
    mode, kept = lines(CXX=compiler, CUPOLA_CPU_MODE="auto")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    assert mode == f"auto, compiler {compiler} ({version.splitlines()[0]})"
    (tmp_path / "cpu" / f"{'a' * 64}.so").write_bytes(b"x" * (3 << 20))
    _, kept = lines(CXX=compiler, CUPOLA_CPU_MODE="auto")
    assert kept == f"machine code is kept in: {tmp_path}/cpu, libraries: 1, 3.0 MiB"
    mode, _ = lines(CXX="nope", CUPOLA_CPU_MODE="auto")
    assert mode == "auto, nothing is compiled: there is no C++ compiler CXX=nope"
    assert lines(CUPOLA_CPU_MODE="interpret") == ["interpret, none is used"]
    (tmp_path / "file").write_text("")
    _, kept = lines(CUPOLA_CACHE_DIR=str(tmp_path / "file"), CUPOLA_CPU_MODE="auto")
    assert kept.startswith(f"machine code is kept in: CUPOLA_CACHE_DIR={tmp_path}/file: ")


def test_paths_are_those_of_the_package():
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


def test_mandelbrot_takes_a_region_and_colours(tmp_path, driver):
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


def test_demo_takes_a_region(tmp_path, driver):
    from cupola import kernels

    out = tmp_path / "d.png"
    options = ["--center", -1.25, 0.02, "--span", 0.5, "--iterations", 90, "--samples", 1]
    answer = cli("demo", "-o", out, "--width", 30, *options)
    assert answer.returncode == 0, answer.stderr
    expected = kernels.mandelbrot_image(30, 20, (-1.25, 0.02), 0.5, 90, 1)
    np.testing.assert_array_equal(read_png(out), expected)


def test_demo_names_the_interpreter_as_it_is_typed(monkeypatch):
    from cupola.tools.command import demo

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


def test_a_closed_pipe_gives_no_traceback():
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


# -- bench -----------------------------------------------------------------------------------------


def test_bench_prints_a_table_beside_cpp(driver):
    import json

    answer = cli("bench")
    assert answer.returncode == 0, answer.stderr
    header = next(line for line in answer.stdout.splitlines() if "ratio" in line)
    assert header.split() == ["C++", "cupola", "ratio"]
    for row in ("launch, prepared", "launch, checked", "copy, 64 MiB to the host", "mandelbrot"):
        assert row in answer.stdout

    def as_expected(row):
        low, high = (0.7, 10) if row["what"].startswith("launch") else (0.5, 4)
        return 0 < row["floor"] < 10 and low < row["cupola"] / row["floor"] < high

    # Microseconds are not promised here, but that both sides did the same work. A launch through
    # Python costs up to a few of C++'s; the rest is the device's time. Other work may disturb one.
    for _ in range(3):
        rows = json.loads(cli("bench", "--json").stdout)["rows"]
        if all(map(as_expected, rows)):
            break
    assert all(map(as_expected, rows)), rows
    copies = {row["what"]: row for row in rows if row["what"].startswith("copy")}
    for way in ("to the device", "to the host"):
        small, large = copies[f"copy, 1 MiB {way}"], copies[f"copy, 64 MiB {way}"]
        for side in ("floor", "cupola"):
            assert large[side] > 8 * small[side], (small, large)


def test_floor_refuses_what_measures_nothing(driver):
    import cupola
    from cupola.exceptions import Error
    from cupola.tools.command import bench

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


def test_options_are_parsed_without_imports():
    code = "import sys; from cupola.__main__ import parser; parser(); print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert {"cupola.tools.command.bench", "argparse"} <= set(answer.stdout.split())
    assert not {"numpy", "statistics", "elftools", "cupola.driver"} & set(answer.stdout.split())

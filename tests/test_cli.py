"""`python -m cupola`: what a user sees, and what the exit status says."""

import os
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
    """(height, width, channels) bytes, by the PNG specification: filter 0 alone."""
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
    assert not rows[:, 0].any()
    values = rows[:, 1:]
    if depth == 1:
        values = np.unpackbits(values, axis=1)[:, :width]
    pixels = values.reshape(height, width, channels)
    palette = [body for kind, body in chunks if kind == b"PLTE"]
    if palette:
        pixels = np.frombuffer(palette[0], np.uint8).reshape(-1, 3)[pixels[..., 0]]
    return pixels


def test_info(driver):
    answer = cli("info")
    assert answer.returncode == 0, answer.stderr
    assert "cupola 0.1.0" in answer.stdout and "compute capability" in answer.stdout.lower()


def test_paths():
    for flag, function in [
        ("--library", paths.library),
        ("--include", paths.include),
        ("--cpu-driver", paths.cpu_driver),
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


@pytest.mark.parametrize(
    "arguments",
    [
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
    command = f"{sys.executable} -m cupola paths | true"
    answer = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "Traceback" not in answer.stderr


def test_the_installed_script_is_the_same():
    script = Path(sys.executable).with_name("cupola")
    if not script.exists():
        pytest.skip("cupola's script is not installed beside this interpreter")
    answer = subprocess.run([script, "paths", "--library"], capture_output=True, text=True)
    assert answer.stdout == f"{paths.library()}\n"

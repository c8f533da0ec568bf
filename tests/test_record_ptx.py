"""The PTX of machine code in recordings: kept by NVRTC's front, or found in Triton's cache."""

import os
import subprocess
import sys
from pathlib import Path

import images
import pytest
from test_record_program import PROGRAM, cli

import cupola
from cupola.compiler import kept_ptx
from cupola.recording import read, replay
from cupola.recording.code_texts import CodeTexts
from cupola.recording.conversion import convert
from cupola.recording.program import Choice, real_driver, variables
from cupola.recording.spool import read_spool
from cupola.tools.run.environment import keeping_ptx

pytestmark = pytest.mark.cpu_only(reason="the spools are of the CPU device")

COMPILED = """
import ctypes, sys
nvrtc = ctypes.CDLL(sys.argv[1])
program, size = ctypes.c_void_p(), ctypes.c_size_t()
source = b'extern "C" __global__ void scale(float* x) { x[0] *= 2; }'
options = (ctypes.c_char_p * 1)(b"-arch=" + sys.argv[2].encode())
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"scale.cu", 0, None, None) == 0
assert nvrtc.nvrtcCompileProgram(program, 1, options) == 0
assert nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
code = ctypes.create_string_buffer(size.value)
assert nvrtc.nvrtcGetCUBIN(program, code) == 0
sys.stdout.buffer.write(code.raw)
"""


@pytest.fixture(scope="module")
def machine_code(tmp_path_factory):
    """A spool of two launches whose image is machine code, the machine code, and its PTX."""
    folder = tmp_path_factory.mktemp("spool")
    (folder / "program.py").write_text(PROGRAM)
    values = variables(Choice(), real_driver(cpu=True), folder, os.environ)
    command = [sys.executable, folder / "program.py", images.SCALE]
    subprocess.run(command, env=values, check=True)
    (path,) = folder.glob("*.spool")
    found = read_spool(path)
    cubin = images.compiled("scale.cubin", images.SCALE, "-cubin", "-arch=sm_75").read_bytes()
    found.images = dict.fromkeys(found.images, cubin)
    return found, cubin, Path(images.SCALE).read_text()


def require_replay(case):
    assert [one.difference for one in replay(case)] == ["", ""]
    (about,) = read(case).images.values()
    assert about["code"] == "cubin ptx"


def test_kept_ptx_is_replayed(machine_code, tmp_path, monkeypatch):
    spool, cubin, ptx = machine_code
    monkeypatch.setenv(kept_ptx.SPOOL, os.fspath(tmp_path))
    kept_ptx.keep(cubin[:-1] + b"?", "of other machine code")
    kept_ptx.keep(cubin, ptx)
    made = convert(spool, tmp_path / "case.cupola", "", CodeTexts(tmp_path))
    assert made.code == {"cubin", "ptx"} and made.count == 2
    require_replay(tmp_path / "case.cupola")


@pytest.mark.parametrize("place", ["home", "variable", "torch"])
def test_ptx_of_tritons_cache_is_replayed(machine_code, tmp_path, monkeypatch, place):
    spool, cubin, ptx = machine_code
    caches = {
        "home": ("TRITON_HOME", tmp_path, ".triton/cache"),
        "variable": ("TRITON_CACHE_DIR", tmp_path / "given", "given"),
        "torch": ("TORCHINDUCTOR_CACHE_DIR", tmp_path, "triton/0"),
    }
    for name, _, _ in caches.values():
        monkeypatch.delenv(name, raising=False)
    name, value, below = caches[place]
    monkeypatch.setenv(name, os.fspath(value))
    folder = tmp_path / below / "ABCDE"
    folder.mkdir(parents=True)
    (folder / "scale.cubin").write_bytes(cubin)
    (folder / "scale.ptx").write_text(ptx)
    convert(spool, tmp_path / "case.cupola", "", CodeTexts(tmp_path / "none"))
    require_replay(tmp_path / "case.cupola")


def test_machine_code_whose_ptx_is_gone(machine_code, tmp_path):
    spool, cubin, _ = machine_code
    (tmp_path / "scale.cubin").write_bytes(cubin)
    made = convert(spool, tmp_path / "case.cupola", "", CodeTexts(tmp_path))
    assert made.code == {"cubin"}


def compiled(folder, architecture, **variables):
    """The machine code that a program gets of NVRTC behind the front."""
    values = {**os.environ, **keeping_ptx(os.environ), **variables}
    front = Path(values["LD_LIBRARY_PATH"].partition(os.pathsep)[0])
    (library,) = front.glob("libnvrtc.so.*")
    command = [sys.executable, "-c", COMPILED, library.name, architecture]
    done = subprocess.run(command, env=values, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return done


def test_the_front_keeps_the_ptx_of_machine_code(tmp_path):
    images.nvrtc()
    code = compiled(tmp_path, "sm_80", CUPOLA_RECORD_SPOOL=os.fspath(tmp_path)).stdout
    assert code[:4] == b"\x7fELF"
    text = CodeTexts(tmp_path).of(code)
    assert ".target sm_80" in text and ".entry scale(" in text
    assert len(list(tmp_path.iterdir())) == 2


def test_a_compilation_without_machine_code_keeps_nothing(tmp_path):
    images.nvrtc()
    done = compiled(tmp_path, "compute_80", CUPOLA_RECORD_SPOOL=os.fspath(tmp_path))
    assert done.stdout == b"" and list(tmp_path.iterdir()) == []


def test_ptx_that_cannot_be_kept_is_reported(tmp_path):
    images.nvrtc()
    done = compiled(tmp_path, "sm_80", CUPOLA_RECORD_SPOOL=os.fspath(tmp_path / "none"))
    assert done.stdout[:4] == b"\x7fELF" and b"can't be written" in done.stderr


def test_a_replay_has_the_compute_capability_of_the_recording(tmp_path):
    images.nvrtc()
    script = tmp_path / "program.py"
    script.write_text(
        "import cupola\n"
        "source = 'extern \"C\" __global__ void f(int* x) { *x = 1; }'\n"
        "cupola.compile(source)['f'][1, 1](cupola.zeros(1, 'i4'))\n"
    )
    path = tmp_path / "case.cupola"
    done = cli("record", "--cpu", "-o", path, script, CUPOLA_CPU_COMPUTE_CAPABILITY="12.0")
    assert done.returncode == 0, done.stderr
    case = read(path)
    assert case.device["compute_capability"] == "12.0"
    assert b".target sm_120" in case.image(next(iter(case.images)))
    assert cli("replay", path).stdout == "launch 0, f: equal\n"
    with pytest.raises(cupola.ImageError):
        replay(path)  # the CPU device of this process has another one


def test_a_compiler_whose_ptx_cannot_be_kept_goes_on(tmp_path, monkeypatch, capsys):
    """A program may outlive the command, which removes the folder."""
    monkeypatch.setenv(kept_ptx.SPOOL, os.fspath(tmp_path / "none"))
    kept_ptx.keep(b"code", "text")
    assert "can't be written" in capsys.readouterr().err

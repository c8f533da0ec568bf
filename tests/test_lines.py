"""Lines of the source survive each way from a source to the CPU device, or their lack is said."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cupola
from cupola.compiler import lines
from cupola.image import dwarf, source_map
from cupola.toolkit import libraries, nvjitlink, nvrtc
from cupola.toolkit.program import Program

pytestmark = pytest.mark.cpu_only("the CPU device links PTX, and its checks name lines")

CALLER = """\
__device__ float twice(float);
extern "C" __global__ void left(float* x) {
    x[threadIdx.x] = twice(x[threadIdx.x]);
}
"""
CALLED = """\
static __device__ __noinline__ float square(float v) { return v * v; }
__device__ float twice(float v) {
    float r = square(v);
    return 2 * v + r;
}
extern "C" __global__ void right(float* y, long long n) { y[n] = twice(y[threadIdx.x]); }
"""
WRONG = """
import sys
from pathlib import Path
import cupola
module = cupola.compile([Path(name) for name in sys.argv[1:]])
x = cupola.zeros(8, "f4")
module["right"][1, 8](x, 1 << 40)
try:
    float(x[0])
except cupola.Error as error:
    print(error)
"""


@pytest.fixture
def sources(tmp_path, monkeypatch):
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    made = [tmp_path / "caller.cu", tmp_path / "called.cu"]
    for path, text in zip(made, (CALLER, CALLED), strict=True):
        path.write_text(text)
    return made


def linked(sources, *options):
    return source_map.read(cupola.compile(sources, options=options).image.decode())


def places(found):
    return {
        (os.path.basename(place.at.file), place.at.line, tuple(name for name, _ in place.callers))
        for place in found.locations
        if place
    }


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_linked_texts_keep_their_lines(driver, sources, order):
    found = places(linked([sources[place] for place in order], "-lineinfo"))
    assert {("caller.cu", 3, ()), ("called.cu", 1, ()), ("called.cu", 6, ())} <= found
    assert ("called.cu", 4, ("_Z5twicef",)) in found  # inlined into `right`
    assert {line for file, line, _ in found if file == "caller.cu"} <= {2, 3, 4}


def test_linked_texts_keep_their_variables(driver, sources):
    found = linked(sources, "-G")
    units, _ = dwarf.read(found)
    assert found.debug and len(units) == 2
    named = {each.attributes.get(dwarf.NAME): each for unit in units for each in unit.children}
    bounds = []
    for name in ("left", "square", "twice", "right"):
        low, high = (named[name].attributes[key] for key in (dwarf.LOW, dwarf.HIGH))
        bounds += [found.labels[low.name], found.labels[high.name]]
    assert bounds == sorted(bounds)  # the labels of both texts stay apart
    (parameter,) = named["square"].children[:1]
    assert parameter.attributes[dwarf.NAME] == "v"


def test_a_linked_module_runs_as_before(driver, sources):
    for options in ((), ("-lineinfo",), ("-G",)):
        x = cupola.to_device(np.array([3, 5], np.float32))
        cupola.compile(sources, options=options)["left"][1, 2](x)
        assert x.get().tolist() == [15, 35]


@pytest.mark.parametrize("check", ["memory", ""])
def test_checks_ask_for_lines(sources, check, tmp_path):
    program = tmp_path / "wrong.py"
    program.write_text(WRONG)
    environment = {**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_CHECK": check}
    done = subprocess.run(
        [sys.executable, program, *sources],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    wanted = f"({sources[1]}:6)" if check else "(compile with -lineinfo for the source's line)"
    assert wanted in done.stdout
    assert (wanted in done.stderr) == bool(check)


@pytest.mark.parametrize("name", lines.VARIABLES)
def test_options_ask_for_lines_once(monkeypatch, name):
    for each in lines.VARIABLES:
        monkeypatch.delenv(each, raising=False)
    assert lines.with_lines(["-DN=1"]) == ("-DN=1",)
    monkeypatch.setenv(name, "x")
    assert lines.with_lines(["-DN=1"]) == ("-DN=1", "-lineinfo")
    for given in ("-lineinfo", "--generate-line-info", "-G", "--device-debug"):
        assert lines.with_lines([given]) == (given,)


def test_nvjitlink_keeps_lines(sources):
    try:
        libraries.load("nvJitLink")
    except cupola.MissingFileError as error:
        pytest.skip(" ".join(str(error).split()))
    compiler, words = nvrtc.nvrtc(), ["--gpu-architecture=compute_90", "-lineinfo", "-dlto"]
    inputs = []
    for path in sources:
        words_of = [*words, "--relocatable-device-code=true"]
        made = compiler.compile(Program(path.read_text(), str(path), str(path), words_of))
        inputs.append((str(path), made.ltoir))
    options = ["-arch=sm_90", "-lto", "-ptx"]
    kept, _ = nvjitlink.nvjitlink().link(inputs, options, True)
    found = places(source_map.read(kept.decode()))
    assert {Path(file).name for file, _, _ in found} >= {"caller.cu", "called.cu"}


OPENED = """\
.version 8.0
.target sm_75
.address_size 64
.visible .entry {name}() {{
    .loc 7 {line} 1
    ret;
}}
{file}
"""


def test_a_number_without_a_file_names_no_file(driver):
    """A linked text has other numbers, which such a .loc must not hit."""
    from cupola.module import link_images

    texts = [
        OPENED.format(name="a", line=3, file='.file 7 "a.cu"'),
        OPENED.format(name="b", line=4, file=""),
    ]
    image = link_images([(str(n), text.encode()) for n, text in enumerate(texts)], 0)
    found = source_map.read(image.rstrip(b"\0").decode())
    assert {place.at[:2] for place in found.locations if place} == {("a.cu", 3)}

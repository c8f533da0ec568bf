# tests/test_public_headers.py - each public header of CUDA and CCCL, through each door.
"""Each header that ``nvcc -cubin`` takes is taken by each function that compiles a source.

A slice of the headers in rotation; `make sweep` sets CUPOLA_SOAK=full, for all of them. Headers
share compilations. A group that is refused is halved, so that a failure names its headers.
"""

import json
import os
from pathlib import Path

import images
import public_headers
import pytest
import rotation
from command_line import cli
from pycuda_context import context  # noqa: F401

import cupola
from cupola.pycuda.compiler import SourceModule
from cupola.toolkit.nvrtc import nvrtc

FULL = os.environ.get("CUPOLA_SOAK") == "full"
ARCH = public_headers.ARCHITECTURE.replace("sm", "compute")


def by_compile(path):
    cupola.compile(path.read_text(), arch=ARCH, cache=False)


def by_load(path):
    cupola.load(path, arch=ARCH, cache=False)


def by_source_module(path):
    SourceModule(path.read_text(), arch=ARCH, cache_dir=False)


def by_command(path):
    done = cli("compile", path, "-o", path.with_suffix(".ptx"), "--arch", ARCH, "--no-cache")
    if done.returncode:
        raise cupola.CompileError(done.stderr)


DOORS = [by_compile, by_load, by_source_module, by_command]


def error(door, names, folder):
    """The door's error for a source that includes the headers; "" for none."""
    path = folder / "headers.cu"
    path.write_text(public_headers.source(names))
    try:
        door(path)
    except (cupola.Error, cupola.pycuda.driver.Error) as caught:
        return str(caught)[:400]
    return ""


def groups():
    """The headers that nvcc takes, as it is recorded, in groups of one folder."""
    images.nvcc()
    images.nvrtc()
    folders = nvrtc().found.headers()
    if not folders:
        pytest.skip("the compiler came without CUDA's headers")
    refused = public_headers.refused()
    names = [one for one in public_headers.public(Path(folders[0])) if one not in refused]
    parts = public_headers.groups(names)
    return parts if FULL else [parts[rotation.number() % len(parts)]]


# Headers that say they will be removed.
@pytest.mark.filterwarnings("ignore:The CUDA compiler succeeded")
@pytest.mark.parametrize("door", DOORS)
def test_headers_that_nvcc_takes(driver, tmp_path, door):
    found = {}
    for names in groups():
        found |= public_headers.failures(names, lambda part: error(door, part, tmp_path))
    # A toolkit other than that of the record may refuse more headers.
    found = {name: text for name, text in found.items() if not public_headers.refusal(name.split())}
    assert not found, json.dumps(found, indent=1)


def test_the_record():
    """It has what nvcc refuses, and most headers are not in it."""
    record = json.loads(public_headers.RECORD.read_text())
    assert 0 < len(record["refused"]) < record["headers"] // 4
    assert all("error" in text for text in record["refused"].values())
    taken = {"cuda_fp16.h", "mma.h", "cub/cub.cuh", "thrust/sort.h", "cuda/std/array"}
    assert not taken & set(record["refused"])


def test_failures_are_found_by_halves():
    def error(names):
        return "wrong" if "c" in names or {"d", "g"} <= set(names) else ""

    assert public_headers.failures(list("abcd"), error) == {"c": "wrong"}
    assert public_headers.failures(list("defg"), error) == {"d e f g": "wrong"}
    assert public_headers.failures(list("abd"), error) == {}


def test_public_and_private(tmp_path):
    public = ("a.h", "cooperative_groups/g.h", "cccl/cub/c.cuh", "cccl/cuda/std/array")
    private = ("a.hpp", "crt/b.h", "cudnn.h", "cccl/cuda/std/__d/e.h", "cccl/thrust/detail/f.h")
    for name in public + private:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert public_headers.public(tmp_path) == [name.removeprefix("cccl/") for name in public]

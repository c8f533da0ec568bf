"""Kernels as machine code: the interpreter's bits, its errors, and what is kept on disk."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import rotation

from . import native_kernels
from .compiler_process import files_in
from .device_process import VARIABLE
from .driver import Driver
from .native_kernels import FAULTS
from .test_rows import COMPUTED

TESTS = pathlib.Path(__file__).resolve().parents[1]

# Marks of the tests that compile kernels for the CPU device.
COMPILED = [
    pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="of the CPU device alone"),
    pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no compiler"),
]
pytestmark = [*COMPILED, pytest.mark.campaign("machine code of many kernels")]


PROGRAM = ("-m", "ptx.native_kernels", str(rotation.number()))


def run(mode, cache, program=PROGRAM, **more):
    environment = {
        **os.environ,
        "CUPOLA_CPU_MODE": mode,
        "CUPOLA_CACHE_DIR": str(cache),
        "CUPOLA_CPU_TIMEOUT": "5",  # seconds, for endless faults; others take 1 s when busy
        "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
        **more,
    }
    return subprocess.run(
        [sys.executable, *program], env=environment, capture_output=True, text=True, timeout=1800
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def compiled(folder):
    done = run("compile", folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_machine_code_agrees_with_the_interpreter(compiled, folder):
    done = run("interpret", folder)
    assert done.returncode == 0, done.stderr
    interpreted = done.stdout.splitlines()
    rows = [line for line in interpreted if re.match(r"k\d+ ", line)]
    share = rotation.number() % native_kernels.SHARES
    assert len(rows) == len(native_kernels.rows_of(share, "9.0"))
    assert [line.replace(" compiled ", " interpreted ") for line in compiled] == interpreted
    assert all(
        " compiled " in line for line in compiled[: -len(FAULTS)]
    )  # the last ones are faults


def test_the_quick_tier_agrees_with_the_interpreter(tmp_path):
    done, interpreted = (run(mode, tmp_path / mode) for mode in ("quick", "interpret"))
    assert done.returncode == interpreted.returncode == 0, done.stderr
    lines, expected = done.stdout.splitlines(), interpreted.stdout.splitlines()
    quick = " compiled, quick tier "
    assert [line.replace(quick, " interpreted ") for line in lines] == expected
    assert all(quick in line for line in lines[: -len(FAULTS)])


@pytest.mark.parametrize("capability", sorted({row.capability for row in COMPUTED} - {"9.0"}))
def test_rows_for_newer_devices(tmp_path, capability):
    device = {VARIABLE: capability}
    modes = "interpret", "compile", "quick"
    done = {mode: run(mode, tmp_path / mode, **device) for mode in modes}
    assert not any(one.returncode for one in done.values()), [one.stderr for one in done.values()]
    expected = done["interpret"].stdout
    assert re.search(r"^k\d+ interpreted ", expected, re.MULTILINE)
    assert done["compile"].stdout.replace(" compiled ", " interpreted ") == expected
    assert done["quick"].stdout.replace(" compiled, quick tier ", " interpreted ") == expected


CUB = ("reductions", "scans", "sorting", "histograms", "warps")


def test_kernels_of_cub_as_machine_code(tmp_path):
    """Tests of a part of CUB, another after each change; the mode refuses what it can't compile."""
    named = CUB[rotation.number() % len(CUB)]
    program = ("-m", "pytest", "-q", os.fspath(TESTS / "ptx" / "test_toolkit.py"), "-k", named)
    done = run("compile", tmp_path, program)
    assert done.returncode == 0, done.stdout
    assert re.search(r"[1-9]\d* passed", done.stdout), done.stdout


ANOTHER = """
from ptx import native_kernels as kernels
from ptx.driver import Driver
bodies = {**kernels.BODIES, **kernels.in_parts()}
bodies = {name: bodies[name] for name in ("structure", "divergent", "divergent_in_parts")}
kernels.run_bodies(Driver().load(kernels.text_of(bodies)), bodies)
"""


@pytest.mark.skipif(not shutil.which("clang++"), reason="no clang++")
def test_another_compiler(compiled, tmp_path):
    done = run("compile", tmp_path, program=["-c", ANOTHER], CXX="clang++")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 and set(done.stdout.splitlines()) <= set(compiled)


def test_the_compiler_of_the_package_ziglang(compiled, tmp_path):
    import cupola  # noqa: F401 - names the compiler

    if "CUPOLA_CPU_ZIG" not in os.environ:
        pytest.skip("no package ziglang")
    settings = {"CXX": "", "PATH": str(tmp_path / "none")}
    done = run("compile", tmp_path, program=["-c", ANOTHER], **settings)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 and set(done.stdout.splitlines()) <= set(compiled)


def test_faults_are_the_interpreters(compiled):
    faults = {line.split()[0]: line for line in compiled[-len(FAULTS) :]}
    assert "700 kernel beyond, block (0,0,0), thread (37,0,0), PTX line" in faults["beyond"]
    assert " 716 kernel misaligned" in faults["misaligned"]
    assert " 719 kernel trapping" in faults["trapping"]
    assert " 702 " in faults["endless"]
    assert " 700 " in faults["beyond_the_end"] and "thread (16,0,0)" in faults["beyond_the_end"]
    for name in "running_out", "pieces_out":
        assert f"700 kernel {name}, block (4,0,0), thread (16,0,0)" in faults[name]
    assert "700 kernel going_out, block (0,0,0), thread (0,0,0)" in faults["going_out"]
    for name in ("a_hole", "a_gap"):
        assert " 700 " in faults[name] and "thread (1,0,0)" in faults[name]


def test_blocks_whose_threads_do_the_same_and_rounds_that_are_alike_go_at_once():
    module = Driver().load(native_kernels.text_of(native_kernels.BODIES))
    for name in native_kernels.ROUNDS:
        assert "predict_iterations" in native_kernels.printed(module, name), name
    assert "predict_iterations" not in native_kernels.printed(module, "rounds_of_steps")
    for name in native_kernels.BODIES:
        at_once = "struct BlockBatch" in native_kernels.printed(module, name)
        if name in native_kernels.SWEEPING:
            assert at_once, name
        elif name in ("tiles", "calling", "lock", "divergent", "local"):
            assert not at_once, name


def test_what_never_changes_is_made_once_for_all_rounds():
    module = Driver().load(native_kernels.text_of(native_kernels.BODIES))
    start, rounds = native_kernels.printed(module, "lasting").split("dispatch:", 1)
    for chapter in ("ConvertRows", "CompareRows::row<25>"):  # its conversions, and setp.lt.f32
        assert f"apply_lanes<{chapter}" in start and f"apply_lanes<{chapter}" not in rounds


def test_what_lies_among_the_parameters_is_one_value():
    module = Driver().load(native_kernels.text_of(native_kernels.BODIES))
    text = native_kernels.printed(module, "structure")
    # Reads by name and by address, in the functions of whole blocks and of warps.
    assert text.count("parameter<std::uint32_t>(w, 16)") == 4


def test_large_kernels_are_functions_of_some_blocks_each(compiled):
    module = Driver().load(native_kernels.text_of(native_kernels.in_parts()))
    for name in native_kernels.in_parts():
        text = native_kernels.printed(module, name)
        assert "_part_0(" in text, name
        assert name.startswith("sweeping") == ("struct BlockBatch" in text), name
    module = Driver().load(native_kernels.text_of(native_kernels.BODIES))
    for name in native_kernels.BODIES:
        assert "_part_0(" not in native_kernels.printed(module, name), name
    hashes = {line.split()[0]: line.split()[-1] for line in compiled}
    for name in native_kernels.in_parts():
        assert hashes[name] == hashes[name.replace("_in_parts", "")], name


def test_what_was_compiled_is_kept(compiled, folder):
    kept = sorted((folder / "cpu").glob("*.so"))
    assert kept == files_in(folder)
    # With a compiler that fails, only the cached code can run.
    again = run("compile", folder)
    assert again.stdout.splitlines() == compiled
    assert sorted((folder / "cpu").glob("*.so")) == kept


TWO_MODULES = """
from ptx import native_kernels as kernels
from ptx.driver import Driver
for name in ("structure", "divergent"):
    bodies = {name: kernels.BODIES[name]}
    kernels.run_bodies(Driver().load(kernels.text_of(bodies)), bodies)
"""


def test_files_that_others_may_write_are_not_loaded(tmp_path):
    before = run("compile", tmp_path, program=["-c", TWO_MODULES])
    assert before.returncode == 0, before.stderr
    files = sorted((tmp_path / "cpu").glob("*.so"))
    assert len(files) == 2
    for library in files:
        library.chmod(0o666)
    files[0].chmod(0o600)
    files[0].write_bytes(files[0].read_bytes()[:-1] + b"?")
    done = run("compile", tmp_path, program=["-c", TWO_MODULES])
    assert done.stdout == before.stdout, done.stderr
    assert all(f.stat().st_mode & 0o777 == 0o600 for f in (tmp_path / "cpu").iterdir())


def test_without_a_compiler_nothing_is_compiled(tmp_path):
    done = run("compile", tmp_path, PATH=str(tmp_path), CXX="")
    assert done.returncode != 0 and "returned 221" in done.stderr


TAKE_OVER = """
import time, numpy as np
from ptx import native_kernels as kernels
from ptx.driver import Driver
module = Driver().load(kernels.text_of({"k": kernels.BODIES["divergent"]}))
given = np.random.default_rng(7).integers(0, 1 << 31, 96 * 512, np.uint32)
results, until = [], time.monotonic() + 500
while time.monotonic() < until:
    how, out = kernels.execution(module, "k"), np.zeros(96 * 512, np.uint32)
    module.run("k", 512, 96, [given, out, np.uint32(3)])
    results.append((how, kernels.hashed(out)))
    if how != "interpreted":
        break
assert results[0][0] == "interpreted" and results[-1][0] == "compiled", results[-1]
assert len({hash for _, hash in results}) == 1
"""


def test_machine_code_takes_over_between_launches(tmp_path):
    environment = {
        **os.environ,
        "CUPOLA_CPU_MODE": "auto",
        "CUPOLA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-c", TAKE_OVER]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr

"""python -m cupola record: launches of programs that are not cupola's, their spools, and faults."""

import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import images
import numpy as np
import pytest

import cupola
from cupola.recording import read, replay
from cupola.recording.address_origin import offsets
from cupola.recording.code_texts import CodeTexts
from cupola.recording.conversion import convert
from cupola.recording.program import Choice, real_driver, variables
from cupola.recording.spool import read_spool

FOLDER = Path(__file__).with_name("record")
LIBRARIES = Path(cupola.paths.cpu_library()).parent.parent

pytestmark = pytest.mark.cpu_only(reason="the programs are made for the CPU device")


def cli(*arguments, **variables):
    command = [sys.executable, "-m", "cupola", *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=300
    )


def record(path, *arguments):
    done = cli("record", "--cpu", "-o", path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def toolkit():
    found = images.nvcc()
    return [*(f"-I{folder}" for folder in found.include), "-cudadevrt=none", "-cudart=none"]


@pytest.fixture(scope="module")
def driver_program():
    link = ["-Xlinker", LIBRARIES / "cpu/libcuda.so.1"]
    return images.compiled("record-driver", FOLDER / "driver.cpp", *toolkit(), *link)


@pytest.fixture(scope="module")
def loop_program():
    options = [*toolkit(), "-lineinfo", "-gencode=arch=compute_75,code=compute_75"]
    library = LIBRARIES / f"cudart/libcudart.so.{images.nvcc().version[0]}"
    return images.compiled("record-loop", FOLDER / "loop.cu", *options, "-Xlinker", library)


def test_each_function_that_launches(driver_program, tmp_path):
    path = tmp_path / "case.cupola"
    done = record(path, "--kernel", "^scale$", driver_program, images.SCALE, "graph")
    # Factors 2, 3, 2 and 2, and 2 twice in the graph.
    assert done.stdout == "96\n"
    case = read(path)
    assert case.complete and not case.stopped and len(case.launches) == 8
    first, buffer, cooperative, cluster, *threads = case.launches
    assert (first.grid, first.block, first.attributes) == ((2, 1, 1), (32, 1, 1), None)
    assert np.frombuffer(buffer.packed, np.float32)[2] == 3
    assert cooperative.attributes[1] == 1
    assert cluster.attributes[0] == (2, 1, 1) and cluster.shared == 16
    assert len({one.memory[0].before.data for one in threads}) == 4
    assert [one.difference for one in replay(path)] == [""] * 8
    lost = {one["kernel"]: (one["count"], one["reason"]) for one in case.left_out}
    assert lost["scale"] == (1, "the process was capturing a graph")
    assert lost["a graph"][0] == 2 and "3 launches were left out" in done.stderr


@pytest.mark.parametrize(
    ("options", "factors"),
    [(["--nth", "1"], [3]), (["--launches", "1:3"], [3, 2]), (["--launches", ":1"], [2])],
)
def test_the_chosen_launches(driver_program, tmp_path, options, factors):
    path = tmp_path / "case.cupola"
    record(path, *options, driver_program, images.SCALE)
    found = [np.frombuffer(one.packed, np.float32)[2] for one in read(path).launches]
    assert found == factors


def test_no_launch_matches(driver_program, tmp_path):
    path = tmp_path / "case.cupola"
    done = cli("record", "--cpu", "-o", path, "-k", "other", driver_program, images.SCALE)
    assert done.returncode == 1 and "launched no kernels that match 'other'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_limit_stops_the_recording(driver_program, tmp_path):
    path = tmp_path / "case.cupola"
    done = record(path, "--limit", 1000, driver_program, images.SCALE)
    assert len(read(path).launches) == 2 and "limit of bytes" in read(path).stopped
    assert "stopped early: its limit of bytes is reached" in done.stderr


def test_a_program_of_the_runtime_api(loop_program, tmp_path):
    """The image is the program's fatbin; types of arguments come from the C++ name."""
    path = tmp_path / "case.cupola"
    record(path, "-k", "advance", "--launches", "3:5", loop_program, 6, -1)
    case = read(path)
    assert [one.title for one in case.launches] == ["advance"] * 2
    pieces = {(one.name, one.dtype, one.nbytes) for one in case.launches[0].memory}
    assert pieces == {
        ("turns", "", 4), ("argument 0", "<f4", 80000), ("argument 1", "<f4", 80000)
    }  # fmt: skip
    (turns,) = [one for one in case.launches[0].memory if one.variable]
    assert case.array(turns.before.data).view(np.uint32) == 3
    assert [one.difference for one in replay(path)] == ["", ""]


def test_a_write_out_of_bounds_in_the_900th_launch(loop_program, tmp_path):
    path = tmp_path / "fault.cupola"
    done = record(path, "--fault", loop_program, 900, 899)
    assert done.stdout == "cudaErrorIllegalAddress\n"
    (launch,) = read(path).launches
    assert "ILLEGAL_ADDRESS" in launch.error and not launch.finished
    shown = cli("replay", path, "--check", "memory")
    assert shown.returncode == 1  # of the check's finding
    for words in (
        "block (17003,0,0)", "loop.cu:12", "argument 0[1065579] (float32)", "outside of an array"
    ):  # fmt: skip
        assert words in shown.stdout, shown.stdout
    assert "memory: illegal address" in shown.stderr


def test_without_a_fault_no_file_is_written(loop_program, tmp_path):
    done = record(tmp_path / "fault.cupola", "--fault", loop_program, 3, -1)
    assert "no launch failed" in done.stderr and not list(tmp_path.iterdir())


def test_a_launch_larger_than_the_limit_is_left_out(loop_program, tmp_path):
    path = tmp_path / "fault.cupola"
    done = record(path, "--fault", "--limit", 1000, loop_program, 3, -1)
    assert "3 launches were left out" in done.stderr
    assert read(path).left_out[0]["reason"] == "its memory exceeds the limit"


def test_a_lost_context_leaves_the_launches_before(loop_program, tmp_path):
    path = tmp_path / "case.cupola"
    record(path, loop_program, 6, 3)
    case = read(path)
    assert [one.finished for one in case.launches] == [True] * 3 + [False]
    assert "ILLEGAL_ADDRESS" in case.launches[-1].error
    shown = cli("replay", path)
    assert shown.stdout.count(": equal") == 3 and "fails as when" in shown.stdout


PROGRAM = """
import os, signal, sys, time
import numpy as np, ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def check(code): assert code == 0, code
check(cuda.cuInit(0))
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), open(sys.argv[1], "rb").read() + bytes(1)))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"scale"))
x, factor, n = ctypes.c_uint64(), ctypes.c_float(2), ctypes.c_uint(64)
check(cuda.cuMemAlloc_v2(ctypes.byref(x), 256))
check(cuda.cuMemsetD32_v2(x, 0x3f800000, 64))
given = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(one), ctypes.c_void_p)
                                for one in (x, factor, n)])
def launch():
    check(cuda.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, None, given, None))
launch(); launch()
"""


@pytest.mark.parametrize("end", ["kill", "exit", "fork"])
def test_programs_that_end_otherwise(tmp_path, end):
    ends = {
        "kill": "os.kill(os.getpid(), signal.SIGKILL)",
        "exit": "os._exit(0)",
        "fork": "child = os.fork()\nif not child:\n    sys.exit(0)\nos.waitpid(child, 0); launch()",
    }
    path = tmp_path / "case.cupola"
    script = tmp_path / "program.py"
    script.write_text(PROGRAM + ends[end])
    done = cli("record", "--cpu", "-o", path, script, images.SCALE)
    assert done.returncode == (128 + signal.SIGKILL if end == "kill" else 0), done.stderr
    case = read(path)
    assert len(case.launches) == (3 if end == "fork" else 2)
    assert case.complete == (end == "fork")
    assert all(one.difference == "" for one in replay(path))


def test_each_process_gets_a_file(tmp_path):
    script = tmp_path / "program.py"
    again = "\nif len(sys.argv) == 2:\n    import subprocess\n    subprocess.check_call("
    script.write_text(PROGRAM + again + "[sys.executable, *sys.argv, 'child'])\n")
    record(tmp_path / "case.cupola", script, images.SCALE)
    assert len(replay(tmp_path / "case.cupola")) == len(replay(tmp_path / "case-2.cupola")) == 2


def test_a_program_with_cupola(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import cupola, sys\n"
        "x = cupola.ones(64, 'float32')\n"
        "cupola.load(sys.argv[1])['scale'][2, 32](x, 2.0, 64)\n"
        "assert (x.get() == 2).all()\n"
    )
    record(tmp_path / "case.cupola", "-k", "^scale$", script, images.SCALE)
    assert [one.difference for one in replay(tmp_path / "case.cupola")] == [""]


def test_an_interrupt_is_for_the_program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        PROGRAM + "try:\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    path = tmp_path / "case.cupola"
    command = [sys.executable, "-m", "cupola", "record", "--cpu", "-o", path, script, images.SCALE]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
    assert process.returncode == 0 and len(read(path).launches) == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-k", "(", "program"], "no regular expression"),
        (["--launches", "3:3", "program"], "has no launch"),
        (["--nth", "1", "--fault", "program"], "not allowed with"),
        (["-o", "none/case.cupola", "true"], "its folder does not exist"),
        ([], "no program to record"),
    ],
)
def test_refused_arguments(arguments, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli("record", *arguments)
    assert done.returncode in (1, 2) and text in done.stderr


@pytest.fixture(scope="module")
def spool(tmp_path_factory):
    """A spool of two launches."""
    folder = tmp_path_factory.mktemp("spool")
    script = folder / "program.py"
    script.write_text(PROGRAM)
    values = variables(Choice(), real_driver(cpu=True), folder, os.environ)
    command = [sys.executable, script, images.SCALE]
    subprocess.run(command, env=values, check=True)
    (path,) = folder.glob("*.spool")
    return path.read_bytes()


def test_a_cut_spool_has_the_launches_before(spool, tmp_path):
    counts = set()
    for end in range(15, len(spool), 97):
        path = tmp_path / "cut.spool"
        path.write_bytes(spool[:end])
        found = read_spool(path)
        assert not found.complete
        counts.add(len(found.launches))
        convert(found, tmp_path / "case.cupola", "", CodeTexts(tmp_path))
        assert len(read(tmp_path / "case.cupola").launches) == len(found.launches)
    assert counts == {0, 1, 2}


def test_hostile_spools_are_refused_or_read(spool, tmp_path):
    """Mutations of any byte, mostly of the records' numbers."""
    numbers = random.Random(7)
    path = tmp_path / "hostile.spool"
    outcomes = set()
    for _ in range(400):
        content = bytearray(spool)
        for _ in range(numbers.randint(1, 3)):
            at = numbers.randrange(15, len(content))
            content[at] = numbers.choice([0, 1, 255, numbers.randrange(256)])
        path.write_bytes(content)
        try:
            found = read_spool(path)
            convert(found, tmp_path / "case.cupola", "", CodeTexts(tmp_path))
            read(tmp_path / "case.cupola")
            outcomes.add("read")
        except cupola.ArgumentValueError as error:
            assert "spool" in str(error)
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_machine_code_alone_is_for_a_gpu(spool, tmp_path):
    """The case has the launch; a replay on the CPU device says why it cannot run it."""
    path = tmp_path / "machine.spool"
    path.write_bytes(spool)
    found = read_spool(path)
    cubin = images.compiled("scale.cubin", images.SCALE, "-cubin", "-arch=sm_75")
    found.images = dict.fromkeys(found.images, cubin.read_bytes())
    made = convert(found, tmp_path / "case.cupola", "", CodeTexts(tmp_path))
    assert made.code == {"cubin"} and made.count == 2
    launch = read(tmp_path / "case.cupola").launches[0]
    assert [one.nbytes for one in launch.memory] == [256] and len(launch.pointers) == 1
    with pytest.raises(cupola.ImageError, match="recorded as machine code alone"):
        replay(tmp_path / "case.cupola")


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"cupola spool 2\n"])
def test_other_files_are_no_spools(content, tmp_path):
    path = tmp_path / "other.spool"
    path.write_bytes(content)
    with pytest.raises(cupola.ArgumentValueError, match="no spool"):
        read_spool(path)


def test_without_the_command_the_library_says_so(tmp_path):
    program = 'import ctypes; print(ctypes.CDLL("libcuda.so.1").cuInit(0))'
    values = {"LD_LIBRARY_PATH": os.fspath(LIBRARIES / "record"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=values, capture_output=True, text=True)
    assert done.stdout == "100\n" and "CUPOLA_RECORD_DRIVER is not set" in done.stderr


def test_the_library_has_the_names_of_the_driver():
    def names(path):
        text = subprocess.run(
            ["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True
        ).stdout
        return set(re.findall(r" [TW] (cu[A-Z]\w+)$", text, re.M))

    assert names(LIBRARIES / "record/libcuda.so.1") == names(LIBRARIES / "cpu/libcuda.so.1")


PTX = """
.visible .entry step(
    .param .u64 step_param_0,
    .param .u32 step_param_1,
    .param .align 8 .b8 step_param_2[16]
)
{
    ld.param.u64 %rd1, [step_param_0];
    ld.param.u64 %rd2, [step_param_2+8];
    cvta.to.global.u64 %rd3, %rd1;
    ld.param.u32 %r1, [step_param_1];
    mul.wide.s32 %rd4, %r1, 4;
    add.s64 %rd5, %rd3, %rd4;
    @%p1 add.s64 %rd6, %rd2, 16;
    ld.global.u64 %rd7, [%rd5];
    st.global.f32 [%rd6+8], %f1;
    st.global.f32 [%rd7], %f1;
    ret;
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[%rd5]", {0}), ("[%rd6+8]", {24}), ("[%rd7]", set()), ("ret;", set()), (".visible", set())],
)
def test_the_argument_of_an_address(text, expected):
    line = next(i for i, each in enumerate(PTX.split("\n"), 1) if text in each)
    assert offsets(PTX, "step", line) == expected
    assert offsets(PTX, "other", line) == set()

"""Coverage of kernels: what the CPU device counts, the file, and what is made of it."""

import ctypes
import os
import random
import subprocess
import sys
import threading
import zlib

import coverage_program as program
import pytest
from command_line import cli
from coverage_program import SOURCE, line

import cupola.coverage
from cupola.coverage.file import HEADER

N = 100
INTERNAL_CALLS = 7  # the calls that call again, of the 15 calls of fibonacci(5)


def counts_of(file):
    return cupola.coverage.read(file).report().files[str(SOURCE)]


def threads(file, text):
    return file.lines[line(text)].lanes


@pytest.fixture(scope="module")
def exact():
    return program.image("-G")


@pytest.fixture
def counted(exact, tmp_path):
    program.run(exact, f":{N}:-1", CUPOLA_CPU_COVERAGE=tmp_path / "counts")
    return tmp_path / "counts"


def test_lines_count_the_threads_that_ran_them(counted):
    file = counts_of(counted)
    assert threads(file, "if (i >= n) return;") == 3 * 48
    assert threads(file, "int sum = 0;") == N
    assert threads(file, "sum += j & 1") == N * (N - 1) // 2
    assert threads(file, "for (int j") == N * (N - 1) // 2 + N
    assert threads(file, "sum += fibonacci") == threads(file, "sum -= 1;") == N // 4
    assert threads(file, "fibonacci(n - 1)") == N // 4 * INTERNAL_CALLS
    assert threads(file, "sum = 1000") == 0
    assert threads(file, "x[0] = 1;") == 0  # a kernel that never ran
    assert line("int fibonacci(int n)") in file.lines and line("case 1:") not in file.lines


def test_instantiations_of_a_template_are_added(counted):
    counts = cupola.coverage.read(counted)
    number = line("if (x > limit)")
    names = [name for name in counts.functions() if "clamped" in name]
    assert len(names) == 2
    for name in names:
        report = counts.report(function=name)
        assert report.files[str(SOURCE)].lines[number].lanes == N
    assert counts_of(counted).lines[number].lanes == 2 * N


def test_each_side_of_a_branch_is_counted(counted):
    file = counts_of(counted)
    (early,) = file.branches[line("if (i >= n) return;")]
    assert sorted(lanes for _, lanes in early.sides) == [44, N] and early.divergent == 1
    (rare,) = file.branches[line("if (rare == i)")]
    assert sorted(lanes for _, lanes in rare.sides) == [0, N] and rare.divergent == 0
    arcs = file.arcs()
    assert arcs[line("if (rare == i)"), line("sum = 1000")] == 0
    assert arcs[line("if (i >= n) return;"), -line("if (i >= n) return;")] == 44
    assert arcs[line("for (int j"), line("sum += j & 1")] == N * (N - 1) // 2


def test_masked_lanes_are_those_that_wait(counted):
    file = counts_of(counted)
    assert file.lines[line("const int i")].masked == 3 * 16  # each block has a half warp
    assert file.lines[line("sum -= 1;")].masked == file.lines[line("sum -= 1;")].warps * 32 - 25


@pytest.mark.parametrize("options", [("-G",), ("-lineinfo",)])
def test_machine_code_counts_the_same(options, tmp_path):
    ptx = program.image(*options)
    for mode in ("interpret", "compile"):
        file = tmp_path / mode
        program.run(ptx, f":{N}:7", CUPOLA_CPU_COVERAGE=file, CUPOLA_CPU_MODE=mode)
    interpreted, compiled = (counts_of(tmp_path / mode) for mode in ("interpret", "compile"))
    assert interpreted == compiled and threads(compiled, "int i =") == 3 * 48


def test_several_processes_count_into_one_file(exact, tmp_path):
    file = tmp_path / "counts"
    workers = [
        threading.Thread(
            target=program.run,
            args=(exact, f":{N}:-1"),
            kwargs={"CUPOLA_CPU_COVERAGE": file},
        )
        for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert threads(counts_of(file), "int sum = 0;") == 3 * N


def test_a_launch_counts_for_the_context_that_made_it(exact, tmp_path):
    file = tmp_path / "counts"
    program.run(exact, ":3:-1", "one%test:5:2", "other:7:-1", CUPOLA_CPU_COVERAGE=file)
    counts = cupola.coverage.read(file)
    number = line("int sum = 0;")
    assert counts.contexts() == ["", "one%test", "other"]
    for context, expected in {"": 3, "one%test": 5, "other": 7, None: 15}.items():
        assert counts.report(context).files[str(SOURCE)].lines[number].lanes == expected
    rare = line("sum = 1000")
    assert counts.report("one%test").files[str(SOURCE)].lines[rare].lanes == 1


def test_counting_starts_and_stops_in_a_process(exact, tmp_path):
    text = f"""
import numpy as np, cupola, cupola.coverage
def launch():
    x = cupola.zeros(100, np.int32)
    cupola.load({str(exact)!r})["counted"][3, 48](x, 10, -1)
    cupola.Device().synchronize()
launch()
cupola.coverage.start({str(tmp_path / "first")!r})
launch()
cupola.coverage.write()
launch()
cupola.coverage.stop()
launch()
cupola.coverage.start({str(tmp_path / "second")!r})
launch()
"""
    environment = {**os.environ, "CUPOLA_DRIVER": "cpu"}
    subprocess.run([sys.executable, "-c", text], env=environment, check=True)
    assert threads(counts_of(tmp_path / "first"), "int sum = 0;") == 20
    assert threads(counts_of(tmp_path / "second"), "int sum = 0;") == 10


def test_without_coverage_a_kernel_has_no_counters(exact, tmp_path):
    """Its operations and its machine code are those of a text without lines."""
    without = tmp_path / "without.ptx"
    text = exact.read_text().splitlines()
    without.write_text("\n".join("" if ".loc" in each else each for each in text))
    ask = """
import ctypes, sys, cupola
library = ctypes.CDLL(cupola.paths.cpu_library())
kernel = cupola.load(sys.argv[1])["counted"]
for name in ("cupola_cpu_ir", "cupola_cpu_printed"):
    function = getattr(library, name)
    function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    print(function(kernel.handle).decode())
"""
    texts = []
    for ptx, file in ((exact, None), (without, None), (exact, tmp_path / "counts")):
        environment = {**os.environ, "CUPOLA_DRIVER": "cpu"}
        if file:
            environment["CUPOLA_CPU_COVERAGE"] = str(file)
        command = [sys.executable, "-c", ask, ptx]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        texts.append(done.stdout)
    assert texts[0] == texts[1] and "count_lines" not in texts[0]
    assert "count lines" in texts[2] and "count_branch(w, mask" in texts[2]


def test_a_file_that_cannot_be_written_is_an_error(exact, tmp_path):
    (tmp_path / "other").write_text("something else\n")
    for file, why in (("no/such/folder", "No such file"), ("other", "not a coverage file")):
        command = [sys.executable, "-c", "import cupola; cupola.zeros(1)"]
        environment = {**os.environ, "CUPOLA_DRIVER": "cpu"}
        environment["CUPOLA_CPU_COVERAGE"] = str(tmp_path / file)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode != 0 and why in done.stderr
    assert (tmp_path / "other").read_text() == "something else\n"
    with pytest.raises(cupola.coverage.CoverageFileError, match="not a coverage file"):
        cupola.coverage.read(tmp_path / "other")


def mutated(data, source):
    data = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 8))):
        at = source.randrange(len(data))
        kind = source.randrange(4)
        if kind == 0:
            data[at] = source.randrange(256)
        elif kind == 1:
            del data[at : at + source.randrange(1, 40)]
        elif kind == 2:
            data[at:at] = data[at : at + source.randrange(1, 40)]
        else:
            digits = [n for n, byte in enumerate(data) if 48 <= byte < 58]
            data[source.choice(digits)] = source.choice(b"0123456789")
        if not data:
            break
    return bytes(data)


def test_any_bytes_give_counts_or_an_error(counted, tmp_path):
    """Also where the checksum is right: each body gets its own."""
    data = counted.read_bytes()
    body = data[data.index(b"\n", len(HEADER)) + 1 :]
    source = random.Random(7)
    outcomes = set()
    for round_ in range(600):
        if round_ % 3 == 0:
            made = mutated(data, source)
        else:
            inner = mutated(body, source)
            made = HEADER + b"record %d %08x\n" % (len(inner), zlib.crc32(inner)) + inner
        (tmp_path / "mutated").write_bytes(made)
        try:
            report = cupola.coverage.read(tmp_path / "mutated").report()
            outcomes.add("read")
            for file in report.files.values():
                file.arcs()
        except cupola.coverage.CoverageFileError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_lcov_has_each_line_and_side(counted):
    answer = cli("coverage", "lcov", counted)
    assert answer.returncode == 0, answer.stderr
    text = answer.stdout
    assert text.startswith(f"TN:\nSF:{SOURCE}\n") and text.endswith("end_of_record\n")
    assert f"DA:{line('int sum = 0;')},{N}\n" in text
    assert f"DA:{line('sum = 1000')},0\n" in text
    sides = [each for each in text.splitlines() if each.startswith(f"BRDA:{line('if (rare')},0,")]
    assert sorted(each.rpartition(",")[2] for each in sides) == ["0", "100"]
    run = sum(each.startswith("DA:") and not each.endswith(",0") for each in text.splitlines())
    assert f"LH:{run}\n" in text


def test_the_command_shows_counts_beside_the_source(counted, tmp_path):
    answer = cli("coverage", "lines", counted)
    shown = {each[28:].strip(): each for each in answer.stdout.splitlines()}
    assert answer.returncode == 0, answer.stderr
    assert any("int sum = 0;" in text and f"{N:13}" in each for text, each in shown.items())
    table = cli("coverage", "report", counted, "--source", "*.cu").stdout.splitlines()
    assert table[0].split() == ["source", "lines", "run", "sides", "taken", "divergent"]
    assert table[1].startswith(str(SOURCE)) and len(table) == 2
    assert cli("coverage", "report", tmp_path / "none").returncode == 1


def test_the_lines_of_a_large_module_are_those_of_all_its_kernels(exact, tmp_path):
    """Such a module is else read kernel by kernel."""
    large = tmp_path / "large.ptx"
    large.write_text(exact.read_text() + "// " + "x" * 70_000 + "\n")
    program.run(large, f":{N}:-1", CUPOLA_CPU_COVERAGE=tmp_path / "counts")
    file = counts_of(tmp_path / "counts")
    assert threads(file, "x[0] = 1;") == 0 and threads(file, "int sum = 0;") == N


def test_the_exports_take_any_text():
    library = ctypes.CDLL(cupola.paths.cpu_library())
    library.cupola_cpu_coverage_start.restype = ctypes.c_char_p
    for text in (None, b""):
        assert b"needs the name of a file" in library.cupola_cpu_coverage_start(text)


@pytest.mark.parametrize(
    ("options", "arguments", "says"),
    [
        ((), (), "nothing was counted: no module with line information was loaded"),
        (("-lineinfo",), ("--source", "*.none"), f"no file is shown of {SOURCE}"),
        (("-lineinfo",), ("--function", "none"), "no function none; `functions` lists them"),
    ],
)
@pytest.mark.parametrize("what", ["report", "lines", "lcov"])
def test_an_empty_report_says_why(options, arguments, says, what, tmp_path):
    program.run(program.image(*options), f":{N}:7", CUPOLA_CPU_COVERAGE=tmp_path / "counts")
    shown = cli("coverage", what, tmp_path / "counts", *arguments)
    assert shown.returncode == (1 if arguments else 0) and says in shown.stderr

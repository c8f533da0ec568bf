"""python -m cupola debug: breakpoints, steps and values at a terminal."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import images
import pytest
import sessions
from sessions import PROGRAM, debug, image, line

from cupola import paths
from cupola.tools.debug.breakpoints import Breakpoints

PLACE = re.compile(r"^> \S+kernels\.cu\((\d+)\) (\w+)(?: \(inlined\))?, "
                   r"block \((.*?)\), thread \((.*?)\)$", re.MULTILINE)  # fmt: skip


def places(output):
    """The line, function, block and thread of each stop."""
    return [(int(n), name, block, thread) for n, name, block, thread in PLACE.findall(output)]


def test_breakpoint_by_kernel_and_its_values():
    output = debug("full", ["reverse", "wait"], [
        "b reverse", "c", "a", "p scale", "p weights", "whatis local", "p i", "p p.n[1]",
        f"b {line('few')}", "cl 1", "c", "p t", "p local", "p tile[0:3]", "p in[2]",
        "p array(int(in), 'f4', 4)", "p len(rest)", "whatis in", "p nothing", "cl", "c",
    ])  # fmt: skip
    first, few = line("first"), line("few")
    assert places(output) == [
        (first, "reverse", "0,0,0", "0,0,0"), (few, "reverse", "0,0,0", "0,0,0")]  # fmt: skip
    assert re.search(r"out = \(float\*\) 0x[0-9a-f]+\nin = \(const float\*\) 0x", output)
    assert "n = 100\np = (1.5, [7, 8, 9])\n3\narray([0.5, 1. , 1.5, 2. ], dtype=float32)" in output
    assert re.search(r"float\[4\], array, dtype float32, shape \(4,\), at 0x\w+", output)
    assert "63.0\narray([0. , 1.5, 3. , 4.5], dtype=float32)" in output
    assert "array([0., 1., 2.], dtype=float32)\n2.0\narray([0., 1., 2., 3.]" in output
    assert "\n16\nconst float*, pointer to float32, at 0x" in output
    assert "*** NameError: name 'nothing' is not defined" in output
    assert f"sum {expected_sum():.1f}" in output
    assert output.endswith("[the program has ended with status 0]\n")


def expected_sum():
    total = 0.0
    for i in range(128):
        lane = i % 64
        t = float(i - lane + 63 - lane)
        t = t * 2 + (i & 1) if lane < 7 else t + 100
        total += t + i % 4 * 1.5 + 3 + 0.5 + 100
    return total


def test_steps_over_calls_barriers_and_out():
    output = debug("full", ["reverse", "wait"], [
        f"b {sessions.SOURCE.name}:{line('fill')}, thread == (3,0,0) and block == (1,0,0)",
        "c", "n", "n", "n", "n", "s", "s", "bt", "u", "p i", "d", "r", "lanes", "q",
    ])  # fmt: skip
    seen = [(n, name) for n, name, block, thread in places(output) if thread == "3,0,0"]
    read, few = line("read"), line("few")
    inside = line("twice")
    assert seen == [
        (line("fill"), "reverse"), (line("barrier"), "reverse"), (read, "reverse"),
        (read + 1, "reverse"), (few, "reverse"), (inside, "twice"), (inside + 1, "twice"),
        (few, "reverse"), (inside + 1, "twice"), (few, "reverse")]  # fmt: skip
    assert {block for *_, block, _ in places(output)} == {"1,0,0"}
    assert f"kernels.cu({few}) reverse\n> " in output and "\n67\n" in output
    assert f"* warp 0, lanes 0-6: active, kernels.cu:{few}" in output
    assert f"* warp 0, lanes 7-31: ready, kernels.cu:{line('many')}" in output


def test_step_of_a_warp_keeps_divergent_lanes_together():
    output = debug("full", ["reverse", "wait"], [
        f"b {sessions.SOURCE.name}:{line('read') + 1}", "c", "s warp", "lanes", "s warp", "lanes",
        "s", "q",
    ])  # fmt: skip
    few, many = line("few"), line("many")
    assert (
        f"lanes 0-6: active, kernels.cu:{few}\n* warp 0, lanes 7-31: ready, kernels.cu:{many}"
        in (output)
        or f"lanes 7-31: active, kernels.cu:{many}\n* warp 0, lanes 0-6: ready, kernels.cu:{few}"
        in (output)
    )
    # Both sides of the branch have made their step, and wait at the store.
    assert f"* warp 0, lanes 0-31: active, kernels.cu:{line('store')}" in output


def test_step_of_a_block_passes_a_barrier():
    output = debug("full", ["reverse", "wait"], [
        f"b {sessions.SOURCE.name}:{line('fill')}, thread == (40,0,0)", "c", "cl", "s block",
        "warps", "s block", "warps", "thread (3,0,0)", "p threadIdx.x", "n", "thread 70", "q",
    ])  # fmt: skip
    read, few = line("read"), line("few")
    groups = [f"warp {n}, lanes 0-31: %s, kernels.cu:{read + by}" for by in (0, 1) for n in (0, 1)]
    for group in groups:
        assert group % "active" in output or group % "ready" in output, group
    assert "\n3\n" in output and places(output)[-1] == (few, "reverse", "0,0,0", "3,0,0")
    assert "*** thread (6,0,1): the block has no such running thread" in output


def test_conditions_and_recursion():
    output = debug("full", ["count", "wait"], [
        "b factorial, n == 1 and threadIdx.x == 3", "c", "bt", "p n", "u", "p n", "u", "p n",
        "d", "d", "p blockDim.x, warp, lane", "b", "condition 1 n == 0", "c", "p n",
        "condition 1 n == missing", "tbreak base", "c", "q",
    ])  # fmt: skip
    assert output.count(") factorial\n") == 3, output
    assert "\n1\n> " in output and "\n2\n> " in output and "\n3\n> " in output
    assert "(4, 0, 3)" in output
    assert "1    yes      1     factorial, (n == 1) and (threadIdx.x == 3)" in output


def test_lines_of_optimised_code_and_inlined_functions():
    output = debug("lines", ["power", "wait"], [
        f"b {sessions.SOURCE.name}:{line('cube')}", "c", "bt", "registers", "p %tid", "l",
        "p threadIdx", "u", "p v", "q",
    ])  # fmt: skip
    assert places(output)[0][:2] == (line("cube"), "cube")
    assert (
        f"({line('power')}) power\n> " in output
        and "cube(float, float const*) (inlined)" not in (output)
    )
    assert re.search(r"^%f\d+ = ", output, re.MULTILINE) and "-> " in output
    assert "*** %tid: cube uses no register of that name" in output or "no register" in output
    assert "NameError: name 'v' is not defined" in output


def test_ptx_without_lines():
    output = debug(
        "plain", ["power", "wait"], ["b power", "c", "n", "n", "l", "registers", "a", "c"]
    )
    stops = re.findall(r"^> power\.ptx\((\d+)\) power, block", output, re.MULTILINE)
    assert len(stops) == 3 and int(stops[0]) < int(stops[1]) < int(stops[2])
    assert ".visible .entry power(" in output or "ld.param" in output
    assert "power_param_0 = array([" in output
    assert output.endswith("[the program has ended with status 0]\n")


def test_commands_that_cannot_be_done():
    output = debug("full", ["wait"], [
        "s", "p 1", "b", "b 12", "frobnicate", "b f, 1 +", "cl 9", "h s", "c"])  # fmt: skip
    assert "*** no kernel is stopped: set a breakpoint with b, and continue with c" in output
    assert "*** breakpoint 12: no file is shown; use FILE:LINE" in output
    assert "*** 'frobnicate' is no command" in output and "*** condition '1 +'" in output
    assert "*** no breakpoint '9'; b lists them" in output and "s(tep) [warp|block]" in output


def test_places_and_numbers_that_there_are_not():
    count = len(sessions.SOURCE.read_text().splitlines())
    places = [":", "f:", "f:12x", "12x", "..", "f:g", f"{sessions.SOURCE}:0"]
    commands = [f"b {each}" for each in places]
    commands += [f"b {sessions.SOURCE}:{count + 1}", f"b f:{'9' * 5000}", "b f, \0", "b"]
    output = debug("full", ["wait"], [*commands, "b f", "cl \u00b2", f"cl {'9' * 5000}", "q"])
    for each in places[:-1]:
        assert f"*** breakpoint '{each}': expected KERNEL, FUNCTION, FILE:LINE or LINE" in output
    assert f":{count + 1}: the file has {count} lines" in output
    assert ":0: lines are counted from 1" in output and "Traceback" not in output
    assert "Breakpoint 1 at f\n" in output  # a refused place takes no number
    assert output.count("*** cl ") == 2


@pytest.mark.parametrize("place", ["f", "ns::f", "step<16, 16>", "operator+", "_Z1fv", "~f", "::f"])
def test_names_that_there_may_be(place):
    assert Breakpoints().add(place).function == place


def test_a_breakpoint_on_a_blank_line_says_where_it_is():
    lines = sessions.SOURCE.read_text().splitlines()
    first = next(n for n, text in enumerate(lines, 1) if text.endswith("// few"))
    blank = first + lines[first:].index("") + 1
    output = debug("full", ["reverse", "count", "wait"], [f"b {sessions.SOURCE}:{blank}", "c"])
    where = f"Breakpoint 1 at {sessions.SOURCE}:{blank}"
    assert f"{where}, a blank line: it stops at the next line with code" in output
    assert re.search(rf"^{re.escape(where)} is at line \d+, the next one with code$", output, re.M)


@pytest.mark.parametrize(("kind", "why"), [("plain", True), ("lines", False)])
def test_breakpoints_that_no_kernel_has(kind, why):
    output = debug(
        kind, ["reverse", "wait"], ["b nowhere.cu:3", "b missing", "tbreak reverse", "c", "c"]
    )
    said = "at nowhere.cu:3: no kernel that was launched has code there"
    hint = "; no line information is in reverse: compile with -lineinfo or -G"
    assert f"Breakpoint 1 {said}{hint if why else ''}\n" in output
    assert "Breakpoint 2 at missing: no kernel that was launched has code there\n" in output
    assert "Breakpoint 3 at reverse: no" not in output


def test_breakpoints_that_a_stopped_kernel_has_passed():
    """The kernel has code at the line, although it does not reach the line again."""
    passed = f"{sessions.SOURCE.name}:{line('first')}"
    commands = [f"b {sessions.SOURCE.name}:{line('store')}, thread == (3,0,0)", "c", "cl 1"]
    commands += [f"b {passed}, block == (0,0,0)", "c", "c"]
    output = debug("full", ["reverse", "wait"], commands)
    assert f"Breakpoint 2 at {passed}\n" in output
    assert "no kernel that was launched has code there" not in output


def test_the_end_of_the_input_ends_the_program():
    output = debug("full", ["reverse", "wait"], ["b reverse", "c"])
    assert len(places(output)) == 1 and "sum" not in output


def started(*actions):
    command = [sys.executable, "-m", "cupola", "debug", PROGRAM, image("full"), *actions]
    return subprocess.Popen(
        [*map(str, command)], env=sessions.environment(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def program_of(process):
    """The number of the process that a debugger's process has started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(children.read_text().split()[0])


def await_end(program):
    """Waits until a process has ended, although its parent may not have read its status."""
    stat = Path(f"/proc/{program}/stat")
    while stat.exists() and stat.read_text().split(")")[-1].split()[0] != "Z":
        time.sleep(0.01)


def await_line(process, text):
    # A program that goes on would keep the pipe open.
    watchdog = threading.Timer(100, lambda: os.kill(program_of(process), signal.SIGKILL))
    watchdog.start()
    while text not in (line := process.stdout.readline()):
        assert line, f"{text} did not come"
    watchdog.cancel()
    return line.replace("(cupola) ", "")


def test_a_program_that_ends_while_it_is_stopped():
    with started("reverse", "leave") as process:
        process.stdin.write("b reverse\nc\n")
        process.stdin.flush()
        await_line(process, "kernels.cu(")
        program = program_of(process)
        os.kill(program, signal.SIGUSR1)
        await_end(program)
        output = process.communicate("p i\nq\n", timeout=60)[0]
    assert "[the program has ended with status 7]" in output and process.returncode == 7


def test_the_status_of_the_program():
    command = [
        sys.executable,
        "-m",
        "cupola",
        "debug",
        "-c",
        "c",
        "--",
        "-c",
        "raise SystemExit(3)",
    ]
    assert sessions.run(command, []).returncode == 3


def processor_time(process):
    """Ticks of the program that a debugger's process has started."""
    stat = Path(f"/proc/{program_of(process)}/stat").read_text()
    return sum(map(int, stat.split(")")[-1].split()[11:13]))


def test_interrupting_a_kernel():
    with started("spin", "wait") as process:
        process.stdin.write("b spin\nc\ncl\nc\n")
        process.stdin.flush()
        await_line(process, "Deleted breakpoint 1")
        # An interrupt before the kernel goes on would be the prompt's.
        stopped = processor_time(process)
        while processor_time(process) < stopped + 30:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert PLACE.search(await_line(process, "kernels.cu("))[2] == "spin"
        output = process.communicate("p go[0]\nq\n", timeout=60)[0]
    assert "0" in output and process.returncode == 0


CXX = """
#include <cstdio>
__global__ void fill(int* x) { x[threadIdx.x] = threadIdx.x * 2; }
int main() {
    int* x;
    cudaMallocManaged(&x, 128);
    fill<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    std::printf("last %d\\n", x[31]);
    return 4;
}
"""


def test_a_program_of_the_cuda_runtime(tmp_path):
    source = tmp_path / "program.cu"
    source.write_text(CXX)
    build = ["-G", "-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90"]
    subprocess.run([images.nvcc().nvcc, *build, "-o", tmp_path / "program", source], check=True)
    done = sessions.run(
        [sys.executable, "-m", "cupola", "debug", tmp_path / "program"],
        ["b fill", "c", "p x[0]", "a", "c"],
    )
    assert "program.cu(3) fill" in done.stdout and "x = (int*) 0x" in done.stdout
    assert "last 62" in done.stdout and done.returncode == 4


def test_no_debugger_listens(tmp_path):
    done = sessions.run(
        [sys.executable, PROGRAM, image("full")], [], CUPOLA_CPU_DEBUG=str(tmp_path / "none")
    )
    assert done.returncode != 0 and "no debugger listens at CUPOLA_CPU_DEBUG=" in done.stdout
    assert paths.cpu_driver()

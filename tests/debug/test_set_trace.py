"""cupola.set_trace: the prompt in the thread that launches."""

import sys

import pytest
import sessions
from sessions import PROGRAM, debug, image, line

import cupola


def run(actions, commands, kind="full"):
    return sessions.run([sys.executable, PROGRAM, image(kind), *actions], commands)


def test_it_stops_once_for_a_block_and_a_thread():
    done = run(["trace", "reverse", "reverse", "wait"], ["p i", "n", "p local", "c"])
    assert f"kernels.cu({line('first')}) reverse, block (1,0,0), thread (3,0,0)" in done.stdout
    assert done.stdout.count("reverse, block") == 2  # the stop and the step
    assert "sum" in done.stdout and done.returncode == 0


def test_quit_raises_as_in_pdb():
    done = run(["trace", "reverse", "wait"], ["q"])
    assert "bdb.BdbQuit" in done.stdout and "sum" not in done.stdout and done.returncode == 1


def test_the_end_of_the_input_quits():
    assert "bdb.BdbQuit" in run(["trace", "reverse", "wait"], []).stdout


def test_a_stopped_launch_does_not_hold_the_gil():
    assert "others ran True" in run(["tick", "trace", "reverse", "wait"], []).stdout


def test_under_the_debugger_it_stops_there():
    output = debug("full", ["trace", "reverse", "wait"], ["c", "p blockIdx.x", "c"])
    assert "block (1,0,0), thread (3,0,0)" in output and "\n1\n" in output and "sum" in output


def test_misuse():
    with pytest.raises(cupola.ArgumentValueError, match=r"thread is .*; expected three numbers"):
        cupola.set_trace("reverse", thread=(1, 2))
    with pytest.raises(cupola.ArgumentValueError, match=r"block is .*; expected three numbers"):
        cupola.set_trace("reverse", block=(0, -1, 0))

"""Runs programs on the CPU device in processes of their own, with a chosen compiler."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

TESTS = pathlib.Path(__file__).resolve().parents[1]
PROLOGUE = """
import ctypes, os, signal, sys, threading, time
import numpy as np
from driver_abi import DriverError
from ptx.driver import Driver
from ptx.native_kernels import execution, text_of
TEXT = text_of({"endure": "mov.u32 %r5, 0; ON: add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, %r0;"
                          "@%p0 bra ON; st.global.u32 [%rd5], %r5;"})
driver = Driver()
driver.library.cupola_cpu_last_refusal.restype = ctypes.c_char_p
def endure(module, rounds):
    out = np.zeros(4096, np.uint32)
    module.run("endure", 5, 96, [out, out, np.uint32(rounds)])
    assert (out[:480] == rounds).all()
def refusal():
    try:
        driver.load(TEXT).function("endure")
    except DriverError as error:
        assert error.code == 221, error
        return driver.library.cupola_cpu_last_refusal().decode()
    return "compiled"
"""


def environment(mode, cache, **more):
    return {
        **os.environ,
        "CUPOLA_CPU_MODE": mode,
        "CUPOLA_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
        **{name: str(value) for name, value in more.items()},
    }


def run(program, mode, cache, **more):
    """Lines that the program prints."""
    command = [sys.executable, "-c", PROLOGUE + textwrap.dedent(program)]
    done = subprocess.run(
        command, env=environment(mode, cache, **more), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def files_in(cache):
    """The files in a cache's folder, without compilers' versions and the precompiled header."""
    own = (".txt", ".hpp", ".gch")
    return sorted(file for file in (cache / "cpu").iterdir() if file.suffix not in own)


def script(path, text):
    path.write_text("#!/bin/sh\n" + textwrap.dedent(text))
    path.chmod(0o700)
    return path


def real_compiler():
    return next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))

"""Sessions of the debugger: real programs in processes, with commands on standard input."""

import os
import subprocess
import sys
from pathlib import Path

import images

HERE = Path(__file__).parent
SOURCE = HERE / "kernels.cu"
PROGRAM = HERE / "program.py"


def image(kind):
    """PTX of the kernels: "full" with -G, "lines" with -lineinfo, "plain" without."""
    flags = {"full": ["-G"], "lines": ["-lineinfo"], "plain": []}[kind]
    return images.compiled(f"debug-{kind}.ptx", SOURCE, "-ptx", "-arch=compute_90", *flags)


def line(name):
    """The number of the line that a comment names."""
    lines = SOURCE.read_text().splitlines()
    (number,) = [n for n, text in enumerate(lines, 1) if text.endswith(f"// {name}")]
    return number


def environment(**variables):
    return {**os.environ, "CUPOLA_DRIVER": "cpu", "PYTHONUNBUFFERED": "1", **variables}


def run(command, commands, **variables):
    """The output of a process, with these lines as its input."""
    return subprocess.run(
        [str(part) for part in command],
        input="\n".join(commands) + "\n",
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )


def debug(kind, actions, commands, **variables):
    """The output of a session, without prompts."""
    program = [PROGRAM, image(kind), *actions]
    done = run([sys.executable, "-m", "cupola", "debug", *program], commands, **variables)
    return done.stdout.replace("(cupola) ", "")

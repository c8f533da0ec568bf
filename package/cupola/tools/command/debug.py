# cupola/tools/command/debug.py - python -m cupola debug PROGRAM ...
"""Runs a program on the CPU device under the debugger."""

from __future__ import annotations

import argparse
import os
from typing import Any

from cupola.tools.command.run import add_program, command, program_of, shell_status
from cupola.tools.command.values import port

HELP = "stop in the kernels of a program on the CPU device, at a terminal or for an editor"
EPILOG = """\
PROGRAM is a Python file, an executable or a command, as for `run`. Before it starts, the prompt
takes breakpoints; c starts it. The commands have pdb's names, and h lists them. Compile kernels
with -G for variables and exact lines, or with -lineinfo for lines of optimised code.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add -c, --dap, --port and the program with its arguments."""
    parser.add_argument(
        "-c",
        dest="commands",
        action="append",
        default=[],
        metavar="COMMAND",
        help="run a command of the debugger first, such as `-c 'b kernel'`; may be repeated",
    )
    parser.add_argument(
        "--dap",
        action="store_true",
        help="speak the Debug Adapter Protocol on standard input and output",
    )
    parser.add_argument(
        "--port",
        type=port,
        metavar="N",
        help="with --dap: listen on this port of 127.0.0.1; 0 chooses one",
    )
    add_program(parser)


def run(options: argparse.Namespace) -> int:
    """The program's exit status; 0 after quit."""
    from cupola.tools.debug import dap
    from cupola.tools.debug.program import Program, serve
    from cupola.tools.debug.shell import Shell

    wanted = program_of(options)
    if options.dap:

        def start(program: list[str], launch: dict[str, Any]) -> Program:
            values = _add_library_paths(dap.environment_of(launch))
            folder = launch.get("cwd")
            return Program(command(program, values, folder), values, output=True, folder=folder)

        return dap.serve_client(start, wanted, options.port)
    if options.port is not None:
        raise OSError("--port is for the Debug Adapter Protocol: add --dap")
    values = _add_library_paths(dict(os.environ))
    if not wanted:
        raise OSError("no program to debug: python -m cupola debug PROGRAM ...")
    line = command(wanted, values)
    shell = Shell()
    shell.cmdqueue += options.commands
    shell.message(f"{' '.join(wanted)}: not started; c starts it, h lists the commands")
    shell.interact()
    if shell.ended_by_user:
        return 0
    program = Program(line, values)
    try:
        status = serve(program, shell.session, lambda: shell.ended_by_user)
    finally:
        program.close()
    if status is None:
        return 0
    for missed in shell.session.unreachable():
        shell.message(missed)
    shell.message(f"[the program has ended with status {status}]")
    return shell_status(status)


def _add_library_paths(values: dict[str, str]) -> dict[str, str]:
    from cupola.tools.run import environment

    return {**values, **environment.variables(values)}

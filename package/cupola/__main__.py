# cupola/__main__.py - the command: python -m cupola, or cupola.
"""cupola's command line; each command is a module of `cupola.tools.command`."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from cupola.exceptions import Error
from cupola.tools import command
from cupola.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 after an error, 2 for wrong arguments.

    Without a command, print the help.
    """
    _open_streams()
    top = parser()
    options = top.parse_args(arguments)
    if options.run is None:
        top.print_help()
        return 0
    try:
        status = int(options.run(options) or 0)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has closed the pipe; Python would report it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Error as error:
        print(f"cupola: {error}", file=sys.stderr)
    except OSError as error:
        print(f"cupola: {_reason(error)}", file=sys.stderr)
    except MemoryError as error:
        print(f"cupola: the host has not enough memory: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("cupola: interrupted", file=sys.stderr)
    return 1


def _open_streams() -> None:
    """Open the standard streams that the caller has closed, and print any file name.

    A file that a command opens would otherwise get the number of a closed stream.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - open until the process ends
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as Python does for standard error


def _reason(error: OSError) -> str:
    """The text of an error of the operating system, without its number."""
    if error.filename is None or error.strerror is None:
        return error.strerror or str(error)
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a folder: expected a file"
    return f"{error.filename}: {error.strerror}"


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    top = argparse.ArgumentParser(
        prog="cupola", description="Ship and use precompiled CUDA kernels in Python."
    )
    top.add_argument("--version", action="version", version=f"cupola {__version__}")
    top.set_defaults(run=None)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for module in command.modules():
        name = module.__name__.rpartition(".")[2]
        text = module.HELP
        one = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=getattr(module, "EPILOG", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_options(one)
        one.set_defaults(run=module.run)
    return top


if __name__ == "__main__":
    sys.exit(main())

# cupola/__main__.py - the command: python -m cupola, or cupola.
"""cupola's command line; each command is a module of `cupola.tools.command`."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from cupola.core.parts import missing_part, part_of
from cupola.exceptions import Error
from cupola.tools import command
from cupola.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 after an error, 2 for wrong arguments.

    Without a command, print the help.
    """
    _open_streams()
    top = parser()
    options, unknown = top.parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
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
    except ModuleNotFoundError as error:
        part = part_of(error.name)
        if part is None:
            raise
        print(f"cupola: {missing_part('the command', part)}", file=sys.stderr)
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


class _Command(argparse.ArgumentParser):
    """The options of one command. An unknown option is named before a missing argument."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self._names: list[str] = []
        self._words: list[str] = []
        super().__init__(*args, **more)

    def add_argument(self, *names: Any, **more: Any) -> argparse.Action:
        """As ArgumentParser does."""
        self._names += names
        return super().add_argument(*names, **more)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ArgumentParser does."""
        self._words = list(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print this command's usage and the error; exit with status 2."""
        if "arguments are required" in message:
            unknown = [word for word in self._words if self._is_unknown(word)]
            message = f"unrecognized arguments: {' '.join(unknown)}" if unknown else message
        super().error(message)

    def _is_unknown(self, word: str) -> bool:
        option = word.partition("=")[0]
        if option.startswith("--"):
            return option != "--" and not any(name.startswith(option) for name in self._names)
        return option[:1] == "-" and option[1:2].isalpha() and option[:2] not in self._names


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    top = argparse.ArgumentParser(
        prog="cupola", description="Ship and use precompiled CUDA kernels in Python."
    )
    top.add_argument("--version", action="version", version=f"cupola {__version__}")
    top.set_defaults(run=None, parser=top)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Command)
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
        one.set_defaults(run=module.run, parser=one)
    return top


if __name__ == "__main__":
    sys.exit(main())

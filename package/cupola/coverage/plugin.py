# cupola/coverage/plugin.py - the plugin of coverage.py.
"""Brings the counts of kernels into coverage.py's data and reports.

coverage.py offers its plugins each Python file that runs, and asks them for reports. It has no hook
for a switch of the context, and none for the end of the measurement. So the plugin wraps
`Collector.switch_context` and `Coverage.get_data`.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable, Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import coverage
from coverage.collector import Collector

import cupola
from cupola.coverage import counting
from cupola.coverage.file import CountsFile
from cupola.coverage.report import Report, SourceFile
from cupola.coverage.sources import Selection
from cupola.exceptions import Error

EXPECTED = "expected coverage.py 7; install cupola[coverage]"


class KernelPlugin(coverage.CoveragePlugin):
    """Measures ``.cu`` and ``.cuh`` files. Its file ``.cupola-coverage`` is beside the data file.

    Parameters
    ----------
    options : dict of str to str
        The section ``[tool.coverage."cupola.coverage"]``. It has no options yet.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._path = Path(counting.DEFAULT)
        self._settings: Any = None
        self._offered = False
        self._counts: CountsFile | None = None
        self._context = ""

    @staticmethod
    def import_compiled_modules() -> None:
        """Import NumPy and cupola's compiled modules, which cannot be imported a second time.

        For a source such as ``heat.csrc``, coverage.py imports the package, and removes all modules
        that this has imported.
        """
        importlib.import_module("numpy")
        for name in sorted(name for folder in cupola.__path__ for name in os.listdir(folder)):
            if name.endswith(tuple(EXTENSION_SUFFIXES)):
                importlib.import_module(f"cupola.{name.partition('.')[0]}")

    def configure(self, config: Any) -> None:
        """Note the settings; coverage.py calls this when it measures and when it reports."""
        self._settings = config
        data = config.get_option("run:data_file") or ".coverage"
        self._path = Path(os.path.abspath(data)).parent / counting.DEFAULT

    def file_tracer(self, filename: str) -> None:
        """Start counting at the first Python file that runs; the plugin traces no Python file."""
        if not self._offered:
            self._offered = True
            self._start()

    def file_reporter(self, filename: str) -> KernelReporter:
        """The lines and branches of a file."""
        return KernelReporter(filename, self._report())

    def _start(self) -> None:
        inherited = os.environ.get(counting.VARIABLE)
        if inherited:  # set by the parent process, or by the user
            self._path = Path(inherited)
        elif not self._settings.get_option("run:parallel"):
            self._path.unlink(missing_ok=True)
        self._path = counting.start(self._path)
        self._context = self._settings.get_option("run:context") or os.environ.get(
            counting.CONTEXT, ""
        )
        counting.switch_context(self._context)
        _wrap(Collector, "switch_context", self._after_switch)
        _wrap(coverage.Coverage, "get_data", self._after_data)

    def _after_switch(self, collector: Any, result: Any, name: str | None) -> Any:
        static = collector.static_context
        self._context = "|".join(part for part in (static, name) if part)
        counting.switch_context(self._context)
        return result

    def _after_data(self, measuring: Any, data: Any) -> Any:
        if measuring._collector is not None:  # else coverage.py only reports
            try:
                counting.write()
                if self._path.exists():  # else nothing has loaded the CPU device
                    self._add_to(data)
            except (Error, OSError) as error:
                warnings.warn(f"the coverage of kernels is missing: {error}", stacklevel=3)
        return data

    def _add_to(self, data: Any) -> None:
        counts = self._read()
        selection = Selection(self._settings)
        has_branches = bool(self._settings.get_option("run:branch"))
        tracer = self._coverage_plugin_name
        known = {
            path: selection.name_of(path)
            for path in counts.report().files
            if selection.includes(path)
        }
        found = sorted(path for path in counts.report().files if not selection.omits(path))
        if found and not known:
            warnings.warn(
                f"no source of a kernel is in source = {selection.named} of coverage.py's "
                f"settings; kernels of these files were counted: {', '.join(found[:3])}"
                f"{' and others' if len(found) > 3 else ''}; add their folder to source",
                stacklevel=4,
            )
        data.touch_files(known.values(), tracer)
        for context in counts.contexts():
            found = {
                known[path]: _executed(file, has_branches)
                for path, file in counts.report(context).files.items()
                if path in known
            }
            data.set_context(context)
            (data.add_arcs if has_branches else data.add_lines)(found)
        data.set_context(self._context)

    def _read(self) -> CountsFile:
        if self._counts is None:
            self._counts = CountsFile(self._path)
        self._counts.update()
        return self._counts

    @functools.lru_cache(maxsize=1)  # noqa: B019 - there is one plugin in a process
    def _report(self) -> Report:
        made = self._read().report() if self._path.exists() else Report()
        selection = Selection(self._settings)
        made.files = {selection.name_of(path): file for path, file in made.files.items()}
        return made


class KernelReporter(coverage.FileReporter):
    """The executable lines and branches of a source of kernels.

    Parameters
    ----------
    filename : str
        The name in coverage.py's data.
    report : Report
        The counts of all files.
    """

    def __init__(self, filename: str, report: Report) -> None:
        super().__init__(filename)
        self._file = report.files.get(filename, SourceFile(filename))
        self._excluded: set[int] | None = None

    def lines(self) -> set[int]:
        """The lines that an instruction came from."""
        return set(self._file.lines)

    def excluded_lines(self) -> set[int]:
        """The lines with a comment ``pragma: no cover``."""
        if self._excluded is None:
            numbered = enumerate(self.source().splitlines(), 1)
            self._excluded = {n for n, text in numbered if "pragma: no cover" in text}
        return self._excluded

    def arcs(self) -> set[tuple[int, int]]:
        """The branches between lines."""
        return set(self._file.arcs())

    def exit_counts(self) -> dict[int, int]:
        """The number of lines that each branch leads to."""
        exits: dict[int, int] = {}
        for line, _ in self._file.arcs():
            exits[line] = exits.get(line, 0) + 1
        return exits


def _executed(file: SourceFile, branches: bool) -> Iterable[Any]:
    lines = [number for number, line in file.lines.items() if line.lanes]
    if not branches:
        return lines
    arcs = {arc for arc, lanes in file.arcs().items() if lanes}
    return arcs | {(-line, line) for line in lines}  # from outside of the function


def _wrap(owner: type, name: str, after: Callable[..., Any]) -> None:
    method = getattr(owner, name, None)
    if method is None:
        raise Error(f"coverage.py has no {owner.__name__}.{name}: {EXPECTED}")

    @functools.wraps(method)
    def wrapped(self: Any, *arguments: Any, **named: Any) -> Any:
        return after(self, method(self, *arguments, **named), *arguments, **named)

    setattr(owner, name, wrapped)

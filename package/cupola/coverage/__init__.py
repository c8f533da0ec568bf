# cupola/coverage/__init__.py - line and branch coverage of kernels on the CPU device.
"""Coverage of CUDA kernels: which lines and branches of a ``.cu`` file a program ran.

The CPU device counts, for every module with line information. `start`, `stop` and `switch_context`
switch it; setting ``CUPOLA_CPU_COVERAGE`` to a file's name before a program starts does the same as
`start`. `read` returns the counts of a file. ``plugins = ["cupola.coverage"]`` in the settings of
coverage.py brings them into its reports.
"""

from __future__ import annotations

from typing import Any

from cupola.coverage.counting import start, stop, switch_context, write
from cupola.coverage.file import CountsFile, CoverageFileError, read
from cupola.coverage.report import Branch, Line, Report, SourceFile

__all__ = [
    "Branch",
    "CountsFile",
    "CoverageFileError",
    "Line",
    "Report",
    "SourceFile",
    "read",
    "start",
    "stop",
    "switch_context",
    "write",
]


def coverage_init(registry: Any, options: dict[str, Any]) -> None:
    """Register the plugin; coverage.py calls this function."""
    from cupola.coverage.plugin import KernelPlugin

    plugin = KernelPlugin(options)
    plugin.import_compiled_modules()
    registry.add_file_tracer(plugin)
    registry.add_configurer(plugin)


def __dir__() -> list[str]:
    return sorted(__all__)

# package/cupola/build/cython_worker.py - a persistent Cython process; see translator.py.
"""Reads one list of Cython's arguments a line (JSON), and answers each with a line.

Nothing of the package is imported: this file runs by its path.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import time
import traceback


def translate(arguments: list[str]) -> tuple[int, str]:
    """Run Cython's command line in this process; returns its status and output."""
    from Cython.Compiler.Main import setuptools_main

    written = io.StringIO()
    status: object = 0
    sys.argv = ["cython", *arguments]
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        try:
            setuptools_main()
        except SystemExit as end:
            status = end.code
        except Exception:
            traceback.print_exc()
            status = 1
    if isinstance(status, str):
        return 1, f"{written.getvalue()}{status}\n"
    return int(status or 0), written.getvalue()


def main() -> None:
    gc.set_threshold(100_000, 50, 50)  # syntax trees are many small objects that stay
    answers = sys.stdout
    for line in sys.stdin:
        began = time.process_time()
        status, output = translate(json.loads(line))
        answer = {"status": status, "output": output, "processor": time.process_time() - began}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

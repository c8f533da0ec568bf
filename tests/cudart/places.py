"""The folders of the CUDA runtime that tests link and run programs with."""

from pathlib import Path

import cupola.library
import cupola.paths

PACKAGED = Path(cupola.library.FOLDER, "cudart")  # programs are linked to it
# Programs run with the runtime beside the libcupola.so in use: sanitize.py has another than the
# package's.
RUNTIME = Path(cupola.paths.library()).parent / "cudart"

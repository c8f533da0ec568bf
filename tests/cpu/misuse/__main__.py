"""Asks the driver at hand all cases: ``python -m cpu.misuse FILE``."""

import json
import sys
from pathlib import Path

from . import answer, ask

if sys.argv[1] == "--each":
    answer(json.loads(sys.argv[2]))
found = ask()
Path(sys.argv[1]).write_text(json.dumps(found, indent=0) + "\n")

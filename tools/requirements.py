# tools/requirements.py - print what pyproject.toml requires, for an install without cupola itself.
"""Requirements of pyproject.toml, one a line: ``requirements.py build-system dependencies test``.

A word is ``build-system``, ``dependencies`` or the name of an extra.
"""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from pathlib import Path


def arrays(text: str) -> dict[str, list[str]]:
    """Each ``name = [...]`` of strings; Python 3.10 has no reader of TOML."""
    found = re.findall(r"^([\w-]+) = (\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])", text, re.MULTILINE)
    return {name: literal_eval(value) for name, value in found}


def main() -> None:
    text = (Path(__file__).resolve().parent.parent / "pyproject.toml").read_text()
    known = arrays(text)
    for word in sys.argv[1:]:
        print("\n".join(known["requires" if word == "build-system" else word]))


if __name__ == "__main__":
    main()

# tools/docs.py - the documentation as a site: build/docs/html/index.html; `make docs`.
"""Sphinx over docs/, with every warning an error.

Sphinx and its theme (the extra ``docs`` of pyproject.toml) are installed once, in
build/docs/requirements, apart from the environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from requirements import arrays

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "build" / "docs"


def requirements() -> Path:
    """The folder where Sphinx is; made again if it is missing or has other requirements."""
    wanted = arrays((ROOT / "pyproject.toml").read_text())["docs"]
    folder = OUTPUT / "requirements"
    mark = folder / "requirements.txt"
    text = "\n".join([*wanted, sys.version, ""])
    if not mark.is_file() or mark.read_text() != text:
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--target", str(folder), *wanted], check=True)
        mark.write_text(text)
    return folder


def main() -> int:
    try:
        folder = requirements()
    except subprocess.CalledProcessError as error:
        print(f"docs: pip could not install what Sphinx needs: {error}", file=sys.stderr)
        return 2
    # The reference is read off the package of this checkout.
    places = [str(ROOT / "package"), str(folder), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-E", "-W", "--keep-going", "--quiet"]
    command += [str(ROOT / "docs"), str(OUTPUT / "html")]
    status = subprocess.run(command, env=environment, check=False).returncode
    if not status:
        print(f"the site is at {OUTPUT / 'html' / 'index.html'}")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())

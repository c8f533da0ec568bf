"""Builds a package with cupola's kernels, and installs its wheel into a folder."""

import os
import shutil
import subprocess
import sys

import records

import cupola

sys.path.insert(0, str(records.ROOT / "tests"))
import hooks


def installed(authored, folder, sources):
    """The wheels of a package, and the folder that they are installed into.

    `authored` is the package as its author writes it, without csrc; `sources` are the texts of the
    files in csrc, by name.
    """
    package = folder / "package"
    shutil.copytree(authored, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "csrc").mkdir()
    for name, text in sources.items():
        (package / "csrc" / name).write_text(text)
    hooks.install(folder / "hooks")
    gpu = cupola.driver.info().kind == "cuda"
    environment = {**os.environ, "CUPOLA_ARCHITECTURES": "native" if gpu else "75"}
    environment["PYTHONPATH"] = hooks.search_path(folder / "hooks")
    pip, site = [sys.executable, "-m", "pip"], folder / "site"
    build = [*pip, "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", folder, package]
    subprocess.run(build, env=environment, check=True)
    wheels = sorted(folder.glob("*.whl"))
    install = [*pip, "install", "-q", "--no-deps", "--no-index", "--target", site]
    subprocess.run([*install, *wheels], check=True)
    return wheels, site

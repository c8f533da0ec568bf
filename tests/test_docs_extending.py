"""docs/extend.md and docs/cpp.md do what they say: their files are written, their commands and
their Python run, from top to bottom.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cupola
from cupola import paths

DOCS = Path(__file__).parent.parent / "docs"
FILES = ("cython", "cmake", "cuda", "cpp", "c")


def blocks(name):
    """(language, line, text) of each block of code."""
    text = (DOCS / name).read_text()
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(one[1], text[: one.start(2)].count("\n"), one[2]) for one in found]


def written(text, folder):
    """The file that a block's first line names."""
    name = re.match(r"(?:#|//|/\*) ([\w.]+)", text)[1]
    (folder / name).write_text(text)


def shell(commands, folder, environment):
    """What the commands of a block print; `python` is this one."""
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


@pytest.fixture
def environment(tmp_path):
    """One in which `python` and `cythonize` are those of this interpreter."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, module in (("python", ""), ("cythonize", " -m Cython.Build.Cythonize")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n')
        (tools / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != "PKG_CONFIG_PATH"}
    # What the second block sets with `export` holds for those that follow.
    return {
        **kept,
        "PATH": os.pathsep.join([str(tools), os.environ["PATH"], os.path.dirname(sys.executable)]),
        "PKG_CONFIG_PATH": paths.cmake_dir(),
        "CUPOLA_PYTHON": sys.executable,
    }


def test_extend(driver, tmp_path, environment, monkeypatch):
    pytest.importorskip("Cython")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {}
    for language, line, text in blocks("extend.md"):
        if language in FILES:
            written(text, tmp_path)
        elif language == "sh":
            shell(text, tmp_path, environment)
        else:
            assert language == "python"
            exec(compile("\n" * line + text, DOCS / "extend.md", "exec"), names)
    for name in ("waves", "packed", "total"):
        assert Path(sys.modules.pop(name).__file__).parent == tmp_path


def test_cpp(driver, tmp_path, environment):
    import images

    images.nvcc()
    if shutil.which("pkg-config") is None:
        pytest.skip("there is no pkg-config")
    printed = []
    for language, _, text in blocks("cpp.md"):
        if language in FILES:
            written(text, tmp_path)
        else:
            assert language == "sh"
            printed.append(shell(text, tmp_path, environment))
    by_cmake, by_pkg_config, later, functions = printed
    assert by_cmake.splitlines()[-1] == "3 5 7 9 "
    first, second = by_pkg_config.splitlines()
    count = len(cupola.shipped_kernels().kernels)
    assert first == f"{cupola.Device().name}: {count} kernels"
    assert second.startswith("6: the module has no kernel saxpi") and "saxpy" in second
    assert later == "3 6 9\n"
    version = cupola.driver.info().version
    assert functions == f"CUDA {version // 1000}.{version % 1000 // 10}\n"

"""The Python of each document runs from top to bottom."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cupola
from cupola import toolkit

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TESTED = [
    "../README.md",
    "arrays.md",
    "coming-from.md",
    "compile.md",
    "cpu-device.md",
    "finding.md",
    "graphs.md",
    "index.md",
    "pipeline.md",
    "processes.md",
    "profile.md",
    "questions.md",
    "signatures.md",
]


@pytest.mark.parametrize("name", TESTED)
def test_examples(driver, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    if name in (
        "../README.md",
        "coming-from.md",
        "compile.md",
        "cpu-device.md",
        "questions.md",
        "signatures.md",
    ):
        try:
            toolkit.load("nvrtc")
        except cupola.MissingFileError as error:
            pytest.skip(" ".join(str(error).split()))
    text = (DOCS / name).read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert blocks
    names = {}
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], DOCS / name, "exec"), names)


@pytest.mark.parametrize("peer", ["ctypes", "cuda.core", "cupy", "pycuda"])
def test_the_same_in_other_libraries(driver, peer, tmp_path):
    """Each in a process of its own, on the driver that the tests run on."""
    try:
        toolkit.load("nvrtc")
    except cupola.MissingFileError as error:
        pytest.skip(" ".join(str(error).split()))
    try:
        importlib.import_module(peer)
    except ImportError as error:
        pytest.skip(f"{peer} is not installed: {error}")
    text = (DOCS / "coming-from.md").read_text()
    setup = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    block = re.search(rf"^```python {peer}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    assert "assert_allclose(result, expected" in block
    environment = {**os.environ, "CUPOLA_CACHE_DIR": str(tmp_path)}
    if cupola.driver.info().kind == "cpu":
        environment["LD_LIBRARY_PATH"] = os.path.dirname(cupola.paths.cpu_driver())
    done = subprocess.run(
        [sys.executable, "-c", setup + block], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr

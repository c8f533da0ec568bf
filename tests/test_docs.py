"""The examples in docs/ do what they say: each file's Python runs from top to bottom."""

import re
from pathlib import Path

import pytest

import cupola
from cupola import toolkit

DOCS = Path(__file__).parent.parent / "docs"
TESTED = ["compile.md", "graphs.md", "questions.md"]


@pytest.mark.parametrize("name", TESTED)
def test_examples(driver, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    if name in ("compile.md", "questions.md"):
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

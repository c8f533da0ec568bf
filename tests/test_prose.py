"""tools/prose.py finds long sentences, unclear phrases and old names in each kind of file."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))
prose = importlib.import_module("prose")

KINDS = {
    "a.cpp": "int x;\n// {}\n// {}\n",
    "b.hpp": "/* {}\n * {}\n */\n",
    "c.h": "int x;  // {}\n        // {}\n",
    "d.cu": "    // {}\n    // {}\n    x();\n",
    "e.cuh": 'const char* x = "//";  // {}\n                       // {}\n',
    "f.py": '"""A title.\n\n{}\n{}\n"""\n',
    "g.py": "x = '#'\n# {}\n# {}\n",
    "h.pyx": 'cdef int f(int x):\n    """{}\n    {}\n    """\n',
    "i.pxd": "cdef int x  # {}\n            # {}\n",
    "j.pyi": '"""F.\n\nReturns\n-------\nint\n    {}\n    {}\n"""\n',
    "k.md": "# Title\n- An item.\n\n  {}\n  {}\n",
    "l.md": "| a | {} {} |\n|---|---|\n",
    "m.md": "> {}\n> {}\n",
    "Makefile": "goal:\n\ttrue\n# {}\n# {}\n",
}  # fmt: skip


def messages(name, text):
    return [message for _, message in prose.findings(Path(name), text)]


@pytest.mark.parametrize("name", KINDS)
def test_a_sentence_of_36_words_is_found(name):
    text = KINDS[name].format("Word" + " word" * 19, "word " * 15 + "last.")
    assert messages(name, text) == ["a sentence of 36 words; at most 35"]


@pytest.mark.parametrize("name", KINDS)
def test_sentences_of_35_words_are_none(name):
    text = KINDS[name].format("One word. Word" + " word" * 19, "word " * 14 + "last. One word.")
    assert messages(name, text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "Text.\n\n```python\n{}\n```\n"),
        ("a.md", "Text.\n\n````md\n```\n{}\n```\n````\n"),
        ("a.md", "Text.\n\n    {}\n"),
        ("a.md", "<!-- {} -->\n"),
        ("a.md", "Text with `{}`.\n"),
        ("a.py", '"""Title.\n\n>>> {}\n"""\n'),
        ("a.py", '"""Title::\n\n    {}\n\nText.\n"""\n'),
        ("a.py", 'x = """{}"""\n'),
        ("a.py", "x = f(  # why\n    '{}')\n"),
        ("a.cpp", 'auto x = R"({})";\n'),
        ("Makefile", "goal:\n\techo {}\n"),
    ],
)
def test_code_is_skipped(name, text):
    assert messages(name, text.format("word " * 40)) == []


def test_a_list_item_ends_a_sentence():
    items = "".join(f"- {'word ' * 20}\n" for _ in range(3))
    assert messages("a.md", items) == []
    assert messages("a.py", f'"""Title.\n\n{items}"""\n') == []


def test_comments_beside_code_are_not_joined():
    assert messages("a.hpp", f"int x;  // {'word ' * 20}\nint y;  // {'word ' * 20}\n") == []


def test_a_changelog_is_checked_in_its_newest_section():
    old, new = "An old" + " word" * 40, "A new" + " word" * 40
    text = f"# Changes\n\n## 2\n- {new}\n\n## 1\n- {old}\n"
    assert list(prose.findings(Path("CHANGELOG.md"), text)) == [
        (4, "a sentence of 42 words; at most 35")
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("// The stream goes\n// its way.\n", 1),
        ("// A stream.\n// The memory is no{}'s.\n".replace("{}", "body"), 2),
        ('// A stream.\nthrow Error("it is asked {}");\n'.replace("{}", "for"), 2),
        ("// One thing.\n// What a launch does is this.\n", 2),
    ],
)
def test_a_phrase_is_found_at_its_line(text, line):
    assert [number for number, _ in prose.findings(Path("a.cpp"), text)] == [line]


def test_a_question_may_begin_with_what():
    assert messages("a.md", "What is a stream? It is a queue.\n") == []


@pytest.mark.parametrize("old", prose.OLD_NAMES)
def test_an_old_name_is_found(old):
    expected = f"'{old}' is now '{prose.OLD_NAMES[old]}'"
    assert messages("a.cpp", f"int x;\nint y = {old}(x);\n") == [expected]
    assert messages("a.pyx", f"x_{old} = {old}2 = 1\n") == []
    assert messages(f"{old}.hpp", "") == [f"the file's name {expected}"]


@pytest.mark.parametrize("sentences", ["Word. " * 40, "Is it?  " * 20, 'He says "no." ' * 20])
def test_sentences_end(sentences):
    assert messages("a.md", sentences) == []


def test_an_abbreviation_ends_no_sentence():
    assert messages("a.md", "word, e.g. " * 20) == ["a sentence of 40 words; at most 35"]


def test_folders_are_there_and_clean():
    for folder in prose.FOLDERS:
        found = prose.files([folder])
        assert found, folder
        for path in found:
            assert list(prose.findings(path, path.read_text())) == [], path

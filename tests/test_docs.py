"""The code blocks of each document run from top to bottom, or say why they do not."""

import importlib
import os
import re
import subprocess
import sys

import documents
import hooks
import images
import pytest

import cupola

# Pages whose blocks another test runs: they need a build around them.
ELSEWHERE = {
    "docs/how-to/cpp.md": "test_docs_extending.py",
    "docs/how-to/cython.md": "test_docs_extending.py",
    "docs/how-to/package-builds.md": "test_ship.py",
    "docs/how-to/shipping.md": "test_ship.py",
}
PAGES = [
    page
    for page in documents.pages()
    if page not in ELSEWHERE
    and any(
        block.reason is None and not block.peer and block.language not in documents.NO_CODE
        for block in documents.blocks(page)
    )
]


@pytest.mark.parametrize("page", documents.pages())
def test_each_block_runs_or_says_why_not(page):
    for block in documents.blocks(page):
        problem = documents.problem(block)
        assert problem is None, f"{page}:{block.line}: {problem}"


def test_what_is_no_block_is_refused():
    def made(language, text="x = 1\n", peer="", reason=None):
        return documents.problem(documents.Block(language, peer, 1, text, reason))

    assert made("python") is None and made("text") is None
    assert "unknown language" in made("ruby")
    assert "names no file" in made("toml") and made("toml", "# a.toml\n") is None
    assert "no such library" in made("python", peer="nothing")
    assert "says nothing" in made("sh", reason="slow")


def test_a_console_block_is_compared():
    matches = documents.pattern("driver ... is used\n...\nend\n")
    assert re.fullmatch(matches, "driver /a/b is used\n1\n2\nend\n")
    assert not re.fullmatch(matches, "driver /a/b is used\n1\n2\nends\n")


def test_the_pages_that_other_tests_run_are_there():
    for page, test in ELSEWHERE.items():
        assert page in documents.pages()
        name = page.removeprefix("docs/")
        assert name in (documents.ROOT / "tests" / test).read_text(), f"{test} does not read {page}"


@pytest.mark.parametrize(
    "page", sorted((documents.DOCS / "internals").glob("*.md")), ids=lambda p: p.stem
)
def test_each_subsystem_has_a_diagram(page):
    name = page.relative_to(documents.ROOT).as_posix()
    pictures = re.findall(r"^!\[.+\]\(\S+\)$", page.read_text(), re.MULTILINE)
    diagrams = [b.text for b in documents.blocks(name) if b.language == "text"]
    assert pictures or diagrams
    wide = [line for text in diagrams for line in text.splitlines() if len(line) > 90]
    assert not wide, "wider than the site"


def require_compilers(page):
    text = (documents.ROOT / page).read_text()
    compiled = r"cupola\.(?:compile|elementwise|reduction|scan)\(|cupola\.load\(\"\w+\.cu\""
    if re.search(rf"{compiled}|cupola compile", text):
        images.nvrtc()
    if any(block.language == "cuda" and block.reason is None for block in documents.blocks(page)):
        images.nvcc()


@pytest.mark.parametrize("page", PAGES)
def test_blocks(driver, page, tmp_path, monkeypatch):
    require_compilers(page)
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    places = hooks.search_path(hooks.install(tmp_path / "hooks"))
    tools = documents.environment(tmp_path / "tools", PYTHONPATH=places)
    documents.run(page, folder, tools)


PEERS = [
    (page, block.peer)
    for page in documents.pages()
    for block in documents.blocks(page)
    if block.peer and block.reason is None
]


@pytest.mark.parametrize("page, peer", PEERS, ids=[peer for _, peer in PEERS])
def test_the_same_in_other_libraries(driver, page, peer, tmp_path):
    """Each in a process of its own, on the driver that the tests run on."""
    images.nvrtc()
    try:
        importlib.import_module(peer)
    except ImportError as error:
        pytest.skip(f"{peer} is not installed: {error}")
    start = next(b.text for b in documents.blocks("docs/migrate/index.md") if b.file is None)
    (block,) = [b.text for b in documents.blocks(page) if b.peer == peer]
    assert "assert_allclose(result, expected" in block
    command = [sys.executable, "-c", start + block]
    if cupola.driver.info().kind == "cpu":
        command[1:1] = ["-m", "cupola", "run", "--cpu", "--"]
    environment = {**os.environ, "CUPOLA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_errors_of_troubleshooting_are_those_of_the_sources():
    """The first column of its tables; `...` stands for what a message fills in."""
    sources = ""
    for folder in ("csrc/runtime", "csrc/cpu", "csrc/image", "pyx", "package"):
        for path in sorted((documents.ROOT / folder).rglob("*")):
            if path.suffix in {".cpp", ".hpp", ".pyx", ".py"} and "lib" not in path.parts:
                sources += path.read_text()
    sources = re.sub(r'"\s*(?:std::string\()?f?"', "", sources).replace('\\"', '"')
    text = (documents.DOCS / "troubleshooting.md").read_text()
    quoted = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert len(quoted) > 30
    for each in quoted:
        for part in filter(None, each.split("...")):
            assert part in sources, f"{each}: no source has {part!r}"


READ = re.compile(
    r"(?:getenv|environ\.get|environ|environment\.get|ENV|read_\w+|known_\w+|text_of|value_of|whole"
    r"|switched_on)[\[({]\"?(CUPOLA_[A-Z_]+)|^VARIABLE = \"(CUPOLA_[A-Z_]+)\"",
    re.MULTILINE,
)


def test_the_table_of_environment_variables_is_whole():
    """All that the libraries, the package and the builds read, and nothing else."""
    read = set()
    for place in ("csrc", "pyx", "package", "setup.py"):
        root = documents.ROOT / place
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            if path.suffix in {".cpp", ".hpp", ".py", ".pyx", ".cmake"} and "lib" not in path.parts:
                read |= {one or other for one, other in READ.findall(path.read_text())}
            elif path.parent.name == "bin":  # scripts of the shell
                read |= set(re.findall(r"\$\{?(CUPOLA_[A-Z_]+)", path.read_text()))
    text = (documents.DOCS / "reference/environment.md").read_text()
    listed = set(
        re.findall(r"`(CUPOLA_[A-Z_]+)`", "".join(re.findall(r"^\| [^|]+ \|", text, re.M)))
    )
    assert read == listed


def test_the_page_about_installation_has_every_extra():
    text = (documents.DOCS / "start/install.md").read_text()
    rows = re.findall(r"^\| (`[^|]+) \| ", text[text.index("| extra |") :], re.MULTILINE)
    listed = re.findall(r"`(\w+)`", "".join(rows))
    project = (documents.ROOT / "pyproject.toml").read_text()
    section = re.search(r"^\[project.optional-dependencies\]\n(.*?)^\[", project, re.M | re.S)[1]
    assert sorted(listed) == sorted(re.findall(r"^(\w+) = \[", section, re.MULTILINE))


def test_the_tables_of_the_reference_are_those_of_the_docstrings():
    command = [sys.executable, str(documents.ROOT / "tools" / "reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = (documents.DOCS / "reference/kernels.md").read_text()
    assert "| `Kernel.forall` | Configure the kernel for `n` elements" in table


@pytest.mark.parametrize("tool", ["gallery", "idea", "instructions"])
def test_what_a_tool_makes_is_renewed(tool):
    command = [sys.executable, str(documents.ROOT / "tools" / f"{tool}.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_first_pages_show_the_picture():
    assert "docs/idea.svg" in (documents.ROOT / "README.md").read_text()
    assert "idea.svg" in (documents.DOCS / "index.md").read_text()


def test_the_reference_has_every_command_and_option():
    text = (documents.DOCS / "reference/command-line.md").read_text()
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    commands = re.search(r"\{([\w,]+)\}|invalid choice: '' \(choose from ([^)]+)\)", help_of("''"))
    names = set(re.findall(r"\w+", commands[1] or commands[2]))
    assert names == set(sections) and len(names) > 5
    for name, section in sections.items():
        about = help_of(name, "--help")
        listed = re.search(r"^options:\n(.*?)(?:\n\n|\Z)", about, re.MULTILINE | re.DOTALL)[1]
        options = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", listed)) - {"-h", "--help"}
        options -= {"--option=--fmad", "--fmad", "-m", "-c"}
        described = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", section))
        assert options <= described, f"{name}: {options - described}"
        sentence = about.split("\n\n")[1].replace("\n", " ")
        assert section.lstrip().startswith(sentence), f"{name}: {sentence}"


def help_of(*arguments):
    command = [sys.executable, "-m", "cupola", *(a.strip("'") for a in arguments)]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr

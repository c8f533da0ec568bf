"""The site: built without a warning, links that lead somewhere, and all public names."""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import build_cache
import pytest

import cupola

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "docs" / "html"
SECTIONS = {"start", "concepts", "tutorials", "how-to", "migrate", "reference", "internals"}
EVERYWHERE = {"genindex.html", "search.html", "py-modindex.html"}


def inputs():
    """The files that decide what the site is: documents, the package, headers that are shown."""
    for folder in ("docs", "package/cupola", "csrc/include", "pyx", "tools"):
        for path in sorted((ROOT / folder).rglob("*")):
            libraries = path.is_relative_to(ROOT / "package/cupola/lib")
            if path.is_file() and "__pycache__" not in path.parts and not libraries:
                yield path


@pytest.fixture(scope="module")
def pages():
    """The folder of the site, which is built after a change of its inputs."""
    if not (ROOT / "docs" / "conf.py").is_file():
        pytest.skip("needs the sources")

    def build(made):
        command = [sys.executable, str(ROOT / "tools" / "docs.py")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 2:
            pytest.skip(done.stderr.strip().splitlines()[-1])  # a machine without network
        assert done.returncode == 0, done.stdout + done.stderr
        shutil.copytree(PAGES, made / "html", ignore=shutil.ignore_patterns(".doctrees"))

    return build_cache.entry([sys.version, *inputs()], build) / "html"


@pytest.fixture(scope="module")
def site(pages):
    return {
        path.relative_to(pages).as_posix(): path.read_text()
        for path in pages.rglob("*.html")
        if "_static" not in path.parts
    }


def test_each_document_is_a_page(site):
    documents = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    assert {f"{path.as_posix()}.html" for path in documents} <= set(site)


def test_each_page_is_linked_from_the_first_one(site):
    """The first page leads to each section, and the first page of a section to all of its pages."""
    index = linked(site, "index.html")
    sections = {p.name for p in DOCS.iterdir() if p.is_dir() and p.name[0] not in "_."}
    assert sections == SECTIONS
    alone = {f"{path.stem}.html" for path in DOCS.glob("*.md")} - {"index.html"}
    assert {f"{section}/index.html" for section in sections} | alone <= index
    for section in sections:
        pages = {name for name in site if name.startswith(f"{section}/")}
        first = f"{section}/index.html"
        missing = pages - linked(site, first) - {first}
        assert not missing, f"{first} does not lead to {missing}"


def linked(site, name):
    """Pages that the text of a page links to; the navigation beside it does not count."""
    article = re.search(r"<article.*?</article>", site[name], re.DOTALL)[0]
    folder = os.path.dirname(name)
    found = re.findall(r'href="([^"#]+)', article)
    return {os.path.normpath(os.path.join(folder, link)) for link in found}


def test_links_between_files_lead_somewhere():
    """Those of Markdown files outside of the site, and from the site to the tree."""
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"`[^`\n]+`(?!\])", "", text)
        for target in re.findall(r"(?<!\\)\]\(([^()\s]+)\)", text):
            parts = urlsplit(target)
            if not parts.scheme and parts.path:
                assert (path.parent / unquote(parts.path)).exists(), f"{path}: {target}"


def test_links_lead_somewhere(site, pages):
    broken = []
    for name, text in site.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            parts = urlsplit(html.unescape(link))
            if parts.scheme or parts.netloc:
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), unquote(parts.path)))
            target = name if not parts.path else target
            if target in site:
                anchor = unquote(parts.fragment)
                if anchor and f'id="{anchor}"' not in site[target] and name not in EVERYWHERE:
                    broken.append((name, link))
            elif not (pages / target).exists():
                broken.append((name, link))
    assert not broken


def test_the_reference_has_every_public_name(site):
    reference = "".join(text for name, text in site.items() if name.startswith("reference/"))
    documented = set(re.findall(r'id="(cupola\.[\w.]+)"', reference))
    documented |= set(re.findall(r'id="module-(cupola\.[\w.]+)"', reference))
    names = set(cupola.__all__) - {"__version__"}
    places = ("", "exceptions.", "kernels.", "paths.")
    assert not {n for n in names if not {f"cupola.{place}{n}" for place in places} & documented}


def test_the_reference_of_c_has_every_function(site):
    declared = set()
    for path in (ROOT / "csrc/include/cupola").glob("*.h"):
        declared |= set(
            re.findall(r"^CUPOLA_API[^;]*?(cupola_\w+)\(", path.read_text(), re.MULTILINE)
        )
    text = html.unescape(re.sub(r"<[^>]+>", "", site["reference/c.html"]))
    shown = set(re.findall(r"cupola_\w+", text))
    assert len(declared) > 150 and declared <= shown
    # Each belongs to a family of the table.
    page = (DOCS / "reference/c.md").read_text()
    names = re.findall(r"`(cupola_\w+)(\.\.\.)?`", page[: page.index("## Versions")])
    for name in declared:
        found = [n for n, more in names if name == n or (more and name.startswith(n))]
        assert found or name.endswith("_async"), name


def test_signatures_are_those_of_the_declarations(site):
    text = re.sub(r"<[^>]+>", "", site["reference/arrays.html"])
    text = " ".join(html.unescape(text).split())
    assert re.search(r"empty\( ?shape: _?Shape, dtype: [\w.]+ = \.\.\., \*, order: ", text)
    assert "class cupola.Stream(" in re.sub(r"<[^>]+>", "", site["reference/streams.html"])


def test_the_search_knows_the_pages(site, pages):
    """Each page has the field; the index has titles and words, and the page that reads it."""
    field = r'<form class="[^"]*sidebar-search[^"]*"[^>]* action="(?:[^"]*search.html|#)"'
    assert not [name for name, page in site.items() if not re.search(field, page)]
    index = (pages / "searchindex.js").read_text()
    assert '"how-to/pipelines"' in index and '"gallery"' in index
    for word in ("graph", "mandelbrot", "stream", "cupola_cpu_check"):
        assert f'"{word}":' in index, word
    assert "searchindex.js" in site["search.html"] and "searchtools.js" in site["search.html"]


def test_narrow_pages_have_their_style(site, pages):
    assert "max-width: 46em" in (pages / "_static" / "narrow.css").read_text()
    for name, page in site.items():
        assert "narrow.css" in page and 'name="viewport"' in page, name


def test_nothing_is_left_of_markup(site):
    """Tables, code and links of Markdown that were not understood show as they were written."""
    for name, page in site.items():
        article = re.search(r"<article.*?</article>", page, re.DOTALL)
        text = re.sub(
            r"<pre>.*?</pre>|<code.*?</code>", "", article[0] if article else "", flags=re.DOTALL
        )
        text = html.unescape(re.sub(r"<[^>]+>", "", text))
        # A link leads to a file or an address; kernel[grid, block](a, b) is none.
        link = r"\]\((?!\.\.\.\))[^\s,()]*[./#:][^\s,()]*\)"
        assert not re.search(rf"^\| |```|{link}", text, re.MULTILINE), name

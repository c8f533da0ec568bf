"""The site: built without a warning, links that lead somewhere, and all public names."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import cupola

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "build" / "docs" / "html"
EVERYWHERE = {"genindex.html", "search.html", "py-modindex.html"}


@pytest.fixture(scope="module")
def site():
    if not (ROOT / "docs" / "conf.py").is_file():
        pytest.skip("needs the sources")
    command = [sys.executable, str(ROOT / "tools" / "docs.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 2:
        pytest.skip(done.stderr.strip().splitlines()[-1])  # a machine without network
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        path.relative_to(PAGES).as_posix(): path.read_text()
        for path in PAGES.rglob("*.html")
        if "_static" not in path.parts
    }


def test_each_guide_is_a_page_that_the_first_one_leads_to(site):
    guides = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert {f"{guide}.html" for guide in guides} <= set(site)
    missing = [guide for guide in guides if f'href="{guide}.html"' not in site["index.html"]]
    assert not missing


def test_links_lead_somewhere(site):
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
            elif not (PAGES / target).exists():
                broken.append((name, link))
    assert not broken


def test_the_reference_has_every_public_name(site):
    reference = "".join(text for name, text in site.items() if name.startswith("reference/"))
    documented = set(re.findall(r'id="(cupola\.[\w.]+)"', reference))
    documented |= set(re.findall(r'id="module-(cupola\.[\w.]+)"', reference))
    names = set(cupola.__all__) - {"__version__"}
    places = ("", "exceptions.", "kernels.", "paths.")
    assert not {n for n in names if not {f"cupola.{place}{n}" for place in places} & documented}


def test_signatures_are_those_of_the_declarations(site):
    text = re.sub(r"<[^>]+>", "", site["reference/arrays.html"])
    text = " ".join(html.unescape(text).split())
    assert re.search(r"empty\( ?shape: _?Shape, dtype: [\w.]+ = \.\.\., \*, order: ", text)
    assert "class cupola.Stream(" in re.sub(r"<[^>]+>", "", site["reference/streams.html"])


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

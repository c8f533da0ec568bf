# docs/conf.py - the site: guides, and the reference from docstrings and .pyi files; `make docs`.
"""Configuration of Sphinx."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "package" / "cupola"
sys.path.insert(0, str(PACKAGE.parent))

project = "cupola"
author = "the cupola developers"
version = release = re.search(
    r'^__version__ = "(.+)"$', (PACKAGE / "version.py").read_text(), re.M
)[1]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"cupola {release}"
html_static_path = ["_static"]
html_css_files = ["narrow.css"]
exclude_patterns: list[str] = []
myst_heading_anchors = 3
napoleon_google_docstring = False
napoleon_use_rtype = False
# Sphinx 9's other implementation takes no signature for a class that has none of its own.
autodoc_use_legacy_class_based = True
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # signatures are those of the .pyi files
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
# Diagrams, records and transcripts have no language.
highlight_language = "none"


@cache
def declared(module: str) -> dict[str, ast.FunctionDef]:
    """Functions and methods of a module's .pyi file, by their names in it."""
    path = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".pyi")
    if not path.is_file():
        return {}
    found: dict[str, ast.FunctionDef] = {}

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                collect(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                found.setdefault(prefix + node.name, node)  # the first of several overloads

    collect(ast.parse(path.read_text()).body, "")
    return found


def signature(node: ast.FunctionDef, *, method: bool) -> tuple[str, str | None]:
    """As it is written, without self."""
    arguments = node.args
    decorators = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    if method and "staticmethod" not in decorators:
        (arguments.posonlyargs or arguments.args)[:1] = []
    returns = None if node.returns is None else ast.unparse(node.returns)
    return f"({ast.unparse(arguments)})", returns


def declared_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, given: Any, returns: Any
) -> tuple[str | None, str | None] | None:
    """For autodoc: what a .pyi file says, which knows types and what compiled classes take."""
    module = getattr(obj, "__module__", None) or ""
    owner = getattr(obj, "__objclass__", None)
    qualified = getattr(obj, "__qualname__", "")
    if owner is not None:
        module, qualified = owner.__module__, f"{owner.__name__}.{obj.__name__}"
    if what == "class":
        found = declared(module)
        node = found.get(f"{qualified}.__init__") or found.get(f"{qualified}.__new__")
        return (signature(ast_copy(node), method=True)[0], None) if node else ("", None)
    node = declared(module).get(qualified)
    if node is None:
        return None
    return signature(ast_copy(node), method="." in qualified)


def ast_copy(node: ast.FunctionDef) -> ast.FunctionDef:
    """One that may be changed."""
    copied = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(copied, ast.FunctionDef)
    return copied


def outside(app: Any, name: str, source: list[str]) -> None:
    """A link to a file outside docs/ leads to no page of the site: show the file's path."""
    folder = (ROOT / "docs" / name).parent

    def path_of(link: re.Match[str]) -> str:
        path = (folder / link[2]).resolve()
        if path.is_relative_to(ROOT / "docs"):
            return link[0]
        target = path.relative_to(ROOT).as_posix()
        return link[1] if target in link[1] else f"{link[1]} (`{target}`)"

    source[0] = re.sub(r"\[([^\]\n]+)\]\(((?:\.\./)+[^)\s]+)\)", path_of, source[0])


def shown(app: Any, name: str, source: list[str]) -> None:
    """A line ``<!-- show: PATTERN ... -->`` becomes the files of the tree that match."""

    def contents(line: re.Match[str]) -> str:
        parts = []
        for pattern in line[1].split():
            paths = sorted(ROOT.glob(pattern))
            if not paths:
                raise ValueError(f"{name}: no file is {pattern}")
            for path in paths:
                language = "cython" if path.suffix == ".pxd" else "c"
                title = path.relative_to(ROOT).as_posix()
                parts.append(f"### `{title}`\n```{language}\n{path.read_text()}```\n")
        return "\n".join(parts)

    source[0] = re.sub(r"^<!-- show: (.+) -->$", contents, source[0], flags=re.MULTILINE)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", declared_signature)
    app.connect("source-read", outside)
    app.connect("source-read", shown)

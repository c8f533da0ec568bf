"""`import cupola` is light and complete, and its names are documented."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cupola

PACKAGE = Path(cupola.__file__).parent


def test_import_brings_in_little():
    code = """
import sys, numpy
before = set(sys.modules)
import cupola
print(*sorted(m for m in set(sys.modules) - before if not m.startswith("cupola")))
"""
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    heavy = {"json", "argparse", "importlib.metadata", "subprocess", "cuda", "cuda.pathfinder"}
    assert not heavy & set(answer.stdout.split()), answer.stdout


@pytest.mark.parametrize("name", sorted(cupola.__all__))
def test_every_public_name_is_there_and_described(name):
    thing = getattr(cupola, name)
    if name.startswith("__"):
        return
    assert thing.__doc__ and len(thing.__doc__.strip()) > 20, name


@pytest.mark.parametrize("name", sorted(cupola._SUBMODULES))
def test_submodules_are_there_without_an_import_of_theirs(name):
    code = f"import cupola; cupola.{name}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_that_ask_for_names_take_turns():
    """Threads that first use different names import one after another."""
    code = """
import itertools, sys, threading, time
import cupola
class Slow:  # finds nothing, but lets the other threads on
    def find_spec(self, name, path=None, target=None):
        finders.append(threading.get_ident())
        time.sleep(0.002)
sys.meta_path.insert(0, Slow())
names = ["Array", "alloc", "from_dlpack", "to_device", "Graph", "PreparedLaunch"]
start = threading.Barrier(len(names))
asked, finders = [], []
def ask(name):
    start.wait()
    asked.append(getattr(cupola, name))
threads = [threading.Thread(target=ask, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
turns = len(list(itertools.groupby(finders)))
print(len(asked), turns == len(set(finders)))
"""
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout == "6 True\n", answer.stderr


def test_dir_shows_the_public_names():
    assert set(cupola.__all__) <= set(dir(cupola))


def test_unknown_name():
    with pytest.raises(AttributeError, match="transmogrify"):
        cupola.transmogrify  # noqa: B018


def test_stub_names_what_the_package_has():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    named = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            named |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            named.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            named.add(node.target.id)
    missing = set(cupola.__all__) - named
    assert not missing, missing
    assert (PACKAGE / "py.typed").exists()


def test_include_holds_the_headers():
    include = Path(cupola.get_include())
    assert (include / "cupola" / "cupola.h").exists()

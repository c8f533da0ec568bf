"""Public names stand in __all__ of their modules; a tool makes the table and the stub from them."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import cupola

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import public_names  # noqa: E402

sys.path.pop(0)


def test_the_table_and_the_stub_are_those_of_the_lists():
    command = [sys.executable, str(ROOT / "tools" / "public_names.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert public_names.homes() == cupola._HOMES


def test_modules_have_what_they_list():
    for name, module in public_names.homes().items():
        assert name in importlib.import_module(f"cupola.{module}").__all__


@pytest.fixture
def sources(tmp_path):
    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_names_of_each_kind_of_module_are_found(sources):
    root = sources(
        pyx__cupola__pool_dot_pyx='import x\n\n__all__ = ["Pool"]\n',
        package__cupola__arrays__scans_dot_py='__all__ = [\n    "cumsum",\n    "cumprod",\n]\n',
        package__cupola__fft__plans_dot_py='__all__ = ["rfft"]\n',
        package__cupola__plain_dot_py="def hidden(): ...\n",
    )
    found = public_names.homes(root)
    apart = [found.pop(name) for name in ("get_include", "judge", "record")]
    assert apart == ["paths", "judging", "recording"]
    assert found == {"Pool": "pool", "cumprod": "arrays.scans", "cumsum": "arrays.scans"}
    text = public_names.stub(found, '_SUBMODULES = (\n    "fft",\n)\n', ["Error"])
    assert "from cupola import fft as fft\n" in text
    assert "from cupola.arrays.scans import cumsum as cumsum\n" in text
    assert "from cupola.exceptions import Error as Error\n" in text
    ast.parse(text)


def test_a_name_of_two_modules_is_refused(sources):
    root = sources(
        pyx__cupola__a_dot_pyx='__all__ = ["empty"]\n',
        pyx__cupola__b_dot_pyx='__all__ = ["empty"]\n',
    )
    with pytest.raises(ValueError, match="empty is in __all__ of a and of b"):
        public_names.homes(root)

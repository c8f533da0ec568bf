"""docs/how-to/cython.md and docs/how-to/cpp.md: their files are written, their commands and their
Python run, from top to bottom.
"""

import shutil
import sys
from pathlib import Path

import documents
import pytest

import cupola
from cupola import paths


@pytest.fixture
def environment(tmp_path):
    # The second block sets this with `export`; the blocks that follow need it, too.
    more = {"PKG_CONFIG_PATH": paths.cmake_dir(), "CUPOLA_PYTHON": sys.executable}
    return documents.environment(tmp_path / "tools", **more)


@pytest.mark.campaign("builds of modules; test_extending.py builds one")
def test_cython(driver, tmp_path, environment, monkeypatch):
    pytest.importorskip("Cython")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    documents.run("docs/how-to/cython.md", tmp_path, environment)
    for name in ("waves", "packed", "total"):
        assert Path(sys.modules.pop(name).__file__).parent == tmp_path


def test_cpp(driver, tmp_path, environment):
    import images

    images.nvcc()
    if shutil.which("pkg-config") is None:
        pytest.skip("there is no pkg-config")
    printed = documents.run("docs/how-to/cpp.md", tmp_path, environment)
    by_cmake, by_pkg_config, later, functions = printed
    assert by_cmake.splitlines()[-1] == "3 5 7 9 "
    first, second = by_pkg_config.splitlines()
    count = len(cupola.shipped_kernels().kernels)
    assert first == f"{cupola.Device().name}: {count} kernels"
    assert second.startswith("6: the module has no kernel saxpi") and "saxpy" in second
    assert later == "3 6 9\n"
    version = cupola.driver.info().version
    assert functions == f"CUDA {version // 1000}.{version % 1000 // 10}\n"

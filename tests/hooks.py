"""tests/hooks.py - cupola's entry points, however old the installed cupola's are."""

import os
from pathlib import Path

import cupola

ENTRY_POINTS = """
[setuptools.finalize_distribution_options]
cupola = _cupola_setuptools:finalize
[distutils.setup_keywords]
cuda_kernels = _cupola_setuptools:keyword
[hatch]
cupola = _cupola_hatch
[cmake.prefix]
cupola = cupola.cmake
[pytest11]
cupola = _cupola_pytest
[dask.sizeof]
cupola = _cupola_dask:register
[dask.array.backends]
cupola = cupola.distributed.dask_array:CupolaBackend
"""


def install(folder: Path, version: str = "0") -> Path:
    """Put them into a folder, which goes first on PYTHONPATH."""
    about = folder / f"cupola-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cupola\nVersion: {version}\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def search_path(*folders):
    """PYTHONPATH: some folders, the cupola that is tested, and what was there before."""
    places = [*folders, Path(cupola.__file__).parents[1], os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(str(place) for place in places if place != "")

"""The generated tables of the CUDA runtime are those that the sources and the headers give."""

import pathlib
import subprocess
import sys

from cupola.build import toolkit

TOOL = pathlib.Path(__file__).parents[2] / "tools/cudart_symbols.py"


def test_the_table_of_driver_functions_is_what_the_sources_call():
    include = next(
        f for f in map(pathlib.Path, toolkit.find().include) if (f / "cudaTypedefs.h").exists()
    )
    subprocess.run([sys.executable, TOOL, include, "--check"], check=True)

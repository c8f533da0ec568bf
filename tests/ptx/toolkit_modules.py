"""The toolkit's sources, compiled and loaded."""

import pathlib

import images
import pytest

FOLDER = pathlib.Path(__file__).with_name("toolkit")


@pytest.fixture(scope="module")
def library(started):
    """Returns a function that loads the module of a source."""
    started.make_current()
    modules = {}

    def load(name):
        if name not in modules:
            text = images.compiled(
                f"{name}.90.ptx",
                FOLDER / f"{name}.cu",
                "-ptx",
                "-arch=compute_90",
                "-diag-suppress=177,20054",
            )
            modules[name] = started.load(text.read_text())
        return modules[name]

    yield load
    for module in modules.values():
        module.unload()

"""tests/compilers/compiled_project.py - a package of another compiler than nvcc."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import hooks
import images
from environments import python_with

from cupola.image import ptx_version, reader

EXAMPLES = Path(__file__).parents[2] / "examples"
BUILD = ("numpy", "setuptools>=77", "pyelftools>=0.31", "cuda-pathfinder>=1.2")
# The example of each compiler, the module that it has, and its packages.
COMPILERS = {
    "triton": ("rows", "triton", ["triton==3.9.*"]),
    "numba": (
        "numba_rows", "numba_cuda", ["numba-cuda[cu13]==0.30.*", "cuda-toolkit==13.0.*",
                                     "numpy<2.5"]
    ),
    "warp": ("warp_rows", "warp", ["warp-lang==1.19.*"]),
    "cute": ("cute_rows", "nvidia_cutlass_dsl", ["nvidia-cutlass-dsl==4.8.*"]),
}  # fmt: skip


def interpreter(compiler):
    """A Python that has the compiler: this one, or one of an environment of its own."""
    images.nvcc()
    _, module, packages = COMPILERS[compiler]
    if importlib.util.find_spec(module):
        return Path(sys.executable)
    return python_with(compiler, *packages, *BUILD)


class Project:
    """A copy of a package, the interpreter that builds it, and what is run in it."""

    def __init__(self, source, folder, compiler):
        unwanted = shutil.ignore_patterns("build", "kernels.*", "ops.py*", "*.op", "__pycache__")
        shutil.copytree(source, folder, ignore=unwanted)
        hooks.install(folder / "hooks")
        self.folder, self.compiler = folder, compiler

    def called(self, python, *arguments, fails=False, **variables):
        paths = hooks.search_path(self.folder, self.folder / "hooks")
        done = subprocess.run(
            [python, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": paths, "CUPOLA_CACHE_DIR": "none", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        assert (done.returncode != 0) is fails, done.stdout
        return done.stdout

    def build(self, architectures="75,90", **how):
        return self.setup(architectures, "build_kernels", "--inplace", **how)

    def wheel(self, folder, architectures):
        """Make a wheel in a folder."""
        self.setup(architectures, "bdist_wheel", "--dist-dir", folder)

    def setup(self, architectures, *arguments, **how):
        setup = "from setuptools import setup; setup()"
        return self.called(
            self.compiler, "-c", setup, *arguments, **how, CUPOLA_ARCHITECTURES=architectures
        )

    def change(self, name, old, new):
        text = (self.folder / name).read_text()
        assert old in text, old
        (self.folder / name).write_text(text.replace(old, new, 1))

    def require_shipped_image(self):
        """The image is compressed, and its PTX has the lowest version that it needs."""
        image = (self.folder / "rows/kernels.fatbin").read_bytes()
        assert reader.is_packed(image)
        texts = [one for one in reader.read_image(image).entries if one.kind == "ptx"]
        found = [ptx_version.required(one.payload) for one in texts]
        assert found and all(one.written == one.needed for one in found)

    def manifest(self):
        return json.loads((self.folder / "rows/kernels.json").read_text())

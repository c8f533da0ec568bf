"""tests/compilers/compiled_project.py - a package of another compiler than nvcc."""

import json
import os
import shutil
import subprocess

import hooks

from cupola.image import ptx_version, reader


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
        setup = "from setuptools import setup; setup()"
        return self.called(
            self.compiler, "-c", setup, "build_kernels", "--inplace", **how,
            CUPOLA_ARCHITECTURES=architectures,
        )  # fmt: skip

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

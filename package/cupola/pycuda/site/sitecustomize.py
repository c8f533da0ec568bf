# cupola/pycuda/site/sitecustomize.py - for programs that `cupola run --pycuda` runs.
"""Makes ``import pycuda`` find cupola.pycuda, module by module. An existing sitecustomize also
runs.
"""

import contextlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


class _Same:
    """Loads a module of cupola.pycuda under PyCUDA's name: one object for both names."""

    def create_module(self, spec):
        module = importlib.import_module(f"cupola.{spec.name}")
        self.known = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.known  # importlib has set the spec of the name `pycuda...`


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "pycuda" and not name.startswith("pycuda."):
            return None
        found = importlib.util.find_spec(f"cupola.{name}")
        if found is None:
            raise ModuleNotFoundError(
                f"cupola.pycuda, which stands for pycuda here, has no module {name}: see "
                "cupola's page on PyCUDA",
                name=name,
            )
        return importlib.machinery.ModuleSpec(
            name, _Same(), is_package=found.submodule_search_locations is not None
        )


sys.meta_path.insert(0, _Finder())

sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _here]
_this = sys.modules.pop("sitecustomize")
with contextlib.suppress(ImportError):
    importlib.import_module("sitecustomize")
sys.modules.setdefault("sitecustomize", _this)

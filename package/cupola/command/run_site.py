# cupola/command/run_site.py - sitecustomize of programs that `cupola run` runs on the CPU device.
"""Keeps nvJitLink from being found, which links machine code: programs then ask the driver.

Only that name is refused, and only to those who look it up by cuda.pathfinder, as NVIDIA's own
packages do. Whatever sitecustomize there was before is run as well.
"""

import contextlib
import importlib
import importlib.util
import os
import sys


class _Pathfinder:
    """Changes cuda.pathfinder once it is imported, which it need never be."""

    def find_spec(self, name, path=None, target=None):
        if name != "cuda.pathfinder":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            load = module.load_nvidia_dynamic_lib

            def load_other(libname, *arguments, **keywords):
                if libname == "nvJitLink":
                    raise module.DynamicLibNotFoundError(
                        "cupola run: nvJitLink makes machine code; the CPU device links PTX"
                    )
                return load(libname, *arguments, **keywords)

            module.load_nvidia_dynamic_lib = load_other

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Pathfinder())

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _here]
_this = sys.modules.pop("sitecustomize")
with contextlib.suppress(ImportError):
    importlib.import_module("sitecustomize")
sys.modules.setdefault("sitecustomize", _this)

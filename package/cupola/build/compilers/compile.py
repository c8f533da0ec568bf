# package/cupola/build/compilers/compile.py - compiles instances of Python kernels for one target.
"""A program that the build runs, once for each architecture.

python -m cupola.build.compilers.compile REQUEST CUBIN

REQUEST is JSON: ``compiler``, ``sources``, ``instances``, ``architecture``. Beside CUBIN are made:

- ``.ptx``, of all instances;
- ``.json``: ``compiler`` with its version, ``target`` of the PTX, as in ``"sm_90a"``, and
  ``kernels``, each with ``name`` and ``parameters``; also with ``block`` and ``shared``, where
  the compiler fixes them;
- ``.d``: the files of the project that the sources import, in make's format.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from ...image.reader import read_image
from .. import ptx
from ..depfile import write_rule
from ..error import BuildError
from . import SourceError


def compile_all(request: dict[str, Any]) -> tuple[str, bytes, dict[str, Any]]:
    """The PTX, the machine code, and the description of all instances.

    Raises
    ------
    SourceError
        It names the file and the instance.
    """
    modules = [load(Path(source)) for source in request["sources"]]
    compiler = importlib.import_module(f"{__package__}.{request['compiler']}")
    architecture, kernels, texts = request["architecture"], [], {}
    for instance in request["instances"]:
        source, function = find(modules, instance["function"])
        try:
            made = compiler.compile_kernel(function, instance, architecture)
        except Exception as error:  # compilers raise their own, of many types
            kind = "" if isinstance(error, SourceError) else f"{type(error).__name__}: "
            raise SourceError(
                f"{source}: error: instance {instance['name']}, for sm_{architecture}: "
                f"{kind}{error}"
            ) from error
        texts[instance["name"]] = made.pop("ptx")
        kernels.append(made)
    text = ptx.join(texts)
    (entry,) = read_image(text.encode()).entries
    if not entry.architecture:
        raise SourceError(f"{request['compiler']} made PTX without a .target")
    return (
        text,
        compiler.assemble(text, request["instances"], architecture),
        {
            "compiler": f"{request['compiler']} {compiler.version()}",
            "target": f"sm_{entry.target}",
            "kernels": kernels,
        },
    )


def load(source: Path) -> ModuleType:
    """Import a source by its path. The package that it belongs to is not imported: its kernels do
    not exist yet.
    """
    spec = importlib.util.spec_from_file_location(f"_kernels_{source.stem}", source)
    if spec is None or spec.loader is None:
        raise SourceError(f"{source}: error: it is no Python source: its name ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise SourceError(
            f"{source}: error: it imports {error.name}, which this build lacks: keep kernels in a "
            f"file that imports their compiler alone, or add {error.name} to [build-system] "
            "requires"
        ) from error
    except Exception as error:
        lines = traceback.extract_tb(error.__traceback__)
        own = os.path.abspath(source)
        line = next((one.lineno for one in reversed(lines) if one.filename == own), 1)
        raise SourceError(f"{source}:{line}: error: {type(error).__name__}: {error}") from error
    return module


def find(modules: list[ModuleType], name: str) -> tuple[str, Any]:
    """The source that has a function, and the function."""
    having = [module for module in modules if hasattr(module, name)]
    files = ", ".join(str(module.__file__) for module in having or modules)
    if not having:
        raise SourceError(f"{files}: error: there is no function {name!r}")
    if len(having) > 1 and len({id(getattr(module, name)) for module in having}) > 1:
        raise SourceError(f"{files}: error: several sources have a function {name!r}")
    return str(having[0].__file__), getattr(having[0], name)


def imported(root: Path) -> list[str]:
    """The files below a folder that have been imported, relative to it."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = {Path(os.path.abspath(file)) for file in files if file}
    return sorted(str(path.relative_to(root)) for path in paths if path.is_relative_to(root))


def main(request: str, cubin: str) -> None:
    """Write CUBIN and the files beside it."""
    try:
        text, code, about = compile_all(json.loads(request))
    except (SourceError, BuildError) as error:
        raise SystemExit(str(error)) from None
    path = Path(cubin)
    path.with_suffix(".ptx").write_text(text)
    path.with_suffix(".json").write_text(json.dumps(about))
    write_rule(path.with_suffix(".d"), cubin, imported(Path.cwd()))
    path.write_bytes(code)


if __name__ == "__main__":
    main(*sys.argv[1:])

# cupola/cmake/kernels.py - the program of cupola_add_kernels: CUDA sources to a C++ source.
"""Makes NAME.fatbin, NAME.json, and NAME.image.cpp, which embeds the image in a C++ program."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).resolve().parent.parent

HEADER = """\
// Made by cupola_add_kernels of {sources}: the next build writes it anew.
#pragma once

#include <cstddef>

#include <cupola/module.hpp>

namespace {name} {{

// The image: a fatbin.
const void* image() noexcept;
std::size_t size() noexcept;

// The kernels on a device; hold on to what this returns.
inline cupola::module load(const cupola::device& device = cupola::device()) {{
    return cupola::module(image(), size(), device);
}}

}}  // namespace {name}
"""
SOURCE = """\
// Made by cupola_add_kernels: the next build writes it anew.
#include "{name}.hpp"

__asm__(
    ".pushsection .rodata\\n"
    ".balign 64\\n"
    ".hidden cupola_kernels_{name}\\n"
    "cupola_kernels_{name}:\\n"
    ".incbin \\"{image}\\"\\n"
    ".hidden cupola_kernels_{name}_end\\n"
    "cupola_kernels_{name}_end:\\n"
    ".byte 0\\n"
    ".popsection\\n");

extern "C" {{
__attribute__((visibility("hidden"))) extern const unsigned char cupola_kernels_{name}[];
__attribute__((visibility("hidden"))) extern const unsigned char cupola_kernels_{name}_end[];
}}

const void* {name}::image() noexcept {{ return cupola_kernels_{name}; }}
std::size_t {name}::size() noexcept {{
    return static_cast<std::size_t>(cupola_kernels_{name}_end - cupola_kernels_{name});
}}
"""


def main() -> None:
    """Make stale files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--title", required=True, help="for the manifest: whose kernels they are")
    parser.add_argument("--folder", type=Path, required=True, help="where files are made")
    parser.add_argument("--depfile", type=Path, required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--architectures", default="native")
    options = parser.parse_args()
    build = load_build()
    try:
        make(build, options)
    except build.BuildError as error:  # the compiler's message, without a traceback
        raise SystemExit(str(error)) from None


def load_build() -> ModuleType:
    """Load cupola.build without cupola itself, which needs its library and more packages."""
    package = ModuleType("_cupola")
    package.__path__ = [str(PACKAGE)]
    sys.modules["_cupola"] = package
    return importlib.import_module("_cupola.build")


def make(build: ModuleType, options: argparse.Namespace) -> None:
    """Make the image, the manifest and the C++ source."""
    from _cupola.build import architectures, depfile, executor, image, toolkit

    compiler = toolkit.find()
    chosen = architectures.choose(compiler.architectures(), otherwise=options.architectures)
    folder = options.folder.absolute()
    made, manifest = folder / f"{options.name}.fatbin", folder / f"{options.name}.json"
    steps = image.steps(
        compiler,
        chosen,
        options.sources,
        made,
        manifest,
        folder,
        options=options.option,
        include=options.include,
        package=options.title,
        relocatable=len(options.sources) > 1,
        title=options.name,
    )
    with executor.locked(folder):
        executor.run(steps, folder)
        sources = ", ".join(path.name for path in options.sources)
        header = HEADER.format(name=options.name, sources=sources)
        made.with_suffix(".hpp").write_text(header)
        made.with_suffix(".image.cpp").write_text(SOURCE.format(name=options.name, image=made))
    read = [path for one in steps if one.depfile for path in depfile.dependencies(one.depfile)]
    depfile.write_rule(options.depfile, made, sorted(set(read)))
    for path in (made, manifest):  # so that make finds them newer than their inputs
        path.touch()


if __name__ == "__main__":
    main()

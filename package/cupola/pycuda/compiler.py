# cupola/pycuda/compiler.py - pycuda.compiler: NVRTC in nvcc's place.
"""Compilation of CUDA C++ at run time, with cupola's disk cache."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import cupola
from cupola.compiler.arguments import folders_of
from cupola.compiler.request import Source
from cupola.compiler.source_files import USUAL_NAME, source_of
from cupola.declare.compiler_remedies import with_remedies
from cupola.pycuda._contexts import current
from cupola.pycuda._errors import CompileError, LogicError, translate, translated
from cupola.pycuda._functions import Module
from cupola.toolkit.nvrtc import nvrtc
from cupola.toolkit.program import line_directive

DEFAULT_NVCC_FLAGS = os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", "").split()
_INCLUDE = Path(__file__).parent / "include"


def get_nvcc_version(nvcc):
    """The compiler's name and version."""
    return str(nvrtc())


# nvcc includes cuda_runtime.h, which has these includes, before the first line.
_IMPLICIT = "#include <math.h>\n#include <limits.h>\n#include <stdint.h>\n"
# The lines before the first declaration, up to the last include of a library's header. Such a
# header may hold templates, which ``extern "C"`` does not allow.
_LIBRARIES = re.compile(
    r"(?:[ \t]*(?://[^\n]*|/\*.*?\*/[ \t]*|#[ \t]*(?:define|undef|pragma)\b(?:\\\n|[^\n])*)?\n)*?"
    r"[ \t]*#[ \t]*include[ \t]*<[^>\n]*>[^\n]*\n",
    re.DOTALL,
)


_COMPILER = re.compile(r"^compiled by (\w+)", re.MULTILINE)  # in a CompileError of cupola


def _source(source: Any, no_extern_c: bool) -> Source:
    """A file's or a text's source. PyCUDA also takes objects whose `str` is the text."""
    given = source_of(source if isinstance(source, os.PathLike) else str(source), None, USUAL_NAME)
    text, first = given.text, line_directive(given.title)
    if no_extern_c:
        return Source(given.title, f"{_IMPLICIT}{first}{text}\n", given.name)
    end = 0
    while found := _LIBRARIES.match(text, end):
        end = found.end()
    rest = line_directive(given.title, text.count("\n", 0, end) + 1)
    whole = f'{_IMPLICIT}{first}{text[:end]}extern "C" {{\n{rest}{text[end:]}\n}}\n'
    return Source(given.title, whole, given.name)


def compiled(
    source: Any,
    options: Any,
    keep: bool,
    no_extern_c: bool,
    arch: str | None = None,
    cache_dir: Any = None,
    include_dirs: Any = None,
    several: bool = False,
    link: Any = (),
    launches: bool = False,
) -> cupola.Module:
    """The module of a source, or of several, for the parameters of `SourceModule`."""
    if isinstance(options, str):
        raise TypeError(f"options: expected a list of texts, as in [{options!r}], got one text")
    given = list(DEFAULT_NVCC_FLAGS if options is None else options)
    folders = folders_of(include_dirs or [], "include_dirs")
    sources = [_source(one, no_extern_c) for one in (source if several else [source])]
    if keep:
        folder = Path(tempfile.mkdtemp(prefix="cupola-pycuda-"))
        for number, one in enumerate(sources):
            (folder / f"kernel{number or ''}.cu").write_text(one.text)
        print(f"*** compiler output in {folder}")
    try:
        words = [word for option in given for word in option.split()]
        if launches:  # nvcc includes this header without an option; NVRTC does not
            # The header itself calls a deprecated function, and includes an internal header.
            words += [
                "--pre-include=cuda_device_runtime_api.h", "--diag-suppress=1215",
                "-D__CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__",
            ]  # fmt: skip
        made = cupola.compile(
            sources if several else sources[0],
            options=words,
            include=[*folders, _INCLUDE],
            arch=arch,
            link=link,
            cache=cache_dir is not False and "PYCUDA_DISABLE_CACHE" not in os.environ,
            device=current()._owner._device,
        )
    except ValueError as error:
        raise CompileError(str(error), given) from error
    except cupola.ImageError as error:
        raise translate(error) from error
    except cupola.CompileError as error:
        first = str(error).partition("\n")[0]
        by = _COMPILER.search(str(error))
        raise CompileError(
            f"{by[1] + ' ' if by else ''}compilation failed: {first}",
            given,
            stderr=with_remedies(error.log),
        ) from error
    if made.log:
        warnings.warn(
            f"The CUDA compiler succeeded, but said the following:\n{made.log}", stacklevel=4
        )
    return made


def compile(
    source, nvcc="nvcc", options=None, keep=False, no_extern_c=False, arch=None, code=None,
    cache_dir=None, include_dirs=None, target="cubin",
):  # fmt: skip
    """The compiled image as bytes: a cubin, or PTX on the CPU device.

    ``target="ptx"`` gives PTX everywhere. For the other parameters see `SourceModule`.
    """
    if target not in ("cubin", "ptx"):
        raise ValueError(f"target is 'cubin' or 'ptx', got {target!r}")
    if target == "ptx":
        major, minor = current()._owner.compute_capability()
        wanted = max(n for n in nvrtc().architectures if n <= 10 * major + minor)
        arch = (arch or f"compute_{wanted}").replace("sm_", "compute_")
    return compiled(source, options, keep, no_extern_c, arch, cache_dir, include_dirs).image


class CudaModule:
    """The base class of compiled modules."""

    module: Module

    def _take(self, loaded: cupola.Module) -> None:
        self.module = Module(loaded)
        self.get_global = self.module.get_global
        self.get_texref = self.module.get_texref
        self.get_surfref = self.module.get_surfref

    def get_function(self, name):
        """The function of that name."""
        return self.module.get_function(name)


class SourceModule(CudaModule):
    """A module from source code.

    Parameters
    ----------
    source : str or os.PathLike
        The text or a file's path, by the rule of `cupola.compile`. Or an object whose `str` is
        the text.
    nvcc : str
        Not used: NVRTC compiles, or the nvcc that is found, where the source has host code.
    options : list of str, optional
        nvcc's options, as far as NVRTC has them; by default `DEFAULT_NVCC_FLAGS`. Those for the
        host's compiler, the linker and ptxas are ignored.
    keep : bool
        Whether to write the source to a folder, whose name is printed.
    no_extern_c : bool
        Whether not to put the source between ``extern "C" {`` and ``}``.
    arch : str, optional
        As in ``"sm_90"``; by default the device's.
    code : str, optional
        Not used.
    cache_dir : str or False, optional
        False, or the variable ``PYCUDA_DISABLE_CACHE``, turns the disk cache off. Its folder is
        cupola's.
    include_dirs : list of str, optional
        Folders of headers.

    Raises
    ------
    CompileError
    """

    def __init__(
        self, source, nvcc="nvcc", options=None, keep=False, no_extern_c=False, arch=None,
        code=None, cache_dir=None, include_dirs=None,
    ):  # fmt: skip
        self._take(compiled(source, options, keep, no_extern_c, arch, cache_dir, include_dirs))


class DynamicModule(CudaModule):
    """A module of several sources and images, linked by `link`."""

    def __init__(
        self, nvcc="nvcc", link_options=None, keep=False, no_extern_c=False, arch=None, code=None,
        cache_dir=None, include_dirs=None, message_handler=None, log_verbose=False,
        cuda_libdir=None,
    ):  # fmt: skip
        self._keep, self._no_extern_c, self._arch = keep, no_extern_c, arch
        self._cache_dir, self._include_dirs = cache_dir, include_dirs
        self._libdir = cuda_libdir
        self._sources: list[Any] = []
        self._options: list[str] | None = None
        self._inputs: list[Any] = []
        self._links, self._launches = False, False

    def add_source(self, source, nvcc_options=None, name="kernel.ptx"):
        """Add a source. Returns the module."""
        self._sources.append(source)
        if nvcc_options is not None:
            self._options = list(nvcc_options)
        return self

    def add_data(self, data, input_type, name="unknown"):
        """Add an image: PTX, a cubin, a fatbin or an object. Returns the module."""
        self._inputs.append(data.encode() if isinstance(data, str) else bytes(data))
        return self

    def add_file(self, filename, input_type):
        """Add an image's file. Returns the module."""
        self._inputs.append(Path(filename))
        return self

    def add_stdlib(self, libname):
        """Add a library of the toolkit, such as cudadevrt. Returns the module."""
        self._links = True
        self._launches |= libname == "cudadevrt"
        if cupola.driver.info().kind == "cpu":
            if libname == "cudadevrt":  # the device has its functions
                return self
            raise LogicError(
                f"the library {libname} is machine code, which the CPU device does not link: add "
                "its source by add_source, or its PTX by add_data"
            )
        folders = [self._libdir] if self._libdir else []
        folders += [Path(one).parent / "lib" for one in nvrtc().found.headers()]
        folders += [Path(one).parent / "lib64" for one in nvrtc().found.headers()]
        for folder in folders:
            path = Path(folder) / f"lib{libname}.a"
            if path.is_file():
                return self.add_file(path, None)
        raise LogicError(
            f"the library {libname} was not found in {', '.join(map(str, folders))}: give its "
            "folder as cuda_libdir"
        )

    def link(self):
        """Link, and load the result."""
        if not self._sources and not self._inputs:
            raise LogicError("nothing was added to the module")
        with translated():
            if len(self._sources) == 1 and not self._links and not self._inputs:
                sources, several = self._sources[0], False
            else:
                sources, several = self._sources, True
            self._take(
                compiled(
                    sources,
                    self._options,
                    self._keep,
                    self._no_extern_c,
                    self._arch,
                    self._cache_dir,
                    self._include_dirs,
                    several,
                    self._inputs,
                    self._launches,
                )
            )


class DynamicSourceModule(DynamicModule):
    """A module from one source, which is linked with cudadevrt."""

    def __init__(
        self, source, nvcc="nvcc", options=None, keep=False, no_extern_c=False, arch=None,
        code=None, cache_dir=None, include_dirs=None, cuda_libdir=None,
    ):  # fmt: skip
        super().__init__(
            keep=keep, no_extern_c=no_extern_c, arch=arch, cache_dir=cache_dir,
            include_dirs=include_dirs, cuda_libdir=cuda_libdir,
        )  # fmt: skip
        self.add_source(source, options)
        self.add_stdlib("cudadevrt")
        self.link()

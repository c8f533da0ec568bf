# csrc/recipe.py - what is built from csrc, by which steps: libcupola.so, the CPU device, and the
# libraries that programs of others find beside it.
"""Which libraries cupola's C++ and CUDA sources become, and with which flags."""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import codec, constants, digests, packing

BUILD = Path("build")
CYTHON = Path("pyx") / "cupola"
ARRAYS = BUILD / "kernels" / "arrays.bin"
ALGORITHMS = BUILD / "kernels" / "algorithms"
DECLARATIONS = BUILD / "declarations"
WRITTEN = DECLARATIONS / "written"  # what Cython modules include
CONSTANTS = BUILD / "kernels" / "kernel_constants.py"  # a module of the installed package
ELEMENT_TYPES = BUILD / "native" / "element_types.inc"
SEMANTICS = BUILD / "native" / "semantics.hpp"
RELEASE = ("-O2", "-DNDEBUG")
# Flags of code that runs between launches at most. They halve the time of a compilation, and a
# quarter of the code is gone.
CALM = ("-Os",)
# The flags give up errno and traps, never a rounding. Registers and memory are written as one type
# and read as another of their size.
DEVICE = ("-O2", "-DNDEBUG", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
DEVICE += ("-fno-strict-aliasing",)
# FAST makes vector code of loops over lanes. HASTY compiles instruction set level 1, which few
# processors need: it has one form of each handler (`seldom` in cpu/isa/lanes.hpp). -O1 alone would
# return from each handler instead of jumping to the next.
FAST, HASTY = ("-O3",), ("-O1", "-foptimize-sibling-calls", "-DCUPOLA_HASTY")
# This number of sources of a folder is compiled as one: headers take most of a source's time.
TOGETHER = 24
# Seconds that the slowest sources take to compile, about. They start first; the slowest have
# objects of their own.
WEIGHTS = {
    "csrc/cpu/isa/convert.cpp": 12,
    "csrc/cpu/isa/real.cpp": 8,
    "csrc/cpu/isa/integer_handlers.cpp": 5,
    "csrc/cpu/isa/compare.cpp": 4,
    "csrc/cpu/isa/sync.cpp": 4,
}
# Shipped kernels that are machine code for the CPU device. All of them would take a compiler some
# 15 s for each level.
AHEAD = ("double_array", "doublify", "mandelbrot_image", "mandelbrot_ker", "saxpy")
# Sources compiled by themselves: they declare the functions of a driver or a runtime as symbols,
# need options of their own, or are linked into fuzzers without the rest of their folder.
APART = {
    "csrc/cpu/base/sha256.cpp",
    "csrc/cpu/base/seeded_order.cpp",
    "csrc/cpu/base/tensor_map.cpp",
    "csrc/cpu/api/symbols.cpp",
    "csrc/cpu/isa/convert.cpp",
    "csrc/cpu/isa/real.cpp",
    "csrc/dropin/cudart/symbols.cpp",
    "csrc/dropin/recorder/forward.cpp",
    "csrc/dropin/recorder/symbols.cpp",
}
# Sources that differ between the versions of the CUDA runtime.
CUDART = {major: f"libcudart.so.{major}" for major in (12, 13)}
# Linker scripts for -lcudart and -lcudart_static, which name the shared library.
CUDART_LINKS = ("libcudart.so", "libcudart_static.a")
# The names under which programs load NVRTC; a library can have one of them.
NVRTC = {major: f"libnvrtc.so.{major}" for major in (12, 13)}
# The sources that read images in libcupola.so, and those of the library of readers, which the
# build itself loads.
READER_LIBRARY = BUILD / "native" / "build-machine" / "lib" / "libcupola_readers.so"
FORMATS = ("image/*.cpp", "ptx/declared_kernels.cpp", "ptx/inlined_names.cpp", "ptx/lexer.cpp")
FORMATS += ("ptx/line_table.cpp", "ptx/match.cpp", "ptx/older_driver.cpp", "ptx/requirement.cpp")
FORMATS += ("ptx/type.cpp",)
READERS = (*FORMATS, "runtime/abi/image.cpp", "runtime/abi/library.cpp")
READERS += ("runtime/base/error.cpp", "runtime/base/library_path.cpp", "runtime/base/object.cpp")
READERS += ("runtime/module/parameter.cpp", "runtime/module/ptx_signature.cpp")
READERS += ("runtime/module/lower.cpp", "runtime/module/pack.cpp", "runtime/module/undefined.cpp")
# Libraries that a link must name: before glibc 2.34 they, not libc, had the functions.
# Only in a wheel, which is to load on older systems than this: CUPOLA_PORTABLE=1.
PORTABLE = os.environ.get("CUPOLA_PORTABLE") == "1" and platform.libc_ver()[0] == "glibc"
SYSTEM = ("-ldl",)
# The CPU device calls its own functions also where a program has NVIDIA's in the global scope.
OWN_FUNCTIONS = "-Wl,-Bsymbolic-functions"
# A library that stays loaded: its objects outlive the program's own, for threads and callbacks.
STAYS = "-Wl,-z,nodelete"
if PORTABLE:
    SYSTEM = ("-Wl,--no-as-needed", "-l:libdl.so.2", "-l:libpthread.so.0", "-Wl,--as-needed")


@dataclass(frozen=True)
class Recipe:
    """The steps of one build, and where its products go below the installed package."""

    build: Any  # the package cupola.build, under whatever name it was loaded
    root: Path
    version: str
    chosen: Any = None  # a C++ compiler in place of the one that is found
    apart: bool = False  # compiles each source alone, as tools see the sources

    @property
    def compiler(self) -> Any:
        """The C++ compiler; looked for when it is first needed."""
        return self.chosen or self.build.native.Compiler.find()

    def sources(self, *patterns: str) -> list[Path]:
        """Sources below csrc, relative to the root, in an order that does not change."""
        found = {path for pattern in patterns for path in (self.root / "csrc").glob(pattern)}
        return sorted(path.relative_to(self.root) for path in found)

    def headers(self) -> list[Path]:
        """The installed headers."""
        suffixes = ("h", "hpp", "cuh")
        return self.sources(*(f"include/cupola/**/*.{suffix}" for suffix in suffixes))

    def declarations(self) -> list[Path]:
        """The .pxd files, relative to pyx/cupola."""
        folder = self.root / CYTHON
        return sorted(path.relative_to(folder) for path in folder.rglob("*.pxd"))

    def declaration_steps(self) -> list[Any]:
        """The .pxd files as they are installed, and for abi.pyx what stands in them."""
        written = self.build.declarations
        names = self.declarations()
        files = [CYTHON / name for name in names]
        steps = [
            self._written(DECLARATIONS / name, [path], lambda path=path: written.installed(path))
            for name, path in zip(names, files, strict=True)
        ]
        driver = self.root / CYTHON / "driver.pxd"
        calls = self._written(WRITTEN / "driver.pxi", [driver], lambda: written.wrappers(driver))
        table = self._element_types()
        types = self._written(
            WRITTEN / "element_types.pxi", [Path(table.__file__)], table.for_cython
        )
        listed = self._written(WRITTEN / "declarations.h", files, lambda: written.header(files))
        return [*steps, calls, types, listed, self._constants()]

    def _constants(self) -> Any:
        """The constants of kernels, as a module of Python."""
        headers = self.sources("kernels/constants.h", "include/cupola/makers.cuh")

        def text() -> str:
            try:
                return constants.python(self.root / path for path in headers)
            except ValueError as error:
                raise self.build.error.BuildError(str(error)) from None

        return self._written(CONSTANTS, headers, text, Path(constants.__file__))

    def _digests(self) -> Any:
        """The digests of the kernels that tables of measurements are of."""
        sources = self.sources("kernels/*.cu", "kernels/algorithms/*.cu")
        inputs = self.sources("kernels/**/*.cu", "kernels/**/*.cuh", "kernels/**/*.h")

        def text() -> str:
            try:
                return digests.text(self.root, sources)
            except ValueError as error:
                raise self.build.error.BuildError(str(error)) from None

        return self._written(self.products()["digests.json"], inputs, text, Path(digests.__file__))

    def _written(
        self, target: Path, inputs: Sequence[Path], text: Any, script: Path | None = None
    ) -> Any:
        script = script or Path(self.build.declarations.__file__)
        return self.build.step.Step(
            target=target,
            inputs=(*inputs, script),
            action=lambda: (self.root / target).write_text(text()),
            key=("declarations 1",),
            label=f"write {target.name}",
        )

    def build_id(self) -> str:
        """The same for two builds whose Cython modules and libcupola.so fit together.

        CUPOLA_BUILD_ID sets it by hand: while a header is being worked on, only what includes it
        is then made again.
        """
        if given := os.environ.get("CUPOLA_BUILD_ID"):
            return given
        digest = hashlib.sha256(self.version.encode())
        declarations = [CYTHON / name for name in self.declarations()]
        for path in [*self.headers(), *declarations]:
            content = (self.root / path).read_bytes()
            digest.update(f"\0{path.name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:16]

    @property
    def oldest(self) -> list[str]:
        """What binds to old versions of functions; sanitizers have their own in the way of that."""
        wanted = self.apart or (PORTABLE and self.compiler.variant == "release")
        return ["platform/*.cpp"] if wanted else []

    def codec(self, flags: Sequence[str] = RELEASE) -> Any:
        """How the libraries of this build have zstd inside."""
        return codec.codec(
            self.build, self.root, self.compiler, self.native, flags, pinned=PORTABLE
        )

    def codec_steps(self) -> list[Any]:
        """The steps that make zstd for the libraries."""
        zstd = self.codec()
        return [*zstd.unpacked, *zstd.compiled]

    @property
    def native(self) -> Path:
        """Where objects and libraries are made."""
        return BUILD / "native" / self.compiler.folder

    def products(self) -> dict[str, Path]:
        """Library files by their place below the package's lib folder."""
        names = ["libcupola.so", "kernels.json", "digests.json", "cpu/libcupola_cpu.so.1"]
        names += ["cpu/libcuda.so.1", "cpu/libcuda.so"]
        names += ["cpu/libnvidia-ml.so.1", "record/libcuda.so.1"]
        for major, name in NVRTC.items():
            names += [f"run/{major}/{name}", f"run/{major}/libnvrtc.so"]
        for major, name in CUDART.items():
            names += [f"cudart/{name}", *(f"cudart/link/{major}/{link}" for link in CUDART_LINKS)]
        names += [f"cpu/kernels.{level}.so" for level in self.levels()]
        made = {name: self.native / "lib" / name for name in names}
        for source in self.sources("kernels/algorithms/*.cu"):
            for suffix in (".packed", ".fatbin", ".entries"):
                name = source.stem + suffix
                made[f"algorithms/{name}"] = ALGORITHMS / name
        return made

    def levels(self) -> Sequence[str]:
        """Of the host's instruction set, which shipped kernels' machine code is made for.

        Not for the oldest level of x86-64 in a wheel: that code is the largest, and few processors
        need it. The device compiles or interprets these kernels there.

        None by a device that is built with sanitizers: it runs in programs that preload them. None
        by a device for another machine: the machine code is made by the device itself.
        """
        if self.compiler.folder != "release":
            return ()
        everywhere = self.build.architectures.asks_for_all()
        levels = self.build.processors.levels("all" if everywhere else "native")
        return tuple(level for level in levels if level != "x86-64-v2" or not everywhere)

    def reader_steps(self, toolkit: Any) -> list[Any]:
        """The library by which this build reads images, before libcupola.so has them inside.

        It runs on the build machine, also where CXX compiles for another one.
        """
        compiler = self.build.native.Compiler.for_build_machine()
        work = replace(self, chosen=compiler)
        values = {"CUPOLA_BUILD_ID": self.build_id(), "CUPOLA_VERSION": self.version}
        sources = self.sources(*READERS)
        flags = (*CALM, "-Icsrc", "-Icsrc/include")
        objects = list(work._objects(sources, flags, toolkit, values, folder="readers"))
        zstd = work.codec(CALM)
        target = READER_LIBRARY
        files = [step.target for step in objects]
        link = compiler.shared_library(
            target, files, soname=target.name, flags=(*zstd.linked, "-ldl"), inputs=zstd.objects
        )
        return [*zstd.compiled, *objects, link]

    def steps(self, toolkit: Any, architectures: Any) -> list[Any]:
        """All that is made before the Cython modules."""
        readers = [*self.codec_steps(), *self.reader_steps(toolkit)]
        self.build.image.reader.use(READER_LIBRARY)
        image = [
            *self.build.image.steps(
                toolkit,
                architectures,
                self.sources("kernels/*.cu"),
                BUILD / "kernels" / "kernels.fatbin",
                self.products()["kernels.json"],
                self.root,
                packed=True,
                package=f"cupola {self.version}",
            )
        ]
        arrays = [self._digests(), *self.array_steps(toolkit, architectures)]
        arrays += self.algorithm_steps(toolkit, architectures)
        device = [*self.device_steps(toolkit), *self.ahead_steps()]
        others = [*self.nvrtc_steps(toolkit), *self.cudart_steps(toolkit)]
        others += self.recorder_steps(toolkit)
        return [*readers, *image, *arrays, *self.runtime_steps(toolkit), *device, *others]

    def ahead_steps(self) -> list[Any]:
        """Shipped kernels' machine code for the CPU device, which looks for it beside itself."""
        made = self.products()
        return [
            self.build.ahead.step(
                self.build.image.plain(BUILD / "kernels" / "kernels.fatbin"),
                made["kernels.json"],
                made["cpu/libcupola_cpu.so.1"],
                level,
                made[f"cpu/kernels.{level}.so"],
                title="shipped kernels",
                kernels=AHEAD,
            )
            for level in self.levels()
        ]

    def array_steps(self, toolkit: Any, architectures: Any) -> list[Any]:
        """The image of the kernels of arrays: each one's PTX, and machine code of each source's.

        No product of a multiplication and a sum is rounded once: NumPy rounds twice.
        """
        image = self.build.image
        options = (*image.STANDARD, "-fmad=false", "-Icsrc/kernels/array")
        cubins = architectures.generations
        ptx, texts, code, fatbins = [], [], [], []
        for source in self.sources("kernels/array/*.cu"):
            target = ARRAYS.parent / "array" / source.stem
            text = target.with_suffix(".ptx")
            ptx += image.compile_ptx(toolkit, source, text, options, self.root)
            texts.append(text)
            if architectures.cubins:
                fatbin = target.with_suffix(".fatbin")
                code += image.compile_code(toolkit, source, fatbin, options, cubins, self.root)
                fatbins.append(fatbin)
        pack = self.build.step.Step(
            target=ARRAYS,
            inputs=(*texts, *fatbins, Path(self.build.ptx.__file__), *self._packers()),
            action=lambda: packing.pack_arrays(self.build, self.root, ARRAYS, texts, fatbins),
            key=("arrays 3",),
            label=f"pack {ARRAYS.name}",
        )
        return [*ptx, *code, pack]

    def algorithm_steps(self, toolkit: Any, architectures: Any) -> list[Any]:
        """The images of cupola.arrays: of each source packed PTX, its kernels, and machine code.

        The last is an empty file where the build has no architectures.
        """
        image = self.build.image
        options = (*image.STANDARD, "-Icsrc/kernels/algorithms", "-Icsrc/kernels/array")
        cubins, made = architectures.generations, []
        for source in self.sources("kernels/algorithms/*.cu"):
            target = ALGORITHMS / source.stem
            ptx, fatbin = target.with_suffix(".ptx"), target.with_suffix(".fatbin")
            made += image.compile_ptx(toolkit, source, ptx, options, self.root)
            made += [self._entries(ptx), self._packed_text(ptx)]
            if cubins:
                made += image.compile_code(toolkit, source, fatbin, options, cubins, self.root)
            else:
                made.append(self._empty(fatbin))
        return made

    def _entries(self, ptx: Path) -> Any:
        target = ptx.with_suffix(".entries")
        return self.build.step.Step(
            target=target,
            inputs=(ptx, Path(packing.__file__)),
            action=lambda: packing.write_entries(self.root / ptx, self.root / target),
            label=f"write {target.name}",
            quiet=True,
        )

    def _packers(self) -> tuple[Path, ...]:
        """The files that decide how a text is packed."""
        image = self.build.image
        modules = (packing, image.reader, image.fatbins)
        return (*(Path(str(module.__file__)) for module in modules), READER_LIBRARY)

    def _packed_text(self, ptx: Path) -> Any:
        target = ptx.with_suffix(".packed")

        def write() -> None:
            text = (self.root / ptx).read_bytes()
            (self.root / target).write_bytes(packing.packed_text(self.build, text))

        return self.build.step.Step(
            target=target,
            inputs=(ptx, *self._packers()),
            action=write,
            key=("packed text 1",),
            label=f"pack {target.name}",
            quiet=True,
        )

    def _empty(self, target: Path) -> Any:
        return self.build.step.Step(
            target=target,
            inputs=(),
            action=lambda: (self.root / target).write_bytes(b"") and None,
            key=("empty",),
            label=f"write {target.name}",
            quiet=True,
        )

    def runtime_steps(self, toolkit: Any, flags: Sequence[str] = RELEASE) -> list[Any]:
        """libcupola.so, with the shipped kernels inside."""
        images = {
            "CUPOLA_KERNELS_FATBIN": BUILD / "kernels" / "kernels.fatbin",
            "CUPOLA_ARRAYS_IMAGE": ARRAYS,
            "CUPOLA_ELEMENT_TYPES": ELEMENT_TYPES,
        }
        values = {
            **{name: path.as_posix() for name, path in images.items()},
            "CUPOLA_ELEMENT_TYPES": f"../{ELEMENT_TYPES.as_posix()}",  # from csrc
            "CUPOLA_BUILD_ID": self.build_id(),
            "CUPOLA_VERSION": self.version,
        }
        sources = self.sources("runtime/**/*.cpp", *FORMATS, *self.oldest)
        flags = (*flags, "-Icsrc", "-Icsrc/include")
        objects = list(self._objects(sources, flags, toolkit, values, images))
        target = self.products()["libcupola.so"]
        files = [step.target for step in objects]
        exports, zstd = self.native / "runtime.map", self.codec()
        link = self.compiler.shared_library(
            target,
            files,
            soname="libcupola.so",
            version_script=exports,
            flags=(*zstd.linked, *SYSTEM),
            inputs=zstd.objects,
        )
        listed = self._exports(exports, "cupola_*", version=f"CUPOLA_{self.abi_version()}")
        return [self.element_types(), listed, *objects, link]

    def _element_types(self) -> Any:
        package = self.build.__name__.rpartition(".")[0]
        return importlib.import_module(f"{package}.declare.element_types")

    def element_types(self) -> Any:
        """The step that writes the table of element types for C++."""
        table = self._element_types()
        return self.build.step.Step(
            target=ELEMENT_TYPES,
            inputs=(Path(table.__file__),),
            action=lambda: (self.root / ELEMENT_TYPES).write_text(table.for_cxx()) and None,
            label=f"write {ELEMENT_TYPES.name}",
            quiet=True,
        )

    def device_steps(self, toolkit: Any, objects: Sequence[Any] = ()) -> list[Any]:
        """The CPU device: libcupola_cpu.so.1, the drop-in libcuda.so.1, and its NVML.

        The drop-in has only names, for linkers; the loader takes the library's functions in their
        place. So programs that ask for the driver's name get the CPU device, and libcupola.so can
        load it under a name that no other library asks for, once or by both names, from one file.
        """
        objects, zstd = objects or self.device_objects(toolkit), self.codec()
        exports = self.native / "device.map"
        made = self.products()
        library, drop_in = made["cpu/libcupola_cpu.so.1"], made["cpu/libcuda.so.1"]
        link = self.compiler.shared_library(
            library,
            [step.target for step in objects],
            soname=library.name,
            version_script=exports,
            flags=(*zstd.linked, *SYSTEM, OWN_FUNCTIONS),
            inputs=zstd.objects,
        )
        listed = self._exports(exports, "cu[A-Z]*", "cupola_cpu_*")
        names = list(
            self._objects(
                self.sources("dropin/libcuda/*.cpp"), (*CALM, "-Icsrc"), toolkit, folder="device"
            )
        )
        leading = ["-Wl,--no-as-needed", str(library), "-Wl,--as-needed", "-Wl,-rpath,$ORIGIN"]
        filtered = self.compiler.shared_library(
            drop_in,
            [step.target for step in names],
            soname=drop_in.name,
            version_script=exports,
            flags=[*leading, f"-Wl,--filter={library.name}"],
            inputs=[library],
        )
        steps = [listed, *objects, link, *names, filtered]
        return [*steps, self._alias(made["cpu/libcuda.so"], drop_in), *self.nvml_steps(toolkit)]

    def nvml_steps(self, toolkit: Any) -> list[Any]:
        """The libnvidia-ml.so.1 that programs find where they find the CPU device."""
        sources, flags = self.sources("dropin/nvml/*.cpp", *self.oldest), (*CALM, "-Icsrc")
        objects = list(self._objects(sources, flags, toolkit, folder="nvml"))
        target, exports = self.products()["cpu/libnvidia-ml.so.1"], self.native / "nvml.map"
        files = [step.target for step in objects]
        link = self.compiler.shared_library(
            target, files, soname=target.name, version_script=exports, flags=SYSTEM
        )
        return [self._exports(exports, "nvml*"), *objects, link]

    def recorder_steps(self, toolkit: Any) -> list[Any]:
        """The libcuda.so.1 of `cupola record`, which passes calls on to the driver behind it."""
        sources = self.sources("dropin/recorder/*.cpp", *FORMATS, *self.oldest)
        flags, zstd = (*RELEASE, "-Icsrc"), self.codec()
        objects = list(self._objects(sources, flags, toolkit, folder="recorder"))
        target, exports = self.products()["record/libcuda.so.1"], self.native / "recorder.map"
        link = self.compiler.shared_library(
            target,
            [step.target for step in objects],
            soname=target.name,
            version_script=exports,
            flags=(*zstd.linked, *SYSTEM, OWN_FUNCTIONS, STAYS),
            inputs=zstd.objects,
        )
        return [self._exports(exports, "cu[A-Z]*"), *objects, link]

    def nvrtc_steps(self, toolkit: Any) -> list[Any]:
        """The libraries by which `cupola run` gives PTX in the place of a cubin, and by which
        `cupola record` keeps the PTX of a cubin.

        Their symbols have the version that NVIDIA's have, which programs linked to those ask for.
        """
        sources, flags = self.sources("dropin/nvrtc/*.cpp", *self.oldest), (*CALM, "-Icsrc")
        objects = list(self._objects(sources, flags, toolkit, folder="nvrtc"))
        steps = [*objects]
        for major, name in NVRTC.items():
            exports = self.native / f"{name}.map"
            made = self.products()[f"run/{major}/{name}"]
            steps.append(self._exports(exports, "nvrtc*", version=name))
            steps.append(
                self.compiler.shared_library(
                    made,
                    [step.target for step in objects],
                    soname=name,
                    version_script=exports,
                    flags=SYSTEM,
                )
            )
            steps.append(self._alias(self.products()[f"run/{major}/libnvrtc.so"], made))
        return steps

    def cudart_steps(self, toolkit: Any, flags: Sequence[str] = RELEASE) -> list[Any]:
        """The CUDA runtime libraries, in a folder that no program searches by itself.

        Functions that take a stream are compiled twice: stream 0 is the legacy stream or the
        thread's own. What differs between the versions is compiled for each.
        """
        flags = (*flags, "-Icsrc")
        own = (*flags, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM")
        symbols = Path("csrc/dropin/cudart/symbols.cpp")
        plain = self.sources("dropin/cudart/*.cpp", *self.oldest)
        plain.remove(symbols)
        stream = self.sources("dropin/cudart/stream/*.cpp")
        shared = [
            *self._objects(plain, flags, toolkit, folder="cudart"),
            *self._objects(stream, flags, toolkit, folder="cudart"),
            *self._objects(stream, own, toolkit, folder="cudart-per-thread"),
        ]
        plain = [symbols, *self.sources("dropin/cudart/versions/*.cpp")]
        stream = self.sources("dropin/cudart/stream/versions/*.cpp")
        steps = [*shared]
        for major, name in CUDART.items():
            version, folder = f"-DCUPOLA_CUDART_MAJOR={major}", f"cudart-{major}"
            versioned = [
                *self._objects([*plain, *stream], (*flags, version), toolkit, folder=folder),
                *self._objects(stream, (*own, version), toolkit, folder=f"{folder}-per-thread"),
            ]
            exports = self.native / f"{name}.map"
            steps += [*versioned, self._exports(exports, "cuda*", "__cuda*", version=name)]
            steps.append(
                self.compiler.shared_library(
                    self.products()[f"cudart/{name}"],
                    [step.target for step in (*shared, *versioned)],
                    soname=name,
                    version_script=exports,
                    flags=(*SYSTEM, STAYS),
                )
            )
            steps += [self._link_script(major, link) for link in CUDART_LINKS]
        return steps

    def _link_script(self, major: int, name: str) -> Any:
        target, text = self.products()[f"cudart/link/{major}/{name}"], f"INPUT({CUDART[major]})\n"
        return self.build.step.Step(
            target=target,
            inputs=(),
            action=lambda: (self.root / target).write_text(text) and None,
            key=(text,),
            label=f"write {name}",
        )

    def device_objects(self, toolkit: Any, flags: Sequence[str] = DEVICE) -> list[Any]:
        """Its objects, in the order in which they have to be linked."""
        calm, fast, hasty = (CALM, FAST, HASTY) if flags is DEVICE else ((), (), ())
        flags = (*flags, "-Icsrc")
        isa_sources = self.sources("cpu/isa/*.cpp")
        readers = self.sources("ptx/**/*.cpp", "image/**/*.cpp", *self.oldest)
        driver = self.sources("cpu/device/**/*.cpp", "cpu/api/*.cpp", "cpu/base/*.cpp")
        interpreter = self.sources("cpu/interpreter/*.cpp")
        checks = self.sources(
            *(f"cpu/{name}/*.cpp" for name in ("observe", "sanitizer", "coverage", "traffic"))
        )
        debugger = self.sources("cpu/debugger/*.cpp")
        folders = ("analysis", "emitter", "compiler")
        jit = self.sources(*(f"cpu/{folder}/*.cpp" for folder in folders))
        semantics = {"CUPOLA_SEMANTICS": SEMANTICS}
        values = {name: path.as_posix() for name, path in semantics.items()}
        objects = [
            self._semantics(),
            *self._objects(readers, flags, toolkit, folder="device"),
            *self._objects(driver, (*flags, *calm), toolkit, folder="device"),
            *self._objects(checks, flags, toolkit, folder="device"),
            *self._objects(debugger, (*flags, *calm), toolkit, folder="device"),
            *self._objects(jit, (*flags, *calm), toolkit, values, semantics, folder="device"),
            *self._objects(interpreter, (*flags, *fast), toolkit, folder="device"),
        ]
        # A newer processor's objects come last: of an inline function that several objects hold,
        # the linker keeps the first, which has to run everywhere.
        for isa, march, wanted in self.build.processors.instruction_sets(
            self.build.architectures.asks_for_all(), self.compiler.machine
        ):
            options = (*flags, *(fast if wanted else hasty), f"-DCUPOLA_ISA={isa}", *march)
            objects += self._objects(isa_sources, options, toolkit, folder=isa)
        return objects

    def _objects(
        self,
        sources: Sequence[Path],
        flags: Sequence[str],
        toolkit: Any,
        values: dict[str, str] | None = None,
        images: dict[str, Path] | None = None,
        folder: str = "runtime",
    ) -> Iterator[Any]:
        """One object for several sources of a folder, but for those which need a value."""
        groups: dict[Path, list[Path]] = {}
        for source in sources:
            used = self._used(source, values or {})
            if self.apart or used or str(source) in APART:
                made_of = [images[name] for name in used if name in (images or {})]
                options = (*flags, *(self.build.native.define(n, values[n]) for n in used))
                yield self._object([source], options, toolkit, folder, inputs=made_of)
            else:
                groups.setdefault(source.parent, []).append(source)
        for group in groups.values():
            count = -(-len(group) // TOGETHER)
            for n in range(count):
                part = group[len(group) * n // count : len(group) * (n + 1) // count]
                yield self._object(part, flags, toolkit, folder)

    def _used(self, source: Path, values: dict[str, str]) -> list[str]:
        return [name for name in values if self.build.native.uses(self.root / source, name)]

    def _object(
        self,
        sources: Sequence[Path],
        flags: Sequence[str],
        toolkit: Any,
        folder: str,
        inputs: Sequence[Path] = (),  # what the assembler takes in: no dependency file tells of it
    ) -> Any:
        *before, source = sources
        name = source.relative_to("csrc")
        label = f"compile {source}"
        if before:
            name = name.with_name(f"{before[0].stem}-{source.stem}.cpp")
            label = f"compile {before[0]} to {source.name}"
        label += "" if folder in ("runtime", "device") else f" for {folder}"
        includes = [part for path in before for part in ("-include", str(path))]
        system = [f"-isystem{path}" for path in toolkit.include]
        if any(self.build.native.uses(self.root / path, "<zstd.h>") for path in sources):
            zstd = self.codec()
            flags, inputs = (*flags, *zstd.include), (*inputs, *zstd.needed)
        return self.compiler.object(
            source,
            self.native / folder / name.with_suffix(".o"),
            (*flags, *system, *includes),
            label=label,
            inputs=(*before, *inputs),
            key=(*flags, *includes, f"CUDA {toolkit.release}"),
            weight=sum(WEIGHTS.get(str(path), 0.5) for path in sources),
        )

    def _semantics(self) -> Any:
        """The text that kernels' own C++ begins with, where the CPU device compiles them."""
        headers = self.sources("cpu/**/*.hpp", "ptx/**/*.hpp", "ptx/**/*.inc")

        def write() -> None:
            (self.root / SEMANTICS).parent.mkdir(parents=True, exist_ok=True)
            text = packing.gather_headers(self.root / "csrc")
            # The digest is stored, so that no process has to hash the text before its first kernel.
            text += f"// {hashlib.sha256(text.encode()).hexdigest()}\n"
            (self.root / SEMANTICS).write_text(text)

        return self.build.step.Step(
            target=SEMANTICS,
            inputs=(*headers, Path(packing.__file__)),
            action=write,
            key=("semantics 2",),
            label=f"gather {SEMANTICS.name}",
        )

    def abi_version(self) -> int:
        """CUPOLA_ABI_VERSION, the number of the C ABI."""
        text = (self.root / "csrc/include/cupola/library.h").read_text()
        return int(re.search(r"\bCUPOLA_ABI_VERSION\D+(\d+)", text)[1])

    def _exports(self, target: Path, *patterns: str, version: str = "") -> Any:
        # Visibility alone leaves in what the standard library's templates made.
        names = " ".join(f"{pattern};" for pattern in patterns)
        text = f"{version} {{ global: {names} local: *; }};\n"

        def write() -> None:
            (self.root / target).write_text(text)

        return self.build.step.Step(
            target=target,
            inputs=(),
            action=write,
            key=(text,),
            label=f"list exports {patterns[0]}",
        )

    def _alias(self, target: Path, library: Path) -> Any:
        # A SONAME of its own: with the library's, the loader would take it for that library.
        flags = ["-Wl,--no-as-needed", str(library), "-Wl,--as-needed", "-Wl,-rpath,$ORIGIN"]
        return self.compiler.shared_library(
            target, [], soname=target.name, flags=flags, inputs=[library]
        )

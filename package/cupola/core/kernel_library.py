# cupola/core/kernel_library.py - a package's kernels at run time, loaded when used.
"""Kernel libraries of packages, as `cupola.build` makes them."""

from __future__ import annotations

import difflib
import os
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cupola.exceptions import ImageError, MissingFileError

if TYPE_CHECKING:
    from cupola.device import Device
    from cupola.image.manifest import Manifest
    from cupola.kernel import Kernel
    from cupola.module import Module

SUFFIXES = (".fatbin", ".cubin", ".ptx")


class KernelLibrary:
    """The kernels behind a module such as ``heat.kernels``.

    Parameters
    ----------
    name : str
        The module's full name.
    kernels : mapping of str to str
        The module's attributes, with the kernels' names in the image.
    """

    def __init__(self, name: str, kernels: Mapping[str, str]) -> None:
        self.name = name
        self.kernels = kernels
        self._lock = threading.Lock()
        self._modules: dict[int, Module] = {}
        self._given: dict[str, Kernel] = {}  # kernels that are attributes of the module
        self._found: tuple[Any, Manifest | None, str] | None = None

    def attribute(self, name: str) -> Kernel:
        """A kernel, for the current device; the first one loads the image there.

        Raises
        ------
        AttributeError
            Where there is no such kernel; the text has similar names.
        NotFoundError, ImageError
            As `load` does.
        """
        exact = self.kernels.get(name)
        if exact is None:
            raise AttributeError(self._unknown(name), name=name)
        from cupola.device import devices

        try:
            kernel = self.load()[exact]
        except ImageError as error:
            raise ImageError(f"{self.name}.{name}: {error}", error.log) from None
        if len(devices()) == 1:  # the result is always the same
            self._given[name] = kernel
            setattr(sys.modules[self.name], name, kernel)
        return kernel

    def attributes(self) -> list[str]:
        """Names for dir(): the kernels and other attributes; loads no image."""
        return sorted({*vars(sys.modules[self.name]), *self.kernels})

    def load(self, device: Device | int | None = None) -> Module:
        """The library's image on a device; loaded there once.

        Parameters
        ----------
        device : Device or int, optional
            By default the current device.

        Returns
        -------
        Module
            Also for its variables: ``kernels.load().globals["table"]``.

        Raises
        ------
        NotFoundError
            Also a FileNotFoundError; names each place searched for the image.
        ImageError
            Where the image or its manifest is invalid, or has no code for the device.
        """
        from cupola.device import Device

        index = Device(device).index
        module = self._modules.get(index)
        if module is None or not module.loaded:
            with self._lock:
                module = self._modules.get(index)
                if module is None or not module.loaded:
                    self._forget()
                    module = self._modules[index] = self._load(index)
        return module

    def _forget(self) -> None:
        """Drop the attributes of an unloaded image, so that they are found again."""
        held = vars(sys.modules[self.name])
        for name, kernel in self._given.items():
            if held.get(name) is kernel:
                del held[name]
        self._given.clear()

    def manifest(self) -> Manifest | None:
        """The manifest beside the image; loads no driver.

        Raises
        ------
        NotFoundError
            As `load` does.
        """
        return self.found()[1]

    def found(self) -> tuple[Any, Manifest | None, str]:
        """The image (bytes or a FileImage), its manifest and its path; loads no driver.

        Raises
        ------
        NotFoundError
            As `load` does.
        """
        if self._found is None:
            self._found = self._search()
        return self._found

    def _load(self, index: int) -> Module:
        from cupola.core import loader
        from cupola.device import Device, is_cpu
        from cupola.module import Module

        image, manifest, place = self.found()
        if manifest is not None:
            manifest.require_complete(self.name, self.name)
        missing = ""
        if manifest is not None and manifest.head.get("parts") and not is_cpu(index):
            major, minor = Device(index).compute_capability
            part, missing = self._part(10 * major + minor, manifest, place)
            if part is not None:
                image, manifest, place = part
                origin = self.name.rpartition(".")[0], os.path.basename(place)
                return Module(image, place, manifest, index, origin=origin)
        loader.register_cpu_code(place)
        try:
            module = Module(image, place, manifest, index, origin=(self.name, None))
        except ImageError as error:
            if not missing:
                raise
            raise ImageError(f"{error}\n  {missing}") from error
        if missing:
            text = f"{self.name}: {missing}; until then the device takes other code"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        if manifest is None and self._is_built(place):
            text = (
                f"{self.name}: {os.path.splitext(place)[0]}.json is missing, which the build wrote "
                "beside the image: the types of arguments are not checked; install or build the "
                "package again"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        return module

    def _is_built(self, place: str) -> bool:
        """Whether an image is the one that the build put beside this module."""
        stem = os.path.splitext(sys.modules[self.name].__file__ or "")[0]
        return os.path.realpath(place) == os.path.realpath(f"{stem}.fatbin")

    def _part(
        self, capability: int, manifest: Manifest, place: str
    ) -> tuple[tuple[Any, Any, str] | None, str]:
        """The image, manifest and path of the part that devices of a compute capability take, or
        None if they take no part. The second result is the message for a part that is not
        installed, else empty.
        """
        from cupola.image import parts

        for one in parts.parts_of(manifest):
            if capability in one.capabilities:
                name = parts.file_of(os.path.basename(place), one.name)
                found, _ = self._look(name, ("",))
                if found is None:
                    return None, one.missing
                parts.require_same(manifest, found[1], one.name, found[2])
                return found, ""
        return None, ""

    def _search(self) -> tuple[Any, Manifest | None, str]:
        """The image, manifest and path."""
        package, _, stem = self.name.rpartition(".")
        found, tried = self._look(stem, SUFFIXES)
        if found is not None:
            return found
        places = "\n  ".join(tried)
        raise MissingFileError(
            f"there is no image of the kernels {self.name}; looked for\n  {places}\n"
            f"{package} was installed without them, or they were removed: install it again"
        )

    def _look(
        self, stem: str, suffixes: Sequence[str]
    ) -> tuple[tuple[Any, Any, str] | None, list[str]]:
        """The image, manifest and path, and the places that were searched: the folders of
        CUPOLA_PATH, which have a folder for each package, then the package.
        """
        from cupola.core import loader

        package = self.name.rpartition(".")[0]
        inside = os.path.join(*package.split("."), stem)
        tried: list[str] = []
        for folder in os.environ.get("CUPOLA_PATH", "").split(os.pathsep):
            for suffix in suffixes if folder else ():
                path = os.path.join(folder, inside + suffix)
                if os.path.isfile(path):
                    return loader.from_file(path), tried
                tried.append(f"{path} (of CUPOLA_PATH)")
        if not tried:
            tried.append("CUPOLA_PATH, which is not set")
        found = loader.in_package(stem + suffixes[0], package)
        beside = os.path.dirname(sys.modules[self.name].__file__ or "")
        tried.append(f"{os.path.join(beside, stem + suffixes[0])} (of the package {package})")
        return found, tried

    def _unknown(self, name: str) -> str:
        text = f"module {self.name!r} has no attribute {name!r}"
        if name.startswith("__"):  # looked up by Python and tools
            return text
        same = [one for one in self.kernels if one.startswith(f"{name}_")]
        near = same or self._near(name)
        if near:
            return f"{text}; did you mean {' or '.join(near)}?"
        return f"{text}; its kernels are {', '.join(self.kernels) or 'none'}"

    def _near(self, name: str) -> list[str]:
        # Also compare names without template arguments.
        meant: dict[str, list[str]] = {}
        for one in self.kernels:
            for text in (one, one[: len(name) + 1]):
                meant.setdefault(text, []).append(one)
        matches = difflib.get_close_matches(name, meant, 5)
        return list(dict.fromkeys(one for match in matches for one in meant[match]))[:3]

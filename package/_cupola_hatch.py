# _cupola_hatch.py - the build hook of Hatchling, which finds it by an entry point.
"""Kernels of ``[[tool.cupola.kernels]]`` in wheels that Hatchling builds::

    [build-system]
    requires = ["hatchling", "cupola[build]"]
    build-backend = "hatchling.build"

    [tool.hatch.build.hooks.cupola]

Hatchling imports this module only where a project names the hook.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl


class CupolaBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Compiles the project's kernels before Hatchling packs a wheel."""

    PLUGIN_NAME = "cupola"

    def dependencies(self) -> list[str]:
        """The wheels with nvcc, if the machine has no suitable nvcc; else none."""
        from cupola.build import toolkit

        return toolkit.requirements() if self.target_name == "wheel" else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the kernels; an editable wheel gets them beside the sources.

        Raises
        ------
        SystemExit
            With the compiler's message where a kernel cannot be built.
        """
        if self.target_name != "wheel":
            return
        from cupola.build import error, project

        root = Path(self.root)
        editable = version == "editable"
        try:
            found = project.of_folder(root, for_others=not editable)
            if editable:
                self._build_in_place(found)
            else:
                into = project.Into(found, root / project.WORK / "hatch")
                into.make()
                build_data["force_include"].update(
                    {str(at): at.relative_to(into.folder).as_posix() for _, at in into.placed()}
                )
        except error.BuildError as wrong:
            raise SystemExit(str(wrong)) from None
        if any(kernels.host for kernels in found.libraries):
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def _build_in_place(self, found: Any) -> None:
        """Make the kernels of each package in its own folder."""
        from cupola.build import error, project

        root = Path(self.root)
        for package in sorted({kernels.package for kernels in found.libraries}):
            inside = Path(*package.split("."))
            places = (root / "src" / inside, root / inside)
            folder = next((one for one in places if one.is_dir()), None)
            if folder is None:
                raise error.BuildError(
                    f"there is no package {package}: expected {' or '.join(map(str, places))}"
                )
            project.Into(found, folder, package).make()


@hookimpl  # type: ignore[untyped-decorator]
def hatch_register_build_hook() -> type[CupolaBuildHook]:
    """Hatchling's entry point."""
    return CupolaBuildHook

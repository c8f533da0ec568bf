# cupola/tools/command/packages.py - finds the packages of a project's source tree.
"""The packages with images of a project's source tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cupola.exceptions import ImageError


def in_project(project: Path, suffixes: Sequence[str]) -> dict[Path, str] | None:
    """The folders of a project's packages with images, in its source tree, and their names.

    A package in the folder of another one is not listed beside that. The intermediate files of
    builds are no part of these. None where the folder is no project, or where its pyproject.toml
    has no tables of kernels.

    Raises
    ------
    ImageError
        No package of the project has an image.
    BuildError
        The tables are invalid.
    """
    from cupola.build import tables
    from cupola.build.project import WORK

    file = project / "pyproject.toml"
    if not file.is_file():
        return None
    values, text = tables.read(file)
    libraries = tables.libraries(values.get("tool", {}).get("cupola", {}), text)
    names = sorted({one.package for one in libraries if not one.host})
    if not names:
        return None
    roots = [project, *sorted(one for one in project.iterdir() if one.name != WORK.name)]
    places = {root.joinpath(*name.split(".")): name for name in names for root in roots}
    found = {
        place: name
        for place, name in places.items()
        if any(path.suffix in suffixes for path in place.glob("*"))
    }
    if not found:
        raise ImageError(
            f"{file} names kernels of {', '.join(names)}, and no folder of the source tree has "
            f"their images: build them by `python -m cupola build {project}`, or give the name of "
            "an installed package or the path of a wheel"
        )
    return {
        place: name
        for place, name in found.items()
        if not any(other in found for other in place.parents)
    }

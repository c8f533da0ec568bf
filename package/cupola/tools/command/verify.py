# cupola/tools/command/verify.py - python -m cupola verify PACKAGE.
"""Compares images with the digests in their manifests, and files with signatures."""

from __future__ import annotations

import argparse
from pathlib import Path

from cupola.exceptions import ArgumentValueError, Error, ImageError, MissingFileError
from cupola.image.installed import folders_of
from cupola.tools.command.packages import in_project
from cupola.tools.command.values import word

HELP = "compare the images of a package with the digests in their manifests"
EPILOG = """\
PLACE is an installed package, a project's folder, another folder, an image or a wheel. Of a project
the packages in its source tree are compared, as an installed package has them. Each image has a
manifest with its SHA-256. All files of a package that pip installed are compared with its RECORD,
so that a damaged installation is found. With --sources, the project's sources are compared with the
manifest, too. With --bundle, a file's detached signature is verified without a network; this needs
the package sigstore. A table of measurements that was made on other code is a warning.

  cupola verify heat
  cupola verify .
  cupola verify dist/heat-1.0-py3-none-any.whl --sources .
  cupola verify dist/heat-1.0-py3-none-any.whl --bundle heat.sigstore.json \\
      --identity me@example.org --issuer https://accounts.google.com"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the place, and what to compare besides images."""
    add = parser.add_argument
    add("place", type=word, metavar="PLACE", help="a package's name, or a path")
    add("--sources", type=Path, metavar="FOLDER",
        help="the project's folder: compare its sources, too")  # fmt: skip
    add("--bundle", type=Path, metavar="FILE",
        help="the signature of the file PLACE, as `sigstore sign` writes it")  # fmt: skip
    add("--identity", type=word, metavar="NAME",
        help="the signer's e-mail address or workflow, for --bundle")  # fmt: skip
    add("--issuer", type=word, metavar="URL",
        help="the service that knows the signer, for --bundle")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Print a line for each file; the status is 1 where one differs."""
    from cupola.image import verification
    from cupola.tools.command.shipped_tables import stale_tables

    place = path_of_place(options.place)
    require_signer(options)
    project = in_project(place, verification.SUFFIXES) if place.is_dir() else None
    found, wrong = 0, 0
    for folder, package in (project or {place: ""}).items():
        print(f"{folder}: " + (f"the package {package} in the source tree" if package else
                               "images with their manifests"))  # fmt: skip
        findings = verification.verify(folder, options.sources)
        for one in findings:
            print(f"{one.file}: {one.fault or f'as in {one.record}, SHA-256 {one.digest}'}")
        for line in stale_tables(folder):
            print(f"warning: {line}")
        found += len(findings)
        wrong += sum(bool(one.fault) for one in findings)
    if options.bundle is not None:
        verify_signature(place, options)
        print(f"{place}: signed by {options.identity}")
    if wrong:
        raise ImageError(f"{options.place}: {wrong} of {found} files differ")
    return 0


def path_of_place(name: str) -> Path:
    """The path of a place; a name without a file of that name is a package."""
    path = Path(name)
    if path.exists() or not all(part.isidentifier() for part in name.split(".")):
        return path
    folders = folders_of(name)
    if not folders:
        raise MissingFileError(f"there is no file, folder or installed package {name}")
    return Path(folders[0])


def require_signer(options: argparse.Namespace) -> None:
    """Refuse a bundle without a signer to compare with, and the reverse."""
    given = [options.bundle, options.identity, options.issuer]
    if any(one is not None for one in given) and None in given:
        raise ArgumentValueError(
            "--bundle, --identity and --issuer go together: a signature shows who signed, so name "
            "the signer that you expect"
        )


def verify_signature(place: Path, options: argparse.Namespace) -> None:
    """Verify the detached signature of a file, with the trust root that sigstore has on disk."""
    try:
        from sigstore.errors import Error as SigstoreError
        from sigstore.models import Bundle
        from sigstore.verify import Verifier
        from sigstore.verify.policy import Identity
    except ModuleNotFoundError as error:
        raise Error(
            f"--bundle needs the package sigstore ({error}): pip install 'cupola[sign]'"
        ) from None
    if not place.is_file():
        raise ArgumentValueError(f"{place}: --bundle is the signature of a file, such as a wheel")
    content = options.bundle.read_bytes()
    signer = Identity(identity=options.identity, issuer=options.issuer)
    try:
        bundle = Bundle.from_json(content)
        Verifier.production(offline=True).verify_artifact(place.read_bytes(), bundle, signer)
    except (SigstoreError, ValueError) as error:
        raise ImageError(
            f"{place}: its signature {options.bundle} does not hold: {error}"
        ) from None

# tools/sbom.py - list what a release has inside and requires, as CycloneDX JSON.
"""The bill of materials of a release.

It names what is compiled into the libraries with versions and licences, what pip installs beside
cupola, and the files of the release with their digests. Equal inputs give equal bytes.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import tarfile
import uuid
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from requirements import arrays

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = "1.6"
CUDA_LICENSE = "NVIDIA CUDA Toolkit End User License Agreement"


def zstd(codec: ModuleType) -> dict[str, Any]:
    """zstd, whose version is in the header of the archive that csrc/codec.py pins."""
    archive = codec.present(ROOT)
    if archive is None:
        raise SystemExit(f"{codec.ARCHIVE} is missing: build a source distribution first")
    with tarfile.open(archive) as file:
        header = file.extractfile(f"{codec.PACKAGE}-{codec.VERSION}/zstd/zstd.h")
        assert header is not None
        text = header.read().decode()
    parts = (re.search(rf"ZSTD_VERSION_{name}\s+(\d+)", text) for name in _ZSTD_PARTS)
    version = ".".join(part[1] for part in parts if part)
    made = component("zstd", version, "BSD-3-Clause", "compression of images; linked statically")
    made["purl"] = f"pkg:github/facebook/zstd@v{version}"
    # The sources come from PyPI's archive of zstandard, which has them as one file.
    made["externalReferences"] = [
        reference("source-distribution", f"pkg:pypi/{codec.PACKAGE}@{codec.VERSION}", codec.SHA256)
    ]
    return made


_ZSTD_PARTS = ("MAJOR", "MINOR", "RELEASE")


def toolkit_components(wheels: Iterable[Path], toolkit: Any) -> list[dict[str, Any]]:
    """NVIDIA's code in the libraries; the wheels' manifests name the version of the toolkit."""
    releases = {toolkit.release}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as file:
            releases.add(json.loads(file.read("cupola/lib/kernels.json"))["toolkit"])
    if len(releases) != 1:
        raise SystemExit(
            f"the wheels and this machine have several toolkits, {sorted(releases)}: expected one; "
            "build the wheels with the same nvcc"
        )
    (release,) = releases
    cccl = cccl_version(toolkit.include)
    return [
        component("CCCL", cccl, "Apache-2.0 WITH LLVM-exception AND BSD-3-Clause",
                  "CUB's block algorithms, instantiated in shipped kernels"),
        component("libdevice", release, CUDA_LICENSE,
                  "device functions of nvcc, linked into shipped kernels"),
        component("NVTX", release, "Apache-2.0 WITH LLVM-exception",
                  "header of ranges for profilers, part of the CUDA Toolkit"),
    ]  # fmt: skip


def cccl_version(include: Iterable[Path]) -> str:
    """The version that CCCL's headers define, as 3.0.2."""
    for folder in include:
        for place in (Path(folder), Path(folder) / "cccl"):
            header = place / "cuda" / "std" / "__cccl" / "version.h"
            found = header.is_file() and re.search(r"CCCL_VERSION (\d+)", header.read_text())
            if found:
                number = int(found[1])
                return f"{number // 1000000}.{number // 1000 % 1000}.{number % 1000}"
    raise SystemExit(f"no folder of headers has CCCL: {', '.join(map(str, include))}")


def component(name: str, version: str, terms: str, description: str) -> dict[str, Any]:
    """A component that is compiled in."""
    known = re.fullmatch(r"[\w.-]+( (WITH|AND|OR) [\w.-]+)*", terms)
    entry = {"expression": terms} if known else {"license": {"name": terms}}
    return {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "description": description,
        "licenses": [entry],
        "scope": "required",
    }


def required(requirement: str) -> dict[str, Any]:
    """A package that pip installs beside cupola, of any version that fits."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return {
        "type": "library",
        "bom-ref": f"pypi:{name[0]}",
        "name": name[0],
        "purl": f"pkg:pypi/{name[0]}",
        "scope": "required",
        "properties": [{"name": "cupola:requirement", "value": requirement}],
    }


def reference(kind: str, url: str, digest: str) -> dict[str, Any]:
    return {"type": kind, "url": url, "hashes": [{"alg": "SHA-256", "content": digest}]}


def bill(
    version: str, files: Iterable[Path], inside: list[dict[str, Any]], when: int
) -> dict[str, Any]:
    """The whole document, for the files of a release."""
    project = (ROOT / "pyproject.toml").read_text()
    terms = re.search(r'^license = "(.+)"$', project, re.MULTILINE)
    assert terms is not None
    inside = sorted(inside, key=lambda one: str(one["name"]).lower())
    beside = [required(text) for text in arrays(project)["dependencies"]]
    root = f"cupola@{version}"
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": SCHEMA,
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(when, datetime.timezone.utc).isoformat(),
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": "cupola",
                "version": version,
                "purl": f"pkg:pypi/{root}",
                "licenses": [{"expression": terms[1]}],
                "externalReferences": [
                    reference("distribution", path.name, digest(path)) for path in sorted(files)
                ],
            },
        },
        "components": [*inside, *beside],
        "dependencies": [
            {"ref": root, "dependsOn": [one["bom-ref"] for one in (*inside, *beside)]}
        ],
    }
    told = json.dumps(document, sort_keys=True)
    document["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, told).urn
    return document


def text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cython(wheels: Iterable[Path]) -> list[dict[str, Any]]:
    """Cython's own code, which is in each module that it generates, of each version."""
    found = set()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as file:
            shared = next(name for name in file.namelist() if "/_shared." in name)
            match = re.search(rb"_cython_(\d+)_(\d+)_(\d+)", file.read(shared))
        if match is None:
            raise SystemExit(f"{wheel.name}: {shared} names no version of Cython")
        found.add(b".".join(match.groups()).decode())
    return [
        {
            **component("Cython", version, "Apache-2.0", "code that Cython writes into modules"),
            "purl": f"pkg:pypi/cython@{version}",
        }
        for version in sorted(found)
    ]


def problems(text: str) -> list[str]:
    """Where a document breaks the schema of CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return [] if error is None else [str(error).partition("\n")[0]]

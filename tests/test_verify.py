"""`python -m cupola verify`: images, sources and signatures."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile

import hooks
import images
from command_line import cli
from digests import *

from cupola.image import verification


def test_the_command_compares_packages_folders_wheels_and_images(package, tmp_path):
    wheel = tmp_path / "p-1-py3-none-any.whl"
    places = [package.name, package, package / "q.fatbin", wheel]

    def answers():
        with zipfile.ZipFile(wheel, "w") as archive:
            for name in ("q.fatbin", "q.json"):
                archive.write(package / name, f"p/{name}")
        return [
            cli("verify", place, PYTHONPATH=hooks.search_path(package.parent)) for place in places
        ]

    for answer in answers():
        assert answer.returncode == 0, answer.stderr
        assert "q.fatbin: as in the manifest, SHA-256" in answer.stdout
    assert f"{package}: images with their manifests" in answers()[0].stdout
    changed(package / "q.fatbin")
    for answer in answers():
        assert answer.returncode == 1 and "1 of 1 files differ" in answer.stderr
        assert "q.fatbin: the manifest" in answer.stdout and "of another image" in answer.stdout
    (package / "q.json").unlink()
    assert "q.fatbin: it has no manifest" in cli("verify", package).stdout


def test_the_command_names_what_it_cannot_compare(tmp_path):
    (tmp_path / "cut.whl").write_bytes(b"PK\5\6" + bytes(18) + b"x")
    for place, says in {
        "no_such_package": "no file, folder or installed package no_such_package",
        tmp_path / "gone.fatbin": "there is no file or folder",
        tmp_path: "it has no image",
        tmp_path / "cut.whl": "cut.whl",
        "json.decoder": "no file, folder or installed package json.decoder",
    }.items():
        answer = cli("verify", place)
        assert answer.returncode == 1 and says in answer.stderr, answer.stderr
        assert "Traceback" not in answer.stderr


TABLE = """
[[tool.cupola.kernels]]
library = "heat.kernels"
sources = ["*.cu"]
[[tool.cupola.kernels]]
library = "heat.inner.more"
sources = ["*.cu"]
"""


def test_of_a_project_the_packages_in_its_source_tree(beside, tmp_path):
    project = tmp_path / "tree"
    inner = project / "src/heat/inner"
    intermediate = project / "build/lib/heat"
    for folder in (inner, intermediate, project / ".venv/other", project / "build/heat"):
        folder.mkdir(parents=True)
    (project / "pyproject.toml").write_text(TABLE)
    (project / "build/kernels.cubin").write_bytes(b"intermediate")
    (project / ".venv/other/x.ptx").write_text("of another package")
    answer = cli("verify", project)
    for words in (
        "pyproject.toml names kernels of heat, heat.inner",
        f"`python -m cupola build {project}`",
    ):
        assert answer.returncode == 1 and words in answer.stderr
    for folder in (inner, inner.parent, intermediate, project / "build/heat"):
        shutil.copy(beside, folder)
        shutil.copy(beside.with_suffix(".json"), folder)
    answer = cli("verify", project)
    assert answer.returncode == 0, answer.stderr
    first, *rest = answer.stdout.splitlines()
    assert first == f"{project}/src/heat: the package heat in the source tree"
    assert [line.partition(":")[0] for line in rest] == ["inner/q.fatbin", "q.fatbin"]
    changed(inner / "q.fatbin")
    answer = cli("verify", project)
    assert answer.returncode == 1 and "1 of 2 files differ" in answer.stderr
    (project / "pyproject.toml").write_text("[tool.cupola]\nkernels = 5\n")
    answer = cli("verify", project)
    assert answer.returncode == 1 and "Traceback" not in answer.stderr
    (project / "pyproject.toml").write_text("")
    answer = cli("verify", project)
    assert "build/kernels.cubin: it has no manifest" in answer.stdout


def test_sources_are_compared(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text('#include "k.cuh"\nextern "C" __global__ void f(int* x) { *x = N; }\n')
    (tmp_path / "k.cuh").write_text("#define N 5\n")
    images.nvcc()
    command = [sys.executable, "-m", "cupola", "compile", "k.cu", "-o", "k.fatbin"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    found = verification.verify(tmp_path / "k.fatbin", tmp_path)
    assert [(one.file, one.fault) for one in found] == [
        ("k.fatbin", ""), ("k.cu", ""), ("k.cuh", "")
    ]  # fmt: skip
    (tmp_path / "k.cuh").write_text("#define N 6\n")
    source.unlink()
    answer = cli("verify", tmp_path / "k.fatbin", "--sources", tmp_path)
    assert answer.returncode == 1 and "2 of 3 files differ" in answer.stderr
    assert "k.cu: there is no such file" in answer.stdout
    assert "k.cuh: expected SHA-256" in answer.stdout


def test_a_hostile_list_of_sources(beside):
    manifest = json.loads(beside.with_suffix(".json").read_text())
    for sources, says in {
        '{"../../etc/passwd": "%s"}' % ("0" * 64): "outside of the project",
        '{"a": 5}': "malformed",
        "[1]": "malformed",
        '{"a": "xyz"}': "malformed",
    }.items():
        text = json.dumps({**manifest, "sources": json.loads(sources)})
        beside.with_suffix(".json").write_text(text)
        answer = cli("verify", beside, "--sources", beside.parent)
        assert answer.returncode == 1 and says in answer.stdout + answer.stderr
        assert "Traceback" not in answer.stderr


SIGNED = ("--bundle", "b.json", "--identity", "me@example.org", "--issuer", "https://example.org")
# The interface of sigstore, whose verification has tests of its own. This one says what it was
# called with, and refuses all bundles but one.
SIGSTORE = {
    "__init__.py": "",
    "errors.py": "class Error(Exception): ...\n",
    "models.py": """
class Bundle:
    @classmethod
    def from_json(cls, text):
        made = cls()
        made.text = text
        return made
""",
    "verify/__init__.py": """
from sigstore.errors import Error
class Verifier:
    @classmethod
    def production(cls, *, offline):
        assert offline is True
        return cls()
    def verify_artifact(self, content, bundle, policy):
        if bundle.text != b"of " + str(len(content)).encode():
            raise Error(f"not by {policy.identity} of {policy.issuer}")
""",
    "verify/policy.py": """
class Identity:
    def __init__(self, *, identity, issuer):
        self.identity, self.issuer = identity, issuer
""",
}


def test_a_signature_is_verified_by_sigstore_offline(beside, tmp_path):
    for name, text in SIGSTORE.items():
        path = tmp_path / "sigstore" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    bundle = tmp_path / "b.json"
    signed = [word if word != "b.json" else bundle for word in SIGNED]
    bundle.write_text(f"of {beside.stat().st_size}")
    answer = cli("verify", beside, *signed, PYTHONPATH=hooks.search_path(tmp_path))
    assert answer.returncode == 0, answer.stderr
    assert "q.fatbin: signed by me@example.org" in answer.stdout
    bundle.write_text("of another")
    answer = cli("verify", beside, *signed, PYTHONPATH=hooks.search_path(tmp_path))
    assert answer.returncode == 1
    for words in ("b.json does not hold", "not by me@example.org of https://example.org"):
        assert words in answer.stderr
    bundle.unlink()
    answer = cli("verify", beside, *signed, PYTHONPATH=hooks.search_path(tmp_path))
    assert answer.returncode == 1 and "b.json: No such file" in answer.stderr


def test_what_a_signature_needs(beside, tmp_path):
    (tmp_path / "b.json").write_text("{}")
    answer = cli("verify", beside, *SIGNED[:2])
    assert answer.returncode == 1 and "go together" in answer.stderr
    (tmp_path / "sigstore.py").write_text("raise ModuleNotFoundError('No module named sigstore')")
    answer = cli("verify", beside, *SIGNED, PYTHONPATH=hooks.search_path(tmp_path))
    assert answer.returncode == 1 and "pip install 'cupola[sign]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_an_installed_package_is_compared_with_its_record(package, tmp_path):
    """pip writes it. An image without a manifest is as good as its digest there."""
    library, plain = package / "lib.so", package / "plain.ptx"
    library.write_bytes(bytes(1000))
    plain.write_bytes(b".version 7.0")
    lines = [f"{package.name}/gone.py,sha256=x,5", f"{package.name}/q.pyc,,", "other/x,sha256=y,1"]
    for file in (library, plain, package / "q.fatbin"):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
        lines.append(f"{package.name}/{file.name},sha256={digest.decode().rstrip('=')},"
                     f"{file.stat().st_size}")  # fmt: skip
    info = package.parent / "p-1.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("\n".join(lines[1:]) + "\n")
    answer = cli("verify", package)
    assert answer.returncode == 0, answer.stdout
    assert "plain.ptx: as in RECORD, SHA-256 " in answer.stdout
    assert "q.fatbin: as in the manifest, SHA-256 " in answer.stdout
    assert "lib.so" not in answer.stdout

    (info / "RECORD").write_text("\n".join(lines) + "\n")
    library.write_bytes(bytes(900))
    plain.write_bytes(b".version")
    answer = cli("verify", package)
    assert answer.returncode == 1 and "3 of 4 files differ" in answer.stderr
    for text in (
        "gone.py: it is missing; install the package again",
        "lib.so: it differs from RECORD, which has 1000 bytes; the file has 900; install",
        "plain.ptx: it differs from RECORD, which has 12 bytes; the file has 8; install",
    ):
        assert text in answer.stdout

# tests/install/test_offline.py - the source distribution builds where there is no network.
import shutil
import subprocess
import sys
import zipfile

import pytest
from processes import call
from test_install import REQUIREMENTS

# Of the namespaces of Linux, one for users lets an unprivileged process make one for the network.
ISOLATED = ["unshare", "--map-root-user", "--net", "--"]
INTERFACES = "import socket; print(*[name for _, name in socket.if_nameindex()])"


def test_the_source_distribution_builds_without_a_network(place):
    """With the build's requirements installed, pip needs neither an index nor zstd's archive."""
    if subprocess.run([*ISOLATED, "true"], capture_output=True).returncode:
        pytest.skip("this system lets no process make a network namespace")
    place.pip(*REQUIREMENTS)
    if compiler := place.python("package/cupola/build/backend.py").split():
        place.pip(*compiler)
    place.python("setup.py", "--quiet", "sdist", "--dist-dir", place.elsewhere)
    (archive,) = place.elsewhere.glob("cupola-*.tar.gz")
    unpacked = place.elsewhere / archive.name.removesuffix(".tar.gz")
    place.python("-m", "tarfile", "-e", archive, place.elsewhere)
    # Compiled objects save minutes. zstd's are left out, so that its sources are unpacked.
    (place.source / "build").rename(unpacked / "build")
    shutil.rmtree(unpacked / "build" / "zstd", ignore_errors=True)
    for made in (unpacked / "build" / "native").glob("*/zstd.o*"):
        made.unlink()
    environment = {**place.environment, "CUPOLA_PORTABLE": "1"}
    environment["PIP_CACHE_DIR"] = str(place.elsewhere / "cache")
    inside = [*ISOLATED, place.bin / "python", "-c", INTERFACES]
    assert call(inside, place.elsewhere, environment).split() in ([], ["lo"])
    pip = [sys.executable, "-m", "pip", "--python", place.bin / "python", "wheel", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", place.elsewhere]
    call([*ISOLATED, *pip, *options, unpacked], place.elsewhere, environment)
    (wheel,) = place.elsewhere.glob("cupola-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "cupola/lib/libcupola.so" in names
    assert any(name.endswith(".dist-info/licenses/LICENSES/zstd.txt") for name in names)

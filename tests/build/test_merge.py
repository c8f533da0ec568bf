# tests/build/test_merge.py - wheels of one tree, built for other targets, as one wheel.
import json
import shutil
import stat
import zipfile

import pytest
from command_line import cli
from project import TABLE, Project

from cupola.build.error import BuildError
from cupola.build.wheel_merge import merge_wheels
from cupola.declare import tuning_table
from cupola.exceptions import ImageError, MissingFileError
from cupola.image import fatbin, wheel
from cupola.image.manifest_text import recorded, written

pytestmark = pytest.mark.campaign("builds of packages")

NAME = "slope-1.2-py3-none-any.whl"
ONE = """
namespace { struct Key { int x; }; __global__ void hidden(Key k, float* p) { *p = k.x; }
void* used = (void*)hidden; }
extern "C" __global__ void fill(float* out) { out[threadIdx.x] = 1; }
"""
TABLES = (
    TABLE.replace('options = ["-lineinfo"]\n', "")
    + '[[tool.cupola.kernels]]\nlibrary = "slope.alone"\nsources = ["one/*.cu"]\n'
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Three wheels of one tree: for some targets, for the other targets, and for all targets."""
    folder = tmp_path_factory.mktemp("merge")
    targets = {"first": "75,80", "second": "90,cpu", "all": "75,80,90,cpu"}
    for name, architectures in targets.items():
        project = Project(folder / f"{name}-tree", TABLES)
        (project.folder / "one").mkdir()
        project.write("one/a.cu", ONE)
        project.environment["CUPOLA_ARCHITECTURES"] = architectures
        project.setup("--quiet", "bdist_wheel", "--dist-dir", folder / name)
    return folder


@pytest.fixture
def wheels(built, tmp_path):
    """Copies of the first two wheels, which a test may change."""
    for name in ("first", "second"):
        shutil.copytree(built / name, tmp_path / name)
    return [tmp_path / name / NAME for name in ("first", "second")]


def changed(path, change, name=None):
    """Write a wheel again after ``change`` has changed its contents, with a new RECORD."""
    found = wheel.read(path)
    contents = dict(found.contents)
    change(contents)
    model = found.entries["slope/__init__.py"]
    entries = {**dict.fromkeys(contents, model), **found.entries}
    wheel.write(path, found.about, contents, entries)
    return path if name is None else path.rename(path.with_name(name))


def refused(wheels, *words, error=BuildError):
    """The merge raises an error whose text has all words, and writes no file."""
    out = wheels[0].parent.parent / "out"
    with pytest.raises(error) as raised:
        merge_wheels(wheels, out)
    for word in words:
        assert word in str(raised.value)
    assert not out.exists() or not list(out.iterdir())


def test_the_result_is_that_of_one_build_for_all_targets(built, tmp_path):
    answer = cli("merge", built / "first" / NAME, built / "second" / NAME, "-o", tmp_path / "out/")
    assert answer.returncode == 0, answer.stderr
    assert "slope/alone: compute_80 left out, as in a build for all targets" in answer.stdout
    assert (tmp_path / "out" / NAME).read_bytes() == (built / "all" / NAME).read_bytes()
    assert [path.name for path in (tmp_path / "out").iterdir()] == [NAME]


def test_the_order_of_the_wheels_and_a_target_in_both(built, tmp_path):
    made = [built / name / NAME for name in ("second", "all", "first")]
    merge_wheels(made, tmp_path / NAME)
    one, other = wheel.read(tmp_path / NAME), wheel.read(built / "all" / NAME)
    assert one.contents == other.contents


TUNED = "slope/tuning/h200-sm90.json"


def measured(*rows, digest="ab" * 32):
    """A table of measurements: its rows have a key, a value of the tunable and a date."""
    device = tuning_table.DeviceRecord("NVIDIA H200", "9.0", 1, 1, 1)
    made = [
        tuning_table.Row((), (key,), {"TX": value}, 1e-6, 0.0, None, 2, f"2026-01-0{day}T00:00:00Z")
        for key, value, day in rows
    ]
    family = tuning_table.FamilyRows("step", digest, ("TX",), ("n",), tuple(made))
    return tuning_table.written(tuning_table.Table(device, (family,))).encode()


def test_tables_of_measurements_are_joined(wheels, tmp_path):
    first, second = wheels
    changed(first, lambda c: c.update({TUNED: measured((1, 16, 1), (2, 16, 1))}))
    other = TUNED.replace("h200", "a100")
    changed(
        second, lambda c: c.update({TUNED: measured((2, 32, 2), (3, 32, 1)), other: measured()})
    )
    lines = merge_wheels(wheels, tmp_path / "out" / NAME)
    assert f"{TUNED}: joined" in lines
    contents = wheel.read(tmp_path / "out" / NAME).contents
    assert contents[TUNED] == measured((1, 16, 1), (2, 32, 2), (3, 32, 1))
    assert contents[other] == measured()


def test_tables_of_other_code_and_damaged_ones_are_refused(wheels):
    first, second = wheels
    changed(first, lambda c: c.update({TUNED: measured()}))
    changed(second, lambda c: c.update({TUNED: measured(digest="cd" * 32)}))
    refused(wheels, f"{second}: {TUNED}: family step: one table is for code with the digest abab")
    changed(second, lambda c: c.update({TUNED: measured()[:-9]}))
    refused(wheels, f"{second}: {TUNED}: it is no JSON")


def edited(name, change):
    """A function that applies ``change`` to a manifest of a wheel."""

    def act(contents):
        manifest = json.loads(contents[name])
        change(manifest)
        contents[name] = written(manifest).encode()

    return act


def of_kernel(change):
    return edited("slope/alone.json", lambda manifest: change(manifest["kernels"][0]))


def replaced_code(contents):
    """Changes an instruction in the PTX for compute_75, and the digest in the manifest."""
    pieces = fatbin.pieces(contents["slope/alone.fatbin"])
    (at,) = [i for i, piece in enumerate(pieces) if piece.name == "compute_75"]
    code = pieces[at].code.replace(b"ret;", b"trap", 1)
    assert code != pieces[at].code
    pieces[at] = pieces[at]._replace(code=code)
    contents["slope/alone.fatbin"] = image = fatbin.joined(pieces)
    manifest = json.loads(contents["slope/alone.json"])
    manifest["image"] = recorded("alone.fatbin", image)
    contents["slope/alone.json"] = written(manifest).encode()


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda c: c.update({"slope/__init__.py": b"x = 1\n"}), ["slope/__init__.py differs"]),
        (lambda c: c.update({"slope/more.py": b""}), ["lacks slope/more.py"]),
        (lambda c: c.pop("slope/alone.fatbin"), ["lacks slope/alone.fatbin"]),
        (edited("slope/alone.json", lambda m: m["sources"].update({"one/a.cu": "0" * 64})),
         ["differ in sources: one/a.cu"]),
        (edited("slope/alone.json", lambda m: m.update(toolkit="12.8.93")),
         ["toolkit '13", "'12.8.93'", "same toolkit"]),
        (edited("slope/alone.json", lambda m: m.update(package="slope 1.3")), ["package"]),
        (edited("slope/alone.json", lambda m: m["kernels"].pop()), ["the kernel fill"]),
        (of_kernel(lambda k: k["parameters"][0].update(name="other")), ["other parameters", "hid"]),
        (replaced_code, ["different code for compute_75", "alone.fatbin"]),
        (lambda c: c.update({"slope-1.2.dist-info/METADATA": b"x"}), ["METADATA differs"]),
        (edited("slope/alone.json", lambda m: m.pop("sources")), ["has no digests"]),
    ],
)  # fmt: skip
def test_unlike_wheels_are_refused_by_name(wheels, change, words):
    changed(wheels[1], change)
    refused(wheels, "second", *words)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("architectures"),
        lambda m: m.update(architectures=5),
        lambda m: m["kernels"][0].pop("demangled"),
        lambda m: m["kernels"][0].update(resources=[1]),
        lambda m: m["kernels"][0].update(block=[1, 1, 1], shared="much"),
        lambda m: m["kernels"][0].update(parameters=5),
    ],
)
def test_malformed_manifests(wheels, change):
    changed(wheels[1], edited("slope/alone.json", change))
    refused(wheels, "malformed", "slope/alone", error=ImageError)


def test_machine_code_for_the_cpu_device(built, wheels):
    shutil.copy(built / "all" / NAME, wheels[0])
    changed(wheels[1], lambda c: c.update({"slope/alone.x86-64-v3.so": b"\x7fELF"}))
    refused(wheels, "slope/alone.x86-64-v3.so differs")
    # The newest PTX of the first wheel is compute_80; the newest PTX of the merged image is
    # compute_90.
    shutil.copy(built / "first" / NAME, wheels[0])
    shutil.copy(built / "second" / NAME, wheels[1])
    changed(wheels[0], lambda c: c.update({"slope/alone.x86-64-v3.so": b"\x7fELF"}))
    refused(wheels, "machine code for the CPU device", "first", "ptx = [75, 90]")


def test_names_versions_and_tags(wheels, tmp_path):
    for name, what in {
        "slope-1.2-cp311-cp311-linux_x86_64.whl": "tags 'cp311-cp311-linux_x86_64'",
        "slope-1.2-1-py3-none-any.whl": "build '1'",
    }.items():
        other = wheels[1].rename(wheels[1].with_name(name))
        refused([wheels[0], other], what, "first")
        other.rename(wheels[1])
    for name in ("ramp-1.2-py3-none-any.whl", "slope-1.3-py3-none-any.whl", "slope.zip"):
        other = wheels[1].rename(wheels[1].with_name(name))
        refused([wheels[0], other], name, error=ImageError)  # no such metadata
        other.rename(wheels[1])
    refused(wheels[:1], "two or more")
    refused([wheels[0], tmp_path / "gone" / NAME], "there is no file", error=MissingFileError)
    answer = cli("merge", *wheels, "-o", tmp_path / "other.whl")
    assert answer.returncode == 1 and NAME in answer.stderr and "Traceback" not in answer.stderr
    (tmp_path / "file").write_text("")
    answer = cli("merge", *wheels, "-o", tmp_path / "file" / NAME)
    assert answer.returncode == 1 and "can't be written" in answer.stderr
    assert "Traceback" not in answer.stderr


def with_file(name, content=b"", mode=0o644):
    def act(archive):
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, content)

    return act


@pytest.mark.parametrize(
    "name, act",
    [
        ("../../etc/cron.d/job", None),
        ("/etc/passwd", None),
        ("slope/..\\..\\job", None),
        ("slope/link", with_file("slope/link", b"/etc/passwd", stat.S_IFLNK | 0o777)),
        ("slope/__init__.py", None),  # a second one
        ("slope/unlisted.py", None),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_files_in_a_wheel(wheels, name, act):
    with zipfile.ZipFile(wheels[1], "a") as archive:
        (act or with_file(name))(archive)
    refused(wheels, str(wheels[1]), repr(name)[1:-1], error=ImageError)


def test_damaged_wheels(wheels):
    whole = wheels[1].read_bytes()
    for content in (
        b"",
        b"PK\3\4",
        whole[: len(whole) // 2],
        whole[:100] + bytes(80) + whole[180:],
    ):
        wheels[1].write_bytes(content)
        refused(wheels, str(wheels[1]), error=ImageError)
    wheels[1].write_bytes(whole)
    files = wheel.read(wheels[1])
    for skipped, words in {
        "slope-1.2.dist-info/RECORD": "no slope-1.2.dist-info/RECORD",
        "slope/kernels.json": "slope/kernels.json is in slope-1.2.dist-info/RECORD",
    }.items():
        with zipfile.ZipFile(wheels[1], "w") as archive, zipfile.ZipFile(wheels[0]) as old:
            for name in old.namelist():
                if name != skipped:
                    archive.writestr(name, old.read(name))
        refused(wheels, words, error=ImageError)
    with zipfile.ZipFile(wheels[1], "w") as archive, zipfile.ZipFile(wheels[0]) as old:
        for name in old.namelist():
            archive.writestr(name, old.read(name) + b" " * name.endswith("fill.py"))
        archive.writestr("slope/kernels.so", b"")
    refused(wheels, "is not in", error=ImageError)
    assert files.contents["slope/kernels.json"]


def test_a_bomb_is_refused_before_it_is_unpacked(wheels, monkeypatch):
    with zipfile.ZipFile(wheels[1], "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("slope/zeros.bin", bytes(1 << 22))
    monkeypatch.setattr(wheel, "_MOST", 1 << 21)
    refused(wheels, "slope/zeros.bin has 4,194,304 bytes", error=ImageError)
    monkeypatch.setattr(wheel, "_MOST", 1 << 30)
    monkeypatch.setattr(wheel, "_MOST_OF_ALL", 1 << 21)
    refused(wheels, "its files have more than", error=ImageError)
    # The directory of the archive states fewer bytes than the file has after unpacking.
    data = wheels[1].read_bytes()
    size = (1 << 22).to_bytes(4, "little")
    at = data.rindex(size)
    wheels[1].write_bytes(data[:at] + (16).to_bytes(4, "little") + data[at + 4 :])
    refused(wheels, str(wheels[1]), error=ImageError)

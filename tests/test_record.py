"""Recorded launches, their files, and their replay in this and in other processes."""

import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import families
import images
import numpy as np
import pytest

import cupola
import cupola.recording.archive
from cupola.module import description_of
from cupola.recording import read, replay

SOURCE = Path(__file__).with_name("recorded.cu")
N = 100


@pytest.fixture(scope="module")
def module():
    images.nvrtc()
    return cupola.compile(SOURCE.read_text(), options=["-lineinfo"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "case.cupola"


def floats(count=N, seed=1):
    return np.random.default_rng(seed).random(count, np.float32)


def differences(path, **options):
    found = replay(path, **options)
    assert len(found) == len(read(path).launches)
    return [one.difference for one in found]


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {one.filename: archive.read(one) for one in archive.infolist()}


def rewrite(path, changed):
    """The file with other members; None leaves one out."""
    kept = {**members(path), **changed}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in kept.items():
            if content is not None:
                archive.writestr(name, content)


def altered(path, name, change):
    """Change a member of JSON."""
    content = json.loads(members(path)[name])
    change(content)
    rewrite(path, {name: json.dumps(content).encode()})


def npy(array):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0))
    return stream.getvalue()


def cli(*arguments, **variables):
    command = [sys.executable, "-m", "cupola", "replay", *map(str, arguments)]
    environment = {**os.environ, **variables}
    environment.pop("CUPOLA_CPU_CHECK", None)
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def scale(module, launches=1, out=None):
    x = cupola.to_device(floats())
    out = cupola.zeros(N, np.float32) if out is None else out
    for _ in range(launches):
        module["step_scale"][4, 32](out, x, 1.5, N)
    return out


def test_scalars_and_arrays(module, path):
    with cupola.record(path) as recording:
        out = scale(module)
    assert recording.count == 1 and np.array_equal(out.get(), np.float32(1.5) * floats())
    (launch,) = read(path).launches
    assert (launch.grid, launch.block, launch.shared) == ((4, 1, 1), (32, 1, 1), 0)
    assert [one["type"] for one in launch.arguments] == [
        "float* out", "const float* x", "float a", "int n"
    ]  # fmt: skip
    arrays = {one.name: one for one in launch.memory if not one.variable}
    assert {name: (one.nbytes, one.dtype) for name, one in arrays.items()} == {
        "out": (4 * N, "<f4"), "x": (4 * N, "<f4")
    }  # fmt: skip
    case = read(path)
    assert not case.array(arrays["out"].before.data).any()
    assert np.array_equal(case.array(arrays["out"].after.data).view(np.float32), out.get())
    assert differences(path) == [""]


@pytest.mark.parametrize("way", ["brackets", "prepared", "launch", "named"])
def test_each_way_of_a_launch(module, path, way):
    kernel = module["step_scale"]
    out, x = cupola.zeros(N, np.float32), cupola.to_device(floats())
    prepared = kernel.prepare(4, 32, out, x, 2.0, N)
    with cupola.record(path) as recording:
        if way == "brackets":
            kernel[4, 32](out, x, 2.0, N)
        elif way == "prepared":
            prepared()
        elif way == "launch":
            kernel.launch(4, 32, out, x, 2.0, N, shared=16, stream=cupola.Stream())
        else:
            kernel.forall(N)(a=2.0, n=N, x=x, out=out)
    assert recording.count == 1
    assert read(path).launches[0].shared == (16 if way == "launch" else 0)
    assert differences(path) == [""]


def test_an_operation(module, path):
    scaled = cupola.op(
        module["step_scale"],
        "tests.scaled",
        inputs={"x": "float32[n]"},
        scalars={"a": "float"},
        outputs={"out": "float32[n]"},
        arguments=["out", "x", "a", "n"],
        grid=["ceildiv(n, 32)"],
        block=[32],
    )
    x = cupola.to_device(floats())
    with cupola.record(path, kernels="step_scale") as recording:
        out = scaled(x, a=3.0)
    assert np.array_equal(out.get(), 3 * floats())
    assert recording.count == 1 and differences(path) == [""]


def test_a_family(path):
    images.nvrtc()
    family = families.family()
    with cupola.record(path, kernels="mark*") as recording:
        assert families.ran(family, 1000) == 64
    assert recording.count == 1 and differences(path) == [""]
    assert read(path).launches[0].title == "mark<64, float>"


def test_a_pipeline(module, path):
    """Its streams run at the same time; the launches are recorded one after the other."""
    x, out = floats(1000), np.zeros(1000, np.float32)
    with cupola.record(path) as recording:
        cupola.pipeline(
            module["step_scale"], x, out, chunk=300, arguments=(out, x, 2.0, cupola.Chunk.length)
        )
    assert np.array_equal(out, 2 * x)
    assert recording.count == 4 and differences(path) == [""] * 4


def test_cupolas_own_kernels_are_left_out(path):
    with cupola.record(path) as recording:
        x = cupola.ones(N, np.float32) + 1
    assert (x.get() == 2).all() and recording.count == 0
    assert "cupola's own" in read(path).left_out[-1]["reason"]


def test_an_argument_inside_of_an_allocation(module, path):
    whole = cupola.to_device(floats(3 * N))
    with cupola.record(path):
        module["step_add"][4, 32](whole[N:], whole[2 * N :], N)
    (piece,) = [one for one in read(path).launches[0].memory if not one.variable]
    assert (piece.at, piece.nbytes) == (4 * N, 12 * N)
    assert differences(path) == [""]


def place(array):
    return array.__cuda_array_interface__["data"][0]


def struct(values, count, weights):
    made = np.zeros(1, np.dtype("u8, i8, u8"))
    made[0] = place(values), count, place(weights)
    return made.tobytes()


def test_a_struct_with_addresses(module, path):
    values, weights = (cupola.to_device(floats(32, seed).astype(float)) for seed in (1, 2))
    with cupola.record(path):
        module["weigh"][1, 32](struct(values, 32, weights))
    assert len(read(path).launches[0].pointers) == 2
    assert differences(path) == [""]
    assert replay(path)[0].compared


def test_an_array_of_addresses(module, path):
    rows = [cupola.to_device(floats(8, seed)) for seed in range(5)]
    out = cupola.zeros(5, np.float32)
    table = cupola.to_device(np.array([place(one) for one in rows], np.uint64))
    with cupola.record(path):
        module["gather"][1, 32](place(table), out, 5)
    assert len([one for one in read(path).launches[0].memory if not one.variable]) == 7
    assert differences(path) == [""]


NODE = np.dtype([("next", "u8"), ("value", "i4"), ("padding", "i4")])


def chain(*values):
    """Nodes in allocations of their own, each with the address of the next."""
    nodes, following = [], 0
    for value in reversed(values):
        node = cupola.alloc(NODE.itemsize)
        node.copy_from(np.array([(following, value, 0)], NODE).tobytes())
        nodes.insert(0, node)
        following = node.address
    return nodes


def test_addresses_in_what_addresses_lead_to(module, path):
    nodes, out = chain(3, 5, 7, 11), cupola.zeros(1, np.int32)
    with cupola.record(path):
        module["sum"][1, 1](nodes[0], out)
    assert out.get()[0] == 26
    assert differences(path) == [""]


def test_addresses_that_a_kernel_writes(module, path):
    one, other = chain(1, 2), chain(3, 4)
    with cupola.record(path):
        module["swap"][1, 1](one[0], other[0])
    assert differences(path) == [""]


def test_variables(module, path):
    table = np.array([1, 2, 4, 8], np.float32)
    kept = cupola.zeros(4, np.float32)
    module.globals["table"].set(table)
    module.globals["calls"].set(np.uint32(5))
    module.globals["place"].set(np.uint64(place(kept)))
    out = cupola.zeros(32, np.float32)
    try:
        with cupola.record(path):
            module["look_up"][1, 32](out)
    finally:
        module.globals["place"].set(np.uint64(0))
    case = read(path)
    memory = {one.name: one for one in case.launches[0].memory if one.variable}
    assert set(memory) == {"table", "calls", "place"}
    assert case.array(memory["table"].before.data).view(np.float32).tolist() == table.tolist()
    assert case.array(memory["calls"].after.data).view(np.uint32) == 37
    module.globals["table"].set(np.zeros(4, np.float32))  # the replay sets its own
    assert differences(path) == [""]
    assert kept.get().tolist() == [2, 0, 0, 0]


def test_shared_memory_is_launched_again(module, path):
    x, out = cupola.arange(64, dtype=np.int32), cupola.zeros(1, np.int32)
    with cupola.record(path, kernels="shared_sum"):
        module["shared_sum"][1, 64, None, 256](x, out)
    assert read(path).launches[0].shared == 256
    assert differences(path) == [""]


def test_attributes_are_launched_again(module, path):
    out, x = cupola.zeros(N, np.float32), cupola.to_device(floats())
    with cupola.record(path):
        module["step_scale"].launch(4, 32, out, x, 2.0, N, cooperative=True)
    assert read(path).launches[0].attributes[1] == 1
    assert differences(path) == [""]


def test_equal_contents_are_there_once(module, path):
    with cupola.record(path) as recording:
        scale(module, 5)
    assert recording.count == 5
    found = members(path)
    arrays = [name for name in found if name.startswith("data/")]
    variables = {"\0" * 16: 16, "\0" * 4: 4, "\0" * 8: 8}
    assert len(arrays) <= 3 + len(variables)  # x, and out before and after the first launch
    assert len([name for name in found if name.endswith(".bin")]) == 1
    for name in arrays:
        content = np.load(io.BytesIO(found[name]))
        assert name == f"data/{hashlib.sha256(content.tobytes()).hexdigest()}.npy"


@pytest.mark.parametrize(
    ("kernels", "launches", "expected"),
    [
        ("*", slice(0, 3), ["step_scale", "step_add", "step_scale"]),
        ("step_a*", slice(None), ["step_add", "step_add", "step_add"]),
        ("step*", slice(1, 6, 2), ["step_add", "step_add", "step_add"]),
        ("step*", slice(4, 100), ["step_scale", "step_add"]),
        ("no_such", slice(None), []),
        ("*", slice(0, 0), []),
    ],
    ids=["first", "name", "step", "last", "other-name", "none"],
)
def test_the_launches_of_a_slice(module, path, kernels, launches, expected):
    out, x = cupola.zeros(N, np.float32), cupola.to_device(floats())
    with cupola.record(path, kernels=kernels, launches=launches):
        for _ in range(3):
            module["step_scale"][4, 32](out, x, 2.0, N)
            module["step_add"][4, 32](out, x, N)
    assert [one.title for one in read(path).launches] == expected


def test_start_and_stop(module, path):
    recording = cupola.record(path)
    scale(module)
    with pytest.raises(cupola.ArgumentValueError, match="was not started"):
        recording.stop()
    recording.start()
    with pytest.raises(cupola.ArgumentValueError, match="recording already"):
        cupola.record(path.with_name("other")).start()
    scale(module)
    recording.stop()
    scale(module)
    assert recording.count == 1 and len(read(path).launches) == 1
    with pytest.raises(cupola.ArgumentValueError, match="has been stopped"):
        recording.stop()
    with pytest.raises(cupola.ArgumentValueError, match="only once"):
        recording.start()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"kernels": 3}, "pattern of names, got int"),
        ({"launches": 3}, r"slice\(0, 3\), got int"),
        ({"launches": slice(-1, None)}, "from 0 on"),
        ({"launches": slice(0, 3, 0)}, "at least 1"),
        ({"limit": 0}, "bytes from 1 on"),
    ],
    ids=["kernels", "launches", "negative", "step", "limit"],
)
def test_refused_arguments(path, arguments, error):
    with pytest.raises(cupola.ArgumentError, match=error):
        cupola.record(path, **arguments)
    assert not path.exists()


def test_threads(module, path):
    def work():
        for _ in range(5):
            scale(module)

    with cupola.record(path) as recording:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert recording.count == 20 and differences(path) == [""] * 20


def test_the_exception_of_a_block_has_priority(module, path, monkeypatch):
    monkeypatch.setattr(cupola.recording.archive.Writer, "append", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cupola.record(path).start()
    monkeypatch.undo()
    with pytest.raises(KeyError) as raised, cupola.record(path):
        monkeypatch.setattr(cupola.recording.archive.Writer, "append", lambda *_: 1 / 0)
        scale(module)
        raise KeyError("x")
    monkeypatch.undo()
    assert "could not be recorded: ZeroDivisionError" in raised.value.__notes__[0]
    with cupola.record(path):
        scale(module)
    assert differences(path) == [""]


def test_a_limit_stops_the_recording(module, path):
    x, out = cupola.to_device(floats(1 << 20)), cupola.zeros(1 << 20, np.float32)
    recording = cupola.record(path, limit=14 << 20).start()
    for factor in (2.0, 3.0, 4.0, 5.0):
        module["step_scale"][4096, 256](out, x, factor, 1 << 20)
    with pytest.warns(RuntimeWarning, match="after 1 launches: its limit of bytes"):
        recording.stop()
    assert np.array_equal(out.get(), 5 * x.get())  # the launches themselves go on
    case = read(path)
    assert case.stopped == recording.stopped == "its limit of bytes is reached"
    assert [one.finished for one in case.launches] == [True, False]
    assert [(one.difference, one.compared) for one in replay(path)] == [("", True), ("", False)]
    assert path.stat().st_size < 14 << 20


def test_a_graph_is_left_out(module, path):
    stream = cupola.Stream()
    out, x = cupola.zeros(N, np.float32), cupola.to_device(floats())
    with cupola.record(path) as recording:
        with stream.capture() as graph:
            module["step_scale"][4, 32, stream](out, x, 2.0, N)
        graph.instantiate().launch(stream=stream)
        stream.synchronize()
        scale(module)
    assert recording.count == 1
    (left_out,) = read(path).left_out
    assert left_out["count"] == 1 and "capturing a graph" in left_out["reason"]
    assert differences(path) == [""]


def test_a_texture_is_left_out(module, path):
    texture = cupola.Texture(cupola.to_device(floats(32)))
    out = cupola.zeros(32, np.float32)
    with cupola.record(path):
        module["fetch"][1, 32](texture, out)
        scale(module)
    case = read(path)
    assert [one.title for one in case.launches] == ["step_scale"]
    assert "textures" in case.left_out[0]["reason"] and differences(path) == [""]


def test_an_altered_result_is_named(module, path):
    with cupola.record(path):
        scale(module, 2)
    case = read(path)
    (piece,) = [one for one in case.launches[1].memory if one.name == "out"]
    wrong = case.array(piece.after.data)
    wrong.view(np.float32)[17] += 1
    digest = hashlib.sha256(wrong).hexdigest()
    place = case.launches[1].memory.index(piece)

    def change(content):
        content["memory"][place]["data"] = digest

    altered(path, "launches/000001.after.json", change)
    rewrite(path, {f"data/{digest}.npy": npy(wrong)})
    first, second = differences(path)
    assert first == ""
    assert re.fullmatch(
        r"out\[17\] \(float32\): recorded \S+, replayed \S+; 1 of 100 elements differ; "
        r"written last by block \(0,0,0\), thread \(17,0,0\), PTX line \d+ \(.*:19\)",
        second,
    )
    assert differences(path, rtol=10) == ["", ""]
    done = cli(path)
    assert done.returncode == 1
    assert "launch 0, step_scale: equal" in done.stdout
    assert "launch 1, step_scale: out[17] (float32)" in done.stdout
    assert cli(path, "--rtol", "10").returncode == 0


def test_the_command(module, path):
    with cupola.record(path):
        scale(module, 2)
    done = cli(path, "--seed", "3", "--check", "all")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "launch 0, step_scale: equal\nlaunch 1, step_scale: equal\n"


def test_another_image_a_profile_and_the_debugger(module, path, tmp_path):
    with cupola.record(path):
        scale(module)
    image, trace = tmp_path / "other.ptx", tmp_path / "trace.json"
    text = description_of(module)["ptx"] or module.image.decode()  # for a GPU, or the CPU device
    text = text.replace("mul.f32", "add.f32")
    image.write_text(text)
    (changed,) = replay(path, image=image)
    assert changed.difference.startswith("out[0] (float32)")
    done = cli(path, "--image", image, "--profile", trace)
    assert done.returncode == 1 and "out[0] (float32)" in done.stdout
    assert "step_scale" in trace.read_text()
    command = [sys.executable, "-m", "cupola", "replay", path, "--debug"]
    done = subprocess.run(command, input="b step_scale\nc\nbt\nq\n", capture_output=True, text=True)
    assert "step_scale, block (0,0,0), thread (0,0,0)" in done.stdout, done.stdout + done.stderr
    assert "leave --device" in cli(path, "--debug", "--device", 0).stderr


def test_a_race_is_found_by_a_check(module, path):
    x = cupola.to_device(floats(64))
    with cupola.record(path):
        module["race"][1, 64](x)
    done = cli(path, "--check", "race")
    assert done.returncode == 1
    assert "race: read-write in shared memory" in done.stderr


def test_a_wild_access_is_found_on_replay(module, path):
    """The memory of a replay ends where the recorded memory did."""
    whole = cupola.zeros(N, np.float32)
    with cupola.record(path):
        module["overrun"][1, 4](whole, N - 4)
    case = members(path)["launches/000000.json"]
    packed = bytearray.fromhex(json.loads(case)["packed"])
    packed[8:12] = N.to_bytes(4, "little")
    altered(path, "launches/000000.json", lambda one: one.update(packed=packed.hex()))
    done = cli(path, "--check", "memory")
    assert done.returncode == 1 and "the launch failed" in done.stdout


KILLED = """
import os, signal, sys
import numpy as np, cupola

source, path = sys.argv[1:]
module = cupola.compile(open(source).read())
x, out = cupola.arange(100, dtype=np.float32), cupola.zeros(100, np.float32)
cupola.record(path).start()
for factor in (1.0, 2.0, 3.0):
    module["step_scale"][4, 32](out, x, factor, 100)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def killed(module, tmp_path_factory):
    made = tmp_path_factory.mktemp("killed") / "case.cupola"
    command = [sys.executable, "-c", KILLED, str(SOURCE), str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return made


def test_a_killed_process_leaves_its_launches(killed):
    assert not read(killed).complete
    assert differences(killed) == ["", "", ""]
    done = cli(killed)
    assert done.returncode == 0 and "ended before the recording did" in done.stdout


def test_a_file_that_was_cut_has_the_launches_before(killed, path):
    """A process that ends while it writes leaves the steps before."""
    whole = killed.read_bytes()
    counts = set()
    for size in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:size])
        try:
            counts.add(len(read(path).launches))
        except cupola.ArgumentValueError as error:
            assert str(path) in str(error) and "record it again" in str(error)
            counts.add(-1)
    assert counts >= {-1, 0}
    path.write_bytes(whole[:-30])
    assert len(read(path).launches) == 3 and not read(path).launches[-1].finished


def test_a_launch_that_fails_has_the_contents_before(module, path):
    """The error is the launch's own; the file has what is needed to see it again."""
    program = KILLED.split("for factor")[0] + 'module["overrun"][1, 4](out, 1 << 28)\n'
    program += (
        "try:\n    cupola.Device().synchronize()\nexcept cupola.DriverError: print('fault')\n"
    )
    program += "os._exit(0)"
    command = [sys.executable, "-c", program, str(SOURCE), str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "fault\n", done.stderr
    (launch,) = read(path).launches
    assert launch.error and not launch.finished
    done = cli(path)
    assert "overrun: " in done.stdout and done.returncode == 0, done.stdout


def test_machine_code_alone_says_so(module, path):
    with cupola.record(path):
        scale(module)
    (image,) = [name for name in members(path) if re.match(r"images/.*\.json", name)]
    content = b"\x7fELF" + bytes(60)
    digest = hashlib.sha256(content).hexdigest()
    altered(path, image, lambda one: one.update(code="cubin", ptx="", image=digest))
    rewrite(path, {f"images/{digest}.bin": content})
    with pytest.raises(cupola.ImageError, match="machine code alone"):
        replay(path)


def test_launches_without_code_for_the_device_are_named(module, path):
    """The other launches of the case are replayed."""
    other = cupola.load(images.SCALE)["scale"]
    with cupola.record(path):
        scale(module)
        other[2, 32](cupola.ones(64, np.float32), 2.0, 64)
    digest = read(path).launches[1].image
    about = json.loads(members(path)[f"images/{digest}.json"])
    cubin = images.compiled("scale.cubin", images.SCALE, "-cubin", "-arch=sm_75").read_bytes()
    about.update(code="cubin", ptx="", image=hashlib.sha256(cubin).hexdigest())
    new = {f"images/{digest}.json": json.dumps(about), f"images/{about['image']}.bin": cubin}
    rewrite(path, new)
    first, second = replay(path)
    assert first.difference == second.difference == first.no_code == ""
    assert "recorded as machine code alone (cubin)" in second.no_code and not second.compared
    done = cli(path)
    assert done.returncode == 0 and "launch 0, step_scale: equal\n" in done.stdout
    assert "launch 1, scale: not replayed: " in done.stdout


def replaced(name, change):
    return lambda path: altered(path, name, change)


def other_member(name, content):
    return lambda path: rewrite(path, {name: content})


def truncated(path):
    path.write_bytes(path.read_bytes()[:100])


def bomb(path):
    """A member of 256 MiB in a small file."""
    name = zipfile.ZipInfo(f"data/{'a' * 64}.npy")
    name.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "a") as archive, archive.open(name, "w") as member:
        for _ in range(256):
            member.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20


def lies(path):
    """A member that is larger than the directory says."""
    content = bytearray(path.read_bytes())
    name = next(name for name in members(path) if name.startswith("data/")).encode()
    at = content.rindex(name) - 46  # in the directory
    size = int.from_bytes(content[at + 24 : at + 28], "little")
    content[at + 24 : at + 28] = (size - 8).to_bytes(4, "little")
    path.write_bytes(content)


def other_array(array, digest=None):
    """The first array of a launch is another one."""

    def change(path):
        content = npy(array)
        wanted = digest or hashlib.sha256(array.tobytes()).hexdigest()

        def point(one):
            piece = next(piece for piece in one["memory"] if not piece["variable"])
            piece["before"]["data"] = wanted

        altered(path, "launches/000000.json", point)
        rewrite(path, {f"data/{wanted}.npy": content})

    return change


def address(offset=0, index=0, at=0):
    return replaced("launches/000000.json", lambda one: one.update(pointers=[[offset, index, at]]))


LAUNCH, HEAD = "launches/000000.json", "case.json"


def piece(**values):
    return replaced(LAUNCH, lambda one: one["memory"][-1].update(values))


def other_rows(path):
    """Addresses of another size than rows have."""
    array = np.arange(25, dtype=np.uint8)
    digest = hashlib.sha256(array).hexdigest()
    altered(path, LAUNCH, lambda one: one["memory"][0]["before"].update(pointers=digest))
    rewrite(path, {f"data/{digest}.npy": npy(array)})


HOSTILE = {
    "cut": (truncated, "no complete member"),
    "no-zip": (lambda path: path.write_text("hello"), "no complete member"),
    "empty": (lambda path: path.write_bytes(b""), "no complete member"),
    "bomb": (bomb, "with a larger limit"),
    "lies": (lies, "can't be read|another size|altered|no .npy|bytes"),
    "no-head": (other_member(HEAD, None), "lacks the member case.json"),
    "no-json": (other_member(HEAD, b"{"), "case.json is no JSON"),
    "deep-json": (other_member(HEAD, b"[" * 100_000), "case.json is no JSON"),
    "list": (other_member(HEAD, b"[]"), "no JSON object"),
    "format": (replaced(HEAD, lambda one: one.update(format="x")), "its format is 'x'"),
    "version": (replaced(HEAD, lambda one: one.update(version=2)), "version 2 of the format"),
    "path": (other_member("../../etc/passwd", b"x"), "a member '../../etc/passwd'"),
    "object": (other_array(np.array([1.5, 2.5])), "dtype float64"),
    "axes": (other_array(np.zeros((4, 100), np.uint8)), "one axis"),
    "digest": (other_array(np.zeros(400, np.uint8), "b" * 64), "was altered"),
    "bytes": (other_array(np.zeros(7, np.uint8)), "has 7 bytes"),
    "no-array": (piece(before={"data": "c" * 64, "pointers": ""}), "no member data/c"),
    "name": (piece(before={"data": "../x", "pointers": ""}), "a digest '../x'"),
    "huge": (piece(nbytes=1 << 47), "bytes"),
    "large": (piece(nbytes=65 << 20), "the limit is 67,108,864"),
    "rows": (other_rows, "no rows of three numbers"),
    "negative": (piece(nbytes=-4), "a number -4"),
    "text": (piece(nbytes="4"), "a number 4"),
    "elements": (piece(dtype="O"), "dtype 'O'"),
    "grid": (replaced(LAUNCH, lambda one: one.update(grid=[0, 1, 1])), "dimensions"),
    "axes-of-grid": (replaced(LAUNCH, lambda one: one.update(grid=[1])), "ValueError"),
    "large-grid": (replaced(LAUNCH, lambda one: one.update(grid=[1, 1, 2**30])), "too large"),
    "packed": (replaced(LAUNCH, lambda one: one.update(packed="00")), "outside of its memory"),
    "hex": (replaced(LAUNCH, lambda one: one.update(packed="zz")), "hex"),
    "offset": (address(offset=1000), "outside of its memory"),
    "index": (address(index=1000), "outside of its memory"),
    "place": (address(at=1 << 40), "outside of its memory"),
    "kernel": (replaced(LAUNCH, lambda one: one.update(kernel="other")), "other"),
    "variable": (piece(variable=True, name="no_such"), "no_such"),
    "missing": (replaced(LAUNCH, lambda one: one.pop("shared")), "KeyError: 'shared'"),
    "number": (replaced(LAUNCH, lambda one: one.update(index=5)), "numbers from 0 on"),
}


@pytest.fixture(scope="module")
def good(module, tmp_path_factory):
    made = tmp_path_factory.mktemp("good") / "case.cupola"
    with cupola.record(made):
        scale(module)
    return made


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(good, path, name):
    change, expected = HOSTILE[name]
    shutil.copyfile(good, path)
    change(path)
    with pytest.raises(cupola.Error, match=expected) as refused:
        replay(path, limit=64 << 20)
    # A name that the image lacks, and a launch that the device refuses, have errors of their own.
    if name not in ("large-grid", "kernel", "variable"):
        assert str(path) in str(refused.value)


def test_a_hostile_file_is_an_error_of_the_command(good, path):
    shutil.copyfile(good, path)
    truncated(path)
    done = cli(path)
    assert done.returncode == 1
    assert done.stderr == (
        f"cupola: {path} is no valid case: it has no complete member of a zip file; record it "
        "again with cupola.record\n"
    )
    missing = cli(path.with_name("none"))
    assert missing.returncode == 1 and "none: No such file" in missing.stderr

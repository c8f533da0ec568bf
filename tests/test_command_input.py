"""`python -m cupola`: no input of a command ends in a traceback."""

import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import images
import pytest

from cupola.tools import command as commands

COVERAGE = b"cupola-coverage 1\n"

# Runs each command in a child of a process that has imported what commands need.
SERVER = """
import json, os, resource, sys, tempfile, traceback
import numpy, setuptools
from cupola.tools import command
from cupola.__main__ import main
list(command.modules())

def run(row, out, err):
    place = tempfile.TemporaryFile()
    place.write(row["stdin"].encode("latin-1"))
    place.seek(0)
    for source, target in ((place, 0), (out, 1), (err, 2)):
        os.dup2(source.fileno(), target)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if row["closed"] == name:
            os.close(number)
            setattr(sys, name, None)
        if row["full"] == name:
            os.dup2(os.open("/dev/full", os.O_WRONLY), number)
    if row["memory"]:
        resource.setrlimit(resource.RLIMIT_DATA, (row["memory"], row["memory"]))
    try:
        status = main(row["arguments"])
    except SystemExit as error:
        status = error.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        os.write(err.fileno(), traceback.format_exc().encode(errors="replace"))
        status = -1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
    os._exit(status or 0)

for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            run(json.loads(line), out, err)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    print(json.dumps([status, *texts]), flush=True)
"""


def record(text):
    """A coverage file with one record."""
    body = text.encode()
    return COVERAGE + b"record %d %08x\n" % (len(body), zlib.crc32(body)) + body


def fatbin():
    """The first fat binary of the shipped library."""
    from cupola import paths

    data = Path(paths.library()).read_bytes()
    at = -1
    while True:  # the magic number may occur elsewhere
        at = data.index(b"\x50\xed\x55\xba\x01\x00\x10\x00", at + 1)
        size = struct.unpack("<Q", data[at + 8 : at + 16])[0]
        if at + 16 + size <= len(data):
            return data[at : at + 16 + size]


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as made:
        for name, text in members.items():
            made.writestr(name.replace("_", "."), text)


PROJECT = "[project]\nname = 'a'\nversion = '1'\n"
KERNELS = PROJECT + "[[tool.cupola.kernels]]\n"
# A project's pyproject.toml, and what the error says.
PROJECTS = {
    "empty": ("", "names no kernels"),
    "junk": (bytes(range(256)), "not valid TOML"),
    "half a value": ("x = [", "not valid TOML"),
    "a byte order mark": ("\ufeff" + PROJECT, "not valid TOML"),
    "nested": ("a = " + "[" * 5000, "nested too deeply"),
    "a huge number": (f"a = {'9' * 5000}", "not valid TOML"),
    "a number as project": ("project = 5", "expected a table [project]"),
    "a number as tool": ("tool = 5 # cupola", "expected a table [tool]"),
    "a number as cupola": ("[tool]\ncupola = 5", "write tables"),
    "a number as kernels": ("[tool.cupola]\nkernels = 5", "write tables"),
    "kernels without keys": (KERNELS, "library"),
    "kernels of numbers": (KERNELS + "library = 5\nsources = 5", "library"),
    "sources as a number": (KERNELS + "library = 'a.k'\nsources = 5", "sources"),
    "sources of numbers": (KERNELS + "library = 'a.k'\nsources = [5]", "sources"),
    "no source": (KERNELS + "library = 'a.k'\nsources = ['a.cu']", "a.cu"),
    "a folder as a source": (KERNELS + "library = 'a.k'\nsources = ['.']", "source"),
    "options as a text": (KERNELS + "library = 'a.k'\nsources = ['x']\noptions = 'y'", "options"),
    "a name that is none": (KERNELS + "library = 'a.class'\nsources = ['x']", "class"),
    "libraries": (PROJECT + "[[tool.cupola.libraries]]\nlibrary = 'a.x'\nsources = [5]", "sources"),
    "makers": (PROJECT + "[[tool.cupola.makers]]", "makers"),
    "ops": (PROJECT + "[[tool.cupola.ops]]", "ops"),
    "an unknown table": (PROJECT + "[[tool.cupola.kernel]]", "unknown key 'kernel'"),
    "a list as version": (PROJECT.replace("'1'", "[1]"), "version"),
    "a number as name": (PROJECT.replace("'a'", "5"), "name"),
    "a wrong setting": (PROJECT + "[tool.setuptools]\npackages = 5", "packages"),
    "a table as requires": ("[build-system.requires]\n" + PROJECT, "names no kernels"),
}
IMAGES = {
    "": "is a folder: expected a .fatbin",
    ".": "is a folder: expected a .fatbin",
    "folder": "folder/a.fatbin",
    "missing": "no file missing",
    "a.cu/x": "Not a directory",
    "loop": "symbolic links",
    "x" * 5000: "too long",
    "\udcff": "no file \\udcff",
    "/proc/self/mem": "Input/output error",
    "/dev/null": "neither a fatbin",
    "empty": "neither a fatbin",
    "junk": "neither a fatbin",
    "a.cu": "a.cu is a source: compile it first",
    "cut8.fatbin": "cut8.fatbin: ",
    "cut20.fatbin": "cut20.fatbin: ",
    "cut100.fatbin": "cut100.fatbin: ",
    "elf": "without a fatbin",
    "gzip": "compressed archive",
    "empty.whl": "without an image",
    "text.whl": "without an image",
    "bad.whl": "bad.whl: a.json",
    "cut.whl": "can't be read",
    "list.ptx": "malformed",
    "half.ptx": "malformed",
}
UNLOADABLE = {"bad.ptx": "PTX line 5", "new.ptx": "99.0", "empty.ptx": "PTX"}
COUNTS = {
    "missing": "missing: No such file",
    "folder": "folder is a folder: expected a file",
    "loop": "symbolic links",
    "/proc/self/mem": "Input/output error",
    "junk": "not a coverage file",
    "scale.ptx": "not a coverage file",
    "other": "not a coverage file",
    "cut": "malformed",
    "sum": "malformed",
    "number": "malformed",
    "order": "malformed",
    "statement": "malformed",
}
RUN = {
    "": "no program",
    "missing": "no program missing",
    "x" * 5000: "no program",
    "loop": "no program loop",
    "a.cu/x": "no program a.cu/x",
    "./program": "./program: Exec format error",
}
OUTPUTS = {
    "": "No such file",
    "folder": "folder is a folder: expected a file",
    "missing/x": "missing/x: No such file",
    "a.cu/x": "Not a directory",
    "loop": "symbolic links",
    "x" * 5000: "too long",
    "/dev/full": "No space left",
}
SMALL = {"demo": ("--width", "4"), "mandelbrot": ("--size", "4")}


def rows():
    """The arguments of a command, and a part of its error."""
    yield from ((("inspect", name), says) for name, says in IMAGES.items())
    yield from ((("inspect", "--ir", name), says) for name, says in UNLOADABLE.items())
    yield ("inspect", "--ir", "text.cubin"), "--ir reads"
    yield from (
        (("coverage", what, name), says)
        for what in ("report", "lcov")
        for name, says in COUNTS.items()
    )
    yield ("coverage", "lines", "gone"), "choose others with --source"
    yield from ((("coverage", "report", "gone", "-o", name), says)
                for name, says in OUTPUTS.items() if name)  # fmt: skip
    yield from ((("run", name), says) for name, says in RUN.items())
    yield from ((("debug", "-c", "c", name), says) for name, says in RUN.items())
    yield from (((command, *small, "-o", name), says) for command, small in SMALL.items()
                for name, says in OUTPUTS.items())  # fmt: skip
    yield from ((("build", f"projects/{n}"), says)
                for n, (_, says) in enumerate(PROJECTS.values()))  # fmt: skip
    for name in ("", "missing", "a.cu", "a.cu/x", "loop"):
        yield ("build", name), "no pyproject.toml"
    yield ("build", "x" * 5000), "too long"
    for name in ("", "a b", "a/b", "\u00e9", "-x", "json", "class"):
        yield ("new", "--", name), repr(name)
    for folder, says in {
        ".": "exists already",
        "a.cu": "exists already",
        "a.cu/x": "Not a directory",
        "loop": "loop",
        "x" * 5000: "too long",
    }.items():
        yield ("new", "fine", "--folder", folder), says
    yield from {
        ("nonsense",): "invalid choice: 'nonsense'",
        ("--nonsense",): "unrecognized arguments: --nonsense",
        ("info", "x"): "unrecognized arguments: x",
        ("paths", "--library", "--include"): "not allowed with",
        ("env", "--shell", "x"): "invalid choice: 'x'",
        ("run",): "no program to run",
        ("run", "--"): "no program to run",
        ("run", "--nonsense"): "--nonsense",
        ("debug",): "no program to debug",
        ("debug", "-c"): "expected one argument",
        ("debug", "--port", "5", "true"): "add --dap",
        ("debug", "--dap", "--port", "99999"): "a port from 0 to 65535",
        ("debug", "--dap", "--port=-1"): "a port from 0 to 65535",
        ("debug", "--dap", "--port", "9" * 5000): "a port from 0 to 65535",
        ("new",): "required: NAME",
        ("build", "a", "b"): "unrecognized arguments: b",
        ("inspect",): "required: FILE",
        ("inspect", "scale.ptx", "-k"): "expected one argument",
        ("coverage",): "required: what, file",
        ("coverage", "x", "gone"): "invalid choice: 'x'",
        ("compile", "a.cu"): "required: -o",
        ("mandelbrot",): "required: -o",
        ("mandelbrot", "-o", "o", "--size", "0"): "1 to 2147483647",
        ("mandelbrot", "-o", "o", "--size", "x"): "not a whole number",
        ("mandelbrot", "-o", "o", "--size", "9" * 5000): "not a whole number",
        ("mandelbrot", "-o", "o", "--region", "1"): "expected 2 arguments",
        ("mandelbrot", "-o", "o", "--region", "nan", "1"): "finite",
        ("mandelbrot", "-o", "o", "--iterations=-1"): "1 to 2147483647",
        ("mandelbrot", "-o", "o", "--iterations", "0"): "1 to 2147483647",
        ("mandelbrot", "-o", "o", "--region", "2", "-2"): "--region 2.0 -2.0: expected LO below",
        ("mandelbrot", "-o", "o", "--region", "1", "1"): "expected LO below HI",
        ("demo", "--iterations", "0"): "1 to 2147483647",
        ("run", "nope.py"): "no program nope.py: there is no such file",
        ("debug", "nope.py"): "no program nope.py: there is no such file",
        ("debug", "nope.pyz", "-x"): "no program nope.pyz",
        ("inspect", "-k", "zz*", "scale.ptx"): "no kernel matches 'zz*'; it has scale",
        ("inspect", "-k", "zz*", "--json", "scale.ptx"): "no kernel matches 'zz*'",
        ("inspect", "-k", "", "scale.ptx"): "argument -k/--kernel: expected a text",
        ("inspect", "--ptxas", "", "scale.ptx"): "argument --ptxas: expected a text",
        ("coverage", "report", "gone", "--function", ""): "argument --function: expected a text",
        ("inspect", "--ptxas", "native", "scale.ptx"): "--ptxas native: expected an architecture",
        ("inspect", "--ptxas", "compute_90", "scale.ptx"): "machine code, as in sm_90",
        ("inspect", "--json", "--ir", "scale.ptx"): "--ir: not allowed with argument --json",
        ("coverage", "report", "gone", "--function", "none"): "no function none",
        ("coverage", "report", "gone", "--context", "nope"): "gone: no context 'nope'; it has ",
        ("new", "test"): "'test' would hide the existing module test",
        ("new", "iniconfig"): "would hide the existing module iniconfig",
        ("run", "a.cu"): "python -m cupola run -- nvcc a.cu -o PROGRAM, and start python -m cupola",
        ("coverage", "report", "gone", "--source", "*.none"): "choose with --source",
        ("compile", "a.cu", "-o", "o.ptx", "--arch", ""): "argument --arch/-arch: expected a text",
        ("compile", "a.cu", "-o", "o.ptx", "--name", ""): "argument --name: expected a text",
        ("compile", "a.cu", "-o", "o.ptx", "--option", ""): "argument --option: expected a text",
        ("mandelbrot", "-o", "o", "--bound", "x"): "invalid float",
        ("mandelbrot", "-o", "o", "--size", "4", "--bound", "nan"): "bound must be",
        ("mandelbrot", "-o", "o", "--color", "x"): "invalid choice",
        ("demo", "--width", "2147483648"): "1 to 2147483647",
        ("demo", "--center", "inf", "0"): "finite",
        ("demo", "--width", "4", "--span", "0"): "span must be",
        ("demo", "--width", "4", "--samples", "99"): "1 to 16",
        ("bench", "x"): "unrecognized arguments: x",
    }.items()


COMPILED = {
    ("missing", "-o", "o.ptx"): "missing",
    ("folder", "-o", "o.ptx"): "folder",
    ("loop", "-o", "o.ptx"): "loop",
    ("junk.cu", "-o", "o.ptx"): "junk.cu",
    ("bad.cu", "-o", "o.ptx"): "bad.cu",
    ("bad.cu", "-o", "o.fatbin"): "bad.cu",
    ("a.cu", "-o", "o"): ".ptx, .cubin, .fatbin",
    ("a.cu", "-o", "missing/o.ptx"): "missing/o.ptx: No such file",
    ("a.cu", "-o", "made.ptx"): "made.ptx is a folder",
    ("a.cu", "-o", "o.ptx", "--arch", "x"): "--arch x",
    ("a.cu", "-o", "o.fatbin", "--arch", "native/compute_90"): "as in --arch sm_80,sm_90; PTX for",
    ("a.cu", "-o", "o.cubin", "--arch", "native"): "machine code, as in --arch sm_90",
    ("a.cu", "-o", "o.ptx", "--arch", "native"): "one target, as in --arch compute_90",
    ("a.cu", "-o", "o.ptx", "--arch", "compute_999"): "compiles for 75, 80",
    ("a.cu", "-o", "o.ptx", "--arch", "sm_12"): "compiles for 75, 80",
    ("a.cu", "-o", "o.cubin", "--arch", "sm_12"): "compiles for 75, 80",
    ("a.cu", "-o", "o.fatbin", "--arch", "sm_12"): "it knows sm_75, sm_80",
    ("a.cu", "-o", "o.ptx", "-I", "missing"): "--include: there is no folder 'missing'",
    ("a.cu", "-o", "o.fatbin", "-I", "missing"): "--include: there is no folder 'missing'",
    ("a.cu", "-o", "o.ptx", "--option=-Imissing"): "--option: there is no folder 'missing'",
    ("a.cu", "-o", "o.fatbin", "--option=-Imissing"): "--option: there is no folder 'missing'",
    ("a.cu", "-o", "o.ptx", "-D", "1x=2"): "argument -D: '1x=2': expected NAME",
    ("a.cu", "-o", "o.ptx", "-D", "a b"): "argument -D: 'a b': expected NAME",
    ("a.cu", "-o", "o.fatbin", "-D", ""): "argument -D: '': expected NAME",
    ("a.cu", "-o", "o.ptx", "--option=--nonsense"): "--nonsense",
    ("a.cu", "-o", "o.fatbin", "--option=--nonsense"): "--nonsense",
    ("a.cu", "-o", "o.ptx", "--name=f<"): "f<",
}


def message(**message):
    data = json.dumps(message)
    return f"Content-Length: {len(data)}\r\n\r\n{data}"


# Bytes to the debug adapter; it ends without an error at the end of the input.
PROTOCOL = [
    "",
    "\r\n\r\n",
    "junk\r\n\r\n",
    "Content-Length: x\r\n\r\n{}",
    "Content-Length: -5\r\n\r\n{}",
    f"Content-Length: {'9' * 400}\r\n\r\n{{}}",
    "Content-Length: 100\r\n\r\n{}",
    "Content-Length: 2\r\n\r\n{]",
    "Content-Length: 2\r\n\r\n[]",
    "Content-Length: 4\r\n\r\nnull",
    "Content-Length: 2\r\n\r\n\xff\xfe",
    "x" * 5000,
    message(),
    message(seq="x", type=5, command=[1]),
    message(seq=1, command="initialize", arguments="x"),
    message(seq=1, command="launch", arguments={"program": 5}),
    message(seq=1, command="launch", arguments={"program": "a", "args": {"x": 1}}),
    message(seq=1, command="launch", arguments={"program": "a", "env": "x"}),
    message(seq=1, command="setBreakpoints", arguments={"source": None, "breakpoints": 5}),
    message(seq=1, command="evaluate", arguments={"expression": None}),
    message(seq=1, command="continue", arguments=[]),
    message(seq=1, command="\u0000"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("input")
    scale, whole = images.SCALE.read_bytes(), fatbin()
    head = b".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry f"
    files = {
        "empty": b"",
        "junk": bytes(range(256)) * 20,
        "junk.cu": bytes(range(256)) * 20,
        "program": b"\x7fELF" + bytes(40),
        "elf": b"\x7fELF\x02\x01" + bytes(60),
        "gzip": b"\x1f\x8b" + bytes(40),
        "a.cu": b"__global__ void f(float* x) { x[0] = 1; }\n",
        "bad.cu": b"__global__ void f( {\n",
        "scale.ptx": scale,
        "text.cubin": scale,
        "list.ptx": scale,
        "list.json": b"[1]",
        "half.ptx": scale,
        "half.json": b"{",
        "bad.ptx": head + b"(\n",
        "new.ptx": head.replace(b"8.0", b"99.0") + b"() { ret; }\n",
        "empty.ptx": b".version 8.0",
        "other": b"cupola-coverage 2\n",
        "cut": COVERAGE + b"record 50 00000000\nabc",
        "sum": COVERAGE + b"record 3 zz\nabc",
        "number": record("module a\nfile a\nscope x 0 0\n"),
        "order": record("module a\ncounts 0 0:1\n"),
        "statement": record("nonsense 1\n"),
        "gone": record(
            "module a\nfile /no/such.cu\nscope 0 0 0\nfunction entry f\nlines 0 0:0:3\n"
        ),
        **{f"cut{size}.fatbin": whole[:size] for size in (8, 20, 100)},
    }
    for name, content in files.items():
        (made / name).write_bytes(content)
    (made / "program").chmod(0o755)
    for name in ("folder", "made.ptx", "projects"):
        (made / name).mkdir()
    (made / "folder" / "a.fatbin").write_bytes(b"")
    (made / "loop").symlink_to("loop")
    archive(made / "empty.whl")
    archive(made / "text.whl", a_txt="x")
    archive(made / "bad.whl", a_ptx=scale, a_json="{")
    (made / "cut.whl").write_bytes((made / "bad.whl").read_bytes()[:60])
    for n, (text, _) in enumerate(PROJECTS.values()):
        project = made / "projects" / str(n)
        (project / "a").mkdir(parents=True)
        content = text if isinstance(text, bytes) else text.encode()
        (project / "pyproject.toml").write_bytes(content)
    return made


@pytest.fixture(scope="module")
def command(folder):
    """Runs a command: its status, and the texts of both streams."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=folder,
        env=dict(os.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:

        def run(*arguments, **more):
            row = {"stdin": "", "closed": "", "full": "", "memory": 0, **more}
            row["arguments"] = arguments
            server.stdin.write(json.dumps(row) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        yield run
        server.stdin.close()


def titles(row):
    return " ".join(part if len(part) < 40 else f"{part[:20]}..." for part in row[0]).encode(
        errors="replace"
    ).decode()  # fmt: skip


def check(done, says):
    status, output, errors = done
    assert status in (1, 2), (output, errors)
    assert "Traceback" not in output + errors, errors
    assert "[Errno" not in errors
    assert says in errors, errors


@pytest.mark.parametrize(("arguments", "says"), [pytest.param(*row, id=titles(row))
                                                 for row in rows()])  # fmt: skip
def test_wrong_input_is_an_error_that_names_it(driver, command, arguments, says):
    check(command(*arguments), says)


@pytest.mark.parametrize(("arguments", "says"), COMPILED.items(), ids=map(titles, COMPILED.items()))
def test_wrong_input_of_compile(driver, command, arguments, says):
    images.nvrtc()
    if "o.fatbin" in arguments:
        images.nvcc()
    check(command("compile", *arguments), says)


@pytest.mark.parametrize("data", PROTOCOL, ids=range(len(PROTOCOL)))
def test_the_debug_adapter_takes_any_bytes(driver, command, data):
    status, output, errors = command("debug", "--dap", stdin=data)
    assert status == 0 and errors == ""
    assert "Traceback" not in output


@pytest.mark.parametrize("arguments", [("paths",), ("info",), ("env",), ("inspect", "scale.ptx"),
                                       ("mandelbrot", "-o", "made.png", "--size", "4"),
                                       ("debug", "--dap"), ("debug", "true"), ("run", "true"),
                                       ("new", "--help"), ("--version",), ()],
                         ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_streams_that_are_closed(driver, command, arguments, closed):
    status, output, errors = command(*arguments, closed=closed)
    assert status == 0, errors
    assert "Traceback" not in output + errors


# The arguments that each command needs.
NEEDED = {
    "new": ["name"], "compile": ["a.cu", "-o", "o.ptx"], "inspect": ["scale.ptx"],
    "verify": ["scale.ptx"],
    "coverage": ["report", "gone"], "mandelbrot": ["-o", "o"],
}  # fmt: skip


@pytest.mark.parametrize("option", ["--nonsense", "-x", "--nonsense=5"])
@pytest.mark.parametrize("name", [one for one in commands.NAMES if one not in ("run", "debug")])
def test_an_unknown_option_shows_the_options_of_the_command(driver, command, name, option):
    for needed in ([], NEEDED.get(name, [])):
        status, output, errors = command(name, *needed, option)
        assert status == 2 and output == ""
        assert errors.startswith(f"usage: cupola {name} [-h]")
        assert errors.endswith(f"cupola {name}: error: unrecognized arguments: {option}\n")


def test_a_full_disk_is_named(driver, command):
    check(command("paths", full="stdout"), "No space left on device")


def test_a_lack_of_host_memory_is_named(driver, command):
    size = str(2**31 - 1)
    done = command("mandelbrot", "-o", "o", "--size", size, memory=4 << 30)
    check(done, "the host has not enough memory: Unable to allocate 16.0 GiB")


def test_a_name_that_is_not_utf_8_is_printed(driver, command, folder):
    name = os.fsdecode(b"\xff.ptx")
    (folder / name).write_bytes(images.SCALE.read_bytes())
    status, output, errors = command("inspect", name)
    assert status == 0 and output.startswith("\\udcff.ptx: PTX"), errors

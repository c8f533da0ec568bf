# tests/build/test_step.py - what is made again when something changed, and what is not.
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cupola.build import depfile, executor, native
from cupola.build.error import BuildError
from cupola.build.progress import Progress
from cupola.build.step import Step


def touch(path, text):
    """Write a file so that its time differs from before, however coarse the clock is."""
    path.write_text(text)
    then = time.time() - 100 + len(text) / 1000
    os.utime(path, (then, then))


@pytest.fixture
def tree(tmp_path):
    touch(tmp_path / "one.hpp", "inline int one() { return 1; }\n")
    touch(tmp_path / "two.hpp", '#include "one.hpp"\ninline int two() { return one() + 1; }\n')
    touch(tmp_path / "a.cpp", '#include "one.hpp"\nint a() { return one(); }\n')
    touch(tmp_path / "b.cpp", '#include "two.hpp"\nint b() { return two(); }\n')
    touch(tmp_path / "c.cpp", "int c() { return 3; }\nint n = N;\n")
    return tmp_path


def library(root, flags=("-DN=1",)):
    compiler = native.Compiler.find({"PATH": os.environ["PATH"]})
    objects = [compiler.object(Path(f"{name}.cpp"), Path(f"out/{name}.o"), flags) for name in "abc"]
    target = Path("out/libabc.so")
    link = compiler.shared_library(target, [made.target for made in objects], soname="libabc.so")
    return [link, *objects]  # in any order


def made(root, steps, before):
    """Targets that are newer than `before` says."""
    now = times(root, steps)
    return {target.name for target in now if now[target] != before.get(target)}


def times(root, steps):
    return {s.target: (root / s.target).stat().st_mtime_ns for s in steps}


def test_a_changed_header_makes_what_includes_it_and_no_more(tree):
    steps = library(tree)
    assert executor.run(steps, tree) == 4
    before = times(tree, steps)
    assert executor.run(library(tree), tree) == 0

    touch(tree / "two.hpp", (tree / "two.hpp").read_text().replace("+ 1", "+ 10"))
    assert executor.run(library(tree), tree) == 2
    assert made(tree, steps, before) == {"b.o", "libabc.so"}

    before = times(tree, steps)
    touch(tree / "one.hpp", (tree / "one.hpp").read_text().replace("return 1", "return 11"))
    assert executor.run(library(tree), tree) == 3
    assert made(tree, steps, before) == {"a.o", "b.o", "libabc.so"}

    before = times(tree, steps)
    touch(tree / "two.hpp", (tree / "two.hpp").read_text() + "// no change to the code\n")
    assert executor.run(library(tree), tree) == 1
    assert made(tree, steps, before) == {"b.o"}


def test_changed_flags_and_removed_files(tree):
    executor.run(library(tree), tree)
    assert executor.run(library(tree, flags=("-DN=2",)), tree) == 4
    (tree / "out" / "a.o").unlink()
    assert executor.run(library(tree, flags=("-DN=2",)), tree) == 1  # a file of the same content
    (tree / "two.hpp").unlink()
    with pytest.raises(BuildError, match=r"two\.hpp"):
        executor.run(library(tree, flags=("-DN=2",)), tree)
    assert not (tree / "out" / "b.o").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"key": [], "inputs": {"c.cpp": [1]}}'])
def test_a_broken_record_counts_as_none(tree, text):
    steps = library(tree)
    executor.run(steps, tree)
    (tree / "out" / "c.o.made").write_text(text)
    assert executor.run(steps, tree) == 1


def test_content_decides_where_the_time_changed(tree):
    executor.run(library(tree), tree)
    before = (tree / "c.cpp").read_text()
    os.utime(tree / "c.cpp", (1, 1))
    assert executor.run(library(tree), tree) == 0
    (tree / "c.cpp").write_text(before.replace("3", "4"))
    os.utime(tree / "c.cpp", (2, 2))  # a source of the same size, older than the object
    assert executor.run(library(tree), tree) == 2


def test_the_compilers_error_comes_as_it_is_with_its_place_first(tree):
    touch(tree / "c.cpp", "int c() { return nothing; }\n")
    with pytest.raises(BuildError) as caught:
        executor.run(library(tree), tree)
    text = str(caught.value)
    assert text.splitlines()[0].startswith("c.cpp:1:18: error:")
    assert "failed:" in text and "-c c.cpp" in text


def test_a_missing_symbol_is_found_when_linking(tree):
    shown = '[[gnu::visibility("default")]]'  # the linker leaves out functions that nothing can use
    touch(tree / "c.cpp", f"int missing();\n{shown} int c() {{ return missing(); }}\n")
    with pytest.raises(BuildError, match="missing"):
        executor.run(library(tree), tree)


def test_keep_going_makes_what_does_not_depend_on_the_failure(tree, monkeypatch):
    touch(tree / "a.cpp", "wrong")
    monkeypatch.setenv("CUPOLA_BUILD_JOBS", "1")
    steps = library(tree)[1:]
    with pytest.raises(BuildError):
        executor.run(steps, tree)
    assert not (tree / "out" / "c.o").exists()
    monkeypatch.setenv("CUPOLA_BUILD_KEEP_GOING", "1")
    with pytest.raises(BuildError, match=r"a\.cpp"):
        executor.run(library(tree), tree)
    assert (tree / "out" / "c.o").exists() and not (tree / "out" / "libabc.so").exists()


def noted(tree, count):
    """Steps that write a file each, named by their number."""
    return [
        Step(
            target=Path(f"{n}.txt"),
            inputs=(),
            action=lambda n=n: (tree / f"{n}.txt").write_text("x"),
            label=f"step {n}",
        )
        for n in range(1, count + 1)
    ]


def test_a_log_has_a_line_for_each_of_few_steps(tree, capsys):
    executor.run(noted(tree, 3), tree)
    assert capsys.readouterr().out == "[1/3] step 1\n[2/3] step 2\n[3/3] step 3\n"


def test_a_log_has_a_handful_of_lines_for_many_steps(tree, capsys):
    executor.run(noted(tree, 100), tree)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == Progress.PARTS
    assert lines[0] == "[1/100] step 1" and lines[1] == "[14/100] step 14"


@pytest.mark.parametrize("count", [3, 100])
def test_a_terminal_has_one_line_that_is_rewritten(tree, count, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "12")
    executor.run(noted(tree, count), tree)
    *shown, end = capsys.readouterr().out.split("\r\033[K")[1:]
    assert len(shown) == count and end == ""
    assert shown[-1] == f"[{count}/{count}] step {count}"[:11]  # a line that wraps stays


def test_a_failure_of_one_step_of_many_shows_command_and_output(tree, capsys):
    command = (sys.executable, "-c", "print('lost', 'words'); raise SystemExit(3)")
    failing = Step(target=Path("bad"), inputs=(), command=command, label="bad step")
    with pytest.raises(BuildError) as caught:
        executor.run([*noted(tree, 100), failing], tree)
    assert "lost words" in str(caught.value) and "failed: " in str(caught.value)
    assert sys.executable in str(caught.value)


def writer(target, inputs, log, text="x"):
    def act():
        log.append(target)
        Path(target).write_text(text)

    return Step(target=Path(target), inputs=tuple(map(Path, inputs)), action=act, key=(text,))


def test_steps_run_in_the_order_of_their_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = []
    steps = [writer("d", ["b", "c"], log), writer("c", ["a"], log), writer("b", ["a"], log)]
    assert executor.run([*steps, writer("a", [], log)], tmp_path) == 4
    assert log[0] == "a" and log[-1] == "d" and sorted(log) == list("abcd")


def test_what_most_work_waits_for_begins_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUPOLA_BUILD_JOBS", "1")
    log = []
    steps = [writer("short", [], log), writer("long", [], log), writer("first", [], log)]
    steps.append(writer("last", ["first"], log))
    weights = {"long": 5, "first": 1, "last": 10}
    steps = [replace(s, weight=weights.get(s.target.name, 1)) for s in steps]
    assert executor.run(steps, tmp_path) == 4
    assert log == ["first", "last", "long", "short"]


def test_timings_are_of_the_processor_and_of_children(tmp_path, monkeypatch):
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    sleep = "import time; time.sleep(0.4); open('b', 'w')"
    commands = {"a": f"{child}; open('a', 'w')", "b": sleep}
    steps = [
        Step(Path("out", "..", name), (), (sys.executable, "-c", code), label=f"make {name}")
        for name, code in commands.items()
    ]
    monkeypatch.setenv("CUPOLA_BUILD_TIMINGS", str(tmp_path / "times.json"))
    executor.run(steps, tmp_path)
    times = {time["name"]: time for time in json.loads((tmp_path / "times.json").read_text())}
    assert times["make a"]["processor"] >= 0.3
    assert times["make b"]["processor"] < 0.3 < times["make b"]["elapsed"]


def test_timings_as_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUPOLA_BUILD_TIMINGS", "1")
    executor.run([writer("one", [], []), writer("two", [], [])], tmp_path)
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.endswith("made in"))
    assert lines[start + 1].split() == ["0.0", "2", "."]
    assert lines[start + 2].split() == ["0.0", "2", "in", "all"]
    assert sorted(line.split()[-1] for line in lines[start + 4 :]) == ["one", "two"]
    executor.run([writer("one", [], [])], tmp_path)
    assert not capsys.readouterr().out.strip()


def test_impossible_plans_are_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BuildError, match="two steps make"):
        executor.run([writer("a", [], []), writer("a", [], [])], tmp_path)
    with pytest.raises(BuildError, match="from itself"):
        executor.run([writer("a", ["b"], []), writer("b", ["a"], [])], tmp_path)
    with pytest.raises(BuildError, match="there is no missing"):
        executor.run([writer("a", ["missing"], [])], tmp_path)


def test_dependency_files(tmp_path):
    file = tmp_path / "x.d"
    file.write_text("out/x.o: a.cpp \\\n with\\ space.hpp \\\n  /usr/c.hpp\n\na.hpp:\n")
    assert depfile.dependencies(file) == ["a.cpp", "with space.hpp", "/usr/c.hpp"]
    with pytest.raises(BuildError):
        depfile.dependencies(tmp_path / "none.d")
    file.write_text("")
    assert depfile.dependencies(file) == []


def test_dependency_files_of_odd_names(tmp_path):
    names = ["a#b.hpp", "c$d.hpp", "e f/g.hpp", "h\\i.hpp", "j$$#k.hpp", "l.hpp"]
    depfile.write_rule(tmp_path / "x.d", "o u/x.o", names)
    assert depfile.dependencies(tmp_path / "x.d") == names
    compilers = names[:3] + names[4:]
    for name in compilers:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "a.cpp").write_text("".join(f'#include "{name}"\n' for name in compilers))
    made = native.Compiler.find().object(Path("a.cpp"), Path("out/a.o"), ())
    assert executor.run([made], tmp_path) == 1
    assert depfile.dependencies(tmp_path / "out/a.d") == ["a.cpp", *compilers]
    assert executor.run([made], tmp_path) == 0
    touch(tmp_path / "j$$#k.hpp", "// other\n")
    assert executor.run([made], tmp_path) == 1


def test_an_input_that_is_no_longer_one_makes_it_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "bc":
        (tmp_path / name).write_text(name)
    assert executor.run([writer("d", ["b", "c"], [])], tmp_path) == 1
    assert executor.run([writer("d", ["c", "b"], [])], tmp_path) == 0
    assert executor.run([writer("d", ["b"], [])], tmp_path) == 1
    assert executor.run([writer("d", ["b"], [])], tmp_path) == 0


def test_a_finished_file_is_replaced_and_not_written_over(tmp_path):
    source, target = tmp_path / "source", tmp_path / "folder" / "target"
    source.write_text("one")
    assert native.place(source, target)
    held = target.open()
    assert not native.place(source, target)
    touch(source, "three")
    assert native.place(source, target)
    assert held.read() == "one" and target.read_text() == "three"
    assert [path.name for path in target.parent.iterdir()] == ["target"]


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_bad_numbers_of_jobs(monkeypatch, text):
    monkeypatch.setenv("CUPOLA_BUILD_JOBS", text)
    with pytest.raises(BuildError, match="CUPOLA_BUILD_JOBS"):
        executor.jobs()


def test_compilers():
    path = os.environ["PATH"]
    found = native.Compiler.find({"PATH": path, "CXX": "c++ -pipe", "CXXFLAGS": "-DA=1"})
    assert found.command[1:] == ("-pipe",) and found.flags[-1] == "-DA=1"
    assert found.variant == "release"
    checked = native.Compiler.find({"PATH": path, "CUPOLA_SANITIZE": "undefined,address"})
    assert checked.variant == "address-undefined"
    assert "-fsanitize=address,undefined" in checked.flags
    with pytest.raises(BuildError, match="CXX=no-such"):
        native.Compiler.find({"PATH": path, "CXX": "no-such"})
    with pytest.raises(BuildError, match=r"install g\+\+"):
        native.Compiler.find({"PATH": "/nowhere"})
    for text in ("memory", "address,thread"):
        with pytest.raises(BuildError, match="CUPOLA_SANITIZE"):
            native.Compiler.find({"PATH": path, "CUPOLA_SANITIZE": text})

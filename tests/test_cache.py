"""The cache of what was compiled: hits, misses, damage, many writers, its size."""

import os
import pwd
import subprocess
import sys
import time

import images
import numpy as np
import pytest

import cupola
from cupola import cache
from cupola.toolkit.nvrtc import Nvrtc

STORE = 'extern "C" __global__ void f(int* out) { *out = VALUE; }\n'


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    images.nvrtc()
    place = tmp_path / "cache"
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(place))
    monkeypatch.delenv("CUPOLA_CACHE_SIZE", raising=False)
    return place


@pytest.fixture
def compilations(monkeypatch):
    """How often NVRTC compiled for an image, and not for types alone: a list that grows."""
    calls, real = [], Nvrtc.compile

    def counted(self, program):
        if "cupola_signature" not in program.text:
            calls.append(program)
        return real(self, program)

    monkeypatch.setattr(Nvrtc, "compile", counted)
    return calls


def value(number=1, source=STORE, options=(), **how):
    out = cupola.zeros((), np.int32)
    module = cupola.compile(source, options=[f"-DVALUE={number}", *options], **how)
    module["f"][1, 1](out)
    return int(out.get())


def entries(place):
    return sorted(place.glob("*.image"))


def test_a_second_time_nothing_is_compiled(driver, place, compilations):
    for _ in range(3):
        assert value(5) == 5
    assert len(compilations) == 1
    (entry,) = entries(place)
    assert place.stat().st_mode & 0o777 == 0o700
    assert entry.stat().st_mode & 0o777 == 0o600
    assert list(place.iterdir()) == [entry]


def test_whatever_differs_is_compiled(driver, compilations, monkeypatch, tmp_path):
    hows = [
        {},
        {"number": 2},
        {"source": STORE + "\n"},
        {"options": ["--fmad=false"]},
        {"name": "other.cu"},
        {"headers": {"a.h": ""}},
        {"headers": {"a.h": " "}},
        {"name_expressions": ["f"]},
        {"arch": "compute_75"},
        {"include": str(tmp_path)},
    ]
    for _ in range(2):
        for how in hows:
            assert value(**how) == how.get("number", 1)
    assert len(compilations) == len(hows)
    monkeypatch.setattr(Nvrtc, "identity", "another")
    value()
    assert len(compilations) == len(hows) + 1


HEADERS = {
    "plain": '#include "a.h"\n',
    "angles": "#include <a.h>\n",
    "deep": '#include "via.h"\n',
    "comments": '/* */ # /* x\n */ include /**/ "a.h"\n',
    "spliced": '#inc\\\nlude "a.h"\n',
    "inactive": '#if 0\n#include "a.h"\n#endif\n#define VALUE2 0\n',
    "asked": '#if __has_include("a.h")\n#include "a.h"\n#endif\n',
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_changed_header_is_compiled(driver, tmp_path, compilations, kind):
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "via.h").write_text('#pragma once\n#include "a.h"\n#include "../include/via.h"\n')
    source = HEADERS[kind] + STORE.replace("VALUE", "VALUE2")
    for round_, number in enumerate((3, 4, 3)):
        (folder / "a.h").write_text(f"#define VALUE2 {number}\n")
        expected = 0 if kind == "inactive" else number
        for _ in range(2):
            assert value(source=source, include=folder) == expected
        assert len(compilations) == min(round_, 1) + 1  # the third is as the first was


def test_a_header_that_comes_before_another(driver, tmp_path, compilations):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "a.h").write_text("#define VALUE2 1\n")
    source = '#include "a.h"\n' + STORE.replace("VALUE", "VALUE2")
    assert value(source=source, include=[first, second]) == 1
    (first / "a.h").write_text("#define VALUE2 2\n")
    assert value(source=source, include=[first, second]) == 2
    (first / "a.h").unlink()
    assert value(source=source, include=[first, second]) == 1
    assert len(compilations) == 2


def test_beside_a_file_and_included_by_an_option(driver, tmp_path, compilations):
    path = tmp_path / "source.cu"
    path.write_text('#include "a.h"\n' + STORE.replace("VALUE", "VALUE2 + VALUE3"))
    (tmp_path / "b.h").write_text("#define VALUE3 10\n")
    option = f"--pre-include={tmp_path / 'b.h'}"
    for number in (1, 2):
        (tmp_path / "a.h").write_text(f"#define VALUE2 {number}\n")
        assert value(source=path, options=[option]) == 10 + number
    (tmp_path / "b.h").write_text("#define VALUE3 20\n")
    assert value(source=path, options=[option]) == 22
    assert len(compilations) == 3


@pytest.mark.parametrize(
    "how",
    [
        {"cache": False},
        {"source": '#define HEADER "a.h"\n#include HEADER\n' + STORE, "headers": {"a.h": ""}},
        {"options": ["-time=/dev/null"]},
    ],
    ids=["asked", "macro", "time"],
)
def test_what_is_not_cached(driver, place, compilations, how):
    for _ in range(2):
        assert value(**how) == 1
    assert len(compilations) == 2
    assert not place.exists()


@pytest.mark.parametrize("text", ["", "none"])
def test_no_cache(driver, monkeypatch, tmp_path, compilations, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUPOLA_CACHE_DIR", text)
    assert value() == value() == 1
    assert len(compilations) == 2 and cache.folder() is None
    assert list(tmp_path.iterdir()) == []


def test_where_it_is(monkeypatch):
    monkeypatch.delenv("CUPOLA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.folder() == "/somewhere/cupola"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache.folder() == "/home/me/.cache/cupola"


def test_without_a_home_it_is_in_that_of_the_users_database(monkeypatch):
    for name in ("CUPOLA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    home = pwd.getpwuid(os.getuid()).pw_dir
    assert cache.folder() == f"{home}/.cache/cupola"
    monkeypatch.setenv("HOME", "")
    assert cache.folder() == f"{home}/.cache/cupola"
    monkeypatch.setenv("HOME", "relative")
    assert cache.folder() is None


def test_a_relative_folder_begins_at_the_current_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUPOLA_CACHE_DIR", "here/kept")
    assert cache.folder() == f"{tmp_path}/here/kept"


ENVIRONMENTS = [
    {"CUPOLA_CACHE_DIR": "here/kept"},
    {"CUPOLA_CACHE_DIR": "ABOVE/kept"},
    {"XDG_CACHE_HOME": "ABOVE/xdg", "HOME": "ABOVE/home"},
    {"XDG_CACHE_HOME": "relative", "HOME": "ABOVE/home"},
]


@pytest.mark.parametrize("found", ENVIRONMENTS)
def test_the_cpu_device_has_the_same_folder(tmp_path, found):
    """The device keeps machine code in the folder `cpu` there."""
    code = """
import os, cupola
from cupola.tools.command.info import machine_code
cupola.devices()
folder = os.path.realpath(cupola.cache.folder())
print(folder, "|", machine_code(cupola.driver.info().path))
"""
    kept = {k: v for k, v in os.environ.items() if k not in ("CUPOLA_CACHE_DIR", "HOME")}
    kept.pop("XDG_CACHE_HOME", None)
    kept |= {"CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_MODE": "compile"}
    kept |= {name: text.replace("ABOVE", str(tmp_path)) for name, text in found.items()}
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, env=kept, cwd=tmp_path, capture_output=True, text=True)
    folder, _, text = answer.stdout.partition(" | ")
    assert f"kept in: {folder}/cpu," in text, answer


def flipped(content, at):
    changed = bytearray(content)
    changed[at] ^= 0x40
    return bytes(changed)


DAMAGE = {
    "empty": lambda content: b"",
    "short": lambda content: content[:100],
    "cut": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "head": lambda content: flipped(content, 3),
    "hash": lambda content: flipped(content, 30),
    "size": lambda content: flipped(content, len(cache.MAGIC) + 32 + 7),
    "description": lambda content: flipped(content, 90),
    "image": lambda content: flipped(content, -20),
    "text": lambda content: b"hello",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_seen_and_repaired(driver, place, compilations, kind):
    value(6)
    (entry,) = entries(place)
    whole = entry.read_bytes()
    entry.write_bytes(DAMAGE[kind](whole))
    assert value(6) == 6
    assert len(compilations) == 2
    assert entry.read_bytes() == whole
    assert value(6) == 6
    assert len(compilations) == 2


def link(entry, elsewhere):
    os.rename(entry, elsewhere)
    entry.symlink_to(elsewhere)


def other_key(entry, elsewhere):
    value(7)
    (other,) = [one for one in entries(entry.parent) if one != entry]
    os.rename(other, entry)


def pipe(entry, elsewhere):
    entry.unlink()
    os.mkfifo(entry)


HOSTILE = {
    "link": link,
    "pipe": pipe,
    "other": other_key,
    "writable": lambda entry, elsewhere: entry.chmod(0o622),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_others_may_have_made_is_not_taken(driver, place, compilations, tmp_path, kind):
    value(6)
    (entry,) = entries(place)
    HOSTILE[kind](entry, tmp_path / "elsewhere")
    before = len(compilations)
    assert value(6) == 6
    assert len(compilations) == before + 1
    assert value(6) == 6
    assert len(compilations) == before + 1
    assert entry.is_file() and not entry.is_symlink() and not entry.stat().st_mode & 0o22


def test_a_folder_in_an_entrys_place(driver, place, compilations):
    value(6)
    (entry,) = entries(place)
    entry.unlink()
    (entry / "in it").mkdir(parents=True)
    cache._warned.clear()
    with pytest.warns(RuntimeWarning, match="not kept"):
        assert value(6) == 6
    assert len(compilations) == 2
    assert [one.name for one in place.iterdir()] == [entry.name]


def test_a_folder_that_others_can_write_to(driver, place, compilations):
    value()
    place.chmod(0o777)
    cache._warned.clear()
    with pytest.warns(RuntimeWarning, match=f"{place} is not used.*chmod 700"):
        assert value() == 1
    assert len(compilations) == 2
    place.chmod(0o700)
    value()
    assert len(compilations) == 2


def test_a_folder_that_cannot_be(driver, monkeypatch, tmp_path, compilations):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "file/cache"))
    with pytest.warns(RuntimeWarning, match="compiled images are not kept"):
        assert value() == 1
    assert value() == 1  # a warning once


WORK = """
import sys, random, numpy as np, cupola
random.seed(int(sys.argv[1]))
for _ in range(40):
    number = random.randrange(6)
    out = cupola.zeros((), np.int32)
    cupola.compile(sys.argv[2], options=[f"-DVALUE={number}"])["f"][1, 1](out)
    assert out.get() == number, (out.get(), number)
"""


@pytest.mark.campaign("many processes")
def test_many_processes_at_once(driver, place):
    """Eight of them write and read the same few entries; one more damages and removes some."""
    running = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", WORK, str(seed), STORE])
        for seed in range(8)
    ]
    turn = 0
    while any(one.poll() is None for one in running):
        turn += 1
        for entry in entries(place)[turn % 3 :: 3]:
            try:
                if turn % 2:
                    entry.unlink()
                else:
                    entry.write_bytes(entry.read_bytes()[:50])
            except FileNotFoundError:
                pass
        time.sleep(0.05)
    assert [one.wait() for one in running] == [0] * 8
    for number in range(6):
        assert value(number) == number
    assert len(entries(place)) == 6
    assert not list(place.glob("*.new"))


def test_it_is_bounded(driver, place, monkeypatch, compilations):
    for number in range(6):
        value(number)
    sizes = [entry.stat().st_size for entry in entries(place)]
    old = time.time() - 1000
    for entry in entries(place):
        os.utime(entry, (old, old))
    value(2)  # was used just now
    monkeypatch.setenv("CUPOLA_CACHE_SIZE", str(3 * max(sizes)))
    value(9)
    assert len(entries(place)) == 3
    before = len(compilations)
    value(2), value(9)
    assert len(compilations) == before
    monkeypatch.setenv("CUPOLA_CACHE_SIZE", "10")
    assert value(8) == 8
    assert len(entries(place)) == 3  # the large entry was not kept, and no other entry was lost
    cache.clear()
    assert not entries(place)


@pytest.mark.parametrize(
    "text, size",
    [("", 512 << 20), ("1000", 1000), ("64K", 64 << 10), ("3m", 3 << 20), (" 2GiB ", 2 << 30)]
    + [("1234567890123456789", 1234567890123456789), ("0" * 40 + "7", 7)],
)
def test_sizes(monkeypatch, text, size):
    monkeypatch.setenv("CUPOLA_CACHE_SIZE", text)
    assert cache.limit() == size


@pytest.mark.parametrize(
    "text", ["many", "-1", "1T", "1.5M", "4MB", "9iB", "9" * 30, "9" * 19 + "G", "\u0665"]
)
def test_wrong_sizes(driver, monkeypatch, place, text):
    monkeypatch.setenv("CUPOLA_CACHE_SIZE", text)
    with pytest.raises(cupola.ArgumentValueError, match="CUPOLA_CACHE_SIZE"):
        value()


def test_what_a_writer_left_behind_goes(driver, place):
    value()
    stale, fresh = place / ".abc.new", place / ".abd.new"
    stale.write_text("x")
    fresh.write_text("x")
    os.utime(stale, (1, 1))
    value(2)
    assert not stale.exists() and fresh.exists()


def test_a_killed_writer_leaves_no_half_entry(driver, place):
    """Killed at random moments, again and again: what is there afterwards is whole."""
    for seed in range(3):
        process = subprocess.Popen([sys.executable, "-c", WORK, str(seed), STORE])
        end = time.monotonic() + 60
        while not entries(place) and time.monotonic() < end:
            time.sleep(0.001)
        process.kill()
        process.wait()
        for entry in entries(place):
            assert cache.read(entry.stem) is not None
            entry.unlink()

"""Families: declared in Python, chosen by tables of measurements, launched."""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import families
import numpy as np
import pytest
from families import chosen, explained, ran, row
from hypothesis import given, settings
from hypothesis import strategies as st
from working import refused

import cupola
from cupola.core import registry
from cupola.declare.expression import ExpressionError
from cupola.declare.family_table import read
from cupola.tuning import tables
from cupola.tuning.launch_steps import launch_steps


@pytest.fixture(autouse=True)
def folder(driver, tmp_path, monkeypatch):
    """The user's cache, and tables on each device."""
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CUPOLA_TUNE", "tables")
    return tmp_path / tables.FOLDER


@pytest.fixture
def family():
    return families.family()


def test_without_a_table_a_call_takes_the_default(family):
    assert ran(family, 100) == chosen(family, 100) == 64
    about = explained(family, 100)
    assert about.row is None and about.key == {"m": 100} and about.variant == {"BLOCK": 64}
    assert "the declared default: no table has a row that can be used" in str(about)


def test_the_nearest_row_in_log_space_decides(family):
    families.store(family, row([100], 32), row([10_000], 128))
    # 1000 is in the middle, up to the 1 that each size is larger by.
    for size, block in [(1, 32), (100, 32), (990, 32), (1010, 128), (10_000, 128), (70_000, 128)]:
        assert ran(family, size) == chosen(family, size) == block, size


def test_a_grid_of_zero_for_other_sizes_is_an_error():
    family = families.family(grid="m / BLOCK")
    x, which = cupola.zeros(20, np.float32), cupola.zeros(1, np.int32)
    with refused(cupola.ArgumentError, saying="has a zero dimension"):
        family(x, 20, which)
    assert ran(families.family(grid="m / BLOCK"), 64) == 64


def test_an_array_in_place_of_an_int_is_named(family):
    by_count = families.family(sizes={}, key=["n"], grid="ceildiv(n, BLOCK)")
    x, which = cupola.zeros(20, np.float32), cupola.zeros(1, np.int32)
    saying = ("mark: argument n: expected an int, which the launch is computed from", "Array")
    for wrong in (x, cupola.to_device(np.array([20], np.int32))):
        with refused(cupola.ArgumentTypeError, saying=saying):
            by_count(x, wrong, which)


def test_extreme_times_of_a_table_are_shown(family):
    families.store(family, row([100], 32, seconds=1e300, default=5e-324))
    assert "chosen" in str(explained(family, 100))


def test_a_size_of_zero_is_a_key_and_launches_nothing(family):
    families.store(family, row([0], 32), row([3], 128))
    assert chosen(family, 0) == 32 and chosen(family, 1) == 32 and chosen(family, 2) == 128
    x, which = cupola.zeros(0, np.float32), cupola.zeros(1, np.int32)
    family(x, 0, which)
    assert which.get()[0] == 0
    with refused(cupola.ArgumentTypeError, saying=["argument 1", "expected"]):
        family(x, "no number", which)


def test_distances_are_euclidean_over_all_sizes_of_the_key():
    family = families.family(key=["m", "n"])
    families.store(family, row([256, 256], 32), row([1024, 16384], 128))
    x, which = cupola.empty(1024, np.float32), cupola.zeros(1, np.int32)
    # Two powers of two in one direction, against 0 and 3; then against 0 and 5.
    assert family.choose(x, 2048, which)["BLOCK"] == 128
    assert family.choose(x, 512, which)["BLOCK"] == 32


def test_rows_count_for_their_element_types_alone(family):
    families.store(family, row([100], 32), row([100], 128, types=["float64"]))
    assert ran(family, 100) == 32 and ran(family, 100, np.float64) == 128
    x, which = cupola.zeros(4, np.int16), cupola.zeros(1, np.int32)
    with refused(
        cupola.ArgumentTypeError, saying="mark: argument x: there are kernels for float32, float64"
    ):
        family(x, 4, which)


def test_this_device_comes_before_its_compute_capability(family):
    families.store(family, row([100], 32), name="another device")
    assert chosen(family, 100) == 32
    assert explained(family, 100).row.device.name == "another device"
    families.store(family, row([1 << 20], 128))
    family.reload()
    assert chosen(family, 100) == 128
    families.store(family, row([100], 32), name="of another capability", capability="1.0")
    family.reload()
    assert chosen(family, 100) == 128
    assert [one.distance < 1 for one in explained(family, 100).neighbours] == [True, False]


def test_the_users_table_comes_before_the_packages(family, folder, tmp_path, monkeypatch):
    package = tmp_path / "tests_family_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    mine = families.family(name="tests_family_package.mark")
    record = tables.device_record(cupola.Device())
    tables.store(record, mine.rows([row([100], 32), row([9999], 32)]), str(package / tables.FOLDER))
    assert chosen(mine, 100) == 64  # not imported
    __import__("tests_family_package")
    mine.reload()
    assert chosen(mine, 100) == 32
    assert explained(mine, 100).row.path.startswith(str(package))
    families.store(mine, row([100], 128))
    mine.reload()
    assert chosen(mine, 100) == 128 and chosen(mine, 9999) == 32
    assert explained(mine, 100).row.path.startswith(str(folder))


def test_rows_of_other_code_are_ignored_and_named(family, capfd, monkeypatch):
    families.store(family, row([100], 32))
    changed = families.family(source=families.SOURCE.replace("+= 1", "+= 2"))
    assert changed.digest != family.digest and families.family().digest == family.digest
    monkeypatch.setenv("CUPOLA_LOG", "info")
    assert chosen(changed, 100) == 64
    said = f"its rows for mark were measured on other code (digest {family.digest[:12]}"
    assert said in str(explained(changed, 100)) and f"ignored {os.environ['CUPOLA_CACHE_DIR']}" in (
        capfd.readouterr().err
    )


def test_the_digest_is_of_text_options_and_headers(tmp_path):
    source = '#include "size.h"\n' + families.SOURCE
    (tmp_path / "size.h").write_text("#define SIZE 1\n")
    beside = [families.family(source=source, include=[tmp_path]).digest]
    (tmp_path / "size.h").write_text("#define SIZE 2\n")
    beside.append(families.family(source=source, include=[tmp_path]).digest)
    memory = [families.family(source=source, headers={"size.h": text}).digest for text in "ab"]
    options = [families.family(options=[one]).digest for one in ("-DA=1", "-DA=2")]
    assert len({*beside, *memory, *options, families.family().digest}) == 7
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/size.h").write_text("#define SIZE 2\n")
    assert families.family(source=source, include=tmp_path / "copy").digest == beside[1]
    # Restrictions and the launch don't change the code.
    assert families.family(restrictions=["BLOCK < 128"]).digest == families.family().digest


def test_rows_of_variants_and_keys_that_are_gone_are_ignored(family):
    wide = families.family(tunables={"BLOCK": [32, 64, 128, 256]})
    families.store(wide, row([100], 256), row([5000], 32))
    assert chosen(family, 100) == 32 and chosen(wide, 100) == 256
    assert "the family has no variant BLOCK=256" in str(explained(family, 100))
    renamed = families.family(key=["n"])
    assert chosen(renamed, 100) == 64
    assert "its rows for mark have the key m" in str(explained(renamed, 100))


def test_variants_that_the_device_can_not_launch_are_never_chosen():
    family = families.family(
        tunables={"BLOCK": [32, 64, 2048]}, shared="max(BLOCK, 64) * 512 - 32768"
    )
    families.store(family, row([100], 2048), row([9999], 32))
    assert ran(family, 100) == chosen(family, 100) == 32
    about = explained(family, 100)
    assert about.variant == {"BLOCK": 32} and "ignored: BLOCK=2048: " in str(about)
    assert about.row.key == {"m": 9999}


def test_a_grid_beyond_the_device_makes_another_variant_win():
    family = families.family(grid=["1", "ceildiv(m, BLOCK / 32)"], restrictions=["BLOCK >= 32"])
    families.store(family, row([1 << 20], 32))
    # 2**17 blocks in y are too many; of the default, two elements for each block, 2**16 are, too.
    x, which = cupola.empty(1 << 17, np.float32), cupola.zeros(1, np.int32)
    with refused(cupola.ArgumentValueError, saying="grid"):
        family.choose(x, 1, which)
    smaller = x[: 1 << 16]
    assert family.choose(smaller, 1, which) == {"BLOCK": 64}


def test_a_variant_that_does_not_compile_is_never_chosen():
    source = families.SOURCE + "#if BLOCK == 32\n#error never\n#endif\n"
    family = families.family(
        source=source.replace("template <int BLOCK, typename T>", "template <typename T>"),
        kernel="mark<{x}>",
        macros=["BLOCK"],
    )
    families.store(family, row([100], 32))
    assert ran(family, 100) == 64
    assert "ignored: BLOCK=32: " in str(explained(family, 100))


def test_a_default_that_can_not_be_launched_is_an_error():
    family = families.family(block="BLOCK * 64")
    with refused(cupola.ArgumentValueError, saying="mark<64, float>"):
        ran(family, 100)


@pytest.mark.parametrize(
    ("expression", "said"),
    [("m / (n - 100)", "mark: it divides by zero"), ("n * 9223372036854775807", "64-bit integers")],
)
def test_a_launch_that_can_not_be_computed_is_named(expression, said):
    family = families.family(grid=expression)
    with refused(cupola.ArgumentError, saying=said):
        ran(family, 100)


@pytest.mark.parametrize("value", ["Tables", "on", "1", "first_use"])
def test_cupola_tune_has_four_values(family, monkeypatch, value):
    monkeypatch.setenv("CUPOLA_TUNE", value)
    said = f'CUPOLA_TUNE is "{value}"; expected one of off, tables, first-use, ask'
    with refused(cupola.ArgumentValueError, saying=said):
        ran(family, 100)
    monkeypatch.setenv("CUPOLA_TUNE", "off")
    assert ran(family, 100) == 64


def test_off_takes_the_default(family, monkeypatch):
    families.store(family, row([100], 32))
    monkeypatch.setenv("CUPOLA_TUNE", "off")
    assert ran(family, 100) == 64
    assert "all tables: CUPOLA_TUNE is off" in str(explained(family, 100))


def test_without_cupola_tune_gpus_take_tables_and_the_cpu_device_the_default(
    family, driver, monkeypatch
):
    families.store(family, row([100], 32))
    monkeypatch.delenv("CUPOLA_TUNE")
    assert ran(family, 100) == (64 if driver == "cpu" else 32)
    if driver == "cpu":
        assert "the CPU device reads them with CUPOLA_TUNE=tables" in str(explained(family, 100))


def test_a_table_of_the_cpu_device_says_nothing_about_gpus(family, driver, monkeypatch):
    families.store(family, row([100], 32), name="cupola CPU device (another processor)")
    chosen(family, 100)  # compiles the kernel, for the device that it runs on
    family.reload()
    monkeypatch.setattr("cupola.device.is_cpu", lambda index: False)
    assert chosen(family, 100) == 64
    family.reload()
    monkeypatch.undo()


def test_a_damaged_table_leaves_the_default(family, folder):
    path = families.store(family, row([100], 32))
    Path(path).write_text(Path(path).read_text()[:-40])
    with pytest.warns(RuntimeWarning, match="this table of measurements is not used"):
        assert ran(family, 100) == 64


class Measured:
    """Takes the place of `tune_at_first_use`: measures nothing, and finds one variant best."""

    def __init__(self, monkeypatch, block):
        self.calls, self.block = [], block
        monkeypatch.setitem(registry._found, "tune_at_first_use", self)

    def __call__(self, family, call, budget):
        self.calls.append((family.declaration.key_of(call.given), cupola.Stream.current()))
        if isinstance(self.block, Exception):
            raise self.block
        if self.block is None:
            return None
        return row(family.declaration.key_of(call.given), self.block)


def test_first_use_measures_keys_that_are_far_from_all_rows(family, monkeypatch):
    monkeypatch.setenv("CUPOLA_TUNE", "first-use")
    measured = Measured(monkeypatch, 128)
    stream = cupola.Stream()
    assert ran(family, 100) == 128 and measured.calls[0][0] == (100,)
    assert ran(family, 180) == ran(family, 55) == 128 and len(measured.calls) == 1
    x, which = cupola.empty(220, np.float32), cupola.zeros(1, np.int32)
    family(x, 220, which, stream=stream)
    assert measured.calls[1] == ((220,), stream)
    stream.synchronize()
    assert chosen(families.family(), 100) == 128  # another process reads what was stored


def test_first_use_measures_in_a_process_of_its_own(family, folder, monkeypatch):
    monkeypatch.setenv("CUPOLA_TUNE", "first-use")
    monkeypatch.setenv("CUPOLA_TUNE_SECONDS", "5")
    block = ran(family, 5000)
    (found,) = tables.find()
    (rows,) = found.table.families
    assert [one.key for one in rows.rows] == [(5000,)] and rows.digest == family.digest
    assert rows.rows[0].variant == {"BLOCK": block}
    assert explained(family, 5000).row.path == found.path
    assert ran(family, 5000) == block and len(tables.find()[0].table.families[0].rows) == 1


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "inf", "1e999", "5 s"])
def test_an_invalid_budget_of_first_use_is_an_error(family, monkeypatch, value):
    monkeypatch.setenv("CUPOLA_TUNE", "first-use")
    monkeypatch.setenv("CUPOLA_TUNE_SECONDS", value)
    measured = Measured(monkeypatch, 128)
    for _ in range(2):
        with refused(cupola.ArgumentValueError, saying=f'CUPOLA_TUNE_SECONDS is "{value}"; expect'):
            ran(family, 100)
    assert not measured.calls
    monkeypatch.setenv("CUPOLA_TUNE_SECONDS", "")
    assert ran(family, 100) == 128


def test_first_use_is_not_repeated_where_nothing_is_found(family, monkeypatch):
    monkeypatch.setenv("CUPOLA_TUNE", "first-use")
    measured = Measured(monkeypatch, None)
    assert [ran(family, 100) for _ in range(3)] == [64] * 3 and len(measured.calls) == 1
    measured.block = cupola.DriverError("the device is lost")
    with pytest.warns(RuntimeWarning, match=r"first use of {'m': 1000} failed: the device is lost"):
        assert ran(family, 1000) == 64


def test_a_capture_measures_nothing_and_keeps_its_choice(family, monkeypatch):
    monkeypatch.setenv("CUPOLA_TUNE", "first-use")
    measured = Measured(monkeypatch, 128)
    x, which = cupola.zeros(100, np.float32), cupola.zeros(1, np.int32)
    family.kernel((64,), ("float32",))
    with cupola.Stream().capture() as graph:
        family(x, 100, which)
        family(x, 100, which)
    assert not measured.calls
    ready = graph.instantiate()
    ready.launch()
    cupola.Device().synchronize()
    assert which.get()[0] == 64 and (x.get() == 2).all()
    assert ran(family, 100) == 128 and len(measured.calls) == 1


def test_a_capture_that_begins_during_a_measurement_keeps_its_choice(family, monkeypatch):
    monkeypatch.setenv("CUPOLA_TUNE", "first-use")
    x, which = cupola.zeros(100, np.float32), cupola.zeros(1, np.int32)
    families.store(family, row([3], 32))
    assert ran(family, 3) == 32
    graphs = []
    with contextlib.ExitStack() as stack:

        def measure(family, call, budget):
            graphs.append(stack.enter_context(cupola.Stream().capture()))
            return row(family.declaration.key_of(call.given), 128)

        monkeypatch.setitem(registry._found, "tune_at_first_use", measure)
        family(x, 100, which)
        family(x, 100, which)
    graphs[0].instantiate().launch()
    cupola.Device().synchronize()
    assert which.get()[0] == 32 and (x.get() == 2).all()
    assert ran(family, 100) == 128 and len(graphs) == 1


def test_ask_warns_once_without_a_terminal(family, monkeypatch):
    monkeypatch.setenv("CUPOLA_TUNE", "ask")
    measured = Measured(monkeypatch, 128)
    with pytest.warns(RuntimeWarning, match=r"measure them with cupola\.tune\(family, cases\)"):
        assert ran(family, 100) == 64
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ran(family, 10_000) == 64
    assert not measured.calls


@pytest.mark.parametrize(("answer", "block"), [("y\n", 128), ("\n", 64), ("", 64)])
def test_ask_asks_a_terminal_once(family, monkeypatch, answer, block):
    class Terminal:
        def __init__(self, text=""):
            self.text, self.said = text, ""

        def isatty(self):
            return True

        def readline(self):
            answer, self.text = self.text, "n\n"
            return answer

        def write(self, text):
            self.said += text

        def flush(self):
            pass

    monkeypatch.setenv("CUPOLA_TUNE", "ask")
    Measured(monkeypatch, 128)
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", screen)
    assert ran(family, 100) == ran(family, 10_000) == block
    assert screen.said.count("Measure its 3 variants now, and at other such sizes? [y/N]") == 1


class Interface:
    """An array that has `__cuda_array_interface__` alone."""

    def __init__(self, array):
        self.__cuda_array_interface__, self.array = array.__cuda_array_interface__, array


class Exchange:
    """An array that has DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Tensor(Interface):
    """An array as PyTorch's: its shape is a class of its own, and so is its dtype."""

    class Size(tuple):
        __slots__ = ()

    class Dtype:
        def __init__(self, name):
            self.name = name

        def __str__(self):
            return f"torch.{self.name}"

    def __init__(self, array):
        super().__init__(array)
        self.shape, self.dtype = self.Size(array.shape), self.Dtype(array.dtype.name)


@pytest.mark.parametrize("wrapped", [lambda x: x, Interface, Exchange, Tensor])
def test_sizes_and_types_of_each_kind_of_array(family, wrapped):
    families.store(family, row([100], 32), row([100], 128, types=["float64"]))
    for dtype, block in [(np.float32, 32), (np.float64, 128)]:
        x, which = cupola.zeros(100, dtype), cupola.zeros(1, np.int32)
        for _ in range(3):
            family(wrapped(x), 100, which)
        assert which.get()[0] == block and (x.get() == 3).all()


def test_host_arrays_in_transfers(family):
    families.store(family, row([100], 32), row([7], 128))
    for size, block in [(100, 32), (7, 128)]:
        x, which = np.zeros(size, np.float32), np.zeros(1, np.int32)
        family(cupola.InOut(x), np.int64(size), cupola.Out(which))
        assert which[0] == block and (x == 1).all()


def test_arguments_by_name_and_streams(family):
    families.store(family, row([100], 32))
    stream = cupola.Stream()
    x, which = cupola.zeros(100, np.float32), cupola.zeros(1, np.int32)
    for _ in range(3):
        family(x, which=which, n=100)
        family(which=which, n=100, x=x, stream=stream)
        family(x, 100, which, stream=None)
        family.__call__(x, 100, which=which, stream=stream)
    stream.synchronize()
    cupola.Device().synchronize()
    assert (x.get() == 12).all() and which.get()[0] == 32
    assert cupola.Stream.current() == cupola.Stream.legacy()


@pytest.mark.parametrize(
    ("args", "named", "said"),
    [
        ((1, 2, 3, 4), {}, "mark takes 3 arguments (x, n, which), got 4 by position and none"),
        ((1, 2), {}, "got 2 by position and none by name"),
        ((1, 2), {"n": 3}, "got 2 by position and n by name"),
        ((1,), {"n": 3, "what": 4}, "got 1 by position and n, what by name"),
    ],
)
def test_wrong_numbers_of_arguments(family, args, named, said):
    for call in (family, family.choose, family.explain):
        with refused(cupola.ArgumentTypeError, saying=said):
            call(*args, **named)


def test_arguments_without_sizes():
    family = families.family(sizes={"m": "shape(x, 1)"}, key=["m", "n"])
    x, which = cupola.zeros(4, np.float32), cupola.zeros(1, np.int32)
    flat = cupola.zeros((2, 2), np.float32)
    for args, said in [
        ((x, 4, which), "mark: argument x: expected at least 2 axes, got 1"),
        ((7, 4, which), "mark: argument x: expected an array, whose shape the launch is computed"),
        ((flat, 4.0, which), "mark: argument n: expected an int, which the launch is computed"),
        ((flat, True, which), "expected an int, which the launch is computed from, got bool"),
        ((flat, 2**70, which), "mark: argument n: expected an int of 64 bits"),
    ]:
        with refused(cupola.ArgumentError, saying=said):
            family(*args)
    with refused(cupola.ArgumentTypeError, saying="a stream is a cupola.Stream or an object"):
        family(flat, 4, which, stream=3)


HIDDEN = families.SOURCE.replace("(T* x, int n, int* which)", "(LIST)").replace(
    "\ntemplate", "\n#define LIST T* x, int n, int* which\ntemplate"
)


def test_a_name_that_only_the_compiler_finds_wrong():
    """A list of parameters that is a macro says nothing before the kernel is compiled."""
    family = families.family(source=HIDDEN, sizes={"m": "size(y)"})
    with refused(cupola.ArgumentTypeError, saying="mark: the declaration uses size(y), which is no "
                 "parameter of its kernel; known are "):  # fmt: skip
        ran(family, 4)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"default": {"BLOCK": 5}}, "family mark: default: BLOCK = 5 is none of its values"),
        ({"default": {}}, "default: lacks BLOCK"),
        ({"tunables": {}}, "tunables: expected values by name"),
        ({"tunables": {"BLOCK": [32, "a"]}}, "tunables.BLOCK: 'a': expected numbers, or words"),
        ({"restrictions": ["BLOCK > 64", "BLOCK < 64"]}, "restrictions: they exclude each of the"),
        ({"restrictions": ["BLOCK > 999"]}, "none meets 'BLOCK > 999'"),
        ({"restrictions": ["BLOCK != 64"]}, "default: BLOCK=64: the restriction 'BLOCK != 64'"),
        ({"grid": "m // BLOCK"}, "grid: 'm // BLOCK': write / for a division"),
        ({"block": ["1"] * 4}, "block: "),
        ({"key": ["BLOCK"]}, "key: 'BLOCK'"),
        ({"kernel": "mark<{BLOCKS}>"}, "kernel: "),
        ({"macros": ["OTHER"]}, "macros: "),
        ({"types": {"x": {"float33": "float"}}}, "types.x: "),
        ({"cases": "cases"}, "cases: 'cases': expected a function"),
        ({"sizes": {"m": "size(y)"}}, "family mark: sizes.m: size(y): 'y' is no parameter of the"),
        ({"key": ["mm"]}, "family mark: key: 'mm' is no size and no parameter of the kernel: did"),
        ({"grid": "ceildiv(witch, BLOCK)"}, "grid: 'witch' is no size and no parameter of the "
         "kernel: did you mean 'which'?"),
        ({"block": "BLOCK + rows"}, "block: 'rows' is no size and no parameter of the kernel: "
         "known are m, x, n, which"),
        ({"shared": "4 * k"}, "shared: 'k' is no size"),
        ({"types": {"y": {"float32": "float"}}, "kernel": "mark<{BLOCK}, {y}>"},
         "types.y: 'y' is no parameter of the kernel: known are"),
    ],
)  # fmt: skip
def test_invalid_declarations_name_the_key(changed, said):
    with refused(cupola.ArgumentValueError, saying=said):
        families.family(**changed)


def test_modules_are_kernel_libraries():
    with refused(cupola.ArgumentTypeError, saying="os is no kernel library"):
        families.family(source=os)


def test_a_family_is_pickled_by_its_declaration(family):
    families.store(family, row([100], 32))
    other = pickle.loads(pickle.dumps(family))
    assert ran(other, 100) == 32 and other.digest == family.digest
    assert repr(other) == "<cupola.Family mark: 3 variants>"


def test_the_launches_of_keys_are_kept_up_to_a_number(family):
    x, which = cupola.zeros(64, np.float32), cupola.zeros(1, np.int32)
    by_n = families.family(key=["n"], grid="1")
    for number in range(5000):
        by_n(x, number, which) if number % 1000 == 0 else by_n.choose(x, number, which)
    assert by_n._kept() == 5
    for number in range(4100):
        by_n(x, number - 4050, which)
    assert 0 < by_n._kept() <= 4096


def test_an_unloaded_image_is_loaded_again(family):
    assert ran(family, 100) == 64
    family.kernel((64,), ("float32",)).module.unload()
    assert ran(family, 100) == 64


def test_threads_share_a_family(family):
    families.store(family, *(row([1 << at], [32, 64, 128][at % 3]) for at in range(12)))
    wrong, start = [], threading.Barrier(8)

    def run(seed):
        start.wait()
        random = np.random.default_rng(seed)
        for at in random.integers(0, 12, 60):
            if ran(family, 1 << int(at)) != [32, 64, 128][at % 3]:
                wrong.append(at)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_each_device_has_its_own_choice(tmp_path):
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import cupola, families
family = families.family()
families.store(family, families.row([100], 32))
for device in cupola.devices():
    with device:
        assert families.ran(family, 100) == 32
        stream = cupola.Stream()
    with device, stream:
        x, which = cupola.zeros(100, "f4"), cupola.zeros(1, "i4")
    family(x, 100, which, stream=stream)
    stream.synchronize()
    assert which.get()[0] == 32
assert family._kept() == len(cupola.devices())
"""
    environment = {**os.environ, "CUPOLA_CPU_DEVICES": "2"}
    here = os.path.dirname(__file__)
    subprocess.run([sys.executable, "-c", code, here], env=environment, check=True)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-4, 4) | st.integers(0, 10_000)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "%"])
EXPRESSIONS = st.recursive(
    st.sampled_from(["n", "m", "A", "B"]) | st.integers(0, 9).map(str),
    lambda one: (
        st.tuples(one, OPERATORS, one).map(lambda each: f"({' '.join(each)})")
        | st.tuples(st.sampled_from(["ceildiv", "min", "max"]), one, one).map(
            lambda each: f"{each[0]}({each[1]}, {each[2]})"
        )
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, NUMBERS, NUMBERS)
def test_steps_compute_what_expressions_do(grid, shared, n, m):
    declaration = read(
        {
            "kernel": "k<{A}, {B}>",
            "tunables": {"A": [-3, 7], "B": [2**31 - 1]},
            "default": {"A": 7, "B": 2**31 - 1},
            "sizes": {"rows": "n + 1", "columns": "rows * 2"},
            "key": ["columns", "m"],
            "grid": [grid, "rows", "n"],
            "block": [1, "B"],
            "shared": shared,
        }
    )
    given = {"n": n, "m": m}
    ordered = tuple(given[symbol] for symbol in declaration.symbols)
    for index, variant in enumerate(declaration.variants):
        try:
            launch = declaration.launch(variant, given)
            expected = declaration.key_of(given), (launch.grid, launch.block, launch.shared)
        except ExpressionError as error:
            with pytest.raises(ExpressionError) as caught:
                launch_steps(declaration).evaluated(index, ordered)
            assert str(caught.value) == str(error)
            continue
        assert launch_steps(declaration).evaluated(index, ordered) == expected


def test_importing_cupola_loads_no_family():
    code = "import sys, cupola; print([m for m in sys.modules if 'famil' in m or 'tuning' in m])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[]\n"

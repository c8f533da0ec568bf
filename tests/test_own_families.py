"""The families of cupola's own kernels: equal bits, today's launches, shipped tables."""

import dataclasses
import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cupola
from cupola import families, library
from cupola.arrays import family_cases
from cupola.declare.tuning_table import Row
from cupola.tuning import shipped_cases, tables
from cupola.tuning.family import Family
from cupola.tuning.measure import CaseRunner, EventClock
from cupola.tuning.own_source import OwnSource

ROOT = Path(__file__).parent.parent
NAMES = [name for name in dir(families) if isinstance(getattr(families, name), Family)]
DATE = "2026-11-29T06:00:00Z"
SORTS = ["sort_keys_32", "sort_keys_64", "sort_pairs_32", "sort_pairs_64"]
PRODUCTS = ["matmul_f32_few", "matmul_f32_many", "matmul_f64_few", "matmul_f64_many"]


def small_cases(name):
    """Cases of odd sizes, of the functions that make those of the tuning."""
    if name.startswith("convolve"):
        make = functools.partial(shipped_cases.convolution, int(name[-1]))
        return [make(size) for size in ((1, 1, 1), (77, 101, 1), (130, 9, 3))]
    if name == "mandelbrot":
        return [shipped_cases.picture(size) for size in ((1, 7), (61, 40), (133, 9))]
    if name.startswith("matmul"):
        make = functools.partial(family_cases.product, f"f{int(name[8:10]) // 8}")
        return [make(size) for size in ((1, 1, 1, 1), (70, 131, 37, 3), (65, 33, 100, 1))]
    make = functools.partial(family_cases.last_pass, int(name[-2:]), "pairs" in name)
    return [make(size) for size in ((1, 1), (3, 4001), (1, 9001))]


@pytest.mark.parametrize("name", NAMES)
def test_each_variant_gives_the_bits_of_numpy(driver, name):
    family = getattr(families, name)
    runner = CaseRunner(family, cupola.Device().index, EventClock())
    variants = family.variants
    for case in small_cases(name):
        runner.open(case)
        for variant in variants if len(variants) < 9 else variants[::5]:
            assert runner.check(variant) is None, variant


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_result_of_a_variant_is_found(driver, name):
    """The checks above compare bits, of each element."""
    family, case = getattr(families, name), small_cases(name)[1]
    for key, expected in case.expected.items():
        case.expected[key] = changed = expected.copy()
        changed.reshape(-1)[-1] += 1
    runner = CaseRunner(family, cupola.Device().index, EventClock())
    runner.open(case)
    assert runner.check(family.declaration.default).kind == "wrong"


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_of_a_family_have_keys_of_their_own(name):
    family = getattr(families, name)
    module, _, function = family.declaration.cases.partition(":")
    cases = getattr(sys.modules[module], function)()
    assert 12 <= len(cases) <= 24
    sizes = shipped_cases.IMAGES if name.startswith("convolve") else None
    sizes = sizes or {"mandelbrot": shipped_cases.PICTURES}.get(name) or (
        family_cases.SORTS if name in SORTS
        else family_cases.MANY if name.endswith("many") else family_cases.FEW
    )  # fmt: skip
    assert len(cases) == len(sizes) == len(set(sizes))
    assert all(len(one) == len(family.declaration.key) for one in sizes)


def dimensions(name, **sizes):
    """The launch of the default; symbols that no size names are 1."""
    declaration = getattr(families, name).declaration
    given = dict.fromkeys(declaration.symbols, 1) | sizes
    found = declaration.launch(declaration.default, given)
    return found.grid, found.block


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_the_default_of_a_convolution_is_the_launch_of_c(channels):
    """The rule of csrc/runtime/array/shipped_launch.cpp, for sizes of all ranges."""
    rng = np.random.default_rng(channels)
    for bits in range(1, 16):
        height, width = map(int, rng.integers(1, 2**bits + 1, 2))
        across = -(-width // 4) if channels == 1 else width * channels
        rows = min(max(across * height // 2**18, 4), 31)
        strips = across * ((height - 1) // rows + 1)
        expected = ((-(-strips // 128),), (128,))
        assert dimensions("convolve_5", height=height, width=width, channels=channels) == expected


@pytest.mark.parametrize("side", [1, 4, 33, 512, 2047, 4063, 4064, 4065, 4096, 20_000])
def test_the_default_of_mandelbrot_is_the_launch_of_c(side):
    across, down = -(-side // 32), -(-side // 4)
    rows = 1 if across * down * 32 // 2 < 2**18 else 2
    threads = across * (-(-down // rows)) * 32
    assert dimensions("mandelbrot", lattice_size=side) == ((-(-threads // 128),), (128,))


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_default_of_a_product_has_square_tiles(name):
    side = {"f32": 64, "f64": 32}[name[7:10]] * (2 if name.endswith("many") else 1)
    found = dimensions(name, rows=1000, columns=300, inner=7, batches=70_000)
    assert found == ((-(-1000 // side) * -(-300 // side), 65535), (256,))


@pytest.mark.parametrize(
    ("name", "tile"),
    list(zip(SORTS, [8064, 5760, 8832, 5760], strict=True)),
)
def test_the_default_of_a_sort_has_the_largest_tiles(name, tile):
    family = getattr(families, name)
    assert max(threads * items for threads, items in family.variants) == tile
    assert np.prod(family.declaration.default) == tile


def test_a_block_takes_several_matrices(driver):
    """Where there are more than a grid has room for."""
    a = np.arange(5 * 3 * 40, dtype=np.float32).reshape(5, 3, 40) % 7
    b = np.arange(5 * 40 * 2, dtype=np.float32).reshape(5, 40, 2) % 5
    out = cupola.zeros((5, 3, 2), np.float32)
    kernel = families.matmul_f32_few.kernel((64, 64))
    operands = (cupola.to_device(a), 40, 1, 120, cupola.to_device(b), 2, 0, 80)
    kernel[(1, 2), 256](out, *operands, 3, 2, 40, 5)
    np.testing.assert_array_equal(out.get(), a @ b)


@pytest.fixture
def tables_of_the_user(tmp_path, monkeypatch):
    """Tables that the current device reads, and that are forgotten after the test.

    Those that ship with cupola are not read: the device may have one.
    """
    monkeypatch.setattr(OwnSource, "package", lambda self, declaration: "")
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CUPOLA_TUNE", "tables")
    everyone = [getattr(families, name) for name in NAMES]
    for one in everyone:
        one.reload()
    yield
    monkeypatch.undo()
    for one in everyone:
        one.reload()


def store(family, key, **variant):
    row = Row((), key, variant, 1e-6, 0.01, 2e-6, 3, DATE)
    tables.store(tables.device_record(cupola.Device()), family.rows([row]))
    family.reload()


def launches(run):
    """The name, grid and block of each launch."""
    with cupola.profile() as profile:
        run()
    return [(one.name, one.grid, one.block) for one in profile.operations if one.kind == "launch"]


def test_a_convolution_takes_the_variant_of_a_table(driver, tables_of_the_user):
    rng = np.random.default_rng(1)
    image, weights = rng.random((60, 80), np.float32), rng.random((5, 5), np.float32)
    x, w = cupola.to_device(image), cupola.to_device(weights)
    before = cupola.convolve(x, w).get()
    ((_, grid, block),) = launches(lambda: cupola.convolve(x, w))
    assert (grid[0], block[0]) == (3, 128)
    store(families.convolve_5, (60, 80, 1), BLOCK=64, LEAST=1, FILL=1 << 18)
    ((_, grid, block),) = launches(lambda: cupola.convolve(x, w))
    assert (grid[0], block[0]) == (19, 64)
    np.testing.assert_array_equal(cupola.convolve(x, w).get(), before)


def test_mandelbrot_takes_the_variant_of_a_table(driver, tables_of_the_user):
    before = cupola.mandelbrot(100, iterations=50)
    store(families.mandelbrot, (100, 50), BLOCK=32, MOST=1, FILL=1 << 16)
    out = cupola.empty((100, 100), np.float32)
    ((_, grid, block),) = launches(lambda: cupola.mandelbrot(100, iterations=50, out=out))
    assert (grid[0], block[0]) == (100, 32)
    np.testing.assert_array_equal(out.get(), before)


def test_a_product_takes_the_variant_of_a_table(driver, tables_of_the_user, monkeypatch):
    monkeypatch.setattr("cupola.arrays.cublas.usable", lambda device: None)
    rng = np.random.default_rng(2)
    a, b = (cupola.to_device(rng.standard_normal((40, 40), np.float32)) for _ in range(2))
    before = (a @ b).get()
    store(families.matmul_f32_few, (40, 40, 40, 1), HIGH=128, WIDE=64)
    assert [one[0] for one in launches(lambda: a @ b)] == ["matmul_f32_128x64"]
    assert (a @ b).get().tobytes() == before.tobytes()


def test_a_sort_takes_the_variant_of_a_table(driver, tables_of_the_user):
    x = cupola.to_device(np.random.default_rng(3).random(9000, np.float32))
    store(families.sort_keys_32, (1, 9000), THREADS=256, ITEMS=9)
    store(families.sort_pairs_32, (1, 9000), THREADS=256, ITEMS=11)
    for run, name in (
        (cupola.sort, "sort_keys_32_256x9"),
        (cupola.argsort, "sort_pairs_32_256x11"),
    ):
        passes = [one for one in launches(lambda: run(x)) if one[0] == name]  # noqa: B023
        assert len(passes) == 4
    np.testing.assert_array_equal(cupola.sort(x).get(), np.sort(x.get()))
    np.testing.assert_array_equal(cupola.argsort(x).get(), np.argsort(x.get(), kind="stable"))


def test_a_table_of_other_code_is_ignored(driver, tables_of_the_user):
    family = families.matmul_f64_few
    row = Row((), (40, 40, 40, 1), {"HIGH": 64, "WIDE": 64}, 1e-6, 0.01, 2e-6, 3, DATE)
    rows = family.rows([row])
    tables.store(tables.device_record(cupola.Device()), dataclasses.replace(rows, digest="0" * 64))
    family.reload()
    x = cupola.zeros((40, 40), np.float64)
    operands = (x, 40, True, 1600)
    explained = family.explain(x, *operands, *operands, 40, 40, 40, 1)
    assert explained.variant == {"HIGH": 32, "WIDE": 32} and explained.row is None
    assert any("were measured on other code" in text for text in explained.ignored)


def test_the_digests_are_of_the_code_alone(tmp_path):
    """Comments, and constants of other kernels, do not change them."""
    # By its path: tests have a module of this name, too.
    spec = importlib.util.spec_from_file_location("csrc_digests", ROOT / "csrc" / "digests.py")
    digests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(digests)
    installed = json.loads(Path(library.FOLDER, "digests.json").read_text())
    sources = [ROOT / "csrc" / name for name in installed]
    assert {"kernels/convolve.cu", "kernels/algorithms/sort.cu"} <= set(installed)
    for path in sources:
        assert installed[path.relative_to(ROOT / "csrc").as_posix()] == digests.digest(path), path
    (tmp_path / "more").mkdir()
    source, header = tmp_path / "more/scan_sum.cu", tmp_path / "constants.h"
    source.write_text('#include "../constants.h"\nint f() {\n    return 1;\n}\n')
    header.write_text("constexpr int scan_items = 3;\nconstexpr int sort_items = 4;\n")
    before = digests.digest(source)
    header.write_text(
        "// Sorts\nconstexpr int scan_items = 3;  // few\nconstexpr int sort_items = 5;"
    )
    source.write_text('#include "../constants.h"\n\nint f() {\n  return 1;  // one\n}\n')
    assert digests.digest(source) == before
    header.write_text("constexpr int scan_items = 4;\n")
    assert digests.digest(source) != before
    header.write_text("constexpr int scan_items = 3;\nconstexpr int sort_items = 4;\n")
    source.write_text('#include "../constants.h"\nint f() {\n    return 2;\n}\n')
    assert digests.digest(source) != before
    source.write_text('#include "missing.h"\n')
    with pytest.raises(ValueError, match=r"there is no missing\.h beside the kernels"):
        digests.digest(source)


def test_the_import_of_cupola_brings_in_no_tuning():
    program = (
        "import sys, cupola, numpy as np\n"
        "cupola.zeros(3) + 1\n"
        "cupola.saxpy(2, *np.ones((2, 3), 'f'))\n"
        "assert not [name for name in sys.modules if name.startswith('cupola.tuning')]\n"
        "assert 'cupola.families' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_shipped_tables_are_of_this_code():
    """A table that another revision measured would be ignored."""
    folder = Path(cupola.__file__).parent / "tuning"
    for path in folder.glob("*.json"):
        for rows in tables.load(path).families:
            family = getattr(families, rows.name.removeprefix("cupola."))
            assert rows.digest == family.digest, f"{path}: measure {rows.name} again"
            assert all(
                family.declaration.variant(row.variant) in family.variants for row in rows.rows
            )

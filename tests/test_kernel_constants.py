"""Numbers that kernels and Python share: the build reads them from headers."""

import re
import sys
from pathlib import Path

import pytest

from cupola import kernel_constants, library
from cupola.image import reader

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "csrc"))
import constants  # noqa: E402

sys.path.pop(0)
HEADERS = [ROOT / "csrc/include/cupola/makers.cuh", ROOT / "csrc/kernels/constants.h"]


def values(text):
    found = {}
    exec(text, found)
    return {name: value for name, value in found.items() if name.isupper()}


def test_the_module_has_what_the_headers_say():
    installed = {name: value for name, value in vars(kernel_constants).items() if name.isupper()}
    assert installed == values(constants.python(HEADERS))
    assert installed["INDEX_MODE"] == {"RAISE": 0, "WRAP": 1, "CLIP": 2, "CHECKED": 3}
    assert 2.0**62 < installed["RANDOM_LARGEST_MEAN"] < 2.0**63


def written(tmp_path, *texts):
    paths = [tmp_path / f"{number}.h" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return values(constants.python(paths))


def test_constants_and_enumerations_are_read(tmp_path):
    first = (
        "constexpr int tile_threads = 2 * 64;  // threads\n"
        "// constexpr int old_threads = 3;\n"
        "void f() {\n    constexpr int items = 8;\n}\n"
        "enum class RareKind {\n    one,  // the first\n    two\n};\n"
    )
    second = "[[maybe_unused]] constexpr int tile_items = tile_threads - 1;\n"
    assert written(tmp_path, first, second) == {
        "TILE_THREADS": 128, "TILE_ITEMS": 127, "RARE_KIND": {"one": 0, "two": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("constexpr int a = 1;\nconstexpr int a = 2;\n", "A is defined twice"),
        ("constexpr int a = b;\n", "earlier names"),
        ("constexpr int a = f(2);\n", "sums and products"),
        ("constexpr int a = 1, b = 2;\n", "earlier names"),
        ("enum Mode : int { a = 1 };\n", "names without values"),
    ],
)
def test_other_lines_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        written(tmp_path, text)


def bounds(image):
    """The most threads of a block of each kernel, by its PTX."""
    (ptx,) = reader.read_fatbin(Path(library.FOLDER, "algorithms", f"{image}.packed").read_bytes())
    text = ptx.payload.decode()
    found = re.findall(r"\.entry (\w+)\([^)]*\)[^{]*?\.maxntid (\d+)", text)
    return {name: int(threads) for name, threads in found}


@pytest.mark.parametrize(
    ("image", "kernel", "constant"),
    [
        ("scan_sum", "scan_tiles_", "SCAN_TILE_THREADS"),
        ("scan_sum", "scan_rows_", "SCAN_THREADS"),
        ("scan_sum", "scan_columns_", "SCAN_THREADS"),
        ("sort", "sort_keys_8", "SORT_KEYS_8_THREADS"),
        ("sort", "sort_wide_pairs_64", "SORT_WIDE_PAIRS_64_THREADS"),
        ("sort", "sort_count_", "SORT_KEY_THREADS"),
        ("sort", "sort_offsets", "SORT_DIGITS"),
        ("sort_rows", "sort_row_", "SORT_ROW_THREADS"),
        ("sort_rows", "sort_long_row_", "SORT_LONG_ROW_THREADS"),
        ("sort_gather", "sort_gather_", "SORT_KEY_THREADS"),
        ("select", "select_8", "SELECT_THREADS"),
        ("select", "select_64", "SELECT_WIDE_THREADS"),
        ("quantile", "quantile_", "QUANTILE_THREADS"),
        ("segments", "segments_", "SEGMENTS_THREADS"),
        ("matmul", "matmul_", "MATMUL_THREADS"),
        ("matmul_half", "matmul_", "MATMUL_THREADS"),
        ("matmul_simple", "matmul_", "MATMUL_THREADS"),
    ],
)
def test_launches_have_the_threads_that_kernels_are_compiled_for(image, kernel, constant):
    found = {name: most for name, most in bounds(image).items() if name.startswith(kernel)}
    assert found
    assert set(found.values()) == {getattr(kernel_constants, constant)}

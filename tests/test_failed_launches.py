"""If a later launch of an operation fails, its memory still tracks the launches before it."""

from pathlib import Path

import pytest
from test_driver import compile_library, good

import cupola

# Axes of which no two can be made one: a kernel takes eight of them, reductions one at a time.
CODE = """
import ctypes
import numpy as np, cupola
driver = ctypes.CDLL({path!r})
left = ctypes.c_int.in_dll(driver, "launches_left")
waits = ctypes.c_int.in_dll(driver, "waits")
big = cupola.ones((4,) * 9, np.float32)
x = big[(slice(3),) * 9]
out = cupola.zeros(x.shape, np.float32)
small = cupola.ones((3, 3, 3, 3), np.float64)[:2, :2, :2, :2]
{operation}  # loads its kernels
with cupola.Stream(non_blocking=True) as stream:
    cupola.Device().synchronize()
    left.value = 1
    try:
        {operation}
    except cupola.DriverError as error:
        assert error.code == 701
    else:
        raise SystemExit("it was one launch alone")
    left.value = 1 << 30
    before = waits.value
    del x, big, out, small  # each of them frees in the order of the stream that used it
    assert waits.value - before >= {used}, waits.value - before
    stream.synchronize()
"""


@pytest.fixture
def failing(tmp_path):
    source = Path(__file__).with_name("counting.c").read_text()
    flags = [f'-DREAL="{cupola.paths.cpu_driver()}"', "-ldl"]
    return compile_library(tmp_path, "libcuda.so.1", source, *flags)


@pytest.mark.cpu_only("the CPU device stands for the driver that fails")
@pytest.mark.parametrize(
    ("operation", "used"),
    [("np.add(x, 1, out=out)", 2), ("np.sin(x, out=out)", 2), ("small.sum(axis=(0, 2))", 1)],
)
def test_what_was_launched_is_waited_for(failing, operation, used):
    code = CODE.format(path=str(failing), operation=operation, used=used)
    good(code, CUPOLA_DRIVER=failing)

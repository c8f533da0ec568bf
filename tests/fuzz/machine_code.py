# tests/fuzz/machine_code.py - runs the kernels of PTX files on the CPU device, as its mode says.
"""Usage: python machine_code.py FILE..., with `tests` on the path.

Results are not looked at: such programs read what they never wrote.
"""

import ctypes
import re
import sys
from pathlib import Path

from driver_abi import DriverError
from ptx.driver import Driver

# More arguments, and larger ones, than any of the kernels has parameters.
ARGUMENTS, BYTES = 32, 32768


def run(driver, text):
    """Each kernel, on one block of 40 threads; pointers lead to memory of the device."""
    module = driver.load(text)
    for name in re.findall(r"\.entry\s+([\w$]+)", text):
        memory = ctypes.c_uint64()
        driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096))
        argument = (ctypes.c_ubyte * BYTES).from_buffer_copy(bytes(memory).ljust(BYTES, b"\0"))
        try:
            module.launch(name, 1, 40, [argument] * ARGUMENTS, shared=64)
        except DriverError:
            driver.reset()
            module = driver.load(text)
        else:
            driver.cuMemFree_v2(memory)


def main():
    driver = Driver()
    for path in sys.argv[1:]:
        try:
            run(driver, Path(path).read_text(errors="replace"))
        except DriverError as refused:  # as it is for the interpreter
            print(f"{path}: {refused}")
    print(f"{len(sys.argv) - 1} inputs")


if __name__ == "__main__":
    main()

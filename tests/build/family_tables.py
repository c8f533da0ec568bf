# tests/build/family_tables.py - a table of a family, and the libraries that tables make.
from cupola.build import tables

TEXT = """\
[project]
name = "heat"

[[tool.cupola.kernels]]
library = "heat.kernels"
sources = ["heat.cu"]
options = ["--use_fast_math"]

[[tool.cupola.variants]]
name = "heat.step"
kernel = "step<{x}, {TX}>"
tunables = { TX = [16, 32, 2048], UNROLL = [1, 4], REGISTERS = [32, 64] }
default = { TX = 32, UNROLL = 4, REGISTERS = 64 }
macros = ["UNROLL"]
types = { x = { float32 = "float", float64 = "double" } }
grid = ["ceildiv(n, TX)"]
block = ["TX"]
doc = "One step."
"""


def read(text):
    try:
        import tomllib
    except ModuleNotFoundError:
        from setuptools.compat.py310 import tomllib
    return tables.libraries(tomllib.loads(text)["tool"]["cupola"], text)


def names(found):
    return [one.library for one in found]

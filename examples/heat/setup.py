# examples/heat/setup.py - the extension; the kernels are in pyproject.toml.
from Cython.Build import cythonize
from setuptools import setup

setup(ext_modules=cythonize("heat/*.pyx"))
